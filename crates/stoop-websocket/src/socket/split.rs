//! [`MessageSender`] and [`MessageReceiver`]: the ends of a connection that two tasks have.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use futures_core::Stream;
use futures_sink::Sink;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::Error;
use crate::machine::{CloseCode, CloseReason, Event};
use crate::message::{Message, MessageKind, Misuse};
use crate::socket::driver::SocketDriver;

/// Divides a connection.
pub(crate) fn split<S>(driver: SocketDriver<S>) -> (MessageSender<S>, MessageReceiver<S>) {
    let tasks = Arc::new(Tasks::default());
    let shared = Arc::new(Shared { driver: Mutex::new(driver), tasks });
    (MessageSender(shared.clone()), MessageReceiver(shared))
}

/// Joins both ends of a connection again; if they are of two, it gives them back.
pub(crate) fn join<S>(
    sender: MessageSender<S>,
    receiver: MessageReceiver<S>,
) -> Result<SocketDriver<S>, (MessageSender<S>, MessageReceiver<S>)> {
    if !Arc::ptr_eq(&receiver.0, &sender.0) {
        return Err((sender, receiver));
    }
    drop(sender);
    let shared = Arc::into_inner(receiver.0).expect("there are two ends, and both are here");
    Ok(shared.driver.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The end of a divided connection that sends: see [`WebSocket::split`](crate::WebSocket::split).
///
/// The connection is closed when both ends are dropped.
pub struct MessageSender<S>(Arc<Shared<S>>);

/// The end of a divided connection that receives: see [`WebSocket::split`](crate::WebSocket::split).
///
/// It also answers Pings and asks a silent peer, so that it has to be received from for as long as the connection is to live.
pub struct MessageReceiver<S>(Arc<Shared<S>>);

struct Shared<S> {
    /// Locked for one poll at a time.
    driver: Mutex<SocketDriver<S>>,
    tasks: Arc<Tasks>,
}

/// The tasks of both ends. A stream remembers one task for each direction, and the receiver writes too: so each event
/// wakes both.
#[derive(Default)]
struct Tasks(Mutex<[Option<Waker>; 2]>);

impl Wake for Tasks {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for waker in wakers.into_iter().flatten() {
            waker.wake();
        }
    }
}

#[derive(Clone, Copy)]
enum Half {
    Sender = 0,
    Receiver = 1,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Shared<S> {
    /// Polls the connection for one of its ends.
    fn poll<R>(
        &self,
        half: Half,
        cx: &mut Context<'_>,
        work: impl FnOnce(&mut SocketDriver<S>, &mut Context<'_>) -> R,
    ) -> R {
        self.drive(|driver, both| {
            let mut wakers = self.tasks.0.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut wakers[half as usize] {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            drop(wakers);
            work(driver, both)
        })
    }

    /// Does `work` with the connection. If that is its end, both tasks learn of it: what one waits for, the other may have
    /// seen the end of.
    fn drive<R>(&self, work: impl FnOnce(&mut SocketDriver<S>, &mut Context<'_>) -> R) -> R {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let was_over = driver.is_over();
        let both = Waker::from(self.tasks.clone());
        let result = work(&mut driver, &mut Context::from_waker(&both));
        let is_over = driver.is_over();
        drop(driver);
        if is_over && !was_over {
            both.wake();
        }
        result
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> MessageSender<S> {
    /// As [`WebSocket::send`](crate::WebSocket::send).
    pub async fn send(&mut self, message: Message) -> Result<(), Error> {
        self.transmit(message.kind(), message.as_bytes()).await
    }

    /// As [`WebSocket::send_text`](crate::WebSocket::send_text).
    pub async fn send_text(&mut self, text: &str) -> Result<(), Error> {
        self.transmit(MessageKind::Text, text.as_bytes()).await
    }

    /// As [`WebSocket::send_binary`](crate::WebSocket::send_binary).
    pub async fn send_binary(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.transmit(MessageKind::Binary, bytes).await
    }

    /// As [`WebSocket::feed`](crate::WebSocket::feed); the receiver may send it when it next waits.
    pub async fn feed(&mut self, message: Message) -> Result<(), Error> {
        self.take(message.kind(), message.as_bytes()).await
    }

    /// As [`WebSocket::flush`](crate::WebSocket::flush).
    pub async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.0.poll(Half::Sender, cx, SocketDriver::poll_flushed)).await
    }

    /// As [`WebSocket::ping`](crate::WebSocket::ping); the receiver sees the Pong.
    pub async fn ping(&mut self, payload: &[u8]) -> Result<(), Error> {
        poll_fn(|cx| {
            self.0.poll(Half::Sender, cx, |driver, cx| {
                ready!(driver.poll_ready(cx))?;
                Poll::Ready(driver.ping(payload))
            })
        })
        .await?;
        self.flush().await
    }

    /// Sends a Close frame, and does not wait for the peer's: the receiver gets what still comes, and then `None`.
    /// Where one was sent already, this waits until that has left. Cancel-safe as [`MessageSender::send`].
    ///
    /// # Errors
    /// [`Misuse::ReasonTooLong`], [`Error::Io`], [`Error::SendTimeout`] if the peer takes nothing, and
    /// [`Error::CloseTimeout`] if the frame has not left within [`close_timeout`](crate::Limits::close_timeout).
    pub async fn close(&mut self, code: CloseCode, reason: &str) -> Result<(), Error> {
        let mut is_taken = false;
        poll_fn(|cx| {
            self.0.poll(Half::Sender, cx, |driver, cx| {
                if !is_taken {
                    match driver.close(code, reason) {
                        Ok(()) | Err(Error::Misuse(Misuse::Closed)) => is_taken = true,
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                    // The receiver waits for as long as a closing handshake may take, and no longer as it did.
                    cx.waker().wake_by_ref();
                }
                driver.poll_close_sent(cx)
            })
        })
        .await
    }

    async fn transmit(&mut self, kind: MessageKind, payload: &[u8]) -> Result<(), Error> {
        self.take(kind, payload).await?;
        self.flush().await
    }

    async fn take(&mut self, kind: MessageKind, payload: &[u8]) -> Result<(), Error> {
        poll_fn(|cx| {
            self.0.poll(Half::Sender, cx, |driver, cx| {
                ready!(driver.poll_ready(cx))?;
                Poll::Ready(driver.send(kind, payload, cx))
            })
        })
        .await
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> MessageReceiver<S> {
    /// As [`WebSocket::recv`](crate::WebSocket::recv); an error that the sender has got is `None` here.
    pub async fn recv(&mut self) -> Result<Option<Message>, Error> {
        loop {
            match self.recv_event().await? {
                Some(Event::Message(message)) => return Ok(Some(message)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// As [`WebSocket::recv_event`](crate::WebSocket::recv_event).
    pub async fn recv_event(&mut self) -> Result<Option<Event>, Error> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// As [`WebSocket::close_reason`](crate::WebSocket::close_reason).
    pub fn close_reason(&self) -> Option<CloseReason> {
        let driver = self.0.driver.lock().unwrap_or_else(PoisonError::into_inner);
        driver.close_reason().cloned()
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        self.0.poll(Half::Receiver, cx, SocketDriver::poll_event)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for MessageReceiver<S> {
    type Item = Result<Message, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match ready!(this.poll_event(cx)) {
                Ok(Some(Event::Message(message))) => return Poll::Ready(Some(Ok(message))),
                Ok(Some(_)) => {}
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Sink<Message> for MessageSender<S> {
    type Error = Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll(Half::Sender, cx, SocketDriver::poll_ready)
    }

    fn start_send(self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        self.0.drive(|driver, cx| driver.send(message.kind(), message.as_bytes(), cx))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll(Half::Sender, cx, SocketDriver::poll_flushed)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll(Half::Sender, cx, |driver, cx| {
            if driver.close(CloseCode::NORMAL, "").is_ok() {
                cx.waker().wake_by_ref();
            }
            driver.poll_close_sent(cx)
        })
    }
}

impl<S> fmt::Debug for MessageSender<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageSender")
    }
}

impl<S> fmt::Debug for MessageReceiver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageReceiver")
    }
}
