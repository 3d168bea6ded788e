//! The client's GOAWAY after the server broke the protocol (RFC 9113 §5.4.1): the server can read it, though it has
//! sent more than the client reads.

use std::time::Duration;

use stoop::{Client, ErrorKind, Phase, Versions};
use stoop_test::frames::{flag, frame, ping, window_update};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, timeout};

use super::super::kit::{kind_and_phase, listen_scripted};
use super::kit::{FrameServer, NO_SETTINGS};

/// A connection window of more than 2^31 - 1 octets (§6.9.1), and frames of an unknown type behind it.
fn broken_rule_and(bytes: usize) -> Vec<u8> {
    let unknown = frame(0xfe, 0, 0, &[0; 8192]);
    let mut sent = window_update(0, 0x7fff_ffff);
    while sent.len() < bytes {
        sent.extend_from_slice(&unknown);
    }
    sent
}

/// A client whose server reads a request, sends `answer`, and then what `follows` it, and the lines that the server
/// has read then.
async fn told_to_a_server(answer: Vec<u8>, follows: Vec<u8>) -> Vec<String> {
    let (told, mut tell) = unbounded_channel();
    let address = listen_scripted(move |peer| {
        let (told, answer, follows) = (told.clone(), answer.clone(), follows.clone());
        async move {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            frames.next_request().await;
            frames.peer.send(&answer).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            frames.peer.send(&follows).await;
            loop {
                let line = frames.next_stream_frame().await;
                let is_last = line == "gone";
                let _ = told.send(line);
                if is_last {
                    return;
                }
            }
        }
    })
    .await;
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let error = client.post(format!("http://{address}/")).body("some").await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::H2Protocol, Phase::Wait));
    let mut lines = Vec::new();
    while let Some(line) = timeout(Duration::from_secs(10), tell.recv()).await.unwrap() {
        let is_last = line == "gone";
        lines.push(line);
        if is_last {
            break;
        }
    }
    lines.retain(|line| !line.starts_with("DATA"));
    lines
}

#[tokio::test]
async fn a_go_away_arrives_at_a_server_that_has_sent_more() {
    let expected = ["GOAWAY 0 FLOW_CONTROL_ERROR: the connection's window is too large", "gone"];
    for bytes in [0, 200_000] {
        for follows in [vec![], ping(0, b"12345678"), ping(flag::ACK, b"12345678")] {
            assert_eq!(
                told_to_a_server(broken_rule_and(bytes), follows).await,
                expected,
                "{bytes}"
            );
        }
    }
}

/// The client reads on for a second at most, and not more than 256 KiB: it closes though the server does not.
#[tokio::test]
async fn a_server_that_goes_on_sending_is_not_read_for_ever() {
    let begun = Instant::now();
    let endless = broken_rule_and(64 * 1024 * 1024);
    told_to_a_server(endless, vec![]).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// Nor does it hold the end of the client: a connection without exchanges is closed with it.
#[tokio::test]
async fn a_client_that_is_drained_does_not_read_on() {
    let address = listen_scripted(|peer| async move {
        let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
        frames.next_request().await;
        frames.send(&[broken_rule_and(0)]).await;
        frames.peer.stall().await;
    })
    .await;
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    client.get(format!("http://{address}/")).await.unwrap_err();
    let begun = Instant::now();
    assert_eq!(client.drain(Duration::from_secs(5)).await, 0);
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
}
