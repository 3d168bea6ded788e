//! [`WebSocket`]: a connection whose messages are received and sent by one task.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures_core::Stream;
use futures_sink::Sink;
use stoop::{DrainHold, Draining};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::Error;
use crate::keys::mask_key;
use crate::limits::Limits;
use crate::machine::{AgreedDeflate, CloseCode, CloseReason, Event, Machine};
use crate::message::{Message, MessageKind, Misuse};
use crate::socket::driver::SocketDriver;
use crate::socket::split::{MessageReceiver, MessageSender, join, split};

/// One end of a WebSocket connection, over any stream that tokio can read and write.
///
/// While a message is waited for, Pings are answered, a silent peer is sent Pings, and what waits to be sent is sent.
/// So a connection has to be received from even where no message is expected; [`WebSocket::split`] lets another
/// task send meanwhile. Waiting holds no buffer. All methods have to be called within a tokio runtime with time.
///
/// Dropping it closes the stream without a Close frame, which the peer sees as an abnormal closure (1006):
/// [`WebSocket::close`] says goodbye.
///
/// ```
/// use stoop_websocket::{CloseCode, Error, Limits, Message, WebSocket};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// // A stream on which a handshake is over; `stoop_websocket::accept` and `connect` make one.
/// let (ours, theirs) = tokio::io::duplex(1024);
/// let mut client = WebSocket::client(ours, Limits::default(), None);
/// let mut server = WebSocket::server(theirs, Limits::default(), None);
///
/// client.send_text("hello").await?;
/// assert_eq!(server.recv().await?, Some(Message::from("hello")));
/// let (closed, end) = tokio::join!(client.close(CloseCode::NORMAL, "bye"), server.recv());
/// closed?;
/// assert_eq!(end?, None);
/// assert_eq!(server.close_reason().unwrap().text, "bye");
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub struct WebSocket<S> {
    // In a box, since a task holds one for each function that a socket was passed to.
    driver: Box<SocketDriver<S>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// The server's end of a connection whose handshake is over: with axum or hyper, or on a stream of one's own.
    /// `deflate` is what [`Deflate::accept`](crate::Deflate::accept) gave, if the handshake agreed on it.
    ///
    /// Without [`with_backlog`](Self::with_backlog) only what `io` takes counts for
    /// [`send_timeout`](Limits::send_timeout): over TCP the peer has to take about 1 MB within it.
    pub fn server(io: S, limits: Limits, deflate: Option<AgreedDeflate>) -> Self {
        Self::new(io, Machine::server(&limits, deflate), limits)
    }

    /// The client's end of a connection whose handshake is over. `deflate` is what
    /// [`Deflate::verify`](crate::Deflate::verify) gave. What [`send_timeout`](Limits::send_timeout) means for `io` is said at
    /// [`WebSocket::server`].
    pub fn client(io: S, limits: Limits, deflate: Option<AgreedDeflate>) -> Self {
        Self::new(io, Machine::client(&limits, deflate, mask_key), limits)
    }

    fn new(io: S, machine: Machine, limits: Limits) -> Self {
        Self { driver: Box::new(SocketDriver::new(io, machine, limits)) }
    }

    /// The next message; `None` when both ends have closed the connection, and after an error.
    ///
    /// Cancel-safe: what was received stays for the next call.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::EndedEarly`], [`Error::Fault`], [`Error::PingTimeout`], [`Error::SendTimeout`] of what waits to
    /// be sent, and [`Error::CloseTimeout`] after a Close frame of ours.
    pub async fn recv(&mut self) -> Result<Option<Message>, Error> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// What comes next, control frames included: Pings are answered and Close frames too, nothing is left to do.
    ///
    /// Cancel-safe, and fails as [`WebSocket::recv`].
    pub async fn recv_event(&mut self) -> Result<Option<Event>, Error> {
        poll_fn(|cx| self.driver.poll_event(cx)).await
    }

    /// Sends a message, and waits until the stream has taken all of it.
    ///
    /// Cancel-safe: a message is taken whole or not at all. One that was taken when the call is dropped leaves with
    /// what is next sent or received.
    ///
    /// # Errors
    /// [`Misuse::Closed`] if a Close frame was sent or received, [`Error::SendTimeout`] if the peer takes nothing, and
    /// [`Error::Io`], also after any other error.
    pub async fn send(&mut self, message: Message) -> Result<(), Error> {
        self.transmit(message.kind(), message.as_bytes()).await
    }

    /// Sends a text message, as [`WebSocket::send`].
    pub async fn send_text(&mut self, text: &str) -> Result<(), Error> {
        self.transmit(MessageKind::Text, text.as_bytes()).await
    }

    /// Sends a binary message, as [`WebSocket::send`].
    pub async fn send_binary(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.transmit(MessageKind::Binary, bytes).await
    }

    /// Takes a message to be sent with others: by [`WebSocket::flush`], or when a message is waited for. It waits
    /// only while more than [`write_buffer_bytes_max`](Limits::write_buffer_bytes_max) is to be sent.
    ///
    /// A task that answers each message by this one, rather than by [`WebSocket::send`], sends all answers to what
    /// came together in one call. Cancel-safe, and fails as [`WebSocket::send`].
    ///
    /// ```
    /// # use stoop_websocket::{Error, WebSocket};
    /// # use tokio::io::{AsyncRead, AsyncWrite};
    /// async fn echo(mut socket: WebSocket<impl AsyncRead + AsyncWrite + Unpin>) -> Result<(), Error> {
    ///     while let Some(message) = socket.recv().await? {
    ///         socket.feed(message).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn feed(&mut self, message: Message) -> Result<(), Error> {
        poll_fn(|cx| self.poll_take(message.kind(), message.as_bytes(), cx)).await
    }

    /// Waits until the stream has taken everything. Cancel-safe.
    ///
    /// # Errors
    /// [`Error::Io`], and [`Error::SendTimeout`] if the peer takes nothing.
    pub async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.driver.poll_flushed(cx)).await
    }

    /// Sends a Ping with 125 bytes of payload at most; [`WebSocket::recv_event`] shows the Pong. A silent peer is
    /// sent Pings without it: see [`Limits::ping_interval`]. Cancel-safe as [`WebSocket::send`].
    ///
    /// # Errors
    /// [`Misuse::ControlTooLong`], [`Misuse::Closed`], [`Error::SendTimeout`], and [`Error::Io`].
    pub async fn ping(&mut self, payload: &[u8]) -> Result<(), Error> {
        poll_fn(|cx| self.driver.poll_ready(cx)).await?;
        self.driver.ping(payload)?;
        self.flush().await
    }

    /// Sends a Pong that answers no Ping, as a heartbeat that wants no answer (RFC 6455 §5.5.3). As
    /// [`WebSocket::ping`]; Pings are answered without it.
    pub async fn pong(&mut self, payload: &[u8]) -> Result<(), Error> {
        poll_fn(|cx| self.driver.poll_ready(cx)).await?;
        self.driver.pong(payload)?;
        self.flush().await
    }

    /// Closes the connection: sends a Close frame, if none was sent, and waits for the peer's and for the end of the
    /// stream, within [`Limits::close_timeout`]. Messages that still come are discarded. `reason` has 123 bytes at most.
    ///
    /// Cancel-safe: the next call, or [`WebSocket::recv`], goes on with it.
    ///
    /// # Errors
    /// As [`WebSocket::recv`], and [`Misuse::ReasonTooLong`].
    pub async fn close(&mut self, code: CloseCode, reason: &str) -> Result<(), Error> {
        match self.driver.close(code, reason) {
            Ok(()) | Err(Error::Misuse(Misuse::Closed)) => {}
            Err(error) => return Err(error),
        }
        while self.recv_event().await?.is_some() {}
        Ok(())
    }

    /// What the peer's Close frame said; `None` if there was none, or it said nothing.
    pub fn close_reason(&self) -> Option<&CloseReason> {
        self.driver.close_reason()
    }

    /// Closes it with [`CloseCode::GOING_AWAY`] (1001) once the server drains, which waits for it up to its grace: as soon
    /// as a message is next waited for. From then on nothing can be sent, and [`WebSocket::recv`] ends when the client
    /// has closed too. Sockets of a [`ServerHandshake`](crate::ServerHandshake) do it by themselves.
    pub fn close_on_drain(self, draining: Draining) -> Self {
        let hold = draining.hold();
        self.close_on_held_drain(draining, hold)
    }

    /// The same of a drain that is held up already.
    pub(crate) fn close_on_held_drain(mut self, draining: Draining, hold: DrainHold) -> Self {
        self.driver.close_on_drain(draining, hold);
        self
    }

    /// The subprotocol that the handshake has agreed on (RFC 6455 §1.9).
    pub fn protocol(&self) -> Option<&str> {
        self.driver.protocol.as_deref()
    }

    /// Names the subprotocol that a handshake elsewhere has agreed on.
    pub fn with_protocol(mut self, protocol: Option<&str>) -> Self {
        self.driver.protocol = protocol.map(Into::into);
        self
    }

    /// Names what tells how many of the bytes that the stream has taken its peer has not: with it
    /// [`Limits::send_timeout`] knows a peer that reads slowly from one that does not read. The kernel has taken megabytes by
    /// the time it takes nothing more, and then takes nothing until a good part of them has gone.
    ///
    /// Sockets of a [`ServerHandshake`](crate::ServerHandshake) or [`ClientHandshake`](crate::ClientHandshake) have it
    /// from [`UpgradedStream::backlog`](stoop::rt::UpgradedStream::backlog); others have none, and what the stream takes is
    /// all that counts.
    pub fn with_backlog(mut self, backlog: fn(&S) -> usize) -> Self {
        self.driver.set_backlog(backlog);
        self
    }

    /// The stream.
    pub fn get_ref(&self) -> &S {
        self.driver.io()
    }

    /// Divides it into an end that sends and one that receives, for two tasks.
    ///
    /// ```
    /// # use stoop_websocket::{Error, WebSocket};
    /// # use tokio::io::{AsyncRead, AsyncWrite};
    /// async fn ticks<S>(socket: WebSocket<S>) -> Result<(), Error>
    /// where
    ///     S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    /// {
    ///     let (mut sender, mut receiver) = socket.split();
    ///     let ticking = tokio::spawn(async move {
    ///         while sender.send_text("tick").await.is_ok() {
    ///             tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    ///         }
    ///     });
    ///     // Received from even if no message is of interest: see `WebSocket`.
    ///     while receiver.recv().await?.is_some() {}
    ///     ticking.abort();
    ///     Ok(())
    /// }
    /// ```
    pub fn split(self) -> (MessageSender<S>, MessageReceiver<S>) {
        split(*self.driver)
    }

    /// Joins the two ends of a divided connection.
    ///
    /// # Errors
    /// Both, if they are of different connections.
    pub fn join(
        sender: MessageSender<S>,
        receiver: MessageReceiver<S>,
    ) -> Result<Self, (MessageSender<S>, MessageReceiver<S>)> {
        join(sender, receiver).map(|driver| Self { driver: Box::new(driver) })
    }

    /// As [`WebSocket::recv`].
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Message>, Error>> {
        loop {
            match ready!(self.driver.poll_event(cx))? {
                Some(Event::Message(message)) => return Poll::Ready(Ok(Some(message))),
                Some(_) => {}
                None => return Poll::Ready(Ok(None)),
            }
        }
    }

    async fn transmit(&mut self, kind: MessageKind, payload: &[u8]) -> Result<(), Error> {
        poll_fn(|cx| self.poll_take(kind, payload, cx)).await?;
        self.flush().await
    }

    #[inline]
    fn poll_take(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        ready!(self.driver.poll_ready(cx))?;
        Poll::Ready(self.driver.send(kind, payload, cx))
    }
}

/// Messages, up to the end or the first error.
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for WebSocket<S> {
    type Item = Result<Message, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_recv(cx).map(Result::transpose)
    }
}

/// Messages to be sent, as by [`WebSocket::feed`] and [`WebSocket::flush`]; closing is [`WebSocket::close`] with
/// [`CloseCode::NORMAL`].
impl<S: AsyncRead + AsyncWrite + Unpin> Sink<Message> for WebSocket<S> {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.driver.poll_ready(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        // A flush follows, which names the task that waits.
        let mut cx = Context::from_waker(Waker::noop());
        self.driver.send(message.kind(), message.as_bytes(), &mut cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.driver.poll_flushed(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // It may have been closed: then this waits for the end.
        let _ = self.driver.close(CloseCode::NORMAL, "");
        while ready!(self.driver.poll_event(cx))?.is_some() {}
        Poll::Ready(Ok(()))
    }
}

impl<S> fmt::Debug for WebSocket<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = &self.driver.protocol;
        f.debug_struct("WebSocket").field("protocol", protocol).finish_non_exhaustive()
    }
}

/// What an idle connection has in memory, beside its stream and a timer.
const _: () = assert!(size_of::<WebSocket<()>>() <= 640);
