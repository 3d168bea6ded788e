//! Responses where no endpoint is for the path, the method or the host.

use stoop::{Answer, Body, Method, Request, Response, StatusCode};

use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::{Mode, map};

/// 404 (RFC 9110 §15.5.5).
pub(crate) fn not_found(_: &Request) -> Response {
    text(StatusCode::NOT_FOUND, "404 Not Found: nothing is at this path\n")
}

/// 501 to a CONNECT for a host and port: this is no proxy (RFC 9110 §9.3.6).
pub(crate) fn no_tunnel(_: &Request) -> Response {
    text(StatusCode::NOT_IMPLEMENTED, "501 Not Implemented: this server opens no tunnels\n")
}

/// 204 to `OPTIONS *`, which asks for the server and not for a resource (RFC 9110 §9.3.7).
pub(crate) fn options_of_server(_: &Request) -> Response {
    Response::from_status(StatusCode::NO_CONTENT)
}

/// 405 (RFC 9110 §15.5.6); what is around it adds Allow.
pub(crate) fn method_not_allowed(request: &Request) -> Response {
    let method = request.method();
    let text_of = format!("405 Method Not Allowed: this path has no {method}\n");
    text(StatusCode::METHOD_NOT_ALLOWED, text_of)
}

/// What is around the answer to methods that a pattern has no endpoint for: OPTIONS is answered 204, and a 405 has
/// Allow, as that has (RFC 9110 §9.3.7, §15.5.6).
pub(crate) struct Allow(pub(crate) String);

impl<M: Mode> Middleware<M> for Allow {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        if request.method() == Method::OPTIONS {
            let response = Response::from_status(StatusCode::NO_CONTENT);
            return Answer::Now(with_allow(response, &self.0));
        }
        let allow = self.0.clone();
        map::<M>(next.answer(request), move |response| {
            let is_bare = response.status() == StatusCode::METHOD_NOT_ALLOWED
                && response.field("allow").is_none();
            if is_bare { with_allow(response, &allow) } else { response }
        })
    }
}

fn with_allow(mut response: Response, allow: &str) -> Response {
    // Methods are tokens, which every field value can have.
    let _ = response.fields_mut().set("allow", allow.as_bytes());
    response
}
