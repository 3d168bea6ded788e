//! Arguments that are parts of a request as it came: method, target, fields, addresses, extensions.

use std::net::SocketAddr;

use stoop::{Method, StatusCode, Version};

use crate::extract::argument::{FromHead, Head};
use crate::extract::problem::{Place, Problem};
use crate::extract::rejection::Rejection;
use crate::forwarded::ForwardedClient;

/// A copy of the fields of a request. A function that takes the [`Request`](stoop::Request) reads them without a copy.
impl FromHead for stoop::Fields {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(head.request().fields().clone())
    }
}

/// The method of a request.
impl FromHead for Method {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(head.request().method().clone())
    }
}

/// The version of HTTP that a client speaks.
impl FromHead for Version {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(head.request().version())
    }
}

/// What tells that the server drains, and whether it is ready: see [`Draining`](stoop::Draining).
impl FromHead for stoop::Draining {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(head.request().draining())
    }
}

/// The address of the client: as [`TrustedProxies`](crate::TrustedProxies) have told it, else that of the connection,
/// which may be a proxy's. What came over a Unix socket or from this process has none, and is answered 500: take
/// `Result<Peer, Rejection>` where that can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

impl FromHead for Peer {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        let told = head.request().extensions().get().and_then(ForwardedClient::address);
        told.or(head.request().remote_address()).map(Self).ok_or_else(|| {
            let problem = Problem::new(Place::Service, "", "the client has no address");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        })
    }
}

/// The pattern of the route, such as `/users/{id}`: what metrics and logs group requests by. Empty for a fallback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(pub String);

impl FromHead for Pattern {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(Self(head.pattern().to_owned()))
    }
}

/// Host and port that the request is for, as the client wrote them; empty if it named none. Behind
/// [`TrustedProxies`](crate::TrustedProxies) it is what they say that the client wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority(pub String);

impl FromHead for Authority {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        let told = head.request().extensions().get().and_then(ForwardedClient::host);
        Ok(Self(told.unwrap_or(head.request().authority()).to_owned()))
    }
}

/// A clone of what middleware has put into the request's [extensions](stoop::Request::extensions); 500 where there is
/// none.
///
/// ```
/// use stoop::Request;
/// use stoop_web::{Extension, Next, Router, get};
///
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// async fn find_tenant(mut request: Request, next: Next) -> stoop::Response {
///     let tenant = Tenant(request.authority().to_owned());
///     request.extensions_mut().insert(tenant);
///     next.run(request).await
/// }
///
/// let show = |Extension(Tenant(name)): Extension<Tenant>| name;
/// let app = Router::new().route("/", get(show)).layer(find_tenant).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<T>(pub T);

impl<T: Clone + Send + Sync + 'static> FromHead for Extension<T> {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        head.request().extensions().get().cloned().map(Self).ok_or_else(|| {
            let problem = Problem::new(Place::Service, "", "middleware is missing in front of it");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        })
    }
}
