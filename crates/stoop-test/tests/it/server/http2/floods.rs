//! Attacks of a client on a running server, by name: each with a bound on the handlers that are called, the
//! bytes that are sent and the time it takes, and the error that ends the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use stoop::{Body, Request, Response, ServerLimits};
use stoop_proto::Limits;
use stoop_proto::h2::{ErrorCode, ResetReason};
use stoop_test::frames::{
    FrameReader, continuation, data, flag, headers, ping, settings, settings_ack, window_update,
};
use stoop_test::http2::{Client, ClientEvent, preface};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

use super::super::{connect, connect_with, dial, listen};
use super::GET;

/// Counts handlers that were called, and those that are running.
#[derive(Clone, Default)]
struct HandlerCount(Arc<(AtomicUsize, AtomicUsize)>);

impl HandlerCount {
    fn called(&self) -> usize {
        self.0.0.load(SeqCst)
    }

    fn running(&self) -> usize {
        self.0.1.load(SeqCst)
    }

    fn enter(&self) -> RunningHandler {
        self.0.0.fetch_add(1, SeqCst);
        self.0.1.fetch_add(1, SeqCst);
        RunningHandler(self.clone())
    }
}

/// A handler that counts as running until this is dropped.
struct RunningHandler(HandlerCount);

impl Drop for RunningHandler {
    fn drop(&mut self) {
        self.0.0.1.fetch_sub(1, SeqCst);
    }
}

/// CVE-2023-44487 and CVE-2025-8671: whichever peer sends the resets, handlers are called for as many
/// streams as may be reset and for no more, and none keeps running.
#[tokio::test(start_paused = true)]
async fn handlers_work_for_as_many_resets_as_are_allowed() {
    let allowed = Limits::server().http2.resets.burst as usize;
    for made_to in [false, true] {
        let seen = HandlerCount::default();
        let counted = seen.clone();
        let mut client = Client::new(
            connect(move |_: Request| {
                let running = counted.enter();
                async move {
                    let _running = running;
                    sleep(Duration::from_secs(60)).await;
                    Response::from_text("late")
                }
            })
            .into_parts()
            .0,
        )
        .await;
        let mut asked = 0;
        let code = loop {
            let key = client.get("/").await;
            asked += 1;
            // The budget grows by twenty a second, and little time has passed.
            assert!(asked <= allowed + 10, "made_to: {made_to}");
            match made_to {
                false => client.reset(key, ErrorCode::CANCEL).await,
                true => {
                    let id = client.machine.stream_id(key).unwrap();
                    client.send_raw(&window_update(id, 0)).await;
                }
            }
            match timeout(Duration::from_millis(1), client.next_event()).await {
                Ok(ClientEvent::GoAway(code)) => break code,
                Ok(ClientEvent::Reset(of, ResetReason::Peer(ErrorCode::PROTOCOL_ERROR)))
                    if of == key => {}
                Err(_) if !made_to => {}
                other => panic!("{other:?}"),
            }
            assert_eq!(seen.running(), 0, "it is dropped at once");
        };
        assert_eq!((code, seen.called()), (ErrorCode::ENHANCE_YOUR_CALM, asked));
        assert!(asked > allowed, "{asked}");
        assert_eq!(seen.running(), 0);
    }
}

/// The "continuation flood" of 2024, over a socket: it ends when the field block is longer than a head may
/// be, or has too many frames, and no handler is called for it.
#[tokio::test]
async fn a_field_block_without_end_is_cut_off_over_a_socket() {
    for piece in [0, 1, 16_000] {
        let count = HandlerCount::default();
        let seen = count.clone();
        let server = listen(ServerLimits::default(), move |_: Request| {
            drop(seen.enter());
            Response::from_text("never")
        });
        let (mut stream, _) = dial(&server).await.into_parts();
        let begin = [preface(), settings_ack(), headers(1, flag::END_STREAM, &GET)].concat();
        stream.write_all(&begin).await.unwrap();
        let more = continuation(1, 0, &vec![0; piece]);
        let (mut reader, mut writer) = stream.into_split();
        let sending = async move {
            let mut sent = 0;
            while sent < 64 << 20 && writer.write_all(&more).await.is_ok() {
                sent += more.len();
            }
            sent
        };
        let mut said = Vec::new();
        let reading = async { reader.read_to_end(&mut said).await };
        let (sent, _) = tokio::join!(sending, reading);
        // Bytes that the server reads behind its GOAWAY, and those that sockets hold.
        assert!(sent < 16 << 20, "{sent} bytes were taken");
        let lines = FrameReader::default().lines(&said);
        assert!(lines.last().unwrap().contains("ENHANCE_YOUR_CALM"), "{lines:?}");
        assert!(said.len() < 200, "{lines:?}");
        assert_eq!(count.called(), 0);
    }
}

