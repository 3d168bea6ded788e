//! Tests of the effect of options on the lines, against origins that misbehave.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use stoop_testbed::{Behaviour, Origin};

use crate::server::Server;
use crate::stoop::{OutputLine, run, stoop};

/// Starts an origin that runs until the test's process ends. Returns its URL and its CA certificate.
pub(crate) fn origin(behaviour: Behaviour, tls: bool) -> (String, Option<String>) {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let origin = match tls {
                true => Origin::start_tls(behaviour).await,
                false => Origin::start(behaviour).await,
            };
            let origin = origin.expect("loopback");
            sender
                .send((origin.url(), origin.ca_pem().map(str::to_owned)))
                .expect("the test waits");
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().expect("it started")
}

/// The line that `stoop fetch` with these options writes for `url`.
#[track_caller]
fn line(options: &str, url: &str) -> OutputLine {
    let ran = run(stoop(&format!("fetch -t 5 {options}")), url);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut lines = ran.lines();
    assert_eq!(lines.len(), 1);
    lines.remove(0)
}

fn pem_file(pem: &str) -> PathBuf {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Relaxed);
    let path = std::env::temp_dir().join(format!("stoop-ca-{}-{number}.pem", std::process::id()));
    std::fs::write(&path, pem).expect("writable");
    path
}

#[test]
fn redirects_are_followed_up_to_their_limit() {
    let (url, _) = origin(Behaviour::RedirectChain { hops: 3, status: 302 }, false);
    assert_eq!(line("", &url).code, "200");
    assert_eq!(line("--max-redirects 3", &url).code, "200");
    assert_eq!(line("--max-redirects 2", &url).code, "redirect_limit");
    assert_eq!(line("--max-redirects 0", &url).code, "302");
    let (url, _) = origin(Behaviour::RedirectLoop, false);
    assert_eq!(line("", &url).code, "redirect_limit");
}

#[test]
fn a_body_is_read_up_to_its_limit() {
    let (url, _) = origin(Behaviour::Chunked { body: 100_000 }, false);
    assert_eq!(line("", &url).length, 100_000);
    assert_eq!(line("--max-body 100000", &url).length, 100_000);
    let over = line("--max-body 64KiB", &url);
    assert_eq!((over.code.as_str(), over.length), ("body_too_large", 0));
}

#[test]
fn certificates_are_checked_unless_the_run_is_insecure() {
    let (url, pem) = origin(Behaviour::Fast { body: 10 }, true);
    let path = pem_file(&pem.expect("it speaks TLS"));
    assert_eq!(line("", &url).code, "tls_cert_untrusted");
    assert_eq!(line(&format!("--cacert {}", path.display()), &url).code, "200");
    assert_eq!(line("--insecure", &url).code, "200");
    std::fs::remove_file(&path).expect("ours");
    for (behaviour, kind) in [
        (Behaviour::WrongName, "tls_cert_name"),
        (Behaviour::ExpiredCertificate, "tls_cert_expired"),
    ] {
        let (url, pem) = origin(behaviour, true);
        let path = pem_file(&pem.expect("it speaks TLS"));
        assert_eq!(line(&format!("--cacert {}", path.display()), &url).code, kind);
        assert_eq!(line("--insecure", &url).code, "200");
        std::fs::remove_file(&path).expect("ours");
    }
}

#[test]
fn a_certificate_that_is_not_trusted_comes_with_the_option_to_trust_it() {
    let (url, _) = origin(Behaviour::Fast { body: 10 }, true);
    let ran = run(stoop("fetch -t 5"), url);
    let lines = ran.stderr.lines().map(str::trim_start);
    let mut hints = lines.filter_map(|line| line.strip_prefix("1  tls_cert_untrusted  "));
    let hint = hints.next().unwrap_or_else(|| panic!("no hint: {}", ran.stderr));
    assert!(hint.contains("--cacert FILE"), "{hint}");
}

