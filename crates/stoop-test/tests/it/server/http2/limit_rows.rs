//! Rows of the guide of limits on HTTP/2: what ends a connection or a stream, and how that is told and counted. The clock is
//! paused.

use http::Method;
use stoop::limits::Http2Limits;
use stoop::{Request, ServerLimits};
use stoop_proto::Rate;
use stoop_proto::h2::Fault;
use stoop_test::frames::{
    FrameReader, data, flag, headers, nth_stream, ping, rst_stream, settings_ack,
};
use stoop_test::http2::preface;
use tokio::time::{Instant, sleep};

use super::super::limit_rows::{POST, told};
use super::super::observed::observed;
use super::super::{dial, seconds};
use super::GET;

const MANY: Rate = Rate { burst: 1_000_000, per_second: 0 };
const THREE: Rate = Rate { burst: 3, per_second: 0 };

/// Each frame of `of` on as many streams.
fn streams(count: u32, of: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    (0..count).flat_map(|n| of(nth_stream(n))).collect()
}

fn get(stream: u32) -> Vec<u8> {
    headers(stream, flag::WHOLE, &GET)
}

fn post(stream: u32) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, &POST)
}

/// A limit of HTTP/2, frames past it, the frame by which a connection or a stream ends, and whether it is abuse.
type FaultRow = (&'static str, fn(&mut Http2Limits), Vec<u8>, String, Fault, bool);

fn fault_rows() -> [FaultRow; 4] {
    let reset = |id: u32| [post(id), rst_stream(id, 8)].concat();
    let calm = |fault: Fault| format!("ENHANCE_YOUR_CALM: {}", fault.explain());
    let exceeded = Fault::WindowExceeded;
    [
        (
            "resets",
            |http2| (http2.resets, http2.abandoned_requests) = (THREE, MANY),
            streams(5, reset),
            calm(Fault::TooManyResets),
            Fault::TooManyResets,
            true,
        ),
        (
            "abandoned_requests",
            |http2| (http2.resets, http2.abandoned_requests) = (MANY, THREE),
            streams(5, reset),
            calm(Fault::TooManyResets),
            Fault::TooManyResets,
            true,
        ),
        (
            "overhead_frames",
            |http2| http2.overhead_frames = THREE,
            ping(0, b"12345678").repeat(10),
            calm(Fault::TooMuchOverhead),
            Fault::TooMuchOverhead,
            true,
        ),
        (
            "connection_window_bytes",
            |http2| http2.connection_window_bytes = 65_535,
            // Each within the window of its stream.
            streams(2, |id| [post(id), data(id, 0, &[0; 16_000]).repeat(3)].concat()),
            format!("FLOW_CONTROL_ERROR: {}", exceeded.explain()),
            exceeded,
            false,
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn each_limit_of_http2_that_ends_a_connection_is_told_and_counted() {
    for (name, change, frames, end, fault, is_abuse) in fault_rows() {
        let mut limits = ServerLimits::default();
        change(&mut limits.wire.http2);
        // A handler that does not read, so that the windows stay as they are.
        let (server, log) = observed(limits, async |_: Request| {
            sleep(seconds(50)).await;
            "late"
        });
        let mut peer = dial(&server).await;
        peer.send([preface(), settings_ack(), frames].concat()).await;
        let sent = FrameReader::default().lines(&peer.rest().await.unwrap());
        drop(peer);
        let last = sent.last().expect("frames");
        assert!(last.starts_with("GOAWAY ") && last.ends_with(&end), "{name}: {sent:?}");
        let expected = format!("fault {is_abuse}: {}", fault.explain());
        assert_eq!(log.between(&server).await, [expected], "{name}");
        let (stats, abuses) = (server.stats(), u64::from(is_abuse));
        assert_eq!((stats.http2_faults, stats.http2_abuses), (1, abuses), "{name}");
        assert_eq!((stats.malformed, stats.running), (0, 0), "{name}");
    }
}

/// Of what a client leaves unanswered: its connection is closed after ten seconds.
#[tokio::test(start_paused = true)]
async fn settings_and_pings_that_are_not_answered_in_time_are_told_and_counted() {
    for (begin, fault, code, after) in [
        // Their acknowledgement does not come.
        (preface(), Fault::SettingsIgnored, "SETTINGS_TIMEOUT", 10),
        // While a request is under way, a PING is sent after a minute without a byte.
        ([preface(), settings_ack(), get(1)].concat(), Fault::PingIgnored, "NO_ERROR", 70),
    ] {
        let (server, log) = observed(ServerLimits::default(), async |_: Request| {
            sleep(seconds(1_000)).await;
            "late"
        });
        let mut peer = dial(&server).await;
        let began = Instant::now();
        peer.send(begin).await;
        let sent = FrameReader::default().lines(&peer.rest().await.unwrap());
        let elapsed = began.elapsed();
        assert!(
            elapsed >= seconds(after) && elapsed < seconds(after + 3),
            "{fault:?}: {elapsed:?}"
        );
        let last = sent.last().expect("frames");
        assert!(last.starts_with("GOAWAY ") && last.contains(code), "{sent:?}");
        drop(peer);
        assert_eq!(log.between(&server).await, [format!("fault false: {}", fault.explain())]);
        assert_eq!((server.stats().http2_faults, server.stats().http2_abuses), (1, 0));
    }
}

/// A stream that is one too many was never begun, and one beyond its window ends alone.
#[tokio::test(start_paused = true)]
async fn what_ends_a_stream_leaves_its_connection_as_it_was() {
    let mut limits = ServerLimits::default();
    limits.wire.http2.streams_max = 2;
    let bytes = [preface(), settings_ack(), streams(3, post), data(1, flag::END_STREAM, b"x")];
    let (frames, lines, counts) = told(limits, bytes.concat()).await;
    assert!(frames.iter().any(|frame| frame == "RST_STREAM 5 REFUSED_STREAM"), "{frames:?}");
    assert!(frames.iter().any(|frame| frame.starts_with("HEADERS 1 ")), "{frames:?}");
    let why = Fault::TooManyStreams.explain();
    assert_eq!((lines, counts), (vec![format!("1 over HTTP/2.0: {why}: 0")], [1, 0, 0]));

    let (server, log) = observed(ServerLimits::default(), async |request: Request| {
        if request.method() == Method::POST {
            sleep(seconds(50)).await;
        }
        "answered"
    });
    let mut peer = dial(&server).await;
    let exceeded = [post(1), data(1, 0, &[0; 16_384]).repeat(4), get(3)].concat();
    peer.send([preface(), settings_ack(), exceeded].concat()).await;
    peer.finish().await;
    let frames = FrameReader::default().lines(&peer.rest().await.unwrap());
    drop(peer);
    assert!(frames.iter().any(|frame| frame == "RST_STREAM 1 FLOW_CONTROL_ERROR"), "{frames:?}");
    assert!(frames.iter().any(|frame| frame.starts_with("HEADERS 3 ")), "{frames:?}");
    let why = Fault::StreamWindowExceeded.explain();
    assert_eq!(log.between(&server).await, [format!("1 over HTTP/2.0: {why}: 0")]);
    assert_eq!((server.stats().malformed, server.stats().http2_faults), (1, 0));
}

/// Three that are too large, and two that are malformed, in one write.
#[tokio::test(start_paused = true)]
async fn requests_that_are_refused_together_are_each_counted_with_their_answers() {
    let mut limits = ServerLimits::default();
    limits.wire.head_bytes_max = 300;
    let (server, log) = observed(limits, async |_: Request| "answered");
    let value = "x".repeat(300);
    let large = [&GET[..], &[("x", &*value)]].concat();
    let too_large = |n| headers(nth_stream(n), flag::WHOLE, &large);
    let malformed = |n| headers(nth_stream(n), flag::WHOLE, &GET[..2]);
    let refused = [too_large(0), malformed(1), too_large(2), malformed(3), too_large(4)].concat();
    let mut peer = dial(&server).await;
    peer.send([preface(), settings_ack(), refused, get(nth_stream(5))].concat()).await;
    peer.finish().await;
    let frames = FrameReader::default().lines(&peer.rest().await.unwrap());
    drop(peer);
    assert!(frames.iter().any(|frame| frame.starts_with("HEADERS 11 ")), "{frames:?}");
    // They may have come in several rounds.
    let lines = log.between(&server).await;
    let told = |answer: u32| -> u32 {
        let end = format!(": {answer}");
        let counts = lines.iter().filter(|line| line.ends_with(&end));
        counts.filter_map(|line| line.split(' ').next()?.parse::<u32>().ok()).sum()
    };
    assert_eq!((told(431), told(0)), (3, 2), "{lines:?}");
    let stats = server.stats();
    assert_eq!((stats.malformed, stats.responses.client_error), (5, 3));
    assert_eq!(stats.responses.success, 1);
}
