//! A lookup's way to one server: a UDP socket of its own, and TCP for what does not fit.
//!
//! One socket serves both questions of a lookup and is closed with it. So every lookup has a port
//! that nobody can have learnt before, nothing outlives the lookup's runtime, and there is nothing
//! to clean up after a lookup that is dropped.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hickory_proto::op::{Edns, Message, MessageType, Query};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

use crate::dns::race::{First, race};
use crate::dns::settings::{DATAGRAM_BYTES, UDP_BYTES_MAX, UNCLAIMED_MAX};
use crate::output::Output;
use crate::socket::Tcp;
use crate::transport::{Filled, Transport};

/// A question as it goes to a server.
pub(super) struct Asked {
    pub(super) query: Query,
    id: u16,
    bytes: Vec<u8>,
}

impl Asked {
    /// A question with a number that nobody can guess. `extended`: by EDNS (RFC 6891).
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
        Ok(Self { query, id: message.metadata.id, bytes })
    }

    /// Whether `message` answers this: RFC 5452 §9.1. The socket has seen to the addresses.
    fn is_answered_by(&self, message: &Message) -> bool {
        message.metadata.id == self.id
            && message.metadata.message_type == MessageType::Response
            && message.queries == [self.query.clone()]
    }
}

/// A socket that hears one server.
pub(super) struct Line {
    server: SocketAddr,
    socket: UdpSocket,
    heard: Mutex<Heard>,
    /// Woken when something was heard for the other question.
    told: Notify,
}

/// What one question's wait brought to light, for the other.
#[derive(Default)]
struct Heard {
    /// Answers that whoever read them did not ask for.
    others: Vec<Message>,
    /// The server is not there. The kernel says so once.
    broken: Option<io::ErrorKind>,
}

impl Line {
    pub(super) fn open(server: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(server), Type::DGRAM, None)?;
        socket.set_nonblocking(true)?;
        // Connecting picks a port at random; and only the server is heard then, or that it is not
        // there, which an unconnected socket would not be told.
        socket.connect(&server.into())?;
        let socket = UdpSocket::from_std(socket.into())?;
        Ok(Self { server, socket, heard: Mutex::default(), told: Notify::new() })
    }

    /// Sends a question. One that the kernel has no room for is as good as lost on the way.
    pub(super) fn send(&self, asked: &Asked) -> io::Result<()> {
        match SockRef::from(&self.socket).send(&asked.bytes) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(self.fail(error)),
            _ => Ok(()),
        }
    }

    /// Waits for the answer. Whatever else comes is passed over.
    pub(super) async fn answer(&self, asked: &Asked) -> io::Result<Message> {
        loop {
            let mut told = pin!(self.told.notified());
            told.as_mut().enable();
            if let Some(message) = self.take(asked)? {
                return Ok(message);
            }
            let ready = self.socket.ready(Interest::READABLE | Interest::ERROR);
            if let First::One(ready) = race(ready, told).await
                && ready?.is_error()
            {
                if let Some(error) = self.socket.take_error()? {
                    return Err(self.fail(error));
                }
                // Nothing after all: forget that there was.
                let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                let _ = self.socket.try_io(Interest::ERROR, nothing);
            }
        }
    }

    /// Reads what there is, up to the answer.
    fn take(&self, asked: &Asked) -> io::Result<Option<Message>> {
        let mut heard = self.heard();
        if let Some(at) = heard.others.iter().position(|message| asked.is_answered_by(message)) {
            return Ok(Some(heard.others.swap_remove(at)));
        }
        if let Some(kind) = heard.broken {
            return Err(kind.into());
        }
        let mut buffer = [0; DATAGRAM_BYTES];
        loop {
            let n = match self.socket.try_recv(&mut buffer) {
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => {
                    drop(heard);
                    return Err(self.fail(error));
                }
            };
            // What cannot be read may come from anybody.
            let Ok(message) = Message::from_vec(&buffer[..n]) else { continue };
            if asked.is_answered_by(&message) {
                return Ok(Some(message));
            }
            if heard.others.len() < UNCLAIMED_MAX {
                heard.others.push(message);
                self.told.notify_waiters();
            }
        }
    }

    fn fail(&self, error: io::Error) -> io::Error {
        self.heard().broken = Some(error.kind());
        self.told.notify_waiters();
        error
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks by TCP, RFC 7766.
    pub(super) async fn ask_by_tcp(&self, asked: &Asked) -> io::Result<Message> {
        let mut tcp = Tcp::connect(self.server).await?;
        let mut out = Output::default();
        out.put(&(asked.bytes.len() as u16).to_be_bytes());
        out.put(&asked.bytes);
        poll_fn(|cx| tcp.poll_flush(cx, &mut out)).await?;
        loop {
            if let [high, low, rest @ ..] = tcp.received()
                && let len = usize::from(u16::from_be_bytes([*high, *low]))
                && rest.len() >= len
            {
                let message = Message::from_vec(&rest[..len]).map_err(io::Error::other)?;
                if asked.is_answered_by(&message) {
                    return Ok(message);
                }
                tcp.consume(2 + len);
                continue;
            }
            let room = 2 + usize::from(u16::MAX);
            if poll_fn(|cx| tcp.poll_fill(cx, room)).await? == Filled::End {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