#[test]
fn certificates_that_cannot_be_used_are_reported_before_the_run() {
    let server = Server::start();
    let path = pem_file("this is no certificate");
    for file in [path.display().to_string(), "/nowhere/ca.pem".to_owned()] {
        let ran = run(stoop(&format!("fetch --cacert {file}")), server.url("/ok/1"));
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{}", ran.stderr);
        assert!(ran.stderr.contains(&file), "{}", ran.stderr);
    }
    std::fs::remove_file(&path).expect("ours");
    assert_eq!(server.requests(), 0);
}

#[test]
fn connecting_has_its_own_time_limit() {
    let (url, _) = origin(Behaviour::BlackHole, false);
    let short = line("--connect-timeout 0.3", &url);
    assert_eq!(short.code, "connect_timeout");
    assert!((300..=400).contains(&short.duration_ms), "{short:?}");
    let whole = line("-t 0.3", &url);
    assert_eq!(whole.code, "total_timeout");
    assert!((300..=400).contains(&whole.duration_ms), "{whole:?}");
}

/// Stalls end at the deadline, and other failures long before it.
#[test]
fn every_misbehaviour_has_its_error_kind() {
    let ms = Duration::from_millis;
    let stalls = [
        (Behaviour::HangAfterAccept, false),
        (Behaviour::HangAfterHead, false),
        (Behaviour::HangMidBody, false),
        (Behaviour::Drip { body: 1000, every: ms(50) }, false),
        (Behaviour::DripHead { every: ms(50) }, false),
        (Behaviour::EndlessBody { every: ms(20) }, false),
        (Behaviour::TlsHang, true),
    ];
    for (behaviour, tls) in stalls {
        let (url, _) = origin(behaviour.clone(), tls);
        let line = line("-t 0.4 --insecure", &url);
        assert_eq!(line.code, "total_timeout", "{behaviour:?}");
        assert!((400..=450).contains(&line.duration_ms), "{behaviour:?} {line:?}");
    }
    let fails = [
        (Behaviour::Refused, false, "connect_refused"),
        (Behaviour::EarlyClose, false, "closed_early"),
        (Behaviour::CloseAfterAccept, false, "closed_early"),
        // Either kind, depending on whether the reset comes before or after the connection is open.
        (Behaviour::ResetAfterAccept, false, "connect_reset reset"),
        (Behaviour::ResetMidBody { sent: 10, announced: 100 }, false, "reset"),
        (Behaviour::TruncatedLength { sent: 10, announced: 100 }, false, "closed_early"),
        (Behaviour::TruncatedChunk, false, "closed_early"),
        (Behaviour::MissingLastChunk, false, "closed_early"),
        (Behaviour::EndlessHead, false, "h1_parse"),
        (Behaviour::EndlessField, false, "h1_parse"),
        (Behaviour::InterimFlood { count: None }, false, "h1_parse"),
        (Behaviour::RedirectToDead, false, "connect_refused"),
        (Behaviour::TlsAlert, true, "tls_handshake"),
        (Behaviour::TlsGarbage, true, "tls_handshake"),
    ];
    for (behaviour, tls, kinds) in fails {
        let (url, _) = origin(behaviour.clone(), tls);
        let line = line("--insecure", &url);
        assert!(kinds.split(' ').any(|kind| line.code == kind), "{behaviour:?} {line:?}");
        assert!(line.duration_ms < 1000, "{behaviour:?} {line:?}");
    }
}

#[test]
fn the_user_agent_is_the_one_given() {
    let server = Server::start();
    // The server answers with the field's value.
    let agent = |options: &str| line(options, &server.url("/agent")).length;
    assert_eq!(agent(""), concat!("stoop/", env!("CARGO_PKG_VERSION")).len() as u64);
    assert_eq!(agent("-A me/1"), 4);
}

