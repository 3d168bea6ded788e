//! More attacks on a running server, frame by frame: each ends with the error code that RFC 9113 gives it,
//! after a known number of frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use stoop::{Request, Response};
use stoop_proto::Limits;
use stoop_proto::h2::Fault;
use stoop_test::frames::{
    FrameReader, HEADER_BYTES, continuation, data, flag, frame, headers, kind, nth_stream, ping,
    priority, priority_update, rst_stream, settings, settings_ack, window_update,
};
use stoop_test::http2::preface;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep};

use super::super::connect;
use super::GET;

const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")];

/// How many frames are sent at a time.
const FRAMES: u32 = 100;

/// A client that sends bytes and reads frames, and the number of handlers that its requests have called.
struct Attacker {
    stream: DuplexStream,
    unread: Vec<u8>,
    reader: FrameReader,
    called: Arc<AtomicUsize>,
    turn: u32,
}

impl Attacker {
    /// Connects to a server whose handler takes a minute to answer.
    async fn connect() -> Self {
        let called = Arc::new(AtomicUsize::new(0));
        let seen = called.clone();
        let peer = connect(move |request: Request| {
            seen.fetch_add(1, SeqCst);
            async move {
                let _ = request.into_body().bytes(1 << 20).await;
                sleep(Duration::from_secs(60)).await;
                Response::from_text("late")
            }
        });
        let mut stream = peer.into_parts().0;
        stream.write_all(&[preface(), settings_ack()].concat()).await.unwrap();
        let (unread, reader) = (Vec::new(), FrameReader::default());
        Self { stream, unread, reader, called, turn: 0 }
    }

    /// The next frame, as a line; `gone` at the end of the connection.
    async fn next_frame(&mut self) -> String {
        loop {
            if let Some((_, payload, _)) = stoop_test::frames::split(&self.unread) {
                let frame: Vec<_> = self.unread.drain(..HEADER_BYTES + payload.len()).collect();
                return self.reader.lines(&frame).remove(0);
            }
            let n = self.stream.read_buf(&mut self.unread).await.unwrap_or(0);
            if n == 0 {
                return "gone".to_owned();
            }
        }
    }

    /// Sends these bytes and a PING. Returns the frames that come before the answer to it.
    async fn send(&mut self, bytes: &[u8]) -> Vec<String> {
        self.turn += 1;
        let mark = format!("{:08}", self.turn);
        let ping = ping(0, mark.as_bytes().try_into().unwrap());
        let _ = self.stream.write_all(&[bytes, &ping].concat()).await;
        let mut received = Vec::new();
        loop {
            let line = self.next_frame().await;
            if line == format!("PING ACK {mark}") {
                return received;
            }
            if line == "gone" {
                return received;
            }
            received.push(line);
        }
    }

    /// Sends these frames in turn until the connection ends. Returns how many they were, how many were
    /// answered, and the last frame of the server.
    async fn flood(&mut self, frames: impl Fn(u32) -> Vec<u8>) -> (u32, usize, String) {
        let (mut sent, mut answers) = (0, 0);
        while sent < 20_000 {
            let some: Vec<u8> = (sent..sent + FRAMES).flat_map(&frames).collect();
            let mut received = self.send(&some).await;
            sent += FRAMES;
            answers += received.len();
            if let Some(last) = received.pop_if(|last| last.starts_with("GOAWAY")) {
                assert_eq!(self.next_frame().await, "gone");
                return (sent, answers - 1, last);
            }
        }
        (sent, answers, "nothing".to_owned())
    }

    fn handlers_called(&self) -> usize {
        self.called.load(SeqCst)
    }
}

fn get(stream: u32) -> Vec<u8> {
    headers(stream, flag::WHOLE, &GET)
}

fn post(stream: u32) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, &POST)
}

