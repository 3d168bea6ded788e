//! Responses that come in pieces, and content that is read in pieces.

use bytes::Bytes;
use stoop::{ErrorKind, Phase};
use stoop_io::sim::{Link, LinkFault, Sim, Split};
use stoop_io::{AnyTransport, Stream};

use super::kit::{OK, ScriptedServer, fetch, get, ok, ok_with, scripted};
use crate::client::kit::counts;

#[tokio::test(start_paused = true)]
async fn a_response_may_come_in_any_pieces() {
    let answer = "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nt: u\r\n\r\n";
    for size in [1, 2, 3, 7, 19] {
        let connect = move || {
            let back =
                Link { reads: Split::Each(size), writes: Split::Each(size), ..Link::default() };
            let (ours, theirs, _) = Sim::pair(size as u64, &back, &back);
            tokio::spawn(ScriptedServer::over(AnyTransport::from(theirs), 0).serve(answer));
            Stream::new(ours)
        };
        let client = stoop::rt::connections_from(stoop::Client::builder(), connect);
        let client = client.build().unwrap();
        for _ in 0..3 {
            assert_eq!(fetch(&client).await, ok_with("hello!"));
        }
        assert_eq!(counts(&client), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_connection_is_left_to_the_deadline_and_then_closed() {
    for after in [0, 10, 40, 60] {
        let connect = move || {
            let back = Link::faulty(LinkFault::StallAfter(after));
            let (ours, theirs, _) = Sim::pair(1, &Link::default(), &back);
            tokio::spawn(ScriptedServer::over(AnyTransport::from(theirs), 0).serve(OK));
            Stream::new(ours)
        };
        let client = stoop::rt::connections_from(stoop::Client::builder(), connect);
        let client = client.build().unwrap();
        let outcome = fetch(&client).await;
        let head = OK.len() as u64 - 2;
        match after {
            _ if after < head => {
                assert_eq!(outcome, Err((ErrorKind::FirstByteTimeout, Phase::Wait)));
            }
            _ if after < head + 2 => {
                assert_eq!(outcome, Err((ErrorKind::ReadTimeout, Phase::Receive)));
            }
            _ => assert_eq!(outcome, ok()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_body_is_the_same_however_it_is_read() {
    let content: String = (0..1_000_000u32).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{content}", content.len());
    let client = scripted(move |peer| peer.serve(answer.clone()));
    assert_eq!(fetch(&client).await.unwrap().1, content);
    let mut seen = Vec::new();
    let mut body = get(&client).await.unwrap().into_body();
    assert_eq!(body.len(), Some(1_000_000));
    let read = body.for_each(|piece| seen.extend_from_slice(piece)).await.unwrap();
    assert_eq!((read, Bytes::from(seen)), (1_000_000, content.clone().into()));
    let mut body = get(&client).await.unwrap().into_body();
    let mut pieces = Vec::new();
    while let Some(piece) = body.chunk().await.unwrap() {
        pieces.extend_from_slice(&piece);
    }
    assert_eq!(pieces, content.as_bytes());
    assert_eq!(counts(&client), (1, 1));
}