#[test]
fn a_url_without_a_scheme_is_fetched_over_http_where_https_is_not_spoken_if_that_is_wanted() {
    let (plain, _) = origin(Behaviour::Fast { body: 3 }, false);
    let bare = plain.replace("http://", "");
    let dead = crate::server::refusing().to_string();
    let (tls, _) = origin(Behaviour::UntrustedCertificate, true);
    let tls = tls.replace("https://", "");
    let secure = format!("https://{bare}");
    let list = [&*bare, &*dead, &*tls, &*secure].join("\n");
    for (options, expected) in [
        ("", ["tls_handshake", "connect_refused", "tls_cert_untrusted", "tls_handshake"]),
        ("--http-fallback", ["200", "connect_refused", "tls_cert_untrusted", "tls_handshake"]),
        (
            "--http-fallback --no-politeness",
            ["200", "connect_refused", "tls_cert_untrusted", "tls_handshake"],
        ),
        (
            "--http-fallback --host-interval 0.1 --retry 1",
            ["200", "connect_refused", "tls_cert_untrusted", "tls_handshake"],
        ),
    ] {
        let ran = run(stoop(&format!("fetch -f csv --summary none {options}")), &*list);
        let code = |url: &str| {
            let lines = ran.lines();
            let line = lines.iter().find(|line| line.url == url.as_bytes()).expect("its line");
            line.code.clone()
        };
        assert_eq!([code(&bare), code(&dead), code(&tls), code(&secure)], expected, "{options}");
    }
    let json = run(stoop("fetch -f jsonl --http-fallback -t 5"), &*bare);
    let record: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(record["final_url"], plain);
}

/// Ends a connection on which the first byte of TLS came.
type Refuse = fn(TcpStream);

/// A server of HTTP on a port where TLS ends as `refuse` ends it.
fn bare_host(refuse: Refuse) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let bare = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut first = [0];
            let _ = stream.read(&mut first);
            if first == *b"G" {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
                let _ = stream.read_to_end(&mut Vec::new());
            } else {
                refuse(stream);
            }
        }
    });
    bare
}

/// Servers that do not know TLS end what begins like that in many ways.
#[test]
fn http_is_tried_however_the_handshake_of_tls_fails() {
    /// Once all of the client's first message is read, closing is no reset.
    fn read_hello(stream: &mut TcpStream) {
        let _ = stream.read(&mut [0; 16 << 10]);
    }
    let refusals: [(&str, Refuse); 4] = [
        ("closed_early", |mut stream| read_hello(&mut stream)),
        ("reset", |stream| drop(stream)),
        ("tls_handshake", |mut stream| {
            read_hello(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }),
        ("tls_handshake", |mut stream| {
            read_hello(&mut stream);
            let _ = stream.write_all(b"\x15\x03\x01\0\x02\x02\x28");
        }),
    ];
    for (code, refuse) in refusals {
        let bare = bare_host(refuse);
        assert_eq!(line("", &bare).code, code);
        assert_eq!(line("--http-fallback", &bare).code, "204", "{code}");
    }
}

/// The URL of the list spoke https, and what a redirect names has a scheme.
#[test]
fn a_redirect_that_fails_is_not_fetched_over_http() {
    let (url, _) = origin(Behaviour::RedirectToDead, true);
    let bare = url.replace("https://", "");
    assert_eq!(line("--insecure --http-fallback", &bare).code, "connect_refused");
}

/// Firewalls drop what comes for port 443, and servers wait for more of what is no request: the deadline was over then.
#[test]
fn http_has_its_time_where_https_is_not_answered() {
    let bare = bare_host(|stream| {
        // Until the client gives up.
        thread::spawn(move || std::io::copy(&mut &stream, &mut std::io::sink()));
    });
    let ran = run(stoop("fetch -f csv --http-fallback -t 30 --connect-timeout 1"), &*bare);
    assert_eq!(ran.lines()[0].code, "204", "{}", ran.stderr);
    let ran = run(stoop("fetch -f csv --http-fallback -t 5"), &*bare);
    assert_eq!(ran.lines()[0].code, "204", "{}", ran.stderr);
}