/// CVE-2019-9512: each is answered, up to ten thousand.
#[tokio::test(start_paused = true)]
async fn pings_are_answered_until_there_are_too_many() {
    let (mut stream, _) = connect(|_: Request| Response::from_text("ok")).into_parts();
    stream.write_all(&[preface(), settings_ack()].concat()).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let pings = ping(0, b"12345678").repeat(100);
    let sending = tokio::spawn(async move { while writer.write_all(&pings).await.is_ok() {} });
    let mut said = Vec::new();
    reader.read_to_end(&mut said).await.unwrap();
    let lines = FrameReader::default().lines(&said);
    let answered = lines.iter().filter(|line| line.starts_with("PING ACK")).count();
    let allowed = Limits::server().http2.overhead_frames.burst as usize;
    // The budget grows a little in the seconds that reading them takes.
    assert!((allowed - 10..allowed + 1_000).contains(&answered), "{answered}");
    assert!(lines.last().unwrap().contains("ENHANCE_YOUR_CALM"), "{:?}", lines.last());
    drop(reader);
    sending.await.unwrap();
}

/// The limit is for the whole preface and SETTINGS, however the bytes come.
#[tokio::test(start_paused = true)]
async fn a_dripping_preface_takes_no_longer_than_a_head_may() {
    let whole = [preface(), headers(1, flag::WHOLE, &GET)].concat();
    for begin in [0, 3, 24, 28, 33, 35, 50] {
        let count = HandlerCount::default();
        let seen = count.clone();
        let (mut stream, _) = connect(move |_: Request| {
            drop(seen.enter());
            Response::from_text("never")
        })
        .into_parts();
        let started = Instant::now();
        stream.write_all(&whole[..begin]).await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(stream);
        let drops = whole[begin..].to_vec();
        let sending = tokio::spawn(async move {
            for byte in drops {
                sleep(Duration::from_secs(3)).await;
                if writer.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
        });
        let mut said = Vec::new();
        reader.read_to_end(&mut said).await.unwrap();
        drop(reader);
        sending.abort();
        // Two more seconds are for reading the GOAWAY.
        let seconds = started.elapsed().as_secs();
        assert!((10..=26).contains(&seconds), "{begin}: {seconds}");
        assert_eq!(count.called(), 0, "{begin}");
    }
}

/// Streams that are opened and left: no more are open than the limit allows, and each ends in a time-out of
/// its own, with its handler.
#[tokio::test(start_paused = true)]
async fn streams_that_are_opened_and_left_end() {
    let count = HandlerCount::default();
    let seen = count.clone();
    let mut client = Client::new(
        connect(move |request: Request| {
            let running = seen.enter();
            async move {
                let _running = running;
                let read = request.into_body().bytes(1 << 20).await;
                Response::from_text(format!("{}", read.is_ok()))
            }
        })
        .into_parts()
        .0,
    )
    .await;
    let max = Limits::server().http2.streams_max as usize;
    let mut keys = Vec::new();
    for _ in 0..max {
        keys.push(client.request(Method::POST, "/", &[], false).await);
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!((count.called(), count.running()), (max, max));
    let started = Instant::now();
    let mut late = 0;
    while late < max {
        match client.next_event().await {
            ClientEvent::Head(_, head, _) => {
                assert_eq!(head.status(), 408);
                late += 1;
            }
            ClientEvent::Closed => panic!("{:?}", client.machine.fault()),
            _ => {}
        }
    }
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    assert_eq!((count.called(), count.running()), (max, 0));
}

/// CVE-2019-9517: a hundred responses without a window. Each makes a few pieces of its content, nothing of
/// it is sent, and after a while the streams are reset.
#[tokio::test(start_paused = true)]
async fn responses_without_a_window_are_not_made_and_end() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let (mut stream, _) = connect(move |_: Request| {
        let counted = counted.clone();
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            while sender.send(Bytes::from_static(&[0; 16 * 1024])).await.is_ok() {
                counted.fetch_add(1, SeqCst);
            }
        });
        Response::new(body)
    })
    .into_parts();
    let asked = (0..100).flat_map(|n| headers(2 * n + 1, flag::WHOLE, &GET));
    let asked: Vec<u8> = asked.collect();
    let said = [preface()[..24].to_vec(), settings(&[(4, 0)]), settings_ack(), asked].concat();
    stream.write_all(&said).await.unwrap();
    let (mut reader, _writer) = tokio::io::split(stream);
    let (mut said, started) = (Vec::new(), Instant::now());
    let _ = timeout(Duration::from_secs(50), reader.read_to_end(&mut said)).await;
    let lines = FrameReader::default().lines(&said);
    let of = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!((of("HEADERS"), of("DATA"), of("RST_STREAM")), (100, 0, 100), "{lines:?}");
    assert_eq!(of(" CANCEL"), 100);
    // A piece that waits to be sent, one in the channel, and one on its way into it.
    assert!(made.load(SeqCst) <= 300, "{}", made.load(SeqCst));
    assert!(started.elapsed().as_secs() <= 50);
}

