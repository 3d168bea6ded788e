//! A server of HTTP/2 that does as a script says, frame by frame.

use std::collections::VecDeque;
use std::future::Future;

use stoop::{Client, ClientBuilder, ClientLimits, Error, Request, Response, Versions};
use stoop_test::frames::{HEADER_BYTES, PREFACE, Reader, flag, headers, settings, settings_ack};

use super::super::kit::{Peer, URL, limited, scripted_by};

/// The server's end of a connection.
pub(super) struct Frames {
    pub(super) peer: Peer,
    reader: Reader,
    lines: VecDeque<String>,
    unread: Vec<u8>,
}

impl Frames {
    /// Reads the preface, and says the first that is to be said: SETTINGS with these values.
    pub(super) async fn begin(mut peer: Peer, values: &[(u16, u32)]) -> Self {
        assert_eq!(peer.raw(PREFACE.len()).await, PREFACE);
        peer.send([settings(values), settings_ack()].concat()).await;
        Self { peer, reader: Reader::default(), lines: VecDeque::new(), unread: Vec::new() }
    }

    /// Every frame that comes, as a line; `gone` at the end.
    pub(super) async fn any(&mut self) -> String {
        if let Some(line) = self.lines.pop_front() {
            return line;
        }
        let header = self.peer.raw(HEADER_BYTES).await;
        if header.len() < HEADER_BYTES {
            return "gone".to_owned();
        }
        let len =
            usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        self.unread = header;
        let payload = self.peer.raw(len).await;
        self.unread.extend(payload);
        self.lines.extend(self.reader.lines(&self.unread));
        self.lines.pop_front().unwrap_or_default()
    }

    /// The next frame that is not about the connection alone. Pings are answered.
    pub(super) async fn next(&mut self) -> String {
        loop {
            let line = self.any().await;
            if line.starts_with("PING") && !line.starts_with("PING ACK") {
                let payload = self.unread[HEADER_BYTES..].try_into().unwrap();
                self.peer.send(stoop_test::frames::ping(flag::ACK, &payload)).await;
            } else if !line.starts_with("SETTINGS") && !line.starts_with("WINDOW_UPDATE 0") {
                return line;
            }
        }
    }

    /// The next request's stream, whatever content comes before.
    pub(super) async fn request(&mut self) -> u32 {
        let mut line = self.next().await;
        while line.starts_with("DATA") {
            line = self.next().await;
        }
        let stream = line.strip_prefix("HEADERS ").and_then(|rest| rest.split(' ').next());
        stream.and_then(|stream| stream.parse().ok()).unwrap_or(0)
    }

    pub(super) async fn say(&mut self, frames: &[Vec<u8>]) {
        self.peer.send(frames.concat()).await;
    }

    /// Answers every request by `ok` until the client goes.
    pub(super) async fn serve(mut self) {
        loop {
            match self.request().await {
                0 => return,
                stream => self.say(&[ok(stream)]).await,
            }
        }
    }
}

/// `ok`, as a whole response.
pub(super) fn ok(stream: u32) -> Vec<u8> {
    [
        headers(stream, flag::END_HEADERS, &[(":status", "200"), ("content-length", "2")]),
        stoop_test::frames::data(stream, flag::END_STREAM, b"ok"),
    ]
    .concat()
}

/// A client over HTTP/2 with other limits, each of whose connections is a script's.
pub(super) fn over_http2<F>(
    change: impl FnOnce(&mut ClientLimits),
    script: impl Fn(Peer) -> F + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    let builder: ClientBuilder = limited(change).versions(Versions::Http2);
    scripted_by(builder, script)
}

/// Sends a POST, which is not sent twice unless the server did nothing of it.
pub(super) async fn post(client: &Client) -> Result<Response, Error> {
    client.send(Request::post(URL, "some").unwrap()).await
}
