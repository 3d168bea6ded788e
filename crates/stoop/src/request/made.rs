//! Making a request: for a URL or a path, with fields, content, and limits of its own.

#[cfg(feature = "json")]
use std::fmt;
use std::time::Duration;

use http::Method;
use stoop_proto::{Misuse, RequestHead};
use url::Url;

use super::{Request, RequestDeadlines, RequestParts};
use crate::body::{Body, IntoBody};
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind, Phase};
use crate::versions::Versions;

impl Request {
    /// A request of any method for `target`: a whole URL where a client sends it, a path where a
    /// handler is tested.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`](crate::ErrorKind::InvalidUrl) if the target is neither a path nor an http or https URL.
    pub fn new(method: Method, target: &str) -> Result<Self, Error> {
        if !(target.starts_with(['/', '*']) || method == Method::CONNECT) {
            return Self::for_url(method, crate::url::parse(target)?);
        }
        let mut parts = Recycle::<RequestParts>::new();
        parts.head.set_method(method);
        let set = parts.head.set_target(target);
        set.map_err(|misuse| Error::misuse(misuse, Phase::Request))?;
        Ok(Self { parts, body: Body::empty() })
    }

    /// A request for what `reference` means relative to `base`.
    pub(crate) fn relative(method: Method, base: &Url, reference: &str) -> Result<Self, Error> {
        let url = base.join(reference).map_err(|error| {
            Error::new(ErrorKind::InvalidUrl, Phase::Request).with_source(error)
        })?;
        crate::url::check(&url)?;
        Self::for_url(method, url)
    }

    fn for_url(method: Method, url: Url) -> Result<Self, Error> {
        let mut request = Self { parts: Recycle::new(), body: Body::empty() };
        request.parts.head.set_method(method);
        request.set_url(url)?;
        Ok(request)
    }

    /// Replaces the URL.
    pub(crate) fn set_url(&mut self, mut url: Url) -> Result<(), Error> {
        // A fragment is not part of the target (RFC 9112 §3.2): it is never sent.
        if url.fragment().is_some() {
            url.set_fragment(None);
        }
        let set = self.parts.head.set_target(crate::url::target(&url));
        set.map_err(|misuse| Error::misuse(misuse, Phase::Request))?;
        self.parts.url = Some(url);
        Ok(())
    }

    /// Adds `pairs` to the query of the URL, if there are any.
    #[cfg(feature = "json")]
    pub(crate) fn add_query<T: serde::Serialize + ?Sized>(
        &mut self,
        pairs: &T,
    ) -> Result<(), Error> {
        let invalid = |detail: &dyn fmt::Display| {
            Error::new(ErrorKind::InvalidUrl, Phase::Request).with_detail(detail)
        };
        let added = serde_urlencoded::to_string(pairs).map_err(|error| invalid(&error))?;
        let Some(mut url) = self.parts.url.take() else {
            return Err(invalid(&"a query needs a whole URL"));
        };
        if !added.is_empty() {
            let query = match url.query().filter(|query| !query.is_empty()) {
                Some(query) => format!("{query}&{added}"),
                None => added,
            };
            url.set_query(Some(&query));
        }
        self.set_url(url)
    }

    /// Replaces the content, and adds its type unless there is one.
    #[cfg(any(feature = "json", feature = "multipart"))]
    pub(crate) fn set_content(&mut self, content_type: &str, body: Body) -> Result<(), Error> {
        if self.field("content-type").is_none() {
            self.fields_mut().push("content-type", content_type.as_bytes())?;
        }
        self.body = body;
        Ok(())
    }

    /// A GET request.
    ///
    /// # Errors
    /// As [`Request::new`].
    pub fn get(target: &str) -> Result<Self, Error> {
        Self::new(Method::GET, target)
    }

    /// A POST request with content.
    ///
    /// # Errors
    /// As [`Request::new`].
    pub fn post<K>(target: &str, body: impl IntoBody<K>) -> Result<Self, Error> {
        Ok(Self::new(Method::POST, target)?.with_body(body))
    }

    /// A request to the proxy at the URL `proxy` for a tunnel to `authority`, `host:port`. Send it
    /// with [`Client::switch`](crate::Client::switch).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`](crate::ErrorKind::InvalidUrl) if either is malformed.
    pub fn connect(proxy: &str, authority: &str) -> Result<Self, Error> {
        let mut request = Self::new(Method::CONNECT, authority)?;
        request.parts.url = Some(crate::url::parse(proxy)?);
        Ok(request)
    }

