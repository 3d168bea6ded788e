//! Responses: sent by a server, received by a client, one type.

mod http_crate;
mod into_response;
mod read;
mod received;
mod save;
mod sent;
mod tuples;

use std::any::Any;
use std::fmt;

use bytes::Bytes;
use http::{Extensions, StatusCode, Version};
use stoop_proto::{BodySize, Fields, Misuse, ResponseHead};

use crate::body::{Body, IntoBody, Kind};
use crate::conn::recycle::Recycle;
use crate::error::BoxError;
use crate::limits::COLLECT_BYTES_MAX;
use crate::request::RequestParts;
use crate::upgrade::{OnUpgrade, UpgradeSender, upgrade};

pub use into_response::IntoResponse;
pub(crate) use read::Asked;
pub(crate) use sent::SentHook;
pub use sent::{CutShort, SentResponse};

static NO_FIELDS: Fields = Fields::new();

/// A response: status, fields, content.
///
/// The short ways to make one ([`from_text`](Response::from_text), [`from_bytes`](Response::from_bytes),
/// [`from_status`](Response::from_status)) allocate nothing.
///
/// ```
/// use stoop::Response;
///
/// let response = Response::from_text("Hello, world!").with_field("cache-control", "no-store")?;
/// assert_eq!(response.status(), 200);
/// # Ok::<(), stoop::Misuse>(())
/// ```
pub struct Response<B = Body> {
    status: StatusCode,
    content_type: Option<&'static str>,
    head: Option<Recycle<ResponseHead>>,
    pub(crate) payload: Payload<B>,
    pub(crate) upgrade: Option<UpgradeSender>,
    pub(crate) close: bool,
    pub(crate) redirects: u16,
    /// How many bytes of content may be collected.
    pub(crate) collect_max: u64,
    /// How many bytes of content may be written to a file.
    pub(crate) save_max: u64,
    extensions: Extensions,
    /// The request it answers, as it was sent last.
    pub(crate) sent: Option<Recycle<RequestParts>>,
    /// Who is to be told when it was sent.
    pub(crate) hook: SentHook,
}

/// Content, told apart so that buffers need no stream.
pub(crate) enum Payload<B> {
    Full(Bytes),
    Stream(B),
}

impl Response {
    /// An answer without content.
    pub fn from_status(status: StatusCode) -> Self {
        Self::with_payload(status, None, Payload::Full(Bytes::new()))
    }

    /// 200 with text in UTF-8, as `text/plain; charset=utf-8`: without a charset, clients guess one. A
    /// Content-Type by [`Response::with_field`] replaces it.
    pub fn from_text(text: impl Into<Bytes>) -> Self {
        let content_type = Some("text/plain; charset=utf-8");
        Self::with_payload(StatusCode::OK, content_type, Payload::Full(text.into()))
    }

    /// 200 with JSON text, as `application/json`.
    pub fn from_json(text: impl Into<Bytes>) -> Self {
        Self::with_payload(StatusCode::OK, Some("application/json"), Payload::Full(text.into()))
    }

    /// 200 with bytes, as `application/octet-stream`.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        let content_type = Some("application/octet-stream");
        Self::with_payload(StatusCode::OK, content_type, Payload::Full(bytes.into()))
    }

    /// 200 with any content, without a Content-Type.
    pub fn new<K>(body: impl IntoBody<K>) -> Self {
        let payload = match body.into_body().0 {
            Kind::Empty => Payload::Full(Bytes::new()),
            Kind::Full(bytes) => Payload::Full(bytes),
            kind => Payload::Stream(Body(kind)),
        };
        Self::with_payload(StatusCode::OK, None, payload)
    }

    /// 101: the connection becomes `protocol`'s, if the request offered it by Upgrade and
    /// `Connection: upgrade` (RFC 9110 §7.8); else 501 is sent instead. The future gives the
    /// connection once the answer is on its way: take it in a task of its own. Over HTTP/2 it is the
    /// request's stream, if the request is an extended CONNECT, and the answer is 200 (RFC 8441).
    pub fn upgrade(protocol: &str) -> Result<(Self, OnUpgrade), Misuse> {
        let response = Self::from_status(StatusCode::SWITCHING_PROTOCOLS);
        let mut response = response.with_field("upgrade", protocol)?;
        let (sender, receiver) = upgrade();
        response.upgrade = Some(sender);
        Ok((response, receiver))
    }

    /// 200 to a CONNECT: the connection becomes a tunnel, over HTTP/2 the request's stream. Else as
    /// [`Response::upgrade`]. Without this, a 2xx to CONNECT is answered 501: a tunnel never opens by
    /// accident.
    pub fn tunnel() -> (Self, OnUpgrade) {
        let mut response = Self::from_status(StatusCode::OK);
        let (sender, receiver) = upgrade();
        response.upgrade = Some(sender);
        (response, receiver)
    }

    /// The content.
    pub fn into_body(self) -> Body {
        match self.payload {
            Payload::Full(bytes) => bytes.into(),
            Payload::Stream(body) => body,
        }
    }

    /// The content, to read.
    pub fn body_mut(&mut self) -> &mut Body {
        if let Payload::Full(bytes) = &mut self.payload {
            self.payload = Payload::Stream(std::mem::take(bytes).into());
        }
        match &mut self.payload {
            Payload::Stream(body) => body,
            Payload::Full(_) => unreachable!("made a stream above"),
        }
    }

    /// Whether the content is made, or received, while it is sent: it is neither in memory nor a file.
    pub fn is_streamed(&self) -> bool {
        match &self.payload {
            Payload::Full(_) => false,
            Payload::Stream(body) => body.is_streamed(),
        }
    }

    pub(crate) fn received(head: Recycle<ResponseHead>, body: Body) -> Self {
        let mut response = Self::with_payload(head.status(), None, Payload::Stream(body));
        response.head = Some(head);
        response
    }
}

