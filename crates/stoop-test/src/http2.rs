//! A client over HTTP/2 that a test drives step by step: the client's machine on a stream, without a pool,
//! deadlines or retries.

use std::io;
use std::time::Instant;

use bytes::Bytes;
use http::Method;
use stoop_proto::h2::{self, Connection, ErrorCode, Event, ResetReason, StreamKey};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The client's end of a connection.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    /// The machine, for what there is no method for here.
    pub machine: Connection,
    unread: Vec<u8>,
    out: Vec<u8>,
    /// Whether content is consumed as it comes, so that the windows are opened again.
    pub consumes: bool,
}

/// An event of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The head of an interim or a final response came; whether it ended the stream.
    Head(StreamKey, ResponseHead, bool),
    /// Content came; whether it ended the stream.
    Data(StreamKey, Vec<u8>, bool),
    /// Trailers came, and ended the stream.
    Trailers(StreamKey, Fields),
    /// A stream was reset.
    Reset(StreamKey, ResetReason),
    /// The server sent GOAWAY.
    GoAway(ErrorCode),
    /// The connection is closed.
    Closed,
}

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeResponse {
    /// The three digits.
    pub status: u16,
    /// Its fields.
    pub fields: Fields,
    /// Its content.
    pub body: Vec<u8>,
    /// Its trailer section, if one came.
    pub trailers: Option<Fields>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// A client at this end of `stream` that has sent its preface.
    pub async fn new(stream: S) -> Self {
        Self::with_limits(stream, Limits::client()).await
    }

    /// The same with other limits, such as windows.
    pub async fn with_limits(stream: S, limits: Limits) -> Self {
        let machine = Connection::client(limits);
        let (unread, out) = (Vec::new(), Vec::new());
        let mut client = Self { stream, machine, unread, out, consumes: true };
        client.flush().await;
        client
    }

    /// Sends the machine's output. A test may go on after the server has closed, so errors are ignored.
    pub async fn flush(&mut self) {
        self.machine.transmit(Instant::now(), &mut self.out);
        let _ = self.stream.write_all(&self.out).await;
        self.out.clear();
    }

    /// Sends a request for `path` with these fields; with `end`, it has no content.
    pub async fn request(
        &mut self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
        end: bool,
    ) -> StreamKey {
        let mut head = RequestHead::new(method, path).expect("a path");
        for (name, value) in [("host", "here")].iter().chain(fields) {
            head.fields_mut().push(name, value.as_bytes()).expect("a field");
        }
        let size = if end { BodySize::Exact(0) } else { BodySize::Unknown };
        let key = self.machine.open(&head, "http", size, &mut self.out).expect("a stream");
        self.flush().await;
        key
    }

    /// Sends a GET for `path`.
    pub async fn get(&mut self, path: &str) -> StreamKey {
        self.request(Method::GET, path, &[], true).await
    }

    /// Sends content as far as the windows allow. Returns how many bytes that were.
    pub async fn send(&mut self, key: StreamKey, mut data: Bytes, end: bool) -> usize {
        let mut sent = 0;
        loop {
            let piece = data.split_to(data.len().min(self.machine.sendable(key)));
            sent += piece.len();
            let last = data.is_empty();
            if piece.is_empty() && !last {
                break;
            }
            self.machine.data(key, piece, end && last, &mut self.out).expect("it may be sent");
            if last {
                break;
            }
        }
        self.flush().await;
        sent
    }

    /// Resets a stream.
    pub async fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        self.machine.reset(key, code);
        self.flush().await;
    }

    /// Waits for the next event.
    pub async fn next_event(&mut self) -> ClientEvent {
        loop {
            let received = self.machine.receive(Instant::now(), &self.unread, true);
            let event = match &received.event {
                Event::Data { key, span, end } => {
                    let data = self.unread[span.clone()].to_vec();
                    if self.consumes && self.machine.is_open(*key) {
                        self.machine.consumed(*key, data.len() as u32);
                    }
                    Some(ClientEvent::Data(*key, data, *end))
                }
                Event::Interim { key } => Some(ClientEvent::Head(*key, self.head(), false)),
                Event::Response { key, end } => Some(ClientEvent::Head(*key, self.head(), *end)),
                Event::Trailers { key } => {
                    let trailers = self.machine.take_trailers().expect("they were announced");
                    Some(ClientEvent::Trailers(*key, *trailers))
                }
                Event::Reset { key, reason, .. } => Some(ClientEvent::Reset(*key, *reason)),
                Event::GoAway { code } => Some(ClientEvent::GoAway(*code)),
                Event::Closed => Some(ClientEvent::Closed),
                _ => None,
            };
            self.unread.drain(..received.consumed);
            self.flush().await;
            if let Some(event) = event {
                return event;
            }
            if received.event == Event::NeedMore && !self.fill().await.unwrap_or(false) {
                self.machine.receive_end();
            }
        }
    }

    fn head(&mut self) -> ResponseHead {
        let mut head = ResponseHead::default();
        self.machine.take_response(&mut head);
        head
    }

    /// Receives some bytes. Returns false at the end of the stream.
    async fn fill(&mut self) -> io::Result<bool> {
        let mut some = [0; 16 * 1024];
        let n = self.stream.read(&mut some).await?;
        self.unread.extend_from_slice(&some[..n]);
        Ok(n > 0)
    }

    /// Waits for the whole response on a stream; events of other streams are dropped.
    ///
    /// # Panics
    /// If the stream is reset, or the connection ends.
    pub async fn response(&mut self, key: StreamKey) -> WholeResponse {
        let mut response =
            WholeResponse { status: 0, fields: Fields::new(), body: Vec::new(), trailers: None };
        loop {
            let end = match self.next_event().await {
                ClientEvent::Head(of, head, end) if of == key => {
                    response.status = head.status().as_u16();
                    response.fields = head.fields().clone();
                    end
                }
                ClientEvent::Data(of, data, end) if of == key => {
                    response.body.extend(data);
                    end
                }
                ClientEvent::Trailers(of, trailers) if of == key => {
                    response.trailers = Some(trailers);
                    true
                }
                ClientEvent::Reset(of, reason) if of == key => panic!("reset: {reason:?}"),
                ClientEvent::Closed => panic!("closed: {:?}", self.machine.fault()),
                _ => false,
            };
            if end {
                return response;
            }
        }
    }

    /// Waits for the reset of a stream.
    ///
    /// # Panics
    /// If the stream ends without one, or the connection ends.
    pub async fn reset_reason(&mut self, key: StreamKey) -> ResetReason {
        loop {
            match self.next_event().await {
                ClientEvent::Reset(of, reason) if of == key => return reason,
                ClientEvent::Closed => panic!("closed: {:?}", self.machine.fault()),
                ClientEvent::Data(of, _, true) if of == key => panic!("it ended well"),
                _ => {}
            }
        }
    }

    /// Waits for the end of the connection. Returns the codes of the server's GOAWAYs.
    pub async fn goaway_codes(&mut self) -> Vec<ErrorCode> {
        let mut codes = Vec::new();
        loop {
            match self.next_event().await {
                ClientEvent::GoAway(code) => codes.push(code),
                ClientEvent::Closed => return codes,
                _ => {}
            }
        }
    }

    /// Sends bytes that the machine knows nothing of, such as invalid frames.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }
}

/// The bytes that a client sends first: its preface and empty SETTINGS.
pub fn preface() -> Vec<u8> {
    [h2::PREFACE.as_slice(), &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()
}
