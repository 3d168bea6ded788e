//! Requests: received by a server, sent by a client, one type.

#[cfg(feature = "digest-auth")]
pub(crate) mod digest;
pub(crate) mod interim;
mod parts;
mod past_redirect;
pub(crate) mod relay;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Extensions, Method, Version};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::PeerCertificate;
use stoop_proto::{Fields, Misuse, RequestHead};
use url::Url;

use crate::body::{Body, IntoBody};
use crate::conn::recycle::Recycle;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::connection_info::TlsFacts;
use crate::connection_info::{ConnectionFacts, ConnectionInfo};
use crate::drain::Draining;
use crate::error::{Error, ErrorKind, Phase};
use crate::header_map::{from_map, into_map};
use crate::versions::Versions;

pub use interim::{InterimError, InterimSender};
pub(crate) use parts::{RequestDeadlines, RequestParts};
pub use past_redirect::PastRedirect;

/// A request: a head, content, and where it came from. 48 bytes, cheap to move.
///
/// ```
/// use stoop::Request;
///
/// let request = Request::post("https://example.com/things", "new")?
///     .with_field("content-type", "text/plain")?;
/// assert_eq!(request.method(), "POST");
/// # Ok::<(), stoop::Error>(())
/// ```
pub struct Request {
    pub(crate) parts: Recycle<RequestParts>,
    pub(crate) body: Body,
}

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

    /// A copy of the request, if its content can be sent twice: a stream cannot.
    pub fn try_clone(&self) -> Option<Self> {
        Some(Self { parts: self.parts.clone(), body: self.body.try_clone()? })
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

    /// The method.
    pub fn method(&self) -> &Method {
        self.parts.head.method()
    }

    /// The request-target as it was sent; of a request that was made for a URL, its path and query.
    pub fn target(&self) -> &str {
        self.parts.head.target()
    }

    /// The path, without query.
    pub fn path(&self) -> &str {
        self.parts.head.path()
    }

    /// What follows the first `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.parts.head.query()
    }

    /// Host and port the request is for.
    pub fn authority(&self) -> &str {
        match (self.parts.head.authority(), &self.parts.url) {
            ("", Some(url)) => crate::url::authority(url),
            (named, _) => named,
        }
    }

    /// The version the client speaks.
    pub fn version(&self) -> Version {
        self.parts.head.version()
    }

    /// The protocol that an extended CONNECT asks for, such as `websocket` (RFC 8441 §4).
    pub fn protocol(&self) -> Option<&str> {
        self.parts.head.protocol()
    }

    /// The value of the first field of that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.parts.head.fields().first(name)
    }

    /// All fields.
    pub fn fields(&self) -> &Fields {
        self.parts.head.fields()
    }

    /// All fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        self.parts.head.fields_mut()
    }

    /// The head.
    pub fn head(&self) -> &RequestHead {
        &self.parts.head
    }

    /// What the caller keeps with the request: it is never sent. Nothing is allocated for none.
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// What the caller keeps with the request, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.parts.extensions
    }

    /// Where a client sends it, without credentials once that has begun; `None` for one that was received, or made for
    /// a path alone.
    pub fn url(&self) -> Option<&str> {
        self.parts.url.as_ref().map(Url::as_str)
    }

    /// The client's address, if it came over TCP.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.parts.peer?.inet()
    }

    /// The connection that it came over; `None` for one that was made here.
    ///
    /// ```
    /// use stoop::Request;
    ///
    /// fn who(request: Request) -> String {
    ///     let Some(connection) = request.connection() else { return "it was made here".to_owned() };
    ///     format!("{:?} over {:?}", connection.remote_address(), connection.version())
    /// }
    /// ```
    pub fn connection(&self) -> Option<ConnectionInfo> {
        self.parts.peer?;
        Some(ConnectionInfo {
            remote: self.remote_address(),
            version: self.version(),
            is_reused: self.parts.is_reused,
            carried: self.parts.carried,
            proxy: self.parts.facts.as_ref().and_then(|facts| facts.proxy.as_deref().copied()),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: self.tls_facts().and_then(|tls| tls.session),
        })
    }

    /// What sends interim responses, such as 103 (RFC 8297), ahead of the response to this request. `None` where none
    /// may be sent: to a client of HTTP/1.0 (RFC 9110 §15.2), by a server whose
    /// [`ServerLimits::interim_responses_max`](crate::ServerLimits::interim_responses_max) is 0, as by default, and of
    /// a request that was made here. A 100 (Continue) is sent by the server itself when the content is first read.
    ///
    /// ```
    /// use stoop::{Request, Response, Server, ServerLimits};
    ///
    /// async fn page(request: Request) -> Response {
    ///     if let Some(interim) = request.interim() {
    ///         let _ = interim.early_hints(["</style.css>; rel=preload; as=style"]);
    ///     }
    ///     tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    ///     Response::from_text("here it is")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut limits = ServerLimits::default();
    /// limits.interim_responses_max = 1;
    /// let server = Server::listen("127.0.0.1:0")?.limits(limits).run_here(page)?;
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn interim(&self) -> Option<InterimSender> {
        self.parts.interim.clone()
    }

    /// The certificate that the client has shown, if the server asks for one by
    /// [`client_ca_file`](crate::tls::ServerTlsBuilder::client_ca_file) and it has: verified, with the names in it.
    ///
    /// ```
    /// use stoop::Request;
    ///
    /// fn who(request: Request) -> String {
    ///     match request.client_certificate() {
    ///         Some(shown) => shown.common_name().unwrap_or("without a name").to_owned(),
    ///         None => "anonymous".to_owned(),
    ///     }
    /// }
    /// ```
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn client_certificate(&self) -> Option<&PeerCertificate> {
        self.tls_facts()?.client_certificate.as_ref()
    }

    /// The name of the server that the client has asked for in the TLS handshake, by SNI (RFC 6066 §3), in lower case.
    /// It need not be that of the [authority](Self::authority): a client may ask for several names over one connection.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn server_name(&self) -> Option<&str> {
        self.tls_facts()?.server_name.as_deref()
    }

    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    fn tls_facts(&self) -> Option<&TlsFacts> {
        self.parts.facts.as_ref()?.tls.as_deref()
    }

    /// A future that is done once the server that received this drains: see [`Draining`].
    pub fn draining(&self) -> Draining {
        Draining::new(self.parts.facts.as_ref().and_then(|facts| facts.drain.clone()))
    }

    /// The content.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The content, to read.
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.body
    }

    /// The content alone.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// The request as the `http` crate has it: method, target, version, fields, extensions and content, and as extensions
    /// the [`ConnectProtocol`] of an extended CONNECT, the [`InterimSender`], if there is one, and the
    /// [certificate](Self::client_certificate) of a client that has shown one. The authority of a request that was received over
    /// HTTP/2 is its Host.
    ///
    /// # Errors
    /// If the target is no URI by that crate's rules, which are narrower than ours.
    pub fn into_http(mut self) -> Result<http::Request<Body>, http::Error> {
        let uri = self.parts.url.as_ref().map_or(self.target(), Url::as_str);
        let mut request = http::Request::builder()
            .method(self.method().clone())
            .uri(uri)
            .version(self.version())
            .body(Body::empty())?;
        *request.headers_mut() = into_map(self.fields());
        *request.extensions_mut() = std::mem::take(&mut self.parts.extensions);
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        if let Some(shown) = self.client_certificate() {
            request.extensions_mut().insert(shown.clone());
        }
        if let Some(protocol) = self.protocol() {
            request.extensions_mut().insert(ConnectProtocol(protocol.into()));
        }
        if let Some(interim) = self.parts.interim.take() {
            request.extensions_mut().insert(interim);
        }
        *request.body_mut() = self.body;
        Ok(request)
    }
}

