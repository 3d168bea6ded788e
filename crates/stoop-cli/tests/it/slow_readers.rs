//! Readers of the output that are slower than the servers: no URL loses time of its deadline to them.

use std::time::Duration;

use stoop::{Request, Response, Server, ServerTls};

use crate::stoop::{feed, finish, peak_kib, stoop};

/// How many URLs there are, of a megabyte each: more than the memory for content has room for.
const URLS: usize = 120;
const BYTES: usize = 1_000_000;

/// The origin of a server with content of a megabyte. It runs until the test's process ends.
fn origin(server: Server) -> String {
    let content = bytes::Bytes::from(vec![b'x'; BYTES]);
    let handle = server.run(move |_: Request| {
        let content = content.clone();
        async move { Response::from_bytes(content) }
    });
    handle.expect("it runs").endpoint().to_string()
}

/// Runs `fetch`, whose output nothing reads for longer than the deadline of its URLs, and then to the end.
#[track_caller]
fn no_url_fails(options: &str, origin: &str) {
    let options = format!("fetch -c 100 -t 5 -f tar --no-politeness --summary json {options}");
    let mut child = stoop(&options).spawn().expect("it runs");
    feed(&mut child, (0..URLS).map(|n| format!("{origin}/{n}\n")).collect::<String>());
    std::thread::sleep(Duration::from_secs(8));
    let peak = peak_kib(child.id());
    let ran = finish(child);
    let summary = ran.summary();
    assert_eq!((ran.code, &summary["2xx"]), (Some(0), &URLS.into()), "{}", ran.stderr);
    assert!(ran.stdout.len() > URLS * BYTES);
    assert!(peak < 160 << 10, "{peak} KiB");
    // The wait is no part of the duration either.
    let durations = durations_us(&ran.stdout);
    assert_eq!(durations.len(), URLS);
    let longest = durations.into_iter().max().expect("some");
    assert!(longest < 5_500_000, "{longest} µs");
}

/// The durations of the records in a tar.
fn durations_us(tar: &[u8]) -> Vec<u64> {
    let name = b"\"duration_us\":";
    let found = memchr::memmem::find_iter(tar, name).map(|at| {
        let digits = tar[at + name.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, digit| 10 * number + u64::from(digit - b'0'))
    });
    found.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn urls_over_http1_were_lost_as_timeouts_behind_a_slow_reader() {
    let server = Server::listen("http://127.0.0.1:0").expect("a free port");
    no_url_fails("", &origin(server));
}

/// All of them share one connection and its window.
#[test]
#[cfg(target_os = "linux")]
fn urls_over_http2_were_lost_as_timeouts_behind_a_slow_reader() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let tls = ServerTls::builder()
        .certificate_pem(made.cert.pem(), made.signing_key.serialize_pem())
        .build();
    let server = Server::listen("https://127.0.0.1:0").expect("a free port");
    no_url_fails("--insecure", &origin(server.tls(tls.expect("it can be used"))));
}
