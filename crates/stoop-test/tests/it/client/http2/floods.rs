//! Attacks of a server on a client, by name: each with a bound on the frames that are read and sent, and
//! the error that ends the connection. Waiting requests fail, and the next one goes over another
//! connection.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use stoop::{Client, ErrorKind, Phase};
use stoop_proto::h2::Fault;
use stoop_proto::{Limits, Rate};
use stoop_test::frames::{
    PING_BYTES, continuation, data, flag, frame, go_away, headers, kind, ping, priority,
    rst_stream, settings, settings_ack, window_update,
};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::super::kit::{
    FetchOutcome, PIPE_BYTES, ScriptedServer, fetch, get, kind_and_phase, ok, settle,
};
use super::kit::{FrameServer, ok_frames, over_http2};
use crate::client::kit::counts;

/// How many frames are sent at a time.
const FRAMES: usize = 100;

/// A script that is not done by then has failed.
const SOON: Duration = Duration::from_secs(1);

/// Sends `wire` again and again, with a PING behind each hundred to know how far the client has read, until
/// the client ends the connection. Returns how often it was sent, and the client's frames.
async fn flood(frames: &mut FrameServer, wire: &[u8]) -> (usize, Vec<String>) {
    let (mut sent, mut said) = (0, Vec::new());
    loop {
        let mark = format!("{sent:08}");
        let ping = ping(0, mark.as_bytes().try_into().unwrap());
        frames.peer.send([wire.repeat(FRAMES), ping].concat()).await;
        sent += FRAMES;
        loop {
            said.push(frames.next_frame().await);
            let last = said.last().unwrap();
            if last.starts_with("GOAWAY ") && last != "GOAWAY 0 NO_ERROR" {
                return (sent, said);
            }
            assert!(last != "gone" && sent < 20_000, "{last}");
            if *last == format!("PING ACK {mark}") {
                break;
            }
        }
    }
}

/// `Http2Limits::overhead_frames`: 10,000 frames that bring nothing, of whatever type.
#[tokio::test(start_paused = true)]
async fn frames_that_bring_nothing_are_taken_until_there_are_too_many() {
    let head = headers(1, flag::END_HEADERS, &[(":status", "200")]);
    let none = Vec::new;
    let ways: [(&str, Vec<u8>, Vec<u8>, usize); 13] = [
        ("PING", none(), ping(0, b"12345678"), 1),
        ("PING ACK", none(), ping(flag::ACK, b"12345678"), 0),
        ("SETTINGS", none(), settings(&[]), 1),
        ("SETTINGS that change all windows", none(), settings(&[(4, 1), (4, 65_535)]), 1),
        ("SETTINGS ACK", none(), settings_ack(), 0),
        ("PRIORITY", none(), priority(3, 0), 0),
        ("WINDOW_UPDATE", none(), window_update(0, 1), 0),
        ("WINDOW_UPDATE of a stream", none(), window_update(1, 1), 0),
        ("GOAWAY", none(), go_away(0x7fff_ffff, 0, "bye"), 0),
        ("unknown", none(), frame(0xbe, 0, 5, b"whatever"), 0),
        ("DATA, empty", head.clone(), data(1, 0, b""), 0),
        ("DATA, padding only", head, data(1, flag::PADDED, &[3, 0, 0, 0]), 0),
        ("RST_STREAM, late", rst_stream(1, 2), rst_stream(1, 2), 0),
    ];
    let allowed = Limits::client().http2.overhead_frames.burst as usize;
    for (name, begin, wire, answers) in ways {
        let (tell, mut told) = mpsc::unbounded_channel();
        let script: Arc<(Vec<u8>, Vec<u8>)> = (begin, wire).into();
        let client = first_scripted(move |mut frames| {
            let (script, tell) = (script.clone(), tell.clone());
            async move {
                frames.peer.send(&script.0).await;
                tell.send(flood(&mut frames, &script.1).await).unwrap();
            }
        });
        let outcome = fetch(&client).await;
        let (sent, said) = timeout(SOON, told.recv()).await.unwrap().unwrap();
        match name {
            "RST_STREAM, late" => assert_eq!(outcome, Err((ErrorKind::Reset, Phase::Wait))),
            _ => {
                let phase = if name.starts_with("DATA") { Phase::Receive } else { Phase::Wait };
                assert_eq!(outcome, Err((ErrorKind::H2Protocol, phase)), "{name}");
            }
        }
        assert!((allowed - 2 * FRAMES..=allowed + 2 * FRAMES).contains(&sent), "{name}: {sent}");
        let calm = format!("GOAWAY 0 ENHANCE_YOUR_CALM: {}", Fault::TooMuchOverhead.explain());
        assert_eq!(said.last(), Some(&calm), "{name}");
        // The client answers each frame once at most, beside the PINGs of `flood`.
        let most = answers * sent + sent / FRAMES + 10;
        assert!(said.len() <= most, "{name}: {} lines", said.len());
        assert_eq!(fetch(&client).await, ok(), "{name}");
    }
}

