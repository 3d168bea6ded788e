//! Clients that send frames and do not read the answers: CVE-2019-9512, CVE-2019-9515 and others of the kind.

use std::time::Duration;

use stoop::{Request, Response, ServerLimits};
use stoop_proto::Rate;
use stoop_test::frames::{self, HEADER_BYTES, PING_BYTES, settings_ack};
use stoop_test::http2::preface;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::super::{PIPE_BYTES, connect_with};

/// Limits that allow frames at any rate, so that only the number of waiting answers stops the server.
fn any_rate(waiting_max: u32) -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.wire.http2.control_frames_max = waiting_max;
    limits.wire.http2.overhead_frames = Rate { burst: u32::MAX, per_second: 1 };
    limits
}

/// A connection on which the preface has been sent, and the task that serves it.
async fn ready(limits: ServerLimits) -> (DuplexStream, JoinHandle<()>) {
    let (mut peer, task) = connect_with(limits, |_: Request| Response::from_text("ok"));
    peer.send([preface(), settings_ack()].concat()).await;
    (peer.into_parts().0, task)
}

/// How many of these frames can be sent before the server reads no more; 50,000 if it reads on.
async fn fill(stream: &mut DuplexStream, frame: &[u8]) -> usize {
    let mut sent = 0;
    while sent < 50_000 {
        // They are sent byte by byte, so that each byte is sent or not.
        for at in 0..frame.len() {
            let one = stream.write_all(&frame[at..=at]);
            if timeout(Duration::from_millis(1), one).await.is_err() {
                return sent;
            }
        }
        sent += 1;
    }
    sent
}

/// Reading stops at `Http2Limits::control_frames_max` waiting answers, and goes on when the client reads
/// them. None is lost.
#[tokio::test(start_paused = true)]
async fn reading_stops_at_so_many_answers_and_goes_on() {
    for (frame, bytes) in
        [(frames::ping(0, b"12345678"), PING_BYTES), (frames::settings(&[]), HEADER_BYTES)]
    {
        let mut before = 0;
        for waiting_max in [1_000, 3_000] {
            let (mut stream, _task) = ready(any_rate(waiting_max)).await;
            let sent = fill(&mut stream, &frame).await;
            // Two pipes and the output are full, and the input has room for one frame.
            let (pipes, own) = (3 * PIPE_BYTES / bytes, 4 * 16 * 1024 / bytes);
            let most = pipes + own + 2 * waiting_max as usize;
            assert!(sent > PIPE_BYTES / bytes && sent < most, "{sent}, and {most} at most");
            // A higher limit lets more frames in.
            assert!(sent > before + 1_000, "{sent}, and {before} before");
            before = sent;
            let mut all = Vec::new();
            while let Ok(Ok(n)) = timeout(Duration::from_secs(1), stream.read_buf(&mut all)).await {
                assert!(n > 0, "it stays open");
            }
            // SETTINGS, WINDOW_UPDATE and the acknowledgement come first.
            let answers = all.len() / bytes;
            assert!((sent..sent + 9).contains(&answers), "{answers} of {sent}");
        }
    }
}

/// If the answers are never read, the connection ends.
#[tokio::test(start_paused = true)]
async fn answers_that_are_never_read_end_the_connection() {
    let (mut stream, task) = ready(any_rate(1_000)).await;
    fill(&mut stream, &frames::ping(0, b"12345678")).await;
    let begun = Instant::now();
    task.await.unwrap();
    assert!((29..32).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}
