//! Values of spans: those that a client could make up, and those of exchanges that the server ends.

use std::future::pending;

use stoop::{Client, Server, ServerLimits};
use stoop_web::{Router, TraceRequests, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::recording::Recording;
use super::{VERSIONS, serve};

/// OpenTelemetry's conventions: `http.request.method` is of a closed list.
#[test]
fn a_method_that_is_not_known_is_other_and_what_it_was_is_cut() {
    let long = "BREW".repeat(1_000);
    for (method, known, original) in
        [("PATCH", "PATCH", ""), ("get", "_OTHER", "get"), (&*long, "_OTHER", &long[..2_048])]
    {
        let recording = Recording::default();
        recording.run(async {
            let server = serve(Router::new().layer(TraceRequests::new()));
            let mut peer = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
            let head = format!("{method} / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            peer.write_all(head.as_bytes()).await.unwrap();
            let mut answer = String::new();
            peer.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
            recording.closed(1).await;
        });
        let [span] = &recording.spans("stoop::server")[..] else { panic!("one request") };
        let value = |name| span.value(name);
        assert_eq!(value("http.request.method"), known);
        assert_eq!(value("http.request.method_original"), original);
        assert_eq!(value("http.route"), "");
    }
}

#[test]
fn a_handler_beyond_the_limit_of_the_server_has_timed_out() {
    for (versions, _) in VERSIONS {
        let recording = Recording::default();
        recording.run(async {
            let mut limits = ServerLimits::default();
            limits.time.handler = std::time::Duration::from_millis(1);
            let router = Router::new().route("/", get(pending::<()>)).layer(TraceRequests::new());
            let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
            let server = server.run_here(router.build().unwrap()).unwrap();
            let client = Client::builder().versions(versions).build().unwrap();
            let response = client.get(server.endpoint().to_string()).await.unwrap();
            assert_eq!(response.status(), 503);
            recording.closed(1).await;
        });
        let [span] = &recording.spans("stoop::server")[..] else { panic!("one request") };
        let said = ["http.response.status_code", "error.type"].map(|name| span.value(name));
        assert_eq!(said, ["503", "timeout"], "{versions:?}");
    }
}
