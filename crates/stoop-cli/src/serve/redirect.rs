//! Sends clients that come without TLS to where it is spoken.

use std::sync::{Arc, OnceLock};

use stoop::{Address, Answer, Body, Endpoint, Handler, IntoHandler, Request, Response, StatusCode};
use stoop_web::{Files, FilesHandler, HttpsRedirect, Middleware, Mode, Next, Shared};

use super::args::Settings;
use crate::failure::CommandFailure;

/// The port where a process speaks TLS, which is known once it listens. It stays when the settings are read again.
#[derive(Clone, Default)]
pub(super) struct SecurePort(Arc<OnceLock<Option<u16>>>);

impl SecurePort {
    /// Notes where TLS is spoken: on the first of these places that is a port and has it; on none, mostly, where all are
    /// Unix sockets.
    pub(super) fn note(&self, endpoints: &[Endpoint]) {
        let _ = self.0.set(endpoints.iter().find_map(secure_port));
    }
}

fn secure_port(endpoint: &Endpoint) -> Option<u16> {
    match endpoint.address() {
        Address::Inet(address) if endpoint.is_secure() => Some(address.port()),
        _ => None,
    }
}

/// Where a CA looks for its challenge, over HTTP without TLS and without credentials (RFC 8555 §8.3).
const CHALLENGES: &str = "/.well-known/acme-challenge/";

/// Middleware that redirects what comes over TCP without TLS. What comes over a Unix socket stays on this machine.
pub(super) struct ToHttps {
    port: SecurePort,
    /// Answers what a CA asks for, in place of what is within: a password would be asked for there.
    challenges: FilesHandler,
}

impl ToHttps {
    pub(super) fn new(port: SecurePort, files: Files) -> Self {
        Self { port, challenges: files.into_handler() }
    }
}

impl Middleware<Shared> for ToHttps {
    fn handle(&self, request: Request, next: Next) -> Answer<<Shared as Mode>::Future, Body> {
        if request.remote_address().is_none() {
            return next.answer(request);
        }
        if request.path().starts_with(CHALLENGES) {
            return match self.challenges.call(request) {
                Answer::Now(response) => Answer::Now(response),
                Answer::Later(future) => Answer::Later(future),
            };
        }
        match self.port.0.get() {
            Some(Some(port)) => HttpsRedirect::new().port(*port).handle(request, next),
            Some(None) => next.answer(request),
            // It listens since a moment ago.
            None => {
                let why = "503 Service Unavailable: the server has just started\n";
                Answer::Now(Response::from_text(why).with_status(StatusCode::SERVICE_UNAVAILABLE))
            }
        }
    }
}

/// Expects a certificate where a redirect is asked for.
///
/// # Errors
/// [`CommandFailure::Usage`] if there is none: clients would be sent to nowhere.
pub(super) fn check(settings: &Settings) -> Result<(), CommandFailure> {
    match settings.https_redirect == Some(true) && !settings.wants_tls() {
        true => Err(CommandFailure::Usage(
            "--https-redirect needs a certificate: --tls CERT KEY, or --tls-self-signed".to_owned(),
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_the_first_of_a_place_with_tls_and_each_process_has_its_own() {
        let port = |places: &[&str]| {
            let port = SecurePort::default();
            assert_eq!(port.0.get(), None);
            let places: Vec<Endpoint> = places.iter().map(|text| text.parse().unwrap()).collect();
            port.note(&places);
            *port.0.get().unwrap()
        };
        let first = ["http://127.0.0.1:80", "https://127.0.0.1:8443", "https://127.0.0.1:9443"];
        assert_eq!(port(&first), Some(8443));
        assert_eq!(port(&["https://127.0.0.1:443"]), Some(443));
        assert_eq!(port(&["http://127.0.0.1:80", "unix:/run/a"]), None);
    }
}
