//! Making a response: of text, bytes or a stream, with fields, and what becomes of its connection.

use std::any::Any;

use bytes::Bytes;
use http::{Extensions, StatusCode};
use stoop_proto::Misuse;

use super::{Payload, Response, SentHook, SentResponse};
use crate::body::{Body, IntoBody, Kind};
use crate::error::BoxError;
use crate::limits::COLLECT_BYTES_MAX;
use crate::upgrade::{OnUpgrade, upgrade};

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
}

impl<B> Response<B> {
    /// 200 or another status, and nothing else that is not said here.
    pub(super) fn with_payload(
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
            next_attempt: None,
            hook: SentHook::default(),
        }
    }

    /// A response of ours where the handler has none that can be sent, for that reason.
    pub(crate) fn failure(status: StatusCode, why: &str) -> Self {
        Self::refusal(status, format!("{status}: {why}\n"))
    }

    /// A response of ours with a text that says why it is not the handler's.
    pub(crate) fn refusal(status: StatusCode, text: impl Into<Bytes>) -> Self {
        let content_type = Some("text/plain; charset=utf-8");
        Self::with_payload(status, content_type, Payload::Full(text.into()))
    }

    /// 200 with content of any type, which need not be `Send` where the server's cores run it.
    pub fn from_stream(body: B) -> Self {
        Self::with_payload(StatusCode::OK, None, Payload::Stream(body))
    }

    /// Replaces the status.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Replaces the content by text in UTF-8, as `text/plain; charset=utf-8`: for what stands in place of another response.
    pub fn with_text(mut self, text: impl Into<Bytes>) -> Self {
        self.fields_mut().remove("content-type");
        self.content_type = Some("text/plain; charset=utf-8");
        self.payload = Payload::Full(text.into());
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
        self.tell_sent(tell);
        self
    }

    /// The same as [`on_sent`](Self::on_sent), of a response that stays where it is.
    pub fn tell_sent(&mut self, tell: impl FnOnce(SentResponse) + Send + 'static) {
        self.hook.add(tell);
    }

    /// Closes the connection after this response.
    pub fn with_close(mut self) -> Self {
        self.close = true;
        self
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
            None => Response::failure(StatusCode::INTERNAL_SERVER_ERROR, "its content was taken"),
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
            next_attempt: self.next_attempt,
            hook: self.hook,
        }
    }
}
