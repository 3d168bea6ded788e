//! Sends clients that would send a password in clear to where TLS is spoken.

use std::sync::OnceLock;

use stoop::{Address, Answer, Body, Endpoint, Request, Response, StatusCode};
use stoop_web::{HttpsRedirect, Middleware, Mode, Next, Shared};

/// The port where this process speaks TLS, once it listens; none if it does so on no port.
static PORT: OnceLock<Option<u16>> = OnceLock::new();

/// Notes where TLS is spoken: on the first of these places that is a port and has it.
pub(super) fn note(endpoints: &[Endpoint]) {
    let _ = PORT.set(endpoints.iter().find_map(secure_port));
}

fn secure_port(endpoint: &Endpoint) -> Option<u16> {
    match endpoint.address() {
        Address::Inet(address) if endpoint.is_secure() => Some(address.port()),
        _ => None,
    }
}

/// Middleware that redirects what comes over TCP without TLS. What comes over a Unix socket stays on this machine.
pub(super) struct ToHttps;

impl Middleware<Shared> for ToHttps {
    fn handle(&self, request: Request, next: Next) -> Answer<<Shared as Mode>::Future, Body> {
        if request.remote_address().is_none() {
            return next.answer(request);
        }
        match PORT.get() {
            Some(Some(port)) => HttpsRedirect::new().port(*port).handle(request, next),
            Some(None) => next.answer(request),
            // It listens since a moment ago.
            None => Answer::Now(Response::from_status(StatusCode::SERVICE_UNAVAILABLE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_that_of_a_place_with_tls() {
        let port = |text: &str| secure_port(&text.parse().unwrap());
        assert_eq!(port("https://127.0.0.1:8443"), Some(8443));
        assert_eq!((port("http://127.0.0.1:80"), port("unix:/run/a")), (None, None));
    }
}
