//! https from the second visit on, whatever a link says (RFC 6797).

use std::sync::Arc;
use std::time::Duration;

use stoop::{Answer, Body, Request, Response};

use crate::layer::https::is_secure;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::{Mode, map};

/// Tells browsers to ask this host over https alone from now on: Strict-Transport-Security (HSTS, RFC 6797).
///
/// An attacker between a browser and the server answers what comes without TLS before
/// [`HttpsRedirect`](crate::HttpsRedirect) can; a browser that knows this field sends nothing of the kind. It is on what came
/// over TLS alone, because browsers ignore it elsewhere (§7.2, §8.1), which is asked of the connection or, behind
/// [`TrustedProxies`](crate::TrustedProxies), of them. A field that the handler has set stays.
///
/// For as long as it says, a host without a valid certificate cannot be visited: begin with some minutes, and take a
/// year once all is well. A max-age of zero takes it back, if it is sent over TLS.
///
/// ```
/// use std::time::Duration;
/// use stoop_web::{HttpsRedirect, Router, StrictTransport, get};
///
/// const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// let strict = StrictTransport::new(YEAR).include_subdomains();
/// let app = Router::new()
///     .route("/", get(|| "secure"))
///     .layer(HttpsRedirect::new())
///     .layer(strict)
///     .build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StrictTransport {
    max_age: Duration,
    includes_subdomains: bool,
    is_preloaded: bool,
    value: Arc<str>,
}

impl StrictTransport {
    /// For this host, for so long from each response on, in whole seconds.
    pub fn new(max_age: Duration) -> Self {
        let (includes_subdomains, is_preloaded) = (false, false);
        Self { max_age, includes_subdomains, is_preloaded, value: "".into() }.written()
    }

    /// For all hosts below this one, too, those that are not served here included (§6.1.2). A page of theirs could
    /// otherwise set cookies for this host without TLS.
    pub fn include_subdomains(mut self) -> Self {
        self.includes_subdomains = true;
        self.written()
    }

    /// Agrees to be on the list that browsers come with, so that their first visit is over https too. It is for all hosts
    /// below this one then, and the list takes hosts alone whose max-age is a year or more. To be on it, tell its keepers
    /// (`hstspreload.org`); to leave it takes months.
    pub fn preload(mut self) -> Self {
        (self.includes_subdomains, self.is_preloaded) = (true, true);
        self.written()
    }

    /// Writes the field's value, which is the same for all responses.
    fn written(mut self) -> Self {
        let subdomains = if self.includes_subdomains { "; includeSubDomains" } else { "" };
        let preload = if self.is_preloaded { "; preload" } else { "" };
        self.value = format!("max-age={}{subdomains}{preload}", self.max_age.as_secs()).into();
        self
    }
}

fn with_field(mut response: Response, value: &str) -> Response {
    // RFC 6797 §8.1: browsers read the first one alone.
    if !response.fields().contains("strict-transport-security") {
        // Digits and names, which every field value can have.
        let _ = response.fields_mut().push("strict-transport-security", value.as_bytes());
    }
    response
}

impl<M: Mode> Middleware<M> for StrictTransport {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        if !is_secure(&request) {
            return next.answer(request);
        }
        let value = self.value.clone();
        map::<M>(next.answer(request), move |response| with_field(response, &value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6797 §6.1.
    #[test]
    fn the_value_has_what_was_asked_for() {
        let year = || StrictTransport::new(Duration::from_millis(31_536_000_999));
        for (layer, value) in [
            (year(), "max-age=31536000"),
            (year().include_subdomains(), "max-age=31536000; includeSubDomains"),
            (year().preload(), "max-age=31536000; includeSubDomains; preload"),
            (StrictTransport::new(Duration::ZERO), "max-age=0"),
        ] {
            assert_eq!(&*layer.value, value);
        }
    }
}
