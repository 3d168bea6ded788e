//! curl as a client over HTTP/2.

use super::{CONTENT_LEN, TestServers, content};
use crate::programs::{ProgramOutput, are_missing};

/// What curl reports of each transfer: the version, the status, and how many connections it opened.
const REPORT: &str = "%{stderr}%{http_version} %{http_code} %{num_connects}\n";

/// Runs curl with the options for HTTP/2 over TLS, or without TLS.
async fn curl(servers: &TestServers, tls: bool, arguments: &[&str]) -> ProgramOutput {
    let ca = servers.file("ca.pem");
    let version = if tls { "--http2" } else { "--http2-prior-knowledge" };
    let common = ["-sS", "--max-time", "60", "--noproxy", "*", "--cacert", &ca, "-w", REPORT];
    servers.run(tls, "curl", &[&common, &[version][..], arguments].concat()).await
}

#[tokio::test]
async fn curls_requests_and_uploads_are_answered() {
    if are_missing("server::http2::clients::curl", &["curl"]) {
        return;
    }
    let servers = TestServers::start("curl");
    let (content, x) = (content(), "x".repeat(100_000));
    let long = format!("x-field: {}", "y".repeat(40_000));
    let rows: &[(&[&str], &[u8], &str)] = &[
        (&["@/"], b"HTTP/2.0 /", "2 200 1\n"),
        (&["@/big"], &content, "2 200 1\n"),
        (&["@/stream"], x.as_bytes(), "2 200 1\n"),
        (&["@/nothing"], b"", "2 204 1\n"),
        (&["--data-binary", "@-", "@/echo"], &content, "2 200 1\n"),
        // Without a length, since the input is a pipe.
        (&["-T", "-", "@/echo"], &content, "2 200 1\n"),
        (&["-T", "-", "@/refuse"], b"no", "2 413 1\n"),
        (
            &["-T", "-", "-H", "Expect: 100-continue", "--expect100-timeout", "90", "@/echo"],
            &content,
            "2 200 1\n",
        ),
        (&["-X", "OPTIONS", "--request-target", "*", "@/"], b"HTTP/2.0 *", "2 200 1\n"),
        // A field larger than a frame.
        (&["-H", &long, "@/field"], &long.as_bytes()["x-field: ".len()..], "2 200 1\n"),
        (&["--http1.1", "@/"], b"HTTP/1.1 /", "1.1 200 1\n"),
    ];
    for (arguments, expected, report) in rows {
        for tls in [false, true] {
            let printed = curl(&servers, tls, arguments).await;
            let len = printed.stdout.len();
            assert!(printed.stdout == *expected, "{arguments:?}, TLS {tls}: {len} bytes");
            assert_eq!(printed.stderr, *report, "{arguments:?}, TLS {tls}");
        }
    }
    // A client that offers an upgrade from HTTP/1.1, which RFC 9113 has removed, stays with HTTP/1.1.
    let printed = curl(&servers, false, &["--http2", "@/"]).await;
    assert_eq!((printed.text().as_str(), &*printed.stderr), ("HTTP/1.1 /", "1.1 200 1\n"));
    servers.end().await;
}

#[tokio::test]
async fn curl_gets_heads_and_trailers() {
    if are_missing("server::http2::clients::curl", &["curl"]) {
        return;
    }
    let servers = TestServers::start("curl-heads");
    for tls in [false, true] {
        let head = curl(&servers, tls, &["--head", "@/big"]).await;
        assert_eq!(head.stderr, "2 200 1\n");
        let head = head.text();
        assert!(head.starts_with("HTTP/2 200"), "{head}");
        assert!(head.contains(&format!("content-length: {CONTENT_LEN}\r\n")), "{head}");
        // curl prints trailers as it prints the head.
        let whole = curl(&servers, tls, &["--include", "@/stream"]).await.text();
        assert!(whole.ends_with("x-sum: 100000\r\n"), "{}", &whole[whole.len() - 100..]);
        let expecting = ["--include", "-H", "Expect: 100-continue", "--data-binary", "@-"];
        let whole = curl(&servers, tls, &[&expecting[..], &["@/echo"]].concat()).await.text();
        assert!(whole.starts_with("HTTP/2 100"), "{}", &whole[..100]);
    }
    servers.end().await;
}

/// Over TLS alone: without it, curl 7.88 uses no connection twice, with any server.
#[tokio::test]
async fn several_requests_of_curl_share_a_connection() {
    if are_missing("server::http2::clients::curl", &["curl"]) {
        return;
    }
    let servers = TestServers::start("curl-many");
    let printed = curl(&servers, true, &["@/a", "@/b"]).await;
    assert_eq!(printed.text(), "HTTP/2.0 /aHTTP/2.0 /b");
    assert_eq!(printed.stderr, "2 200 1\n2 200 0\n");
    let printed =
        curl(&servers, true, &["--parallel", "--no-progress-meter", "@/stream?[1-30]"]).await;
    assert!(printed.stdout == vec![b'x'; 30 * 100_000], "{} bytes", printed.stdout.len());
    let (mut transfers, mut connections) = (0, 0);
    for line in printed.stderr.lines().filter(|line| !line.is_empty()) {
        let connects = line.strip_prefix("2 200 ").unwrap_or_else(|| panic!("{line}"));
        connections += connects.parse::<u32>().unwrap();
        transfers += 1;
    }
    assert_eq!((transfers, connections), (30, 1));
    servers.end().await;
}
