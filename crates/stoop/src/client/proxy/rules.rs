//! Which requests go through which proxy, and how.

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::except::NoProxy;
use super::server::Proxy;

/// Which requests go through a proxy: by the scheme of their URLs, by their hosts, or as a function says.
///
/// It is what the variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` mean to other programs. A library
/// does not read them: hand their values over.
///
/// ```
/// use stoop::{Client, NoProxy, Proxies, Proxy};
///
/// let proxies = Proxies::none()
///     .https(Proxy::new("http://proxy.example:3128")?)
///     .all(Proxy::new("socks5h://127.0.0.1:9050")?)
///     .except("localhost,.internal.example,10.0.0.0/8".parse::<NoProxy>()?);
/// let client = Client::builder().proxies(proxies).build()?;
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    all: Option<Proxy>,
    except: NoProxy,
    decide: Option<Arc<DecideProxy>>,
}

type DecideProxy = dyn Fn(&str) -> Option<Proxy> + Send + Sync;

impl Proxies {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// Sends http URLs through `proxy`.
    pub fn http(mut self, proxy: Proxy) -> Self {
        self.http = Some(proxy);
        self
    }

    /// Sends https URLs through `proxy`.
    pub fn https(mut self, proxy: Proxy) -> Self {
        self.https = Some(proxy);
        self
    }

    /// Sends URLs through `proxy` that have none by their scheme.
    pub fn all(mut self, proxy: Proxy) -> Self {
        self.all = Some(proxy);
        self
    }

    /// Sends nothing through a proxy to these hosts.
    pub fn except(mut self, hosts: NoProxy) -> Self {
        self.except = hosts;
        self
    }

    /// Has `decide` called with each URL that a request, or a redirect, leads to: what it returns is used, and no
    /// other rule. Make the proxies once and return clones of them: connections through one are kept and shared.
    ///
    /// ```
    /// use stoop::{Client, Proxies, Proxy};
    ///
    /// let (inner, outer) = (Proxy::new("10.0.0.1:3128")?, Proxy::new("10.0.0.2:3128")?);
    /// let proxies = Proxies::decided_by(move |url| match url.contains(".internal.example/") {
    ///     true => Some(inner.clone()),
    ///     false => Some(outer.clone()),
    /// });
    /// let client = Client::builder().proxies(proxies).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn decided_by(decide: impl Fn(&str) -> Option<Proxy> + Send + Sync + 'static) -> Self {
        Self { decide: Some(Arc::new(decide)), ..Self::default() }
    }

    /// Whether no request goes through one: none is set, or all hosts are [excepted](Self::except).
    pub fn is_none(&self) -> bool {
        let Self { http, https, all, decide, except } = self;
        let is_unset = http.is_none() && https.is_none() && all.is_none();
        decide.is_none() && (is_unset || except.has_all())
    }

    /// The proxy for a URL.
    pub(crate) fn find(&self, url: &Url) -> Option<Proxy> {
        if let Some(decide) = &self.decide {
            return decide(url.as_str());
        }
        let own = if url.scheme() == "https" { &self.https } else { &self.http };
        let found = own.as_ref().or(self.all.as_ref())?;
        (!self.except.contains(url)).then(|| found.clone())
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http)
            .field("https", &self.https)
            .field("all", &self.all)
            .field("except", &self.except)
            .field("is_decided", &self.decide.is_some())
            .finish()
    }
}

/// A proxy, and how a request goes through it.
pub(crate) struct Via {
    pub(crate) proxy: Proxy,
    /// The proxy reads the request and sends it on; else it carries bytes.
    pub(crate) is_forwarded: bool,
}

impl Via {
    /// What the connections of an origin through it are told apart by from all others.
    pub(crate) fn key(&self, origin: &str) -> String {
        match self.is_forwarded {
            // They are not an origin's.
            true => format!("forwarded by {}", self.proxy.identity()),
            false => format!("{origin} by {}", self.proxy.identity()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str) -> Proxy {
        Proxy::new(url).unwrap()
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_rule_is_found_by_scheme_then_for_all_unless_the_host_is_excepted() {
        let proxies = Proxies::none()
            .http(proxy("http://a"))
            .all(proxy("http://b"))
            .except("no.example".parse().unwrap());
        let found = |target: &str| {
            proxies.find(&url(target)).map(|proxy| proxy.url().host_str().unwrap().to_owned())
        };
        assert_eq!(found("http://x.example/").as_deref(), Some("a"));
        assert_eq!(found("https://x.example/").as_deref(), Some("b"));
        assert_eq!(found("https://sub.no.example/"), None);
        assert!(Proxies::none().is_none() && !proxies.is_none());
        assert!(Proxies::none().all(proxy("a")).except("b, *".parse().unwrap()).is_none());
        assert!(Proxies::none().https(proxy("a")).find(&url("http://x/")).is_none());
        let decided = Proxies::decided_by(|url| url.ends_with("/p").then(|| proxy("c")));
        assert!(decided.find(&url("http://x/p")).is_some());
        assert!(decided.find(&url("http://x/")).is_none());
    }
}
