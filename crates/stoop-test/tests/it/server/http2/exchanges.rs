//! Concurrent exchanges, and how they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::{DropCounter, connect, dial, listen};
use super::{client, path};
use http::Method;
use stoop::{Body, Request, Response, ServerLimits, Versions};
use stoop_proto::h2::{ErrorCode, ResetReason};
use stoop_test::http2::{Client, ClientEvent, preface};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn a_connection_that_begins_with_the_preface_speaks_http2_and_others_do_not() {
    let mut client = client(connect(path)).await;
    let key = client.get("/one?two").await;
    let answer = client.response(key).await;
    assert_eq!((answer.status, &answer.body[..]), (200, &b"/one"[..]));
    assert_eq!(answer.fields.first("content-length"), Some(&b"4"[..]));
    assert!(answer.fields.contains("date"));

    let mut peer = connect(path);
    peer.send("PRI * HTTP/2.0\r\n\r\nno").await;
    assert_eq!(peer.response().await.unwrap().status, 505);
    let mut peer = connect(path);
    peer.send("P").await;
    sleep(Duration::from_secs(1)).await;
    peer.send("UT / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_preface_that_comes_byte_by_byte_is_one_and_one_that_stops_is_late() {
    let mut peer = connect(path);
    for byte in preface() {
        peer.send([byte]).await;
        tokio::task::yield_now().await;
    }
    // The server answers the preface by SETTINGS.
    assert_eq!(peer.bytes(9).await.unwrap()[3], 4);
    let mut peer = connect(path);
    peer.send("PRI * HTTP/2.0\r\n\r\nSM").await;
    let started = Instant::now();
    assert_eq!(peer.response().await.unwrap().status, 408);
    assert_eq!(started.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn versions_can_be_left_out() {
    let server = stoop::Server::listen("127.0.0.1:0").unwrap();
    let server = server.versions(Versions::Http1).run_here(path).unwrap();
    let mut peer = dial(&server).await;
    peer.send(preface()).await;
    assert_eq!(peer.response().await.unwrap().status, 505);

    let server = stoop::Server::listen("127.0.0.1:0").unwrap();
    let server = server.versions(Versions::Http2).run_here(path).unwrap();
    let mut peer = dial(&server).await;
    peer.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let said = peer.rest().await.unwrap();
    // SETTINGS, the first WINDOW_UPDATE, and then GOAWAY with PROTOCOL_ERROR.
    assert_eq!(said[3], 4);
    let text = b"the connection preface is malformed";
    assert!(said.ends_with(text), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_exchange_holds_up_no_other() {
    let mut client = client(connect(async |request: Request| {
        let seconds: u64 = request.path()[1..].parse().unwrap();
        sleep(Duration::from_secs(seconds)).await;
        request.path().to_owned()
    }))
    .await;
    for path in ["/3", "/1", "/0", "/2"] {
        client.get(path).await;
    }
    let mut order = Vec::new();
    while order.len() < 4 {
        if let ClientEvent::Data(_, data, true) = client.next_event().await {
            order.push(String::from_utf8(data).unwrap());
        }
    }
    assert_eq!(order, ["/0", "/1", "/2", "/3"]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_a_hundred_at_a_time_are_answered() {
    let mut client = client(connect(path)).await;
    let (mut asked, mut answered) = (0, 0);
    while answered < 1_000 {
        while asked < 1_000 && asked - answered < 100 {
            client.get(&format!("/{asked}")).await;
            asked += 1;
        }
        match client.next_event().await {
            ClientEvent::Data(_, _, true) => answered += 1,
            ClientEvent::Head(_, head, _) => assert_eq!(head.status(), 200),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(client.machine.streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reset_drops_the_handlers_future() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let mut client = client(connect(move |_: Request| {
        let held = DropCounter(counted.clone());
        async move {
            std::future::pending::<()>().await;
            drop(held);
        }
    }))
    .await;
    let (first, second) = (client.get("/").await, client.get("/").await);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(count.load(Ordering::Relaxed), 0);
    client.reset(first, ErrorCode::CANCEL).await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(count.load(Ordering::Relaxed), 1);
    client.reset(second, ErrorCode::CANCEL).await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_handler_or_body_that_fails_ends_its_own_stream() {
    let mut client = client(connect(|request: Request| match request.path() {
        "/panic" => panic!("on purpose"),
        "/fail" => {
            let (sender, body) = Body::channel(1);
            tokio::spawn(async move {
                sender.send("some").await.unwrap();
                sender.fail("on purpose").await;
            });
            Response::from_stream(body)
        }
        _ => Response::from_text("fine"),
    }))
    .await;
    let key = client.get("/panic").await;
    assert_eq!(client.response(key).await.status, 500);
    let key = client.get("/fail").await;
    assert_eq!(client.reset_reason(key).await, ResetReason::Peer(ErrorCode::INTERNAL_ERROR));
    let key = client.get("/").await;
    assert_eq!(client.response(key).await.body, b"fine");
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_does_not_open_by_accident() {
    let mut client = client(connect(path)).await;
    let mut head = stoop_proto::RequestHead::new(Method::CONNECT, "a:1").unwrap();
    head.fields_mut().push("host", b"a:1").unwrap();
    let mut out = Vec::new();
    let size = stoop_proto::BodySize::Exact(0);
    let key = client.machine.open(&head, "http", size, &mut out).unwrap();
    client.send_raw(&out).await;
    assert_eq!(client.response(key).await.status, 501);
}

#[tokio::test]
async fn a_drained_server_finishes_what_it_took_and_names_it() {
    let (go, gone) = tokio::sync::watch::channel(false);
    let handler = move |_: Request| {
        let mut gone = gone.clone();
        async move {
            let _ = gone.wait_for(|go| *go).await;
            "done"
        }
    };
    let server = listen(ServerLimits::default(), handler);
    let stream = dial(&server).await.into_parts().0;
    let mut client: Client<TcpStream> = Client::new(stream).await;
    let key = client.get("/").await;
    sleep(Duration::from_millis(50)).await;
    let drained = tokio::spawn(async move { server.drain(Duration::from_secs(10)).await });
    // The first GOAWAY says that the server ends, and the second one, a round trip later, with which stream.
    assert_eq!(client.next_event().await, ClientEvent::GoAway(ErrorCode::NO_ERROR));
    assert_eq!(client.next_event().await, ClientEvent::GoAway(ErrorCode::NO_ERROR));
    go.send(true).unwrap();
    assert_eq!(client.response(key).await.body, b"done");
    assert_eq!(client.next_event().await, ClientEvent::Closed);
    drop(client);
    drained.await.unwrap();
}