/// CVE-2019-9512, 9515, 9518 and other frames that ask for work and bring nothing:
/// `Http2Limits::overhead_frames` of them are taken, and each is answered once if it has an answer.
#[tokio::test(start_paused = true)]
async fn frames_that_bring_nothing_are_taken_until_there_are_too_many() {
    let begun = || post(1);
    let ended = || [post(1), rst_stream(1, 8)].concat();
    let cases: [(&str, Vec<u8>, Vec<u8>, usize); 14] = [
        ("SETTINGS", Vec::new(), settings(&[]), 1),
        ("SETTINGS that change all windows", begun(), settings(&[(4, 1), (4, 2)]), 1),
        ("SETTINGS that change the table", Vec::new(), settings(&[(1, 0), (1, 4_096)]), 1),
        ("SETTINGS ACK", Vec::new(), settings_ack(), 0),
        ("PING ACK", Vec::new(), ping(flag::ACK, b"12345678"), 0),
        ("PRIORITY", Vec::new(), priority(1, 0), 0),
        ("PRIORITY_UPDATE", Vec::new(), priority_update(1, "u=1"), 0),
        ("DATA, empty", begun(), data(1, 0, b""), 0),
        ("DATA, padding only", begun(), data(1, flag::PADDED, &[3, 0, 0, 0]), 0),
        (
            "DATA, the most padding",
            begun(),
            data(1, flag::PADDED, &[&[255][..], &[0; 255]].concat()),
            0,
        ),
        ("WINDOW_UPDATE", Vec::new(), window_update(0, 1), 0),
        ("RST_STREAM, late", ended(), rst_stream(1, 8), 0),
        ("WINDOW_UPDATE, late", ended(), window_update(1, 1), 0),
        ("unknown", Vec::new(), frame(0xbe, 0, 5, b"whatever"), 0),
    ];
    let allowed = Limits::server().http2.overhead_frames.burst;
    for (name, before, wire, answered) in cases {
        let mut attacker = Attacker::connect().await;
        let first = attacker.send(&before).await;
        assert!(first.len() <= 3, "{name}: {first:?}");
        let (sent, answers, last) = attacker.flood(|_| wire.clone()).await;
        assert!((allowed - 2 * FRAMES..=allowed + 2 * FRAMES).contains(&sent), "{name}: {sent}");
        let calm = format!("ENHANCE_YOUR_CALM: {}", Fault::TooMuchOverhead.explain());
        assert!(last.ends_with(&calm), "{name}: {last}");
        // The server's WINDOW_UPDATEs are among the answers.
        assert!(answers <= answered * sent as usize + 100, "{name}: {answers} answers");
        assert_eq!(attacker.handlers_called(), usize::from(!before.is_empty()), "{name}");
    }
}

/// CVE-2025-8671, "MadeYouReset": all ways to make a server reset a stream whose handler runs. Each reset
/// has the code that the RFC asks for, and there are `Http2Limits::resets` of them.
#[tokio::test(start_paused = true)]
async fn streams_that_a_server_is_made_to_reset_are_counted() {
    /// A name, the frames that make the server reset a stream, and the reset's code.
    type ResetCase<'a> = (&'a str, &'a dyn Fn(u32) -> Vec<u8>, &'a str);
    let cases: [ResetCase<'_>; 9] = [
        ("WINDOW_UPDATE by 0", &|id| [post(id), window_update(id, 0)].concat(), "PROTOCOL_ERROR"),
        (
            "window overflow",
            &|id| [post(id), window_update(id, 0x7fff_ffff)].concat(),
            "FLOW_CONTROL_ERROR",
        ),
        (
            "PRIORITY of 4",
            &|id| [post(id), frame(kind::PRIORITY, 0, id, &[0; 4])].concat(),
            "FRAME_SIZE_ERROR",
        ),
        ("PRIORITY on itself", &|id| [post(id), priority(id, id)].concat(), "PROTOCOL_ERROR"),
        ("DATA after END_STREAM", &|id| [get(id), data(id, 0, b"x")].concat(), "STREAM_CLOSED"),
        (
            "HEADERS after END_STREAM",
            &|id| [get(id), headers(id, flag::WHOLE, &[])].concat(),
            "STREAM_CLOSED",
        ),
        (
            "too long",
            &|id| {
                let fields = [&POST[..], &[("content-length", "1")]].concat();
                [headers(id, flag::END_HEADERS, &fields), data(id, 0, b"xy")].concat()
            },
            "PROTOCOL_ERROR",
        ),
        (
            "malformed trailers",
            &|id| [post(id), headers(id, flag::WHOLE, &[("X", "")])].concat(),
            "PROTOCOL_ERROR",
        ),
        ("malformed", &|id| headers(id, flag::WHOLE, &GET[..2]), "PROTOCOL_ERROR"),
    ];
    let allowed = Limits::server().http2.resets.burst;
    for (name, frames, code) in cases {
        let mut attacker = Attacker::connect().await;
        let mut resets = 0;
        let last = loop {
            let id = nth_stream(resets);
            let received = attacker.send(&frames(id)).await;
            match received.iter().find(|line| line.starts_with("GOAWAY")) {
                Some(last) => break last.clone(),
                None => {
                    assert!(
                        received.contains(&format!("RST_STREAM {id} {code}")),
                        "{name}: {received:?}"
                    )
                }
            }
            resets += 1;
        };
        assert_eq!(resets, allowed, "{name}");
        let calm = format!("ENHANCE_YOUR_CALM: {}", Fault::TooManyResets.explain());
        assert!(last.ends_with(&calm), "{name}: {last}");
        let most = if name == "malformed" { 0 } else { allowed as usize + 1 };
        assert!(attacker.handlers_called() <= most, "{name}: {}", attacker.handlers_called());
    }
}