impl<B> Response<B> {
    fn with_payload(
        status: StatusCode,
        content_type: Option<&'static str>,
        payload: Payload<B>,
    ) -> Self {
        Self {
            status,
            content_type,
            head: None,
            payload,
            upgrade: None,
            close: false,
            redirects: 0,
            collect_max: COLLECT_BYTES_MAX,
            save_max: u64::MAX,
            extensions: Extensions::new(),
            sent: None,
            hook: SentHook::default(),
        }
    }

    /// A response of ours, where the handler's cannot be sent.
    pub(crate) fn failure(status: StatusCode) -> Self {
        Self::with_payload(status, None, Payload::Full(Bytes::new()))
    }

    /// A response of ours with a text that says why the handler's cannot be sent.
    pub(crate) fn refusal(status: StatusCode, text: impl Into<Bytes>) -> Self {
        let content_type = Some("text/plain; charset=utf-8");
        Self::with_payload(status, content_type, Payload::Full(text.into()))
    }

    /// 200 with content of any type, which need not be `Send` where the server's cores run it.
    pub fn from_stream(body: B) -> Self {
        Self::with_payload(StatusCode::OK, None, Payload::Stream(body))
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Replaces the status.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a field. A Content-Length that is not that of the content is a defect of the handler, and an
    /// empty 500 is sent in place of the response.
    ///
    /// # Errors
    /// [`Misuse::FieldName`], [`Misuse::FieldValue`]: what could split the message is refused.
    pub fn with_field(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, Misuse> {
        self.fields_mut().push(name, value.as_ref())?;
        Ok(self)
    }

    /// Has `tell` called once, when all of the response is the kernel's or it is known that not all of it will be:
    /// after the client has left, after its content has failed, or if it is dropped before it is sent. Functions that
    /// are given one after the other are all called, in that order. An upgrade or a tunnel is sent with its head.
    ///
    /// It runs on the connection's core: what blocks there blocks all its connections. A response that was received
    /// by a client tells that it was dropped.
    ///
    /// ```
    /// use stoop::{Request, Response};
    ///
    /// fn hello(_: Request) -> Response {
    ///     Response::from_text("Hello, world!").on_sent(|sent| match sent.cut_short() {
    ///         None => println!("{} bytes", sent.content_bytes()),
    ///         Some(why) => println!("cut short: {why}"),
    ///     })
    /// }
    /// ```
    pub fn on_sent(mut self, tell: impl FnOnce(SentResponse) + Send + 'static) -> Self {
        self.hook.add(tell);
        self
    }

    /// Closes the connection after this response.
    pub fn with_close(mut self) -> Self {
        self.close = true;
        self
    }

    /// The version the server speaks; HTTP/1.1 for one that was made here.
    pub fn version(&self) -> Version {
        self.head.as_ref().map_or(Version::HTTP_11, |head| head.version())
    }

    /// The fields; without the Content-Type of the short ways to make a response.
    pub fn fields(&self) -> &Fields {
        self.head.as_ref().map_or(&NO_FIELDS, |head| head.fields())
    }

    /// The fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        self.head.get_or_insert_with(Recycle::new).fields_mut()
    }

    /// What the caller keeps with the response: it is never sent. Nothing is allocated for none.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// What the caller keeps with the response, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// The value of the first field of that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let found = self.fields().first(name);
        let typed = name.eq_ignore_ascii_case("content-type");
        found.or_else(|| self.content_type.filter(|_| typed).map(str::as_bytes))
    }

    pub(crate) fn content_type(&self) -> Option<&'static str> {
        self.content_type
    }
}

impl<B: http_body::Body> Response<B> {
    pub(crate) fn size(&self) -> BodySize {
        match &self.payload {
            Payload::Full(bytes) => BodySize::Exact(bytes.len() as u64),
            Payload::Stream(body) => {
                body.size_hint().exact().map_or(BodySize::Unknown, BodySize::Exact)
            }
        }
    }
}

impl<B> Response<B>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// The response with content of the type [`Body`], whatever the type of its own.
    #[inline]
    pub fn boxed(self) -> Response {
        let mut this = Some(self);
        let any: &mut dyn Any = &mut this;
        if let Some(same) = any.downcast_mut::<Option<Response>>().and_then(Option::take) {
            return same;
        }
        match this {
            Some(this) => this.into_other(),
            None => Response::failure(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// The response with content of the type [`Body`].
    fn into_other(self) -> Response {
        let payload = match self.payload {
            Payload::Full(bytes) => Payload::Full(bytes),
            Payload::Stream(body) => Payload::Stream(body.into_body()),
        };
        Response {
            status: self.status,
            content_type: self.content_type,
            head: self.head,
            payload,
            upgrade: self.upgrade,
            close: self.close,
            redirects: self.redirects,
            collect_max: self.collect_max,
            save_max: self.save_max,
            extensions: self.extensions,
            sent: self.sent,
            hook: self.hook,
        }
    }
}

impl<B> fmt::Debug for Response<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.status, self.fields())
    }
}
