//! [`Path`]: the parameters of a path as an argument.

use serde::de::DeserializeOwned;
use stoop::StatusCode;

use crate::extract::argument::{FromHead, Head};
use crate::extract::problem::Place;
use crate::extract::rejection::Rejection;
use crate::extract::values::{Pair, from_pairs};

/// The parameters of the path, percent-decoded: a single one as any type that serde makes of text or a number,
/// several as a tuple in the pattern's order, as a structure or a map by their names, or a list.
///
/// What cannot be that type, or is no UTF-8, is answered 400.
///
/// ```
/// use serde::Deserialize;
/// use stoop_web::{Path, Router, get};
///
/// #[derive(Deserialize)]
/// struct Comment { post: u64, comment: u64 }
///
/// let app = Router::new()
///     .route("/posts/{id}", get(|Path(id): Path<u64>| format!("post {id}")))
///     .route("/posts/{post}/{slug}", get(|Path((post, slug)): Path<(u64, String)>| format!("{post} {slug}")))
///     .route("/posts/{post}/comments/{comment}", get(|Path(of): Path<Comment>| {
///         format!("{} of {}", of.comment, of.post)
///     }))
///     .build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned> FromHead for Path<T> {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        let mut pairs =
            head.parameters().map(|(name, value)| Ok((name.into(), head.decoded(name, value)?)));
        let value = match (pairs.next(), pairs.next()) {
            // As most patterns have, whose list need not be allocated.
            (Some(one), None) => from_pairs(Place::Path, &[one?]),
            (first, second) => {
                let all = first.into_iter().chain(second).chain(pairs);
                let all: Vec<Pair<'_>> = all.collect::<Result<_, Rejection>>()?;
                from_pairs(Place::Path, &all)
            }
        };
        value.map(Self).map_err(|problems| Rejection::of(StatusCode::BAD_REQUEST, problems))
    }
}
