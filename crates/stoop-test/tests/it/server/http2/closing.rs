//! RFC 9113 §6.8: a response that closes its connection.

use stoop::{Body, Request, Response};
use stoop_test::frames::{FrameReader, flag, headers, settings_ack};
use stoop_test::http2::preface;
use tokio::io::AsyncReadExt;

use super::super::connect;

/// A handler whose responses close the connection: "/" has a buffer, "/stream" pieces, "/none" no content,
/// and the content of "/fails" fails.
fn closing(request: Request) -> Response {
    let response = match request.path() {
        "/stream" | "/fails" => {
            let (sender, body) = Body::channel(1);
            let fails = request.path() == "/fails";
            tokio::spawn(async move {
                for piece in ["one ", "two ", "three"] {
                    sender.send(piece).await.unwrap();
                }
                match fails {
                    true => sender.fail("no more").await,
                    false => sender.finish().await.unwrap(),
                }
            });
            Response::from_stream(body)
        }
        "/none" => Response::from_status(http::StatusCode::NO_CONTENT),
        _ => Response::from_text("one two three"),
    };
    response.with_close()
}

/// Some clients drop a response at a GOAWAY that comes before its end.
#[tokio::test(start_paused = true)]
async fn go_away_is_said_behind_the_response() {
    for (path, end) in [
        ("/", "DATA 1 END_STREAM"),
        ("/stream", "DATA 1 END_STREAM"),
        ("/none", "HEADERS 1 END_STREAM"),
        ("/fails", "RST_STREAM 1 INTERNAL_ERROR"),
    ] {
        let mut peer = connect(closing);
        let get = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", path)];
        peer.send([preface(), settings_ack(), headers(1, flag::WHOLE, &get)].concat()).await;
        let (mut stream, mut bytes) = (peer.into_parts().0, Vec::new());
        // The server waits for the answer to its PING for a limited time.
        stream.read_to_end(&mut bytes).await.unwrap();
        let lines = FrameReader::default().lines(&bytes);
        let begins: Vec<_> = lines.iter().filter(|line| !line.starts_with("SETTINGS")).collect();
        let at = |what: &str| begins.iter().position(|line| line.starts_with(what));
        let parting = at("GOAWAY 2147483647 NO_ERROR").unwrap();
        assert_eq!(at(end).map(|end| end + 1), Some(parting), "{path}: {begins:?}");
        assert!(begins.last().unwrap().starts_with("GOAWAY 1 NO_ERROR"), "{path}: {begins:?}");
    }
}