/// Method, URI, version, fields, extensions and content; a [`Draining`] among the extensions becomes its
/// [`draining`](Request::draining). The version is that of a request that came; a client sends in the one that it
/// speaks with the server.
impl TryFrom<http::Request<Body>> for Request {
    type Error = Error;
    fn try_from(request: http::Request<Body>) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let mut parts = parts;
        let uri = parts.uri.to_string();
        let mut ours = match parts.extensions.remove::<ConnectProtocol>() {
            Some(ConnectProtocol(protocol)) if uri.starts_with('/') => {
                let head = RequestHead::extended_connect(&protocol, &uri);
                let mut ours = Self { parts: Recycle::new(), body: Body::empty() };
                ours.parts.head = head.map_err(|misuse| Error::misuse(misuse, Phase::Request))?;
                ours
            }
            Some(ConnectProtocol(protocol)) => Self::extended_connect(&uri, &protocol)?,
            None => Self::new(parts.method, &uri)?,
        };
        ours.parts.head.set_version(parts.version);
        ours.parts.interim = parts.extensions.remove();
        if let Some(draining) = parts.extensions.remove::<Draining>() {
            let facts = ConnectionFacts { drain: draining.state(), ..Default::default() };
            ours.parts.facts = Some(Arc::new(facts));
        }
        ours.parts.extensions = parts.extensions;
        from_map(&parts.headers, ours.fields_mut());
        ours.body = body;
        Ok(ours)
    }
}

