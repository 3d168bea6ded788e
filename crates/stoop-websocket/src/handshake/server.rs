//! [`ServerHandshake`]: the handshake of a server (RFC 6455 §4.2, RFC 8441 §5).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use stoop::rt::UpgradedStream;
use stoop::{DrainHold, Draining, IntoResponse, Method, OnUpgrade, Request, Response, Version};

use crate::grammar;
use crate::handshake::key::{accept_of, is_key};
use crate::handshake::origins::Origins;
use crate::handshake::refusal::Refusal;
use crate::limits::Limits;
use crate::machine::{AgreedDeflate, Deflate};
use crate::socket::WebSocket;

/// The version of the protocol (RFC 6455 §4.1).
const VERSION: &[u8] = b"13";

/// Opens the WebSocket that a request asks for, by default terms, and gives it to `serve` in a task of its own; as
/// [`ServerHandshake::accept`].
///
/// ```
/// use stoop::{Client, Request, Response};
/// use stoop_websocket::{Message, accept, connect};
///
/// fn echo(request: Request) -> Response {
///     accept(&request, |mut socket| async move {
///         while let Ok(Some(message)) = socket.recv().await {
///             if socket.send(message).await.is_err() {
///                 return;
///             }
///         }
///     })
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// // No socket in between; `stoop::Server` takes the same handler.
/// let client = Client::builder().handler(echo).build()?;
/// let mut socket = connect(&client, "ws://anywhere/chat").await?;
/// socket.send_text("hello").await?;
/// assert_eq!(socket.recv().await?, Some(Message::from("hello")));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub fn accept<F, T>(request: &Request, serve: F) -> Response
where
    F: FnOnce(WebSocket<UpgradedStream>) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    ServerHandshake::new().accept(request, serve)
}

/// The terms on which a server opens WebSockets: make one and use it for every request.
///
/// Over HTTP/1.1 a request is a GET with Upgrade, over HTTP/2 an extended CONNECT, which the server has to allow by
/// [`Http2Limits::extended_connect`](stoop::limits::WireLimits::http2).
///
/// ```
/// use stoop::{Request, Response};
/// use stoop_websocket::{Deflate, Origins, ServerHandshake};
///
/// let handshake = ServerHandshake::new()
///     .protocols(["chat.v2", "chat.v1"])
///     .origins(Origins::Listed(vec!["https://example.com".to_owned()]))
///     .deflate(Deflate::default());
///
/// let handler = move |request: Request| -> Response {
///     handshake.accept(&request, |mut socket| async move {
///         let greeting = format!("you speak {:?}", socket.protocol());
///         let _ = socket.send_text(&greeting).await;
///     })
/// };
/// # let _: stoop::ServerHandle;
/// # let _ = stoop::Client::builder().handler(handler);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ServerHandshake {
    limits: Limits,
    protocols: Vec<String>,
    origins: Origins,
    deflate: Option<Deflate>,
    stays_on_drain: bool,
}

impl ServerHandshake {
    /// Default limits, no subprotocol, pages of the same origin, no compression.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the limits of the connections.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The subprotocols that are spoken, the preferred one first. The first that the client offers too is chosen;
    /// without one the connection has none, and the client decides whether it wants that (RFC 6455 §4.2.2).
    pub fn protocols<P: Into<String>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.protocols = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// The pages that may connect: [`Origins::Same`] by default.
    pub fn origins(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// Compresses messages, if the client offers that it understands it. Off by default: it costs memory and
    /// processor time, and where a secret and what an attacker has chosen are in one message, or share a window, the
    /// size tells of the secret (RFC 7692 §8).
    pub fn deflate(mut self, deflate: Deflate) -> Self {
        self.deflate = Some(deflate);
        self
    }

    /// Whether sockets are closed with 1001 once the server drains, which waits for that:
    /// [`WebSocket::close_on_drain`]. Default: true. If not, they are their tasks', and with
    /// [`run`](stoop::Server::run) end with the server's threads.
    pub fn close_on_drain(mut self, closes: bool) -> Self {
        self.stays_on_drain = !closes;
        self
    }

    /// Opens the WebSocket that a request asks for and gives it to `serve`, in a task of the runtime that this is called
    /// on; or answers what is wrong with the request. With [`stoop::Server::run`] that task stays on its
    /// connection's core; with [`run_here`](stoop::Server::run_here) it goes where the runtime likes.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub fn accept<F, T>(&self, request: &Request, serve: F) -> Response
    where
        F: FnOnce(WebSocket<UpgradedStream>) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        match self.prepare(request) {
            Ok((response, pending)) => {
                tokio::spawn(async move {
                    // It fails where the client has gone before it was answered.
                    if let Ok(socket) = pending.await {
                        serve(socket).await;
                    }
                });
                response
            }
            Err(refusal) => refusal.into_response(),
        }
    }

    /// As [`ServerHandshake::accept`], with a future that need not be `Send`: for handlers of
    /// [`stoop::Server::run`] and [`run_local`](stoop::Server::run_local), which share what belongs to their core.
    ///
    /// # Panics
    /// Outside of a local runtime or `LocalSet` of tokio, as with [`run_here`](stoop::Server::run_here).
    pub fn accept_local<F, T>(&self, request: &Request, serve: F) -> Response
    where
        F: FnOnce(WebSocket<UpgradedStream>) -> T + 'static,
        T: Future<Output = ()> + 'static,
    {
        match self.prepare(request) {
            Ok((response, pending)) => {
                tokio::task::spawn_local(async move {
                    if let Ok(socket) = pending.await {
                        serve(socket).await;
                    }
                });
                response
            }
            Err(refusal) => refusal.into_response(),
        }
    }

