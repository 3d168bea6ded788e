//! RFC 9110 §7.8 and §9.3.6: connections that become tunnels.

use std::time::Duration;

use stoop::{Body, Request, Response, Server, ServerLimits};
use tokio::time::{sleep, timeout};

use super::{GET, connect, dial, listen};
use crate::tunnels::shout;

const UPGRADE: &str = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
const CONNECT: &str = "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n";

/// A handler that opens a tunnel and sends everything back in capitals.
fn switch(request: Request) -> Response {
    let (response, switched) = match request.method().as_str() {
        "CONNECT" => Response::tunnel(),
        _ => Response::upgrade("echo").unwrap(),
    };
    tokio::spawn(shout(switched));
    response
}

#[tokio::test(start_paused = true)]
async fn bytes_behind_the_head_reach_the_tunnel() {
    for (request, status) in [(UPGRADE, "HTTP/1.1 101 "), (CONNECT, "HTTP/1.1 200 ")] {
        let mut peer = connect(switch);
        // The bytes look like another request, and are the tunnel's.
        peer.send([request, "get / http/1.1\r\n\r\n"].concat()).await;
        let head = peer.head().await.unwrap();
        assert!(head.starts_with(status), "{head}");
        assert!(!head.contains("content-length") && !head.contains("transfer-encoding"), "{head}");
        assert_eq!(peer.bytes(18).await.unwrap(), b"GET / HTTP/1.1\r\n\r\n");
        // Longer than any limit of an exchange.
        sleep(Duration::from_secs(1_000)).await;
        peer.send("more").await;
        assert_eq!(peer.bytes(4).await.unwrap(), b"MORE");
        peer.finish().await;
        assert_eq!(peer.rest().await.unwrap(), b" bye");
    }
}

#[tokio::test]
async fn a_tunnel_over_a_socket_is_no_connection_of_the_server() {
    let server = listen(ServerLimits::default(), switch);
    let mut peer = dial(&server).await;
    peer.send([GET, UPGRADE].concat()).await;
    // The first request did not offer to switch.
    assert_eq!(peer.response().await.unwrap().status, 501);
    let head = peer.head().await.unwrap();
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    assert!(
        head.contains("\r\nconnection: upgrade") && head.contains("\r\nupgrade: echo"),
        "{head}"
    );
    peer.send("hello").await;
    assert_eq!(peer.bytes(5).await.unwrap(), b"HELLO");
    assert_eq!(server.connections(), 0);
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
    peer.send("more").await;
    assert_eq!(peer.bytes(4).await.unwrap(), b"MORE");
}

