//! Exchanges over HTTP/2 that take long, pause, or go on behind their responses.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use http::Method;
use stoop::{Request, Response};
use stoop_proto::Limits;
use stoop_test::frames::{self, flag};
use stoop_test::http2::{Client, preface};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};

use super::super::connect;
use super::GET;

/// A plain function answers at once, and passes the content to a task.
#[tokio::test(start_paused = true)]
async fn content_that_a_task_reads_after_an_answer_at_once_keeps_coming() {
    static READ: AtomicUsize = AtomicUsize::new(0);
    let mut client = Client::new(
        connect(|request: Request| {
            tokio::spawn(async move {
                let mut body = request.into_body();
                loop {
                    match body.chunk().await {
                        Ok(Some(piece)) => READ.fetch_add(piece.len(), SeqCst),
                        _ => return,
                    };
                }
            });
            Response::from_text("accepted")
        })
        .into_parts()
        .0,
    )
    .await;
    let key = client.request(Method::POST, "/", &[], false).await;
    let mut sent = 0;
    let all = timeout(Duration::from_secs(600), async {
        while sent < 1 << 20 {
            sent += client.send(key, vec![0; (1 << 20) - sent].into(), true).await;
            if sent < 1 << 20 {
                let _ = timeout(Duration::from_secs(1), client.next_event()).await;
                if !client.machine.is_open(key) {
                    break;
                }
            }
        }
    });
    all.await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(READ.load(SeqCst), 1 << 20);
}

/// The limit is for the time between requests, not between bytes.
#[tokio::test(start_paused = true)]
async fn a_connection_idles_from_its_last_response() {
    let mut peer = connect(async |_: Request| {
        sleep(Duration::from_secs(50)).await;
        Response::from_text("ok")
    });
    let get = frames::headers(1, flag::WHOLE, &GET);
    let begun = Instant::now();
    peer.send([preface(), frames::settings_ack(), get].concat()).await;
    peer.rest().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 110);
}

/// No peer of a tunnel has to read within any time.
#[tokio::test(start_paused = true)]
async fn a_tunnel_may_pause() {
    let mut limits = Limits::client();
    limits.http2.stream_window_bytes = 65_535;
    let stream = connect(|_: Request| {
        let (response, switched) = Response::tunnel();
        tokio::spawn(async move {
            let mut stream = stoop::rt::stream(switched.await.unwrap());
            let _ = stream.write_all(&[0; 300_000]).await;
        });
        response
    })
    .into_parts()
    .0;
    let mut client = Client::with_limits(stream, limits).await;
    client.consumes = false;
    let mut head = stoop_proto::RequestHead::new(Method::CONNECT, "a:80").unwrap();
    head.fields_mut().push("host", b"a:80").unwrap();
    let mut out = Vec::new();
    let key = client.machine.open(&head, "http", stoop_proto::BodySize::Unknown, &mut out).unwrap();
    client.send_raw(&out).await;
    let reset = timeout(Duration::from_secs(300), client.reset_reason(key)).await;
    assert!(reset.is_err());
}
