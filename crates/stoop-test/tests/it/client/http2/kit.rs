//! Servers over HTTP/2 that follow a script frame by frame, and clients of them.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use stoop::rt::UpgradedStream;
use stoop::{Client, ClientBuilder, ClientLimits, Error, Request, Response, Versions};
use stoop_test::frames::{
    FrameReader, HEADER_BYTES, PREFACE, flag, headers, settings, settings_ack,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::super::kit::{self, ScriptedServer, limited, scripted_by};

/// The values of an empty SETTINGS frame.
pub(super) const NO_SETTINGS: &[(u16, u32)] = &[];

/// The server's end of a connection, of which a script reads and writes frames.
pub(super) struct FrameServer {
    pub(super) peer: ScriptedServer,
    reader: FrameReader,
    lines: VecDeque<String>,
    unread: Vec<u8>,
}

impl FrameServer {
    /// Reads the client's preface, and sends SETTINGS with these values and an acknowledgement.
    pub(super) async fn accept(mut peer: ScriptedServer, values: &[(u16, u32)]) -> Self {
        assert_eq!(peer.raw_bytes(PREFACE.len()).await, PREFACE);
        peer.send([settings(values), settings_ack()].concat()).await;
        Self { peer, reader: FrameReader::default(), lines: VecDeque::new(), unread: Vec::new() }
    }

    /// The next frame, as a line; `gone` at the end of the connection.
    pub(super) async fn next_frame(&mut self) -> String {
        if let Some(line) = self.lines.pop_front() {
            return line;
        }
        let header = self.peer.raw_bytes(HEADER_BYTES).await;
        if header.len() < HEADER_BYTES {
            return "gone".to_owned();
        }
        let len =
            usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        self.unread = header;
        let payload = self.peer.raw_bytes(len).await;
        self.unread.extend(payload);
        self.lines.extend(self.reader.lines(&self.unread));
        self.lines.pop_front().unwrap_or_default()
    }

    /// The next frame but for SETTINGS, PING and the connection's WINDOW_UPDATE. Answers PINGs.
    pub(super) async fn next_stream_frame(&mut self) -> String {
        loop {
            let line = self.next_frame().await;
            if line.starts_with("PING") && !line.starts_with("PING ACK") {
                let payload = self.unread[HEADER_BYTES..].try_into().unwrap();
                self.peer.send(stoop_test::frames::ping(flag::ACK, &payload)).await;
            } else if !line.starts_with("SETTINGS") && !line.starts_with("WINDOW_UPDATE 0") {
                return line;
            }
        }
    }

    /// The stream of the next request, after the content of others; 0 at the end of the connection.
    pub(super) async fn next_request(&mut self) -> u32 {
        let mut line = self.next_stream_frame().await;
        while line.starts_with("DATA") {
            line = self.next_stream_frame().await;
        }
        let stream = line.strip_prefix("HEADERS ").and_then(|rest| rest.split(' ').next());
        stream.and_then(|stream| stream.parse().ok()).unwrap_or(0)
    }

    /// Sends these frames.
    pub(super) async fn send(&mut self, frames: &[Vec<u8>]) {
        self.peer.send(frames.concat()).await;
    }

    /// Answers every request with [`ok_frames`] until the client closes.
    pub(super) async fn serve(mut self) {
        loop {
            match self.next_request().await {
                0 => return,
                stream => self.send(&[ok_frames(stream)]).await,
            }
        }
    }
}

/// The frames of a response with the content `ok`.
pub(super) fn ok_frames(stream: u32) -> Vec<u8> {
    [
        headers(stream, flag::END_HEADERS, &[(":status", "200"), ("content-length", "2")]),
        stoop_test::frames::data(stream, flag::END_STREAM, b"ok"),
    ]
    .concat()
}

/// A client over HTTP/2 with changed limits, each of whose connections has `script` as its server.
pub(super) fn over_http2<F>(
    change: impl FnOnce(&mut ClientLimits),
    script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    let builder: ClientBuilder = limited(change).versions(Versions::Http2);
    scripted_by(builder, script)
}

/// A client over HTTP/2 whose servers answer the first request by these frames, and close the connection. Nothing is
/// sent again.
pub(super) fn answered_by(answer: Vec<u8>) -> Client {
    let answer: Arc<[u8]> = answer.into();
    over_http2(
        |limits| limits.refusals_max = 0,
        move |peer| {
            let answer = answer.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                assert_eq!(frames.next_request().await, 1);
                frames.peer.send(&answer).await;
                frames.peer.shutdown().await;
                while frames.next_stream_frame().await != "gone" {}
            }
        },
    )
}

/// A client over HTTP/2 of our own server, which answers everything by a tunnel with `script` at its end. The channel
/// has what that returned.
pub(super) fn tunnels_to<F>(
    script: impl Fn(UpgradedStream) -> F + Clone + Send + Sync + 'static,
) -> (Client, UnboundedReceiver<F::Output>)
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let (told, tell) = unbounded_channel();
    let client = Client::builder().versions(Versions::Http2).handler(move |_: Request| {
        let (response, switched) = Response::tunnel();
        let (told, script) = (told.clone(), script.clone());
        tokio::spawn(async move {
            let outcome = script(stoop::rt::stream(switched.await.unwrap())).await;
            let _ = told.send(outcome);
        });
        response
    });
    (client.build().unwrap(), tell)
}

/// Sends a POST, which is repeated only if the server did not process it.
pub(super) async fn send_post(client: &Client) -> Result<Response, Error> {
    client.send(kit::post("some")).await
}

/// The lines of those that have come by now that start like this.
pub(super) fn lines_with(start: &str, come: &mut UnboundedReceiver<String>) -> Vec<String> {
    let all = std::iter::from_fn(|| come.try_recv().ok());
    all.filter(|line| line.starts_with(start)).collect()
}
