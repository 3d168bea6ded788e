//! nghttp2's client and its load generator over HTTP/2.

use super::{CONTENT_LEN, TestServers, content};
use crate::programs::are_missing;

#[tokio::test]
async fn nghttps_requests_and_uploads_are_answered() {
    if are_missing("server::http2::clients::nghttp", &["nghttp"]) {
        return;
    }
    let servers = TestServers::start("nghttp");
    let content = content();
    let rows: &[(&[&str], &[u8])] = &[
        (&["@/"], b"HTTP/2.0 /"),
        (&["@/a", "@/b"], b"HTTP/2.0 /aHTTP/2.0 /b"),
        (&["-m", "50", "@/"], &b"HTTP/2.0 /".repeat(50)),
        (&["-d", "%", "@/echo"], &content),
        (&["-d", "%", "--no-content-length", "@/echo"], &content),
        (&["-d", "%", "--padding=255", "@/echo"], &content),
        // Windows of 1 MiB and 16 MiB.
        (&["-d", "%", "-w", "20", "-W", "24", "@/echo"], &content),
        (&["-d", "%", "--expect-continue", "@/length"], b"1048576"),
        (&["-d", "%", "--trailer", "x-sum: 1", "@/echo"], &content),
        (&["-d", "%", "@/refuse"], b"no"),
        // Header blocks in several frames, without the priorities of RFC 7540, without a table.
        (&["--continuation", "--no-rfc7540-pri", "-c", "0", "@/"], b"HTTP/2.0 /"),
        (&["--no-dep", "-H", "x-field: here", "@/field"], b"here"),
    ];
    for (arguments, expected) in rows {
        for tls in [false, true] {
            let all = [&["--no-verify-peer", "--timeout", "60"], *arguments].concat();
            let printed = servers.run(tls, "nghttp", &all).await;
            let len = printed.stdout.len();
            assert!(printed.stdout == *expected, "{arguments:?}, TLS {tls}: {len} bytes");
        }
    }
    servers.end().await;
}

/// Statuses and trailers are in its log of frames.
#[tokio::test]
async fn nghttp_gets_statuses_and_trailers() {
    if are_missing("server::http2::clients::nghttp", &["nghttp"]) {
        return;
    }
    let servers = TestServers::start("nghttp-log");
    let rows: &[(&[&str], &[&str])] = &[
        (&["@/"], &[") :status: 200\n"]),
        (&["@/nothing"], &[") :status: 204\n"]),
        (&["@/stream"], &[") :status: 200\n", ") x-sum: 100000\n"]),
        (&["-d", "%", "--trailer", "x-sum: 1", "@/echo"], &[") :status: 200\n", ") x-sum: 1\n"]),
        // Not `/echo`, whose response begins at once: nghttp 1.52 then does not send the content.
        (&["-d", "%", "--expect-continue", "@/length"], &[") :status: 100\n", ") :status: 200\n"]),
    ];
    for (arguments, expected) in rows {
        for tls in [false, true] {
            let all = [&["--no-verify-peer", "--verbose", "--null-out"], *arguments].concat();
            let log = servers.run(tls, "nghttp", &all).await.text();
            for line in *expected {
                assert!(log.contains(line), "{arguments:?}, TLS {tls}: no {line:?} in\n{log}");
            }
            assert!(!log.contains("RST_STREAM"), "{arguments:?}, TLS {tls}:\n{log}");
            assert!(!tls || log.contains("The negotiated protocol: h2\n"), "{log}");
        }
    }
    servers.end().await;
}

#[tokio::test]
async fn a_load_of_h2load_is_answered() {
    if are_missing("server::http2::clients::load", &["h2load"]) {
        return;
    }
    let servers = TestServers::start("h2load");
    let rows: &[(&[&str], usize, usize)] = &[
        (&["-n", "1000", "-c", "10", "-m", "10", "@/"], 1_000, "HTTP/2.0 /".len()),
        (&["-n", "1000", "-c", "1", "-m", "100", "@/stream"], 1_000, 100_000),
        (&["-n", "50", "-c", "5", "-m", "10", "-d", "%", "@/echo"], 50, CONTENT_LEN),
    ];
    for (arguments, count, len) in rows {
        for (tls, protocol) in [(false, "h2c"), (true, "h2")] {
            let said = servers.run(tls, "h2load", arguments).await.text();
            let expected = [
                format!("Application protocol: {protocol}\n"),
                format!(" {count} succeeded, 0 failed, 0 errored, 0 timeout\n"),
                format!("status codes: {count} 2xx, 0 3xx, 0 4xx, 0 5xx\n"),
                format!(" ({}) data\n", count * len),
            ];
            for line in expected {
                assert!(said.contains(&line), "{arguments:?}, TLS {tls}: no {line:?} in\n{said}");
            }
        }
    }
    servers.end().await;
}
