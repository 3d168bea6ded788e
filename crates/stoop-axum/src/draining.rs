//! [`Draining`]: what tells a handler of axum that the server drains.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use stoop::ConnectionInfo;

/// An extractor of what tells that the server drains, and whether it is ready: a [`stoop::Draining`], which is a future.
///
/// By it an answer without an end says goodbye, and one that waits for news gives up waiting; without it they are cut off at
/// the end of the drain's grace. A request that asks for it costs a lock of the process for a moment, others nothing.
///
/// ```
/// use std::convert::Infallible;
///
/// use axum::response::sse::{Event, Sse};
/// use futures_util::stream::{self, Stream, StreamExt};
/// use stoop_axum::Draining;
///
/// /// Says what time it is, and goodbye when the server drains.
/// async fn clock(
///     Draining(draining): Draining,
/// ) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
///     let ticks = tokio::time::interval(std::time::Duration::from_secs(1));
///     let ticks = stream::unfold(ticks, |mut ticks| async move {
///         let now = ticks.tick().await;
///         Some((Event::default().data(format!("{now:?}")), ticks))
///     });
///     let goodbye = stream::once(async { Event::default().event("goodbye").data("come back") });
///     Sse::new(ticks.take_until(draining).chain(goodbye).map(Ok))
/// }
/// # let _: axum::Router = axum::Router::new().route("/clock", axum::routing::get(clock));
/// ```
///
/// Of a request that no server of stoop's received, such as one of a test that calls the application, it never ends.
#[derive(Clone, Debug, Default)]
pub struct Draining(pub stoop::Draining);

impl<S: Send + Sync> FromRequestParts<S> for Draining {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let connection = parts.extensions.get::<ConnectionInfo>();
        Ok(Self(connection.map(ConnectionInfo::draining).unwrap_or_default()))
    }
}
