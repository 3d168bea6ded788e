//! [`TrustedProxies`]: takes the client from the fields of proxies in trusted networks.

use std::net::IpAddr;
use std::sync::Arc;

use stoop::{Answer, Body, Network, Request, Response, StatusCode};

use crate::forwarded::{ForwardedFields, Malformed, client_of};
use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

/// Reads the address, the scheme and the host of the client from fields that the proxies in front of this server have
/// written, if the request came from one of them.
///
/// Only one kind of field is read, the one that the proxies write: others may be the client's. Every proxy adds its part
/// at the end, so the list is walked from there, past addresses of trusted proxies, up to the first that is not one: that
/// is the client. What stands before it is whatever the client has sent. The last proxy, which the connection comes from,
/// has to remove or extend the field of a client, as all do that are set up to write it.
///
/// [`Peer`](crate::Peer), [`Authority`](crate::Authority) and [`HttpsRedirect`](crate::HttpsRedirect) go by what is found,
/// and [`Extension`](crate::Extension) of [`ForwardedClient`](crate::ForwardedClient) has all of it. It belongs around
/// what uses it: on the router, and added before it.
///
/// [`Router::host`](crate::Router::host) does not: it chooses among routers before any layer runs, by the host that the
/// proxy's request names.
///
/// - A request from elsewhere, and one without such a field, is as it was.
/// - `unknown` and obfuscated names (RFC 7239 §6.2, §6.3) end the walk: the client is then the last address before.
/// - A `Forwarded` that its grammar does not allow is answered 400, because it cannot be told what the proxy has said. Of what
///   is within, only an [`AccessLog`](crate::AccessLog), a [`Sight`](crate::Sight), `TraceRequests`
///   and [`Cors`](crate::Cors) see such a request, whose client is the proxy. In the older fields, which have no grammar, what is no address ends the walk, and another scheme than `http` or
///   `https` and a host that cannot be one are passed over.
///
/// ```
/// use stoop_web::{HttpsRedirect, Peer, Router, TrustedProxies, get};
///
/// let proxies = TrustedProxies::forwarded(["10.0.0.0/8".parse()?]);
/// let app = Router::new()
///     .route("/", get(|Peer(client): Peer| client.ip().to_string()))
///     .layer(proxies)
///     .layer(HttpsRedirect::new())
///     .build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    networks: Arc<[Network]>,
    reads: ForwardedFields,
    trusts_unix: bool,
}

impl TrustedProxies {
    /// Proxies in these networks, which write `Forwarded` (RFC 7239).
    pub fn forwarded(networks: impl IntoIterator<Item = Network>) -> Self {
        Self::new(networks, ForwardedFields::Forwarded)
    }

    /// Proxies in these networks, which write `X-Forwarded-For`, and `X-Forwarded-Proto` and `X-Forwarded-Host` if they
    /// do.
    pub fn x_forwarded(networks: impl IntoIterator<Item = Network>) -> Self {
        Self::new(networks, ForwardedFields::XForwarded)
    }

    fn new(networks: impl IntoIterator<Item = Network>, reads: ForwardedFields) -> Self {
        Self { networks: networks.into_iter().collect(), reads, trusts_unix: false }
    }

    /// Whether what comes over a Unix socket comes from a proxy too. Default: false.
    pub fn unix(mut self, trusted: bool) -> Self {
        self.trusts_unix = trusted;
        self
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }

    fn note_client(&self, request: &mut Request) -> Result<(), Malformed> {
        let is_proxy = match request.remote_address() {
            Some(address) => self.is_trusted(address.ip()),
            None => self.trusts_unix,
        };
        if is_proxy {
            let client = client_of(self.reads, request.fields(), |ip| self.is_trusted(ip))?;
            request.extensions_mut().insert(client);
        }
        Ok(())
    }
}

impl<M: Mode> Middleware<M> for TrustedProxies {
    fn handle(&self, mut request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        match self.note_client(&mut request) {
            Ok(()) => next.answer(request),
            Err(Malformed) => next.refuse(request, malformed),
        }
    }
}

fn malformed() -> Response {
    let why = "400 Bad Request: the field Forwarded is malformed (RFC 7239 §4)\n";
    text(StatusCode::BAD_REQUEST, why)
}
