//! What all clones of a client share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;
use stoop_proto::{Fields, Limits, ResponseHead};
use tokio::sync::mpsc;
use url::Url;

use crate::client::backoff::Backoff;
use crate::client::connect::Connector;
#[cfg(feature = "cookies")]
use crate::client::cookies::CookieJar;
use crate::client::hsts::Hsts;
use crate::client::netrc::Netrc;
use crate::client::observe::Observers;
use crate::client::pace::Pace;
use crate::client::pool::Pool;
use crate::client::redirect::Redirects;
use crate::client::retries::{Retries, RetryBudget};
use crate::client::validators::FindValidators;
use crate::error::Error;
use crate::limits::ClientLimits;
use crate::request::Request;
use crate::response::Response;
use crate::url::{not_whole, remove_credentials};

/// The connections of a client, and how it uses them.
pub(crate) struct ClientShared {
    pub(super) connector: Connector,
    pub(super) pool: Arc<Pool>,
    pub(super) backoff: Backoff,
    pub(super) limits: Arc<ClientLimits>,
    /// [`ClientLimits::wire`], as each HTTP/2 machine holds it.
    pub(super) wire_limits: Arc<Limits>,
    #[cfg(feature = "cookies")]
    pub(super) cookies: Option<CookieJar>,
    pub(super) netrc: Netrc,
    pub(super) hsts: Option<Hsts>,
    pub(super) redirects: Redirects,
    pub(super) validators: Option<FindValidators>,
    pub(super) retries: Retries,
    pub(super) retry_budget: RetryBudget,
    pub(super) pace: Option<Pace>,
    /// For requests that have none of that name.
    pub(super) default_fields: Fields,
    /// Responses are decoded, and asked for in the codings that are.
    #[cfg(feature = "compression")]
    pub(super) decodes: bool,
    pub(super) base_url: Option<Url>,
    pub(super) observers: Observers,
    pub(super) allow_private: bool,
    /// In the order in which they are called.
    pub(super) middleware: Vec<Middleware>,
}

/// A call under way.
pub(crate) type Call = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>;

/// A function around the call, with its type forgotten.
pub(crate) type Middleware = Box<dyn Fn(Request, Next) -> Call + Send + Sync>;

/// The rest of a call: the middleware that was added later, and then the client itself.
///
/// Cloned, it can be run more than once, as to send a request again. The deadline of the call holds for all runs
/// together; that of the response's head for each.
#[derive(Clone)]
pub struct Next {
    pub(super) shared: Arc<ClientShared>,
    /// The middleware that is called by `run`.
    pub(super) index: usize,
    pub(super) interim: Option<mpsc::Sender<ResponseHead>>,
}

impl ClientShared {
    /// Whether there is neither middleware nor a retry between a caller and the exchange.
    pub(super) fn calls_directly(&self) -> bool {
        self.middleware.is_empty() && self.retries.max == 0
    }

    /// A request for `url`, which may be relative to the base URL.
    pub(super) fn request(&self, method: Method, url: &str) -> Result<Request, Error> {
        match &self.base_url {
            Some(base) if method != Method::CONNECT => Request::relative(method, base, url),
            _ => Request::new(method, url),
        }
    }

    /// The URL that a GET for `url` would be sent to, without its credentials.
    pub(super) fn url_of_get(&self, url: &str) -> Result<Url, Error> {
        let mut request = self.request(Method::GET, url)?;
        let whole = request.parts.url.take();
        let mut whole = whole.ok_or_else(|| not_whole(request.parts.head.target()))?;
        self.secure(&mut whole);
        remove_credentials(&mut whole);
        Ok(whole)
    }

    /// Makes an http URL one of https if its host wants that.
    pub(super) fn secure(&self, url: &mut Url) {
        if let Some(hsts) = &self.hsts {
            hsts.secure(url);
        }
    }
}
