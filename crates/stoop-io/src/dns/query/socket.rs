//! The socket by which a lookup asks one server: UDP of its own, and TCP for responses that do not fit.
//!
//! One socket serves both queries of a lookup and is closed with it. So every lookup has a port that
//! no attacker can have learnt before, nothing outlives the lookup's runtime, and there is nothing to
//! clean up after a lookup that is dropped.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hickory_proto::op::{Edns, Message, MessageType, Query};
use hickory_proto::rr::RecordType;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

use crate::dns::race::{First, race};
use crate::dns::settings::{DATAGRAM_BYTES, UDP_BYTES_MAX};
use crate::output::Output;
use crate::socket::Tcp;
use crate::transport::{FillResult, Transport};

/// A query as it is sent to a server.
pub(super) struct EncodedQuery {
    expected: ExpectedResponse,
    bytes: Vec<u8>,
}

/// What a response must have.
#[derive(Clone, PartialEq)]
struct ExpectedResponse {
    id: u16,
    query: Query,
}

impl EncodedQuery {
    /// A query with a random number, which an attacker cannot guess. `extended`: with EDNS (RFC 6891).
    pub(super) fn new(query: Query, extended: bool) -> io::Result<Self> {
        let mut message = Message::query();
        message.metadata.recursion_desired = true;
        message.add_query(query.clone());
        if extended {
            let mut edns = Edns::new();
            edns.set_max_payload(UDP_BYTES_MAX);
            message.set_edns(edns);
        }
        let bytes = message.to_vec().map_err(io::Error::other)?;
        Ok(Self { expected: ExpectedResponse { id: message.metadata.id, query }, bytes })
    }
}

impl EncodedQuery {
    fn wants_https(&self) -> bool {
        self.expected.query.query_type() == RecordType::HTTPS
    }

    /// Whether a message that cannot be read begins as the response to this: with its ID and its question.
    fn is_echoed_by(&self, message: &[u8]) -> bool {
        let question = HEAD_BYTES..question_end(&self.bytes);
        let echoed = message.get(question.clone()).unwrap_or_default();
        !question.is_empty()
            && message[..2] == self.bytes[..2]
            && message[2] & RESPONSE_BIT != 0
            && echoed.eq_ignore_ascii_case(&self.bytes[question])
    }
}

/// Bytes of the head of a message, RFC 1035 §4.1.1.
const HEAD_BYTES: usize = 12;

/// The QR bit, in the third byte.
const RESPONSE_BIT: u8 = 0x80;

/// Where the question of a query of ours ends: behind its name, type and class (RFC 1035 §4.1.2).
fn question_end(query: &[u8]) -> usize {
    let mut at = HEAD_BYTES;
    while let Some(length) = query.get(at).filter(|length| **length > 0) {
        at += 1 + usize::from(*length);
    }
    (at + 5).min(query.len())
}

impl ExpectedResponse {
    /// Whether this is `message`: RFC 5452 §9.1. The socket has seen to the addresses.
    fn is(&self, message: &Message) -> bool {
        message.metadata.id == self.id
            && message.metadata.message_type == MessageType::Response
            && message.queries == [self.query.clone()]
    }
}

/// A UDP socket that is connected to one server, for both queries of a lookup.
pub(super) struct ServerSocket {
    server: SocketAddr,
    socket: UdpSocket,
    state: Mutex<SocketState>,
    /// Notified when the state has something for the other query.
    changed: Notify,
}

/// What the query that reads the socket has found for the other one.
#[derive(Default)]
struct SocketState {
    /// The responses that are waited for, and those of them that another query has read. Nothing else is
    /// kept, so that forged responses and repeated ones take no room.
    awaited: Vec<(ExpectedResponse, Option<Message>)>,
    /// The server cannot be reached. The kernel reports that once.
    error: Option<io::ErrorKind>,
}