/// PINGs of a server that does not read the answers: at a number of waiting answers the client stops
/// reading, and in the end closes the connection.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_is_not_answered_for_ever() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let client = over_http2(
        |limits| limits.wire.http2.overhead_frames = Rate { burst: u32::MAX, per_second: 1 },
        move |peer| {
            let tell = tell.clone();
            async move {
                let mut frames = FrameServer::accept(peer, &[]).await;
                assert_eq!(frames.next_request().await, 1);
                let (mut sent, ping) = (0, ping(0, b"12345678"));
                let soon = Duration::from_millis(1);
                while sent < 50_000 && timeout(soon, frames.peer.send(&ping)).await.is_ok() {
                    sent += 1;
                }
                tell.send(sent).unwrap();
                frames.peer.stall().await;
            }
        },
    );
    // The client's own PING is not answered either.
    assert_eq!(fetch(&client).await, Err((ErrorKind::ClosedEarly, Phase::Wait)));
    let sent = timeout(SOON, told.recv()).await.unwrap().unwrap();
    let most = 3 * PIPE_BYTES / PING_BYTES + 4 * 16 * 1024 / PING_BYTES + 2_000;
    assert!(sent > PIPE_BYTES / PING_BYTES && sent < most, "{sent}, and {most} at most");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(counts(&client), (0, 0));
}

/// `Limits::interim_max`.
#[tokio::test(start_paused = true)]
async fn interim_responses_without_end_end_their_stream() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, &[]).await;
            assert_eq!((frames.next_request().await, frames.next_request().await), (1, 3));
            let hint = headers(1, flag::END_HEADERS, &[(":status", "103"), ("link", "</a>")]);
            frames.peer.send(hint.repeat(100)).await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 1 ENHANCE_YOUR_CALM");
            frames.send(&[ok_frames(3)]).await;
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let mut seen = 0;
    let request = stoop::Request::get(super::super::kit::URL).unwrap();
    let flooded = client.send_with_interim(request, |_| seen += 1);
    let (flooded, other) = tokio::join!(flooded, fetch(&client));
    assert_eq!(flooded.map_err(kind_and_phase).err(), Some((ErrorKind::H2Protocol, Phase::Wait)));
    assert_eq!((seen, other), (16, ok()));
}

/// Sends `more` until the client ends the connection. Returns how many bytes that took, and the client's
/// last frame.
async fn send_until_closed(frames: &mut FrameServer, more: &[u8]) -> (usize, String) {
    let mut sent = 0;
    while sent < 64 << 20 {
        frames.peer.send(more).await;
        sent += more.len();
        settle().await;
        while let Ok(line) = timeout(Duration::ZERO, frames.next_frame()).await {
            if line.starts_with("GOAWAY") || line == "gone" {
                return (sent, line);
            }
        }
    }
    (sent, "nothing".to_owned())
}

/// The outcomes of two requests of a client whose first connection is [scripted](first_scripted).
async fn with_script<F>(
    script: impl Fn(FrameServer) -> F + Send + Sync + 'static,
) -> (FetchOutcome, FetchOutcome)
where
    F: Future<Output = ()> + Send + 'static,
{
    let client = first_scripted(script);
    (fetch(&client).await, fetch(&client).await)
}

/// A client whose first connection follows `script` once there is a request. Others serve.
fn first_scripted<F>(script: impl Fn(FrameServer) -> F + Send + Sync + 'static) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    let script = Arc::new(script);
    over_http2(
        |_| {},
        move |peer: ScriptedServer| {
            let script = script.clone();
            async move {
                let number = peer.number;
                let mut frames = FrameServer::accept(peer, &[]).await;
                if number > 0 {
                    return frames.serve().await;
                }
                assert_eq!(frames.next_request().await, 1);
                script(frames).await;
            }
        },
    )
}

/// The "continuation flood" of 2024: a field block is bounded in bytes and in frames.
#[tokio::test(start_paused = true)]
async fn a_field_block_without_end_is_cut_off() {
    for piece in [0, 1, 16_000] {
        let (tell, mut told) = mpsc::unbounded_channel();
        let outcomes = with_script(move |mut frames| {
            let tell = tell.clone();
            async move {
                frames.send(&[headers(1, 0, &[(":status", "200")])]).await;
                let more = continuation(1, 0, &vec![0x88; piece]);
                tell.send(send_until_closed(&mut frames, &more).await).unwrap();
            }
        })
        .await;
        let (sent, last) = timeout(SOON, told.recv()).await.unwrap().unwrap();
        let calm = format!("GOAWAY 0 ENHANCE_YOUR_CALM: {}", Fault::BlockTooLarge.explain());
        assert_eq!(last, calm);
        assert!(sent <= 5 * Limits::client().head_bytes_max, "{piece}: {sent} bytes");
        let failed = Err((ErrorKind::H2Protocol, Phase::Wait));
        assert_eq!(outcomes, (failed, ok()));
    }
}