    /// A request for a tunnel of `protocol`, such as `websocket`, to what the URL names, over HTTP/2
    /// (RFC 8441). Send it with [`Client::switch`](crate::Client::switch). A server has to allow it,
    /// which ours does if [`extended_connect`](crate::limits::WireLimits::http2) says so.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`](crate::ErrorKind::InvalidUrl) if the URL is malformed, or the protocol is no token.
    pub fn extended_connect(url: &str, protocol: &str) -> Result<Self, Error> {
        let mut request = Self::new(Method::GET, url)?;
        let head = RequestHead::extended_connect(protocol, request.target());
        request.parts.head = head.map_err(|misuse| Error::misuse(misuse, Phase::Request))?;
        Ok(request)
    }

    /// Adds a field. A Host replaces the one that would be made from the URL, until a redirect leads
    /// elsewhere. A Content-Length that is not that of the content makes the request fail with
    /// [`Misuse::ContentLength`].
    ///
    /// # Errors
    /// [`Misuse::FieldName`], [`Misuse::FieldValue`]: what could split the message is refused.
    pub fn with_field(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, Misuse> {
        self.parts.head.fields_mut().push(name, value.as_ref())?;
        Ok(self)
    }

    /// How long this exchange may take in all, from the call that sends it to the last byte of content,
    /// waiting for a connection and redirects included; in place of the client's
    /// [`total`](crate::ClientTime::total) and [`head`](crate::ClientTime::head). Its other limits, such
    /// as [`read_idle`](crate::ClientTime::read_idle), hold.
    ///
    /// ```
    /// # async fn example(client: stoop::Client) -> Result<(), stoop::Error> {
    /// use std::time::Duration;
    /// use stoop::Request;
    ///
    /// let report = Request::get("https://example.com/report")?.timeout(Duration::from_secs(600));
    /// client.send(report).await?;
    /// // Events may be hours apart.
    /// client.send(Request::get("https://example.com/events")?.without_deadlines()).await?;
    /// # Ok(()) }
    /// ```
    pub fn timeout(mut self, total: Duration) -> Self {
        self.parts.deadlines = RequestDeadlines::Total(total);
        self
    }

    /// Has this request sent over these versions, whatever the client's are: over connections of its own,
    /// where they differ. HTTP/2 without TLS is spoken without asking whether the server understands it.
    /// [`Versions::All`] leaves the choice to the client, as by default.
    ///
    /// ```
    /// # async fn example(client: stoop::Client) -> Result<(), stoop::Error> {
    /// let legacy = client.get("https://example.com/").versions(stoop::Versions::Http1).await?;
    /// assert_eq!(legacy.version(), stoop::Version::HTTP_11);
    /// # Ok(()) }
    /// ```
    pub fn versions(mut self, versions: Versions) -> Self {
        self.parts.versions = Some(versions);
        self
    }

    /// Has this request, and those that redirects lead to, sent to public addresses alone, as a redirect from a public server
    /// is unless the client [may follow it to private ones](crate::ClientBuilder::allow_private): by the address that is
    /// connected to, so that a name cannot lead elsewhere. Of a request through a proxy that resolves names, addresses in the
    /// URL alone count. Not for Unix sockets and [connectors](crate::rt::connector). Another address is
    /// [`AddressDenied`](crate::ErrorKind::AddressDenied), and behind a redirect
    /// [`RedirectDenied`](crate::ErrorKind::RedirectDenied).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::{Client, ErrorKind, Request};
    ///
    /// let inside = Request::get("http://127.0.0.1:1/")?.public_only();
    /// let error = Client::new().send(inside).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AddressDenied);
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn public_only(mut self) -> Self {
        self.parts.is_public_only = true;
        self
    }

    /// Whether the content of the response is [decoded](crate::ClientBuilder::decode_content), whatever the client
    /// does. If not, no Accept-Encoding is added either.
    #[cfg(feature = "compression")]
    pub fn decode_content(mut self, decodes: bool) -> Self {
        self.parts.decodes = Some(decodes);
        self
    }

    /// Lets this exchange take as long as it likes: it has no deadline in all or to the response's head,
    /// nor a limit for how long nothing moves or how slowly content comes. Resolving the name, connecting
    /// and the TLS handshake keep theirs. So does an HTTP/2 connection as a whole, which fails if the
    /// server takes nothing of it for [`send_idle`](crate::ClientTime::send_idle), or does not answer a
    /// PING within [`ping_timeout`](crate::limits::Http2Limits::ping_timeout).
    pub fn without_deadlines(mut self) -> Self {
        self.parts.deadlines = RequestDeadlines::Endless;
        self
    }

    /// Replaces the content.
    pub fn with_body<K>(mut self, body: impl IntoBody<K>) -> Self {
        self.body = body.into_body();
        self
    }
}
