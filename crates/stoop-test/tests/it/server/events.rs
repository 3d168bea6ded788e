//! What a server tells of its connections, and counts. The clock is paused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Request, Response, Server, ServerLimits, ServingEvent};
use stoop_test::frames::{flag, headers, rst_stream, settings_ack};
use stoop_test::http2::{Client, preface};
use stoop_test::peer::RawPeer;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::http2::GET as GET_HTTP2;
use super::observed::observed;
use super::{GET, dial, hello, listen, seconds};

/// Connects to a server and speaks HTTP/2.
async fn dial_http2(server: &stoop::ServerHandle) -> Client<TcpStream> {
    Client::new(dial(server).await.into_parts().0).await
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_told_from_its_beginning_to_its_end() {
    let closed = Arc::new(Mutex::new(Vec::new()));
    let seen = closed.clone();
    let server = Server::listen("127.0.0.1:0").unwrap().observe(move |peer, event| {
        if let ServingEvent::Closed { lasted, sent, received, .. } = event {
            seen.lock().unwrap().push((peer, *lasted, *sent, *received));
        }
    });
    let server = server.run_here(hello).unwrap();
    let mut peer = dial(&server).await;
    let address = peer.stream().local_addr().unwrap();
    peer.send(GET).await;
    let first = peer.response().await.unwrap();
    sleep(seconds(3)).await;
    drop(peer);
    assert_eq!(server.drain(seconds(9)).await, 0);
    let (from, lasted, sent, received) = closed.lock().unwrap().remove(0);
    assert_eq!((from, received), (Some(address), GET.len() as u64));
    assert!(lasted >= seconds(3) && lasted < seconds(4), "{lasted:?}");
    assert_eq!(sent as usize, first.head.len() + 4 + first.body.len());
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_an_end_is_told() {
    let limits = || {
        let mut limits = ServerLimits::default();
        limits.requests_per_connection_max = 2;
        limits
    };
    let close = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    for (requests, reason) in [
        (close.to_owned(), "closed PeerCloses"),
        (GET.repeat(2), "closed RequestsMax"),
        ("GET / HTTP/1.0\r\n\r\n".to_owned(), "closed OldVersion"),
        ("nonsense\r\n\r\n".to_owned(), "closed Violation"),
        (GET.to_owned(), "closed Idle"),
    ] {
        let (server, log) = observed(limits(), hello);
        let mut peer = dial(&server).await;
        peer.send(requests).await;
        peer.rest().await.unwrap();
        drop(peer);
        server.drain(seconds(9)).await;
        let mut lines = log.take();
        lines.retain(|line| line.starts_with("closed") || line == "accepted");
        assert_eq!(lines, ["accepted", reason]);
    }
    let (server, log) = observed(limits(), hello);
    let mut client = dial_http2(&server).await;
    let key = client.get("/").await;
    assert_eq!(client.response(key).await.status, 200);
    let end = async { server.drain(seconds(9)).await };
    let read = async { client.goaway_codes().await };
    assert_eq!(tokio::join!(end, read).0, 0);
    assert_eq!(log.take(), ["accepted", "closed Draining"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_over_http1_is_told_with_its_answer() {
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(200));
    let field = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}", "x".repeat(70_000));
    let large = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 11\r\n\r\n";
    let coding = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n";
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        (&*long, 414),
        (&*many, 431),
        (&*field, 431),
        (large, 413),
        (coding, 501),
    ] {
        let mut limits = ServerLimits::default();
        limits.wire.body_bytes_max = Some(10);
        let (server, log) = observed(limits, hello);
        let mut peer = dial(&server).await;
        peer.send(request).await;
        assert_eq!(peer.response().await.unwrap().status, status);
        drop(peer);
        let lines = log.between(&server).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("1 over HTTP/1.1: "), "{lines:?}");
        assert!(lines[0].ends_with(&format!(": {status}")), "{lines:?}");
        let stats = server.stats();
        let answered = stats.responses.client_error + stats.responses.server_error;
        assert_eq!((stats.malformed, answered, stats.responses.success), (1, 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_over_http2_is_told_with_its_answer() {
    let bad = [&GET_HTTP2[..], &[("Upper", "x")]].concat();
    let value = "x".repeat(15_000);
    let large = [&GET_HTTP2[..], &[("a", &*value)]].concat();
    let content = [&GET_HTTP2[..], &[("content-length", "11")]].concat();
    for (fields, end, status, count) in
        [(bad, true, 0, 1), (large, true, 431, 1), (content, false, 413, 1)]
    {
        let mut limits = ServerLimits::default();
        limits.wire.body_bytes_max = Some(10);
        limits.wire.head_bytes_max = 10_000;
        let (server, log) = observed(limits, hello);
        let mut peer = dial(&server).await;
        let flags = flag::END_HEADERS | if end { flag::END_STREAM } else { 0 };
        let mut bytes = [preface(), settings_ack()].concat();
        let block = headers(1, flags, &fields);
        bytes.extend(block);
        bytes.extend(headers(3, flag::WHOLE, &GET_HTTP2));
        peer.send(bytes).await;
        peer.finish().await;
        let _ = peer.rest().await;
        let lines = log.between(&server).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with(&format!("{count} over HTTP/2.0: ")), "{lines:?}");
        assert!(lines[0].ends_with(&format!(": {status}")), "{lines:?}");
        let stats = server.stats();
        assert_eq!((stats.malformed, stats.responses.success), (1, 1), "{lines:?}");
        assert_eq!(stats.responses.client_error, u64::from(status > 0));
    }
}

/// RFC 9110 §10.1.1: it is one rule of both versions.
#[tokio::test(start_paused = true)]
async fn an_expectation_that_is_not_met_is_told_and_counted_over_both_versions() {
    let reason = "the expectation is not 100-continue (RFC 9110 §10.1.1)";
    for version in ["HTTP/1.1", "HTTP/2.0"] {
        let (server, log) = observed(ServerLimits::default(), hello);
        match version {
            "HTTP/1.1" => {
                let mut peer = dial(&server).await;
                peer.send("GET / HTTP/1.1\r\nhost: a\r\nexpect: 200-ok\r\n\r\n").await;
                assert_eq!(peer.response().await.unwrap().status, 417);
            }
            _ => {
                let mut client = dial_http2(&server).await;
                let fields = [("expect", "200-ok")];
                let key = client.request(http::Method::POST, "/", &fields, false).await;
                assert_eq!(client.response(key).await.status, 417);
            }
        }
        assert_eq!(log.between(&server).await, [format!("1 over {version}: {reason}: 417")]);
        let stats = server.stats();
        assert_eq!((stats.malformed, stats.responses.client_error), (1, 1), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_ended_for_abuse_is_told_and_so_is_one_for_a_mistake() {
    let (server, log) = observed(ServerLimits::default(), async |_: Request| {
        sleep(seconds(60)).await;
        "late"
    });
    let mut peer = dial(&server).await;
    let mut bytes = [preface(), settings_ack()].concat();
    for n in 0..300 {
        bytes.extend(headers(1 + 2 * n, flag::WHOLE, &GET_HTTP2));
        bytes.extend(rst_stream(1 + 2 * n, 8));
    }
    peer.send(bytes).await;
    let _ = peer.rest().await;
    drop(peer);
    let mut peer = dial(&server).await;
    // DATA for a stream that was not opened.
    peer.send([preface(), settings_ack(), stoop_test::frames::data(1, 0, b"x")].concat()).await;
    let _ = peer.rest().await;
    drop(peer);
    let lines = log.between(&server).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("fault true: ") && lines[1].starts_with("fault false: "));
    let stats = server.stats();
    assert_eq!((stats.http2_faults, stats.http2_abuses, stats.running), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_told_with_its_request_and_the_message() {
    async fn panics(request: Request) -> Response {
        let (path, length) = (request.path().to_owned(), request.path().len());
        match &*path {
            "/text" => panic!("boom"),
            "/late" => {
                sleep(seconds(1)).await;
                panic!("boom {length}")
            }
            "/none" => std::panic::panic_any(7),
            _ => Response::from_text("fine"),
        }
    }
    let plain = |request: Request| -> Response { panic!("at {}", request.path()) };
    let expected =
        ["panicked GET /text: boom", "panicked GET /late: boom 5", "panicked GET /none: "];
    let (server, log) = observed(ServerLimits::default(), panics);
    let mut peer = dial(&server).await;
    for path in ["/text", "/late", "/none", "/fine"] {
        peer.send(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        let status = peer.response().await.unwrap().status;
        assert_eq!(status, if path == "/fine" { 200 } else { 500 });
    }
    drop(peer);
    assert_eq!(log.between(&server).await, expected);
    assert_eq!((server.stats().panics, server.stats().responses.server_error), (3, 3));

    let (server, log) = observed(ServerLimits::default(), panics);
    let mut client = dial_http2(&server).await;
    for path in ["/text", "/late", "/none", "/fine"] {
        let key = client.get(path).await;
        let status = client.response(key).await.status;
        assert_eq!(status, if path == "/fine" { 200 } else { 500 });
    }
    drop(client);
    assert_eq!(log.between(&server).await, expected);
    assert_eq!(server.stats().panics, 3);

    let (server, log) = observed(ServerLimits::default(), plain);
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 500);
    drop(peer);
    assert_eq!(log.between(&server).await, ["panicked GET /: at /"]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_does_no_harm_to_the_others_or_to_the_server() {
    let told = Arc::new(Mutex::new(0));
    let seen = told.clone();
    let server = Server::listen("127.0.0.1:0").unwrap();
    let server = server.observe(|_, _| panic!("an observer")).observe(move |_, _| {
        *seen.lock().unwrap() += 1;
    });
    let server = server.run_here(hello).unwrap();
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
    drop(peer);
    assert_eq!(server.drain(seconds(9)).await, 0);
    assert_eq!((*told.lock().unwrap(), server.stats().observer_panics), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn accepting_pauses_at_the_bound_and_says_so() {
    let mut limits = ServerLimits::default();
    limits.connections_max = 1;
    let (server, log) = observed(limits, hello);
    for turn in 1..=3 {
        let mut peer = dial(&server).await;
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
        assert_eq!((server.stats().open, server.stats().paused), (1, turn));
    }
    let lines = log.between(&server).await;
    assert!(lines.iter().all(|line| line == "paused ConnectionsMax") && lines.len() == 3);
}

#[tokio::test(start_paused = true)]
async fn handlers_that_run_are_counted_until_they_answer_or_are_dropped() {
    let server = listen(ServerLimits::default(), async |_: Request| {
        sleep(seconds(5)).await;
        "late"
    });
    let mut first = dial(&server).await;
    first.send(GET).await;
    let mut second = dial_http2(&server).await;
    let keys = [second.get("/").await, second.get("/").await];
    sleep(seconds(1)).await;
    assert_eq!(server.stats().running, 3);
    second.reset(keys[0], stoop_proto::h2::ErrorCode::CANCEL).await;
    sleep(seconds(1)).await;
    assert_eq!(server.stats().running, 2);
    assert_eq!(first.response().await.unwrap().status, 200);
    assert_eq!(second.response(keys[1]).await.status, 200);
    let stats = server.stats();
    assert_eq!((stats.running, stats.responses.success, stats.accepted), (0, 2, 2));
}

/// Each worker has counts of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_counts_of_all_workers_are_added_up() {
    let server = Server::listen("127.0.0.1:0").unwrap().workers(2).run(hello).unwrap();
    let mut peers: Vec<RawPeer<TcpStream>> = Vec::new();
    for _ in 0..20 {
        peers.push(dial(&server).await);
    }
    for peer in &mut peers {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
        peer.send("GET / HTTP/1.1\r\n\r\n").await;
        assert_eq!(peer.response().await.unwrap().status, 400);
    }
    drop(peers);
    assert_eq!(server.drain(Duration::from_secs(9)).await, 0);
    let stats = server.stats();
    assert_eq!((stats.open, stats.accepted, stats.malformed), (0, 20, 20));
    assert_eq!((stats.responses.success, stats.responses.client_error), (20, 20));
}