/// CVE-2016-6581, the HPACK bomb: a head that is too large fails its request, and one far beyond that ends
/// the connection.
#[tokio::test(start_paused = true)]
async fn a_small_block_does_not_become_a_large_head() {
    // A field of 4,000 bytes is inserted into the table, and repeated by its index, in a byte each time.
    let insert = [&b"\x88\x40\x01x\x7f\xa1\x1e"[..], &[b'y'; 4_000]].concat();
    let bomb = |stream, count| {
        frame(kind::HEADERS, flag::WHOLE, stream, &[&b"\x88"[..], &vec![0xbe; count]].concat())
    };
    let large: Arc<[u8]> = bomb(3, 100).into();
    let monstrous: Arc<[u8]> = bomb(7, 16_000).into();
    let insert: Arc<[u8]> = frame(kind::HEADERS, flag::WHOLE, 1, &insert).into();
    let client = first_scripted(move |mut frames| {
        let (insert, large, monstrous) = (insert.clone(), large.clone(), monstrous.clone());
        async move {
            frames.peer.send(&insert).await;
            assert_eq!(frames.next_request().await, 3);
            frames.peer.send(&large).await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 3 ENHANCE_YOUR_CALM");
            assert_eq!(frames.next_request().await, 5);
            frames.send(&[ok_frames(5)]).await;
            assert_eq!(frames.next_request().await, 7);
            frames.peer.send(&monstrous).await;
            let last = frames.next_stream_frame().await;
            assert!(last.starts_with("GOAWAY 0 ENHANCE_YOUR_CALM: "), "{last}");
        }
    });
    let failed = Err((ErrorKind::H2Protocol, Phase::Wait));
    assert_eq!(fetch(&client).await, Ok((200, String::new())));
    assert_eq!(fetch(&client).await, failed);
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(fetch(&client).await, failed);
    assert_eq!(fetch(&client).await, ok());
}

/// Windows that the server opens beyond their maximum.
#[tokio::test(start_paused = true)]
async fn a_window_that_overflows_ends_the_connection() {
    for wire in [
        window_update(0, 0x7fff_ffff),
        settings(&[(4, 0x8000_0000)]),
        [window_update(1, 0x7fff_0000), settings(&[(4, 0x7fff_ffff)])].concat(),
    ] {
        let wire: Arc<[u8]> = wire.into();
        let outcomes = with_script(move |mut frames| {
            let wire = wire.clone();
            async move {
                frames.peer.send(&wire).await;
                let last = frames.next_stream_frame().await;
                assert!(last.starts_with("GOAWAY 0 FLOW_CONTROL_ERROR: "), "{last}");
                assert_eq!(frames.next_stream_frame().await, "gone");
            }
        })
        .await;
        let failed = Err((ErrorKind::H2Protocol, Phase::Wait));
        assert_eq!(outcomes, (failed, ok()));
    }
}

/// Content beyond the windows: of a stream, which ends, and of the connection, which ends with all its
/// streams.
#[tokio::test(start_paused = true)]
async fn content_beyond_the_windows_is_not_taken() {
    const STREAMS: u32 = 14;
    let client = over_http2(
        |_| {},
        |peer| async {
            let number = peer.number;
            let mut frames = FrameServer::accept(peer, &[]).await;
            if number > 0 {
                return frames.serve().await;
            }
            let head = |stream| headers(stream, flag::END_HEADERS, &[(":status", "200")]);
            // 256 KiB of a stream, and a byte more.
            let whole = |stream| data(stream, 0, &[b'x'; 16_384]).repeat(16);
            assert_eq!(frames.next_request().await, 1);
            frames.send(&[head(1), whole(1), data(1, 0, b"x")]).await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 1 FLOW_CONTROL_ERROR");
            // The connection's 4 MiB, of which the first stream has used its share and a byte.
            for n in 1..=STREAMS {
                let stream = frames.next_request().await;
                assert_eq!(stream, 2 * n + 1);
                frames.send(&[head(stream), whole(stream)]).await;
            }
            let stream = frames.next_request().await;
            frames.send(&[head(stream), whole(stream)]).await;
            let last = frames.next_stream_frame().await;
            assert!(last.starts_with("GOAWAY 0 FLOW_CONTROL_ERROR: "), "{last}");
        },
    );
    assert_eq!(fetch(&client).await, Err((ErrorKind::H2Protocol, Phase::Receive)));
    let mut unread = Vec::new();
    for _ in 0..STREAMS {
        unread.push(get(&client).await.unwrap());
    }
    assert_eq!(counts(&client), (1, 0));
    unread.push(get(&client).await.unwrap());
    for response in unread {
        let error = response.into_body().bytes(1 << 20).await.unwrap_err();
        assert_eq!(kind_and_phase(error), (ErrorKind::H2Protocol, Phase::Receive));
    }
    assert_eq!(fetch(&client).await, ok());
}

/// CVE-2023-44487 the other way round: a server that resets the client's streams costs no more than the
/// requests that are sent to it.
#[tokio::test(start_paused = true)]
async fn a_server_that_resets_all_streams_keeps_its_connection() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, &[]).await;
            loop {
                match frames.next_request().await {
                    0 => return,
                    stream => frames.send(&[rst_stream(stream, 8)]).await,
                }
            }
        },
    );
    for _ in 0..1_000 {
        assert_eq!(fetch(&client).await, Err((ErrorKind::Reset, Phase::Wait)));
    }
    assert_eq!(counts(&client), (1, 1));
}
