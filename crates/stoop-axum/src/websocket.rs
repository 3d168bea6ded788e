//! [`WebSocketUpgrade`]: a WebSocket of stoop's in a handler of axum's.

use std::fmt;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use stoop::rt::UpgradedStream;
use stoop::{Body, ConnectProtocol, ConnectionInfo, Draining};
use stoop_websocket::{
    Deflate, Limits, Origins, PendingWebSocket, Refusal, ServerHandshake, WebSocket,
};

/// An extractor that opens a WebSocket of [`stoop_websocket`], over HTTP/1.1 and HTTP/2: with permessage-deflate, if
/// the handler wants it, Pings for silent clients, and no buffer of a connection that waits.
///
/// It takes the place of `axum::extract::ws::WebSocketUpgrade`, which works too. Its methods set the terms of a
/// [`ServerHandshake`]. Over HTTP/1.1 the request is a GET, over HTTP/2 a CONNECT, so that the route is one for
/// [`any`](axum::routing::any) method.
///
/// ```no_run
/// use axum::{Router, response::Response, routing::any};
/// use stoop_axum::WebSocketUpgrade;
/// use stoop_axum::stoop_websocket::Deflate;
///
/// async fn chat(upgrade: WebSocketUpgrade) -> Response {
///     upgrade.protocols(["chat"]).deflate(Deflate::default()).on_upgrade(|mut socket| async move {
///         while let Ok(Some(message)) = socket.recv().await {
///             if socket.send(message).await.is_err() {
///                 return;
///             }
///         }
///     })
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let app = Router::new().route("/chat", any(chat));
/// stoop_axum::serve("127.0.0.1:3000", app).await?;
/// # Ok(()) }
/// ```
///
/// | axum's `WebSocketUpgrade` | this one |
/// |---|---|
/// | `WebSocket`, `recv() -> Option<Result<Message, _>>` | [`WebSocket`], [`recv() -> Result<Option<Message>, _>`](WebSocket::recv) |
/// | `Stream`, `Sink`, `StreamExt::split` | the same, and [`WebSocket::split`] |
/// | `Message::Ping`, `Pong`, `Close` are received | [`WebSocket::recv_event`] has them; `recv` has messages alone |
/// | any page may connect | [`Origins::Same`], unless [`origins`](Self::origins) says otherwise |
/// | no compression | [`deflate`](Self::deflate) |
/// | `max_message_size`, `max_frame_size`, `max_write_buffer_size` | [`limits`](Self::limits), which has Pings and time-outs too |
/// | `on_failed_upgrade` | [`prepare`](Self::prepare), whose [`PendingWebSocket`] fails |
/// | is not told when the server drains | is closed with 1001 then, unless [`close_on_drain`](Self::close_on_drain) says otherwise |
///
/// As `Option<WebSocketUpgrade>` it is `None` if the request asks for no WebSocket, for a page and a socket on one route.
#[derive(Debug)]
#[must_use = "a WebSocket opens once its response is returned"]
pub struct WebSocketUpgrade {
    request: stoop::Request,
    handshake: ServerHandshake,
}

impl WebSocketUpgrade {
    /// Replaces the terms by those of a handshake, which many requests may share: the methods below change them.
    pub fn handshake(mut self, terms: ServerHandshake) -> Self {
        self.handshake = terms;
        self
    }

