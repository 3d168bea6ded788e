//! A request that is described step by step and then sent.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::Method;

use crate::body::IntoBody;
use crate::client::Client;
#[cfg(feature = "json")]
use crate::error::BoxError;
use crate::error::Error;
#[cfg(feature = "json")]
use crate::error::{ErrorKind, Phase};
use crate::request::Request;
use crate::response::Response;
use crate::versions::Versions;

impl Client {
    /// Describes a request of any method for `url`, which may be relative to the
    /// [base URL](super::ClientBuilder::base_url). [`send`](RequestBuilder::send) sends it.
    pub fn request(&self, method: Method, url: impl AsRef<str>) -> RequestBuilder {
        RequestBuilder::new(self.clone(), method, url.as_ref())
    }

    /// Describes a GET request for `url`: see [`Client::request`].
    pub fn get(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::GET, url)
    }

    /// Describes a HEAD request for `url`: see [`Client::request`].
    pub fn head(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::HEAD, url)
    }

    /// Describes a POST request for `url`: see [`Client::request`].
    pub fn post(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::POST, url)
    }

    /// Describes a PUT request for `url`: see [`Client::request`].
    pub fn put(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::PUT, url)
    }

    /// Describes a PATCH request for `url`: see [`Client::request`].
    pub fn patch(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::PATCH, url)
    }

    /// Describes a DELETE request for `url`: see [`Client::request`].
    pub fn delete(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::DELETE, url)
    }
}

/// Describes a request of a [`Client`], and sends it.
///
/// A step that fails, such as a field value with CR LF in it, makes [`send`](Self::send) and
/// [`build`](Self::build) fail; the first error is the one that is returned.
///
/// ```
/// # use stoop::{Request, Response};
/// # async fn hello(request: Request) -> Response { Response::from_text(request.target().to_owned()) }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let client = stoop::Client::builder().handler(hello).build()?;
/// use std::time::Duration;
///
/// let response = client
///     .put("http://example.com/things/17")
///     .header("accept", "text/plain")
///     .timeout(Duration::from_secs(10))
///     .body("new")
///     .send()
///     .await?;
/// assert_eq!(response.status(), 200);
/// // Without `send`, awaiting it sends it too.
/// let response = client.get("http://example.com/").await?;
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
#[must_use = "nothing is sent before `send` is awaited"]
pub struct RequestBuilder {
    pub(crate) client: Client,
    request: Result<Request, Error>,
    /// The content was encoded by a step, and its field says so.
    #[cfg(feature = "compression")]
    is_encoded: bool,
}

impl RequestBuilder {
    pub(super) fn new(client: Client, method: Method, url: &str) -> Self {
        let request = client.0.request(method, url);
        Self {
            client,
            request,
            #[cfg(feature = "compression")]
            is_encoded: false,
        }
    }

    /// Makes ready for other content, which is not encoded.
    #[cfg_attr(not(feature = "compression"), expect(unused_mut, reason = "nothing is encoded"))]
    fn without_content(mut self) -> Self {
        #[cfg(feature = "compression")]
        if std::mem::take(&mut self.is_encoded)
            && let Ok(request) = &mut self.request
        {
            request.fields_mut().remove("content-encoding");
        }
        self
    }

    /// Applies a step, unless one has failed before.
    fn step(mut self, step: impl FnOnce(&mut Request) -> Result<(), Error>) -> Self {
        if let Ok(request) = &mut self.request
            && let Err(error) = step(request)
        {
            self.request = Err(error);
        }
        self
    }

    /// Replaces the request by what `step` makes of it, unless a step has failed before.
    fn map(mut self, step: impl FnOnce(Request) -> Request) -> Self {
        self.request = self.request.map(step);
        self
    }