/// A window of a stream that overflows or is exceeded ends the stream; one of the connection ends the
/// connection.
#[tokio::test(start_paused = true)]
async fn windows_that_overflow_end_their_stream_or_connection() {
    let mut attacker = Attacker::connect().await;
    attacker.send(&[post(1), post(3)].concat()).await;
    let received = attacker.send(&window_update(3, 0x7fff_ffff)).await;
    assert_eq!(received, ["RST_STREAM 3 FLOW_CONTROL_ERROR"]);
    let received = attacker.send(&data(1, 0, b"goes on")).await;
    assert!(!received.iter().any(|line| line.contains("ERROR")), "{received:?}");
    for (wire, text) in [
        (window_update(0, 0x7fff_ffff), Fault::WindowOverflow.explain()),
        (settings(&[(4, 0x8000_0000)]), Fault::InitialWindow.explain()),
        // A value that is legal alone overflows a window that was opened before.
        (
            [window_update(1, 0x7fff_0000), settings(&[(4, 0x7fff_ffff)])].concat(),
            Fault::InitialWindow.explain(),
        ),
    ] {
        let mut attacker = Attacker::connect().await;
        attacker.send(&post(1)).await;
        let received = attacker.send(&wire).await;
        assert_eq!(received, [format!("GOAWAY 1 FLOW_CONTROL_ERROR: {text}")]);
        assert_eq!(attacker.next_frame().await, "gone");
    }
}

/// 1 MiB of all streams together: content beyond that is not taken, and unread content is no more than that.
#[tokio::test(start_paused = true)]
async fn content_beyond_the_connections_window_ends_it() {
    let peer = connect(async |request: Request| {
        sleep(Duration::from_secs(600)).await;
        drop(request);
        Response::from_text("late")
    });
    let mut attacker = Attacker::connect().await;
    attacker.stream = peer.into_parts().0;
    attacker.stream.write_all(&[preface(), settings_ack()].concat()).await.unwrap();
    // 65,535 bytes on each stream.
    let most = Limits::server().http2.connection_window_bytes / 65_535;
    for n in 0..most {
        let some = data(nth_stream(n), 0, &[0; 13_107]).repeat(5);
        let received = attacker.send(&[post(nth_stream(n)), some].concat()).await;
        assert!(!received.iter().any(|line| line.contains("ERROR")), "{n}: {received:?}");
    }
    let some = data(nth_stream(most), 0, &[0; 13_107]);
    let received = attacker.send(&[post(nth_stream(most)), some].concat()).await;
    let text = Fault::WindowExceeded.explain();
    assert_eq!(received, [format!("GOAWAY {} FLOW_CONTROL_ERROR: {text}", nth_stream(most))]);
}

/// CVE-2016-6581, the HPACK bomb: a head that is too large is answered 431, and one far beyond that ends
/// the connection. No handler is called for either.
#[tokio::test(start_paused = true)]
async fn a_small_block_does_not_become_a_large_head() {
    // A field of 4,000 bytes is inserted into the table, and repeated by its index, in a byte each time.
    let begin = b"\x82\x86\x84\x01\x01a";
    let insert = [&begin[..], b"\x40\x01x\x7f\xa1\x1e", &[b'y'; 4_000]].concat();
    let bomb = |id, count| {
        let block = [&begin[..], &vec![0xbe; count]].concat();
        frame(kind::HEADERS, flag::WHOLE, id, &block)
    };
    let mut attacker = Attacker::connect().await;
    attacker.send(&frame(kind::HEADERS, flag::WHOLE, 1, &insert)).await;
    for id in (3..103).step_by(2) {
        let received = attacker.send(&bomb(id, 60)).await;
        let head = format!("HEADERS {id} END_STREAM :status=431");
        assert!(received.len() <= 2 && received[0].starts_with(&head), "{received:?}");
    }
    let received = attacker.send(&bomb(103, 15)).await;
    assert_eq!(received, Vec::<String>::new(), "one that is as large as it may be");
    assert_eq!(attacker.handlers_called(), 2);
    let received = attacker.send(&bomb(105, 16_000)).await;
    // The stream before it was the last with a request.
    let text = Fault::BlockTooLarge.explain();
    assert_eq!(received, [format!("GOAWAY 103 ENHANCE_YOUR_CALM: {text}")]);
    assert_eq!(attacker.handlers_called(), 2);
}

/// A field block that goes on slowly has as long as a head has.
#[tokio::test(start_paused = true)]
async fn a_dripping_field_block_takes_no_longer_than_a_head_may() {
    let mut attacker = Attacker::connect().await;
    attacker.send(b"").await;
    let begun = Instant::now();
    let block = headers(1, flag::END_STREAM, &GET);
    attacker.stream.write_all(&block).await.unwrap();
    let mut last = String::new();
    while last != "gone" && begun.elapsed().as_secs() < 60 {
        let _ = attacker.stream.write_all(&continuation(1, 0, b"")).await;
        let next = tokio::time::timeout(Duration::from_secs(3), attacker.next_frame()).await;
        last = match next {
            Ok(line) => line,
            Err(_) => continue,
        };
        if last.starts_with("GOAWAY") {
            assert_eq!(last, "GOAWAY 0 ENHANCE_YOUR_CALM");
            let seconds = begun.elapsed().as_secs();
            assert!((10..=13).contains(&seconds), "{seconds}");
        }
    }
    assert_eq!((last.as_str(), attacker.handlers_called()), ("gone", 0));
}