#[tokio::test(start_paused = true)]
async fn an_offer_that_is_declined_keeps_the_connection() {
    let mut peer = connect(|_: Request| "no");
    for _ in 0..3 {
        // The bytes behind it are HTTP then.
        peer.send([UPGRADE, GET].concat()).await;
        for _ in 0..2 {
            let response = peer.response().await.unwrap();
            assert_eq!((response.text(), response.field("connection")), ("no", None));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_may_still_switch() {
    let mut peer = connect(async |request: Request| {
        sleep(Duration::from_secs(100)).await;
        switch(request)
    });
    peer.send([UPGRADE, "early"].concat()).await;
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 101"));
    assert_eq!(peer.bytes(5).await.unwrap(), b"EARLY");
}

/// A switch waits for the requests that are still being answered.
#[tokio::test(start_paused = true)]
async fn a_switch_comes_after_the_answers_before_it() {
    let mut peer = connect(async |request: Request| {
        if request.field("upgrade").is_some() {
            return switch(request);
        }
        sleep(Duration::from_secs(1)).await;
        Response::from_text("slow")
    });
    peer.send([GET, GET, UPGRADE, "early"].concat()).await;
    for _ in 0..2 {
        assert_eq!(peer.response().await.unwrap().text(), "slow");
    }
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 101"));
    assert_eq!(peer.bytes(5).await.unwrap(), b"EARLY");
}

#[tokio::test(start_paused = true)]
async fn no_tunnel_opens_by_accident() {
    for status in [200, 204, 299] {
        let mut peer = connect(move |_: Request| {
            Response::from_text("ok").with_status(stoop::StatusCode::from_u16(status).unwrap())
        });
        peer.send(CONNECT).await;
        assert_eq!(peer.response().await.unwrap().status, 501);
        assert!(peer.is_closed().await);
    }
    // The handler may refuse a CONNECT.
    let mut peer =
        connect(|_: Request| Response::from_text("no").with_status(stoop::StatusCode::FORBIDDEN));
    // Bytes that the client sent ahead were for the tunnel.
    peer.send([CONNECT, GET].concat()).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (403, Some("close")));
    assert!(peer.is_closed().await);
    // The same with a streamed response.
    let mut peer = connect(|_: Request| {
        let (_, body) = Body::channel(1);
        Response::new(body)
    });
    peer.send(CONNECT).await;
    assert_eq!(peer.response().await.unwrap().status, 501);
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_was_not_offered_is_501_and_its_owner_is_told() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let mut peer = connect(move |_: Request| {
        let (response, switched) = Response::upgrade("echo").unwrap();
        let told = told.clone();
        tokio::spawn(async move { told.send(switched.await.is_err()) });
        response
    });
    for request in [
        GET,
        // RFC 9110 §7.8: Connection must list it, and HTTP/1.0 has none.
        "GET / HTTP/1.1\r\nhost: a\r\nupgrade: echo\r\n\r\n",
        "GET / HTTP/1.0\r\nconnection: keep-alive, upgrade\r\nupgrade: echo\r\n\r\n",
    ] {
        peer.send(request).await;
        assert_eq!(peer.response().await.unwrap().status, 501);
        assert!(tell.recv().await.unwrap());
    }
}

/// A connection that the handler does not wait for is closed.
#[tokio::test(start_paused = true)]
async fn a_tunnel_that_the_handler_does_not_take_is_closed() {
    let mut peer = connect(|_: Request| Response::tunnel().0);
    peer.send(CONNECT).await;
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 200"));
    assert!(peer.is_closed().await);
}

/// RFC 9110 §9.3.6: the directions of a tunnel end separately.
#[tokio::test(start_paused = true)]
async fn a_tunnel_opens_for_a_client_that_has_finished_sending() {
    for request in [UPGRADE, CONNECT] {
        let mut peer = connect(async |request: Request| {
            sleep(Duration::from_secs(1)).await;
            switch(request)
        });
        peer.send([request, "all there is"].concat()).await;
        peer.finish().await;
        let head = peer.head().await.unwrap();
        assert!(!head.contains("501"), "{head}");
        assert_eq!(peer.rest().await.unwrap(), b"ALL THERE IS bye");
    }
}

/// A tunnel has a descriptor, so it counts for the bound as long as it is held. The server does not wait
/// for it, because it belongs to the handler.
#[test]
fn a_tunnel_takes_the_place_of_a_connection() {
    let mut limits = ServerLimits::default();
    limits.connections_max = 2;
    let server = Server::listen("127.0.0.1:0").unwrap().workers(2).limits(limits);
    let (keep, kept) = std::sync::mpsc::channel();
    let server = server.run(move |request: Request| {
        if request.field("upgrade").is_none() {
            return Response::from_text("hello");
        }
        let (response, switched) = Response::upgrade("echo").unwrap();
        let keep = keep.clone();
        tokio::task::spawn_local(async move { keep.send(switched.await.unwrap()).unwrap() });
        response
    });
    let server = server.unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut tunnels = Vec::new();
        for _ in 0..2 {
            let mut peer = dial(&server).await;
            peer.send(UPGRADE).await;
            assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 101"));
            tunnels.push(peer);
        }
        let mut kept: Vec<_> = (0..2).map(|_| kept.recv().unwrap()).collect();
        assert_eq!(server.connections(), 0, "none of HTTP's");
        let mut third = dial(&server).await;
        third.send(GET).await;
        let waited = timeout(Duration::from_millis(100), third.response()).await;
        assert!(waited.is_err(), "it waits in the kernel's queue");
        drop(kept.pop());
        assert_eq!(third.response().await.unwrap().text(), "hello");
        assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
        // The same where it is held as a stream.
        drop(stoop::rt::stream(kept.pop().unwrap()));
    });
    server.join();
}