    /// Adds a field. One that the client has a [default](super::ClientBuilder::default_header) for replaces
    /// the default.
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        self.step(|request| Ok(request.fields_mut().push(name.as_ref(), value.as_ref())?))
    }

    /// Adds all fields of a map of the `http` crate.
    pub fn headers(self, headers: &http::HeaderMap) -> Self {
        self.step(|request| {
            crate::header_map::from_map(headers, request.fields_mut());
            Ok(())
        })
    }

    /// Sets credentials by the Basic scheme (RFC 7617). Over http, and not https, everyone on the way can
    /// read them.
    pub fn basic_auth(self, user: impl AsRef<str>, password: impl AsRef<str>) -> Self {
        let credentials = format!("{}:{}", user.as_ref(), password.as_ref());
        self.authorization(format!("Basic {}", BASE64_STANDARD.encode(credentials)))
    }

    /// Answers a challenge of the server by the Digest scheme (RFC 7616), with the strongest hash that it offers: the
    /// request is sent without credentials, and again if it is answered by 401. Content is sent both times, and a
    /// stream only if it is [replayable](crate::Body::replayable). Other origins, after a redirect, get no answer.
    #[cfg(feature = "digest-auth")]
    pub fn digest_auth(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        let (user, password) = (user.into(), password.into());
        self.step(|request| {
            let credentials =
                crate::request::digest::DigestCredentials { user, password, answered: 0 };
            request.parts.digest = Some(Box::new(credentials));
            Ok(())
        })
    }

    /// Sets a token by the Bearer scheme (RFC 6750).
    pub fn bearer_auth(self, token: impl AsRef<str>) -> Self {
        self.authorization(format!("Bearer {}", token.as_ref()))
    }

    /// There is one Authorization (RFC 9110 §11.6.2).
    fn authorization(self, value: String) -> Self {
        self.step(|request| Ok(request.fields_mut().set("authorization", value.as_bytes())?))
    }

    /// Replaces the content.
    pub fn body<K>(self, body: impl IntoBody<K>) -> Self {
        self.without_content().map(|request| request.with_body(body))
    }

    /// Adds what `pairs` is in `application/x-www-form-urlencoded` to the query of the URL: a slice of
    /// pairs, a map, or a struct.
    ///
    /// ```
    /// # let client = stoop::Client::new();
    /// let request = client.get("http://a.example/?a=1").query(&[("q", "x y"), ("page", "2")]).build()?;
    /// assert_eq!(request.target(), "/?a=1&q=x+y&page=2");
    /// # Ok::<(), stoop::Error>(())
    /// ```
    #[cfg(feature = "json")]
    pub fn query<T: serde::Serialize + ?Sized>(self, pairs: &T) -> Self {
        self.step(|request| request.add_query(pairs))
    }

    /// Makes `pairs` the content, in `application/x-www-form-urlencoded`, with that Content-Type unless the
    /// request has one.
    #[cfg(feature = "json")]
    pub fn form<T: serde::Serialize + ?Sized>(self, pairs: &T) -> Self {
        self.without_content().step(|request| {
            let content = serde_urlencoded::to_string(pairs).map_err(unserializable)?;
            request.set_content("application/x-www-form-urlencoded", content.into())
        })
    }

    /// Makes the JSON of `value` the content, with the Content-Type `application/json` unless the request
    /// has one.
    #[cfg(feature = "json")]
    pub fn json<T: serde::Serialize + ?Sized>(self, value: &T) -> Self {
        self.without_content().step(|request| {
            let content = serde_json::to_vec(value).map_err(unserializable)?;
            request.set_content("application/json", content.into())
        })
    }

    /// Makes a form with files the content, with its Content-Type.
    #[cfg(feature = "multipart")]
    pub fn multipart(self, form: crate::body::Form) -> Self {
        let content_type = form.content_type();
        self.without_content().step(|request| request.set_content(&content_type, form.into_body()))
    }

    /// How long the exchange may take in all: see [`Request::timeout`].
    pub fn timeout(self, total: Duration) -> Self {
        self.map(|request| request.timeout(total))
    }

    /// Sends it over these versions of HTTP, whatever the client's are: see [`Request::versions`].
    pub fn versions(self, versions: Versions) -> Self {
        self.map(|request| request.versions(versions))
    }

    /// Sends it, and what redirects lead to, to public addresses alone: see [`Request::public_only`].
    pub fn public_only(self) -> Self {
        self.map(Request::public_only)
    }

    /// Encodes the content, and adds the Content-Encoding that says so: see
    /// [`Body::encoded`](crate::Body::encoded). For the content that was given before; no content stays none.
    ///
    /// ```
    /// # async fn example(client: stoop::Client, report: String) -> Result<(), stoop::Error> {
    /// use stoop::body::ContentCoding;
    ///
    /// client.post("https://example.com/reports").body(report).encode(ContentCoding::Gzip).send().await?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "compression")]
    pub fn encode(mut self, coding: crate::body::ContentCoding) -> Self {
        if self.request.as_ref().map_or(true, |request| request.body.is_empty()) {
            return self;
        }
        self.is_encoded = true;
        self.step(|request| {
            request.body = std::mem::take(&mut request.body).encoded(coding);
            Ok(request.fields_mut().push("content-encoding", coding.as_str().as_bytes())?)
        })
    }

    /// Whether the content of the response is decoded: see [`Request::decode_content`].
    #[cfg(feature = "compression")]
    pub fn decode_content(self, decodes: bool) -> Self {
        self.map(|request| request.decode_content(decodes))
    }

    /// Lets the exchange take as long as it likes: see [`Request::without_deadlines`].
    pub fn without_deadlines(self) -> Self {
        self.map(Request::without_deadlines)
    }

    /// Keeps a value with the request, for middleware and for a [handler](super::ClientBuilder::handler) that
    /// is called in place of a server. It is never sent.
    pub fn extension<T: Clone + Send + Sync + 'static>(self, value: T) -> Self {
        self.step(|request| {
            request.extensions_mut().insert(value);
            Ok(())
        })
    }

    /// The request, to be sent by [`Client::send`].
    ///
    /// # Errors
    /// That of the first step that failed.
    pub fn build(self) -> Result<Request, Error> {
        self.request
    }

    /// A second builder of the same request, if its content can be sent twice: a stream cannot.
    pub fn try_clone(&self) -> Option<Self> {
        let request = self.request.as_ref().ok()?.try_clone()?;
        Some(Self {
            client: self.client.clone(),
            request: Ok(request),
            #[cfg(feature = "compression")]
            is_encoded: self.is_encoded,
        })
    }

    /// Sends the request and waits for the head of its response: see [`Client::send`].
    ///
    /// # Errors
    /// As [`Client::send`], and that of the first step that failed.
    pub async fn send(self) -> Result<Response, Error> {
        self.client.send(self.request?).await
    }
}

#[cfg(feature = "json")]
fn unserializable(error: impl Into<BoxError>) -> Error {
    Error::new(ErrorKind::InvalidMessage, Phase::Request).with_source(error)
}

impl IntoFuture for RequestBuilder {
    type Output = Result<Response, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Ok(request) => write!(f, "RequestBuilder({request:?})"),
            Err(error) => write!(f, "RequestBuilder({error})"),
        }
    }
}
