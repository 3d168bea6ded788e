//! [`State`]: the state of a service as an argument.

use stoop::StatusCode;

use crate::extract::argument::{FromHead, Head};
use crate::extract::problem::{Place, Problem};
use crate::extract::rejection::Rejection;
use crate::route::states::Needs;

/// A clone of the value of the type `T` that the router was given by [`state`](crate::Router::state), or made on this
/// worker by [`state_per_worker`](crate::Router::state_per_worker). A router without one is not built.
///
/// ```
/// use std::sync::Arc;
/// use stoop_web::{Router, State, get};
///
/// struct Settings { greeting: String }
///
/// async fn greet(State(settings): State<Arc<Settings>>) -> String {
///     settings.greeting.clone()
/// }
///
/// let router = Router::new().route("/", get(greet));
/// assert!(router.build().is_err());
/// let settings = Arc::new(Settings { greeting: "hi".to_owned() });
/// let app = Router::new().route("/", get(greet)).state(settings).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct State<T>(pub T);

impl<T: Clone + 'static> FromHead for State<T> {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        head.state::<T>().cloned().map(Self).ok_or_else(|| {
            let problem = Problem::new(Place::Service, "", "its state is incomplete");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        })
    }

    fn needs(needs: &mut Needs) {
        needs.state::<T>();
    }
}
