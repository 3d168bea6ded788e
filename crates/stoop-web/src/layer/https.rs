//! [`HttpsRedirect`]: redirects requests from http to https.

use stoop::{Answer, Body, IntoResponse, Request, Response, StatusCode};

use crate::forwarded::{ForwardedClient, is_host};
use crate::respond::Redirect;
use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

/// Sends what came without TLS to the same place over https: 308, which keeps method and content.
///
/// Whether it came over TLS is asked of the connection. Behind a proxy that ends
/// TLS every request comes without, and this would send clients in a circle: there
/// [`TrustedProxies`](crate::TrustedProxies) belongs around it, and what a proxy says of scheme and host holds. A request without a host, with one that
/// is malformed, or without a path is answered 400.
///
/// A browser's first request comes without TLS still, and may be answered by another:
/// [`StrictTransport`](crate::StrictTransport) has it use https from then on.
///
/// ```
/// use stoop_web::{HttpsRedirect, Router, get};
///
/// let redirect = HttpsRedirect::new().port(8443).except("/.well-known/acme-challenge/");
/// let app = Router::new().route("/", get(|| "secure")).layer(redirect).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HttpsRedirect {
    port: Option<u16>,
    except: Vec<String>,
}

impl HttpsRedirect {
    /// To port 443 of the host that was asked.
    pub fn new() -> Self {
        Self::default()
    }

    /// To another port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port).filter(|port| *port != 443);
        self
    }

    /// Answers paths that begin so without TLS too: certificates are obtained there (RFC 8555 §8.3).
    pub fn except(mut self, prefix: impl Into<String>) -> Self {
        self.except.push(prefix.into());
        self
    }

    fn elsewhere(&self, request: &Request) -> Response {
        let told = request.extensions().get().and_then(ForwardedClient::host);
        let authority = told.unwrap_or(request.authority());
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
            _ => authority,
        };
        if !request.path().starts_with('/') || !is_host(host) {
            let why = "400 Bad Request: a Host is needed to go on over https\n";
            return text(StatusCode::BAD_REQUEST, why);
        }
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let query = request.query().map(|query| format!("?{query}")).unwrap_or_default();
        Redirect::permanent(format!("https://{host}{port}{}{query}", request.path()))
            .into_response()
    }
}

/// Whether a request came over TLS: by what trusted proxies have told, and else by its connection.
pub(crate) fn is_secure(request: &Request) -> bool {
    let told = request.extensions().get().and_then(ForwardedClient::is_secure);
    told.unwrap_or_else(|| request.connection().is_some_and(|connection| connection.is_secure()))
}

impl<M: Mode> Middleware<M> for HttpsRedirect {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let path = request.path();
        if is_secure(&request) || self.except.iter().any(|prefix| path.starts_with(&**prefix)) {
            return next.answer(request);
        }
        Answer::Now(self.elsewhere(&request))
    }
}
