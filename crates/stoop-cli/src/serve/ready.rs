//! The path by which a load balancer learns whether the server is there for its clients.

use stoop::{Answer, Body, Handler, IntoHandler, IntoResponse, Request, Response, StatusCode};
use stoop_web::{AppHandler, Middleware, Mode, Next, Router, Shared, get};

use crate::failure::CommandFailure;

/// Where it is answered.
pub(super) const PATH: &str = "/_stoop/ready";

/// Middleware that answers the path: 200, and 503 once the end of the server was announced or has begun.
pub(super) struct Ready(AppHandler);

impl Ready {
    /// # Errors
    /// [`CommandFailure::Io`] if its router cannot be built.
    pub(super) fn new() -> Result<Self, CommandFailure> {
        let app = Router::new().route(PATH, get(answer)).build();
        let app = app.map_err(|error| CommandFailure::Io(format!("cannot serve: {error}")))?;
        Ok(Self(app.into_handler()))
    }
}

impl Middleware<Shared> for Ready {
    fn handle(&self, request: Request, next: Next) -> Answer<<Shared as Mode>::Future, Body> {
        match request.path() {
            PATH => self.0.call(request),
            _ => next.answer(request),
        }
    }
}

fn answer(request: Request) -> Response {
    let (status, text) = match request.draining().is_ready() {
        true => (StatusCode::OK, "ready\n"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "503 Service Unavailable: the server is about to end\n",
        ),
    };
    ([("cache-control", "no-store")], (status, text)).into_response()
}