impl ServerSocket {
    pub(super) fn open(server: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(server), Type::DGRAM, None)?;
        socket.set_nonblocking(true)?;
        // Connecting picks a port at random, lets only the server's datagrams through, and has the
        // kernel report an unreachable server, which it does not to an unconnected socket.
        socket.connect(&server.into())?;
        let socket = UdpSocket::from_std(socket.into())?;
        Ok(Self { server, socket, state: Mutex::default(), changed: Notify::new() })
    }

    /// Sends a query. One that the kernel has no room for is as good as lost on the way.
    pub(super) fn send(&self, query: &EncodedQuery) -> io::Result<()> {
        match SockRef::from(&self.socket).send(&query.bytes) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(self.fail(error)),
            _ => Ok(()),
        }
    }

    /// Waits for the response to `query`, and ignores datagrams that are none.
    pub(super) async fn receive(&self, query: &EncodedQuery) -> io::Result<Message> {
        let _awaited = self.expect(&query.expected);
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(message) = self.take(query)? {
                return Ok(message);
            }
            let ready = self.socket.ready(Interest::READABLE | Interest::ERROR);
            if let First::One(ready) = race(ready, changed).await
                && ready?.is_error()
            {
                if let Some(error) = self.socket.take_error()? {
                    return Err(self.fail(error));
                }
                // There is no error after all: clear the readiness.
                let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                let _ = self.socket.try_io(Interest::ERROR, nothing);
            }
        }
    }

    /// Has the response kept if another query reads it, until the guard is dropped.
    fn expect<'a>(&'a self, expected: &'a ExpectedResponse) -> AwaitedGuard<'a> {
        self.state().awaited.push((expected.clone(), None));
        AwaitedGuard { socket: self, expected }
    }

    /// Reads datagrams until the response to `query` or until there are none.
    fn take(&self, query: &EncodedQuery) -> io::Result<Option<Message>> {
        let mut state = self.state();
        let kept = state.awaited.iter_mut().find(|(expected, _)| *expected == query.expected);
        if let Some(message) = kept.and_then(|(_, message)| message.take()) {
            return Ok(Some(message));
        }
        if let Some(kind) = state.error {
            return Err(kind.into());
        }
        let mut buffer = [0; DATAGRAM_BYTES];
        loop {
            let n = match self.socket.try_recv(&mut buffer) {
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => {
                    drop(state);
                    return Err(self.fail(error));
                }
            };
            let message = match Message::from_vec(&buffer[..n]) {
                Ok(message) => message,
                // RFC 9460 §2.2: a malformed record is no reason to wait for another response.
                Err(error) if query.wants_https() && query.is_echoed_by(&buffer[..n]) => {
                    return Err(io::Error::other(format!("its response is malformed: {error}")));
                }
                // What cannot be read may be forged: it ends nothing.
                Err(_) => continue,
            };
            if query.expected.is(&message) {
                return Ok(Some(message));
            }
            // The first one counts, as it would for the query that waits for it.
            let other = state.awaited.iter_mut().find(|(expected, _)| expected.is(&message));
            if let Some((_, kept @ None)) = other {
                *kept = Some(message);
                self.changed.notify_waiters();
            }
        }
    }

    fn fail(&self, error: io::Error) -> io::Error {
        self.state().error = Some(error.kind());
        self.changed.notify_waiters();
        error
    }

    fn state(&self) -> MutexGuard<'_, SocketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends `query` by TCP and returns the response, RFC 7766.
    pub(super) async fn exchange_by_tcp(&self, query: &EncodedQuery) -> io::Result<Message> {
        let mut tcp = Tcp::connect(self.server).await?;
        let mut out = Output::default();
        out.put(&(query.bytes.len() as u16).to_be_bytes());
        out.put(&query.bytes);
        poll_fn(|cx| tcp.poll_flush(cx, &mut out)).await?;
        loop {
            if let [high, low, rest @ ..] = tcp.received()
                && let len = usize::from(u16::from_be_bytes([*high, *low]))
                && rest.len() >= len
            {
                let message = Message::from_vec(&rest[..len]).map_err(io::Error::other)?;
                if query.expected.is(&message) {
                    return Ok(message);
                }
                tcp.consume(2 + len);
                continue;
            }
            let room = 2 + usize::from(u16::MAX);
            if poll_fn(|cx| tcp.poll_fill(cx, room)).await? == FillResult::End {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// A response that is waited for, until this is dropped.
struct AwaitedGuard<'a> {
    socket: &'a ServerSocket,
    expected: &'a ExpectedResponse,
}

impl Drop for AwaitedGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.socket.state();
        if let Some(at) = state.awaited.iter().position(|(awaited, _)| awaited == self.expected) {
            state.awaited.swap_remove(at);
        }
    }
}