/// The client opens a window by one byte at a time, and the server sends a bounded number of frames.
#[tokio::test(start_paused = true)]
async fn a_window_opened_by_single_bytes_ends_the_connection() {
    let (mut stream, _) =
        connect(|_: Request| Response::from_bytes(Bytes::from_static(&[0; 100_000]))).into_parts();
    let begin = [settings(&[(4, 0)]), settings_ack(), headers(1, flag::WHOLE, &GET)].concat();
    stream.write_all(&[preface()[..24].to_vec(), begin].concat()).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let crumb = window_update(1, 1);
    let sending = tokio::spawn(async move { while writer.write_all(&crumb).await.is_ok() {} });
    let mut said = Vec::new();
    reader.read_to_end(&mut said).await.unwrap();
    let lines = FrameReader::default().lines(&said);
    let allowed = Limits::server().http2.overhead_frames.burst as usize;
    let sent = lines.iter().filter(|line| line.starts_with("DATA")).count();
    assert!((1..allowed + 1_000).contains(&sent), "{sent}");
    assert!(lines.last().unwrap().contains("ENHANCE_YOUR_CALM"), "{:?}", lines.last());
    drop(reader);
    sending.await.unwrap();
}

/// Content that is not read is taken as far as the windows allow, and no further.
#[tokio::test(start_paused = true)]
async fn content_that_the_handler_does_not_read_stops_at_the_windows() {
    let (mut peer, _task) = connect_with(ServerLimits::default(), async |request: Request| {
        sleep(Duration::from_secs(10)).await;
        drop(request);
        Response::from_text("ok")
    });
    let post = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")];
    peer.send([preface(), settings_ack(), headers(1, flag::END_HEADERS, &post)].concat()).await;
    let (mut stream, _) = peer.into_parts();
    // The window's 65,535 bytes, and one more.
    let some = data(1, 0, &[0; 13_107]);
    stream.write_all(&some.repeat(5)).await.unwrap();
    stream.write_all(&data(1, 0, b"a")).await.unwrap();
    let mut said = Vec::new();
    let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut said)).await;
    let lines = FrameReader::default().lines(&said);
    assert!(lines.iter().any(|line| line.starts_with("RST_STREAM 1 FLOW_CONTROL")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("WINDOW_UPDATE 1")), "{lines:?}");
}