/// The protocol that an extended CONNECT asks for (RFC 8441 §4), as an extension of an `http::Request`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectProtocol(Box<str>);

impl ConnectProtocol {
    /// Its name, such as `websocket`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.parts.head, self.body)
    }
}

const _: () = assert!(size_of::<Request>() <= 64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::DrainState;

    #[test]
    fn version_and_extensions_were_lost_on_the_way_from_the_http_crate() {
        let mut theirs =
            http::Request::builder().method("PUT").uri("http://a/b?c").body("d".into());
        let theirs: &mut http::Request<Body> = theirs.as_mut().unwrap();
        *theirs.version_mut() = Version::HTTP_2;
        theirs.headers_mut().insert("x", http::HeaderValue::from_static("y"));
        theirs.extensions_mut().insert(7u32);
        let ours = Request::try_from(std::mem::take(theirs)).unwrap();
        assert_eq!((ours.version(), ours.extensions().get()), (Version::HTTP_2, Some(&7u32)));
        assert_eq!(
            (ours.method(), ours.target(), ours.field("x")),
            (&Method::PUT, "/b?c", Some(&b"y"[..]))
        );
        let back = ours.into_http().unwrap();
        assert_eq!((back.version(), back.extensions().get()), (Version::HTTP_2, Some(&7u32)));
        assert_eq!((back.method(), &*back.uri().to_string()), (&Method::PUT, "http://a/b?c"));
        assert_eq!((&back.headers()["x"], back.body().len()), (&"y".parse().unwrap(), Some(1)));
    }

    #[test]
    fn the_protocol_of_an_extended_connect_was_lost_on_the_way_to_the_http_crate() {
        for url in ["http://a/chat?b", "/chat?b"] {
            let ours = match url.starts_with('/') {
                true => {
                    let mut ours = Request::get("/").unwrap();
                    ours.parts.head = RequestHead::extended_connect("websocket", url).unwrap();
                    ours
                }
                false => Request::extended_connect(url, "websocket").unwrap(),
            };
            let theirs = ours.into_http().unwrap();
            assert_eq!(theirs.extensions().get(), Some(&ConnectProtocol("websocket".into())));
            let back = Request::try_from(theirs).unwrap();
            assert_eq!((back.method(), back.target()), (&Method::CONNECT, "/chat?b"));
            assert_eq!(
                (back.protocol(), back.url().is_some()),
                (Some("websocket"), url.len() > 10)
            );
        }
    }

    #[test]
    fn the_draining_of_a_server_was_lost_on_the_way_from_the_http_crate() {
        let state = Arc::new(DrainState::default());
        let mut theirs = http::Request::new(Body::empty());
        theirs.extensions_mut().insert(Draining::new(Some(state.clone())));
        let ours = Request::try_from(theirs).unwrap();
        assert!(!ours.draining().is_draining() && ours.connection().is_none());
        state.begin();
        assert!(ours.draining().is_draining());
    }

    /// The parts are used again, by the next request.
    #[test]
    fn what_was_kept_with_a_request_is_gone_with_it() {
        let mut request = Request::get("/").unwrap().without_deadlines();
        request.extensions_mut().insert("secret");
        let kept = &raw const *request.parts;
        drop(request);
        let next = Request::get("/").unwrap();
        assert!(std::ptr::eq(kept, &raw const *next.parts));
        assert!(
            next.extensions().is_empty()
                && matches!(next.parts.deadlines, RequestDeadlines::Default)
        );
    }
}
