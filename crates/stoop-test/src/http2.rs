//! A client of HTTP/2 in the hands of a test: the client's machine, and nothing that decides anything.

use std::io;
use std::time::Instant;

use bytes::Bytes;
use http::Method;
use stoop_proto::h2::{self, Connection, ErrorCode, Event, Reset, StreamKey};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// One end of a connection, in the hands of a test.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    /// The machine, to look at, or to do with what there is no method for.
    pub machine: Connection,
    limits: Limits,
    unread: Vec<u8>,
    out: Vec<u8>,
    /// Whether content counts as used up when it comes.
    pub reads: bool,
}

/// What a server did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A response began, or an interim one came.
    Head(StreamKey, ResponseHead, bool),
    /// Content came; whether it was the last.
    Data(StreamKey, Vec<u8>, bool),
    /// Trailers ended the content.
    Trailers(StreamKey, Fields),
    /// A stream was reset.
    Reset(StreamKey, Reset),
    /// The server said that it ends.
    GoAway(ErrorCode),
    /// The connection is over.
    Closed,
}

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
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
    /// A client at this end of `stream`, that has said its preface.
    pub async fn new(stream: S) -> Self {
        Self::with_limits(stream, Limits::client()).await
    }

    /// The same with other limits, such as windows.
    pub async fn with_limits(stream: S, limits: Limits) -> Self {
        let machine = Connection::client(&limits);
        let (unread, out) = (Vec::new(), Vec::new());
        let mut client = Self { stream, machine, limits, unread, out, reads: true };
        client.flush().await;
        client
    }

    /// Sends what there is. That the other end is gone is no failure of the test.
    pub async fn flush(&mut self) {
        self.machine.transmit(Instant::now(), &self.limits, &mut self.out);
        let _ = self.stream.write_all(&self.out).await;
        self.out.clear();
    }

    /// Asks for `path`, with fields given by name and value; with `end`, that is all.
    pub async fn ask(
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

    /// GETs `path`.
    pub async fn get(&mut self, path: &str) -> StreamKey {
        self.ask(Method::GET, path, &[], true).await
    }

    /// Sends content, as far as the windows let it: how much that was.
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

    /// Gives a stream up.
    pub async fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        self.machine.reset(key, code);
        self.flush().await;
    }

    /// The next that happens.
    pub async fn next(&mut self) -> Happened {
        loop {
            let received = self.machine.receive(Instant::now(), &self.unread, true, &self.limits);
            let happened = match &received.event {
                Event::Data { key, span, end } => {
                    let data = self.unread[span.clone()].to_vec();
                    if self.reads && self.machine.is_open(*key) {
                        self.machine.consumed(*key, data.len() as u32);
                    }
                    Some(Happened::Data(*key, data, *end))
                }
                Event::Interim { key } => Some(Happened::Head(*key, self.head(), false)),
                Event::Response { key, end } => Some(Happened::Head(*key, self.head(), *end)),
                Event::Trailers { key } => {
                    let trailers = self.machine.take_trailers().expect("they were announced");
                    Some(Happened::Trailers(*key, *trailers))
                }
                Event::Reset { key, why } => Some(Happened::Reset(*key, *why)),
                Event::GoAway { code } => Some(Happened::GoAway(*code)),
                Event::Closed => Some(Happened::Closed),
                _ => None,
            };
            self.unread.drain(..received.consumed);
            self.flush().await;
            if let Some(happened) = happened {
                return happened;
            }
            if received.event == Event::NeedMore && !self.more().await.unwrap_or(false) {
                self.machine.receive_end();
            }
        }
    }

    fn head(&mut self) -> ResponseHead {
        let mut head = ResponseHead::default();
        self.machine.take_response(&mut head);
        head
    }

    async fn more(&mut self) -> io::Result<bool> {
        let mut some = [0; 16 * 1024];
        let n = self.stream.read(&mut some).await?;
        self.unread.extend_from_slice(&some[..n]);
        Ok(n > 0)
    }

    /// The whole response on a stream; what happens on others meanwhile is lost.
    ///
    /// # Panics
    /// If the stream is reset, or the connection ends.
    pub async fn answer(&mut self, key: StreamKey) -> Answer {
        let mut answer =
            Answer { status: 0, fields: Fields::new(), body: Vec::new(), trailers: None };
        loop {
            let end = match self.next().await {
                Happened::Head(of, head, end) if of == key => {
                    answer.status = head.status().as_u16();
                    answer.fields = head.fields().clone();
                    end
                }
                Happened::Data(of, data, end) if of == key => {
                    answer.body.extend(data);
                    end
                }
                Happened::Trailers(of, trailers) if of == key => {
                    answer.trailers = Some(trailers);
                    true
                }
                Happened::Reset(of, why) if of == key => panic!("reset: {why:?}"),
                Happened::Closed => panic!("closed: {:?}", self.machine.fault()),
                _ => false,
            };
            if end {
                return answer;
            }
        }
    }

    /// How a stream ends that is not answered to its end.
    ///
    /// # Panics
    /// If it is, or the connection ends.
    pub async fn reset_of(&mut self, key: StreamKey) -> Reset {
        loop {
            match self.next().await {
                Happened::Reset(of, why) if of == key => return why,
                Happened::Closed => panic!("closed: {:?}", self.machine.fault()),
                Happened::Data(of, _, true) if of == key => panic!("it ended well"),
                _ => {}
            }
        }
    }

    /// How the connection ends: the codes of the server's GOAWAYs.
    pub async fn end(&mut self) -> Vec<ErrorCode> {
        let mut codes = Vec::new();
        loop {
            match self.next().await {
                Happened::GoAway(code) => codes.push(code),
                Happened::Closed => return codes,
                _ => {}
            }
        }
    }

    /// Bytes beside the machine: what a test has to say that no machine would.
    pub async fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }
}

/// What a client says before anything else: its preface and empty SETTINGS.
pub fn preface() -> Vec<u8> {
    [h2::PREFACE.as_slice(), &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat()
}