    /// Replaces the limits of the connection.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.handshake = self.handshake.limits(limits);
        self
    }

    /// The subprotocols that are spoken, the preferred one first: see [`ServerHandshake::protocols`].
    /// [`WebSocket::protocol`] tells which was chosen.
    pub fn protocols<P: Into<String>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.handshake = self.handshake.protocols(protocols);
        self
    }

    /// The pages that may connect: [`Origins::Same`] by default. Others are answered 403.
    pub fn origins(mut self, origins: Origins) -> Self {
        self.handshake = self.handshake.origins(origins);
        self
    }

    /// Compresses messages, if the client offers that it understands it. Off by default: see
    /// [`ServerHandshake::deflate`].
    pub fn deflate(mut self, deflate: Deflate) -> Self {
        self.handshake = self.handshake.deflate(deflate);
        self
    }

    /// Whether the socket is closed with 1001 once the server drains, which waits for that. Default: true.
    pub fn close_on_drain(mut self, closes: bool) -> Self {
        self.handshake = self.handshake.close_on_drain(closes);
        self
    }

    /// Opens the WebSocket and gives it to `serve`, in a task of the runtime that this is called on; or answers what is
    /// wrong with the request.
    pub fn on_upgrade<F, T>(self, serve: F) -> Response
    where
        F: FnOnce(WebSocket<UpgradedStream>) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        into_axum(self.handshake.accept(&self.request, serve))
    }

    /// The response that opens the connection, and what becomes the connection once that response is on its way. It is
    /// for who wants to choose the task, which has to be another than the handler's, or to learn of a failure.
    ///
    /// # Errors
    /// [`WebSocketRejection::Refused`] if the request may not have a WebSocket on these terms.
    pub fn prepare(self) -> Result<(Response, PendingWebSocket), WebSocketRejection> {
        let prepared = self.handshake.prepare(&self.request);
        let (response, pending) = prepared.map_err(WebSocketRejection::Refused)?;
        Ok((into_axum(response), pending))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WebSocketUpgrade {
    type Rejection = WebSocketRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        extract(parts)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for WebSocketUpgrade {
    type Rejection = WebSocketRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Self::Rejection> {
        use Refusal::{HttpVersion, Method, NotExtendedConnect, NotWebSocket};
        use WebSocketRejection::Refused;
        match extract(parts) {
            Err(Refused(Method | HttpVersion | NotWebSocket | NotExtendedConnect)) => Ok(None),
            extracted => extracted.map(Some),
        }
    }
}

fn extract(parts: &Parts) -> Result<WebSocketUpgrade, WebSocketRejection> {
    let mut request = http::Request::new(Body::empty());
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.version_mut() = parts.version;
    *request.headers_mut() = parts.headers.clone();
    if let Some(protocol) = parts.extensions.get::<ConnectProtocol>() {
        request.extensions_mut().insert(protocol.clone());
    }
    if let Some(connection) = parts.extensions.get::<ConnectionInfo>() {
        request.extensions_mut().insert(*connection);
    }
    let draining = parts.extensions.get::<Draining>();
    if let Some(draining) = draining {
        request.extensions_mut().insert(draining.clone());
    }
    // What is no request of stoop's, such as a CONNECT to a port that there is not, asks for no WebSocket either.
    let refused = WebSocketRejection::Refused;
    let request = stoop::Request::try_from(request).map_err(|_| refused(Refusal::NotWebSocket))?;
    let handshake = ServerHandshake::new();
    // On any terms.
    handshake.clone().origins(Origins::Any).prepare(&request).map_err(refused)?;
    match draining {
        Some(_) => Ok(WebSocketUpgrade { request, handshake }),
        None => Err(WebSocketRejection::NotOnStoop),
    }
}

fn into_axum(response: stoop::Response) -> Response {
    http::Response::<Body>::from(response).map(axum::body::Body::new)
}

/// Why there is no [`WebSocketUpgrade`], as a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebSocketRejection {
    /// The request is none for a WebSocket, or may not have one: the status is
    /// [`Refusal::status`], 400, 403, 405 or 426.
    Refused(Refusal),
    /// The application is served by other means than those of this crate, which cannot switch the connection: 500.
    NotOnStoop,
}

impl fmt::Display for WebSocketRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::NotOnStoop => f.write_str(
                "the connection cannot be switched: the application is not served by stoop_axum",
            ),
        }
    }
}

impl std::error::Error for WebSocketRejection {}

impl From<Refusal> for WebSocketRejection {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl IntoResponse for WebSocketRejection {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(refusal) => into_axum(stoop::IntoResponse::into_response(refusal)),
            Self::NotOnStoop => {
                (StatusCode::INTERNAL_SERVER_ERROR, format!("{self}\n")).into_response()
            }
        }
    }
}