    /// Checks a request, and returns the response that opens the connection and what becomes the connection once that
    /// response is on its way. It is for who wants to add fields to the response, or to choose the task; the
    /// latter has to be another than the handler's.
    ///
    /// # Errors
    /// [`Refusal`] if the request is none for a WebSocket, or may not have one.
    pub fn prepare(&self, request: &Request) -> Result<(Response, PendingWebSocket), Refusal> {
        let key = match request.protocol() {
            Some(protocol) if protocol.eq_ignore_ascii_case("websocket") => None,
            None if request.version() < Version::HTTP_2 => Some(http1_key(request)?),
            _ => return Err(Refusal::NotExtendedConnect),
        };
        if single(request, "sec-websocket-version") != Some(VERSION) {
            return Err(Refusal::Version);
        }
        if !self.origins.allow(request) {
            return Err(Refusal::Origin);
        }
        let protocol = self.choose_protocol(request)?;
        let mut agreed = None;
        let (mut response, on_upgrade) =
            Response::upgrade("websocket").expect("a value without CR LF");
        let mut add = |name: &str, value: &str| {
            response.fields_mut().push(name, value.as_bytes()).expect("a value without CR LF");
        };
        if let Some(key) = key {
            add("sec-websocket-accept", &accept_of(key));
        }
        if let Some(protocol) = &protocol {
            add("sec-websocket-protocol", protocol);
        }
        if let Some((deflate, answer)) = self.agree(request)? {
            agreed = Some(deflate);
            add("sec-websocket-extensions", &answer);
        }
        let going_away = (!self.stays_on_drain).then(|| {
            // Held from now on: once the connection has switched, the server knows nothing of it.
            let draining = request.draining();
            let hold = draining.hold();
            (draining, hold)
        });
        let pending =
            PendingWebSocket { on_upgrade, limits: self.limits, agreed, protocol, going_away };
        Ok((response, pending))
    }

    fn choose_protocol(&self, request: &Request) -> Result<Option<String>, Refusal> {
        let mut offered = Vec::new();
        for field in request.fields().all("sec-websocket-protocol") {
            offered.extend(grammar::tokens(field).ok_or(Refusal::Protocols)?);
        }
        let mut spoken = self.protocols.iter();
        Ok(spoken.find(|protocol| offered.contains(&protocol.as_str())).cloned())
    }

    fn agree(&self, request: &Request) -> Result<Option<(AgreedDeflate, String)>, Refusal> {
        let fields = request.fields().all("sec-websocket-extensions");
        match &self.deflate {
            Some(deflate) => deflate.accept(fields).map_err(|_| Refusal::Extensions),
            None => {
                for field in fields {
                    grammar::extensions(field).ok_or(Refusal::Extensions)?;
                }
                Ok(None)
            }
        }
    }
}

/// The key of a request over HTTP/1.1, which has everything else that it needs (RFC 6455 §4.2.1).
fn http1_key(request: &Request) -> Result<&[u8], Refusal> {
    if *request.method() != Method::GET {
        return Err(Refusal::Method);
    }
    if request.version() < Version::HTTP_11 {
        return Err(Refusal::HttpVersion);
    }
    if !request.fields().lists("upgrade", "websocket") {
        return Err(Refusal::NotWebSocket);
    }
    if !request.fields().lists("connection", "upgrade") {
        return Err(Refusal::Connection);
    }
    single(request, "sec-websocket-key").filter(|key| is_key(key)).ok_or(Refusal::Key)
}

/// The value of a field that may stand once (RFC 6455 §11.3.1, §11.3.5).
fn single<'a>(request: &'a Request, name: &'a str) -> Option<&'a [u8]> {
    let mut values = request.fields().all(name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// A connection whose opening response is on its way: a future that becomes the [`WebSocket`], in another task than the
/// handler's.
///
/// It fails if that response is never sent: the client has gone, or the handler gave another. A drain of the server waits for
/// it as for the socket: see [`ServerHandshake::close_on_drain`].
#[derive(Debug)]
pub struct PendingWebSocket {
    on_upgrade: OnUpgrade,
    limits: Limits,
    agreed: Option<AgreedDeflate>,
    protocol: Option<String>,
    going_away: Option<(Draining, DrainHold)>,
}

impl PendingWebSocket {
    /// The subprotocol that was chosen.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }
}

impl Future for PendingWebSocket {
    type Output = Result<WebSocket<UpgradedStream>, stoop::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let upgraded = ready!(Pin::new(&mut self.on_upgrade).poll(cx))?;
        let socket = WebSocket::server(stoop::rt::stream(upgraded), self.limits, self.agreed);
        let socket = socket.with_backlog(UpgradedStream::backlog);
        let socket = socket.with_protocol(self.protocol.as_deref());
        Poll::Ready(Ok(match self.going_away.take() {
            Some((draining, hold)) => socket.close_on_held_drain(draining, hold),
            None => socket,
        }))
    }
}
