//! Tests of the version that is used with each server, and of the number of connections.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use stoop::{Request, Response, Server, ServerLimits, ServerTls, Versions};
use stoop_testbed::{BadHttp2, Class, Internet, Options, Plan, PlannedResult};
use tokio::sync::Barrier;

use crate::stoop::{CommandResult, finish, lines, run, stoop};

/// The lines of `fetch -f jsonl` by their URLs.
fn records(ran: &CommandResult) -> HashMap<String, Value> {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = std::str::from_utf8(&ran.stdout).expect("text");
    let records = text.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("a record");
        (record["url"].as_str().expect("a URL").to_owned(), record)
    });
    records.collect()
}

#[test]
fn http2_is_spoken_with_the_https_hosts_that_offer_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let plan = Plan::new(5, 200).latency(0.0).body(0.1);
    let internet = runtime.block_on(Internet::start(plan, Options::default()));
    let internet = internet.expect("loopback");
    let ca = std::env::temp_dir().join(format!("stoop-h2-{}.pem", std::process::id()));
    std::fs::write(&ca, internet.ca_pem()).expect("writable");
    let answered: Vec<_> = internet
        .planned()
        .iter()
        .filter(|url| matches!(url.expect.result, PlannedResult::Status { .. }))
        .collect();
    let input: String = answered.iter().map(|url| url.text.clone() + "\n").collect();
    let line = format!(
        "fetch -t 10 -f jsonl --summary json --dns {} --cacert {}",
        internet.dns_addr(),
        ca.display()
    );

    let ran = run(stoop(&line), input.clone());
    let found = records(&ran);
    for url in &answered {
        let version = if url.expect.http2 { "2" } else { "1.1" };
        assert_eq!(found[&url.text]["http_version"], version, "{}", found[&url.text]);
    }
    let count = answered.iter().filter(|url| url.expect.http2).count();
    assert!(count > 40 && count < answered.len() - 40, "{count} of {}", answered.len());
    assert_eq!(ran.summary()["http2"], count);
    // `report` computes the same from the lines, also as text.
    let reported = run(stoop("report --format json"), ran.stdout.clone());
    let reported: Value = serde_json::from_slice(&reported.stdout).expect("one object");
    assert_eq!(reported["http2"], count);
    let reported = run(stoop("report"), ran.stdout);
    let reported = String::from_utf8_lossy(&reported.stdout).into_owned();
    assert!(reported.contains(&format!("{count}  came over HTTP/2\n")), "{reported}");
    assert!(internet.stats().http2_requests >= count as u64);

    let ran = run(stoop(&format!("{line} --http1.1")), input);
    assert!(records(&ran).values().all(|record| record["http_version"] == "1.1"));
    assert_eq!(ran.summary().get("http2"), None);
    std::fs::remove_file(&ca).expect("ours");
}

/// A few URLs of each kind, of a large internet.
#[test]
fn hosts_that_fail_over_http2_alone_have_their_error_kind_in_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let plan = Plan::new(5, 20_000).latency(0.0).body(0.1);
    let internet = runtime.block_on(Internet::start(plan, Options::default()));
    let internet = internet.expect("loopback");
    let ca = std::env::temp_dir().join(format!("stoop-bad-h2-{}.pem", std::process::id()));
    std::fs::write(&ca, internet.ca_pem()).expect("writable");
    let mut seen = HashMap::<_, u32>::new();
    let mut is_one_of_few = |class: Class| {
        let seen = seen.entry(class).or_default();
        *seen += 1;
        matches!(class, Class::BadHttp2(_)) && *seen <= 3
    };
    let urls: Vec<_> = internet.planned().iter().filter(|url| is_one_of_few(url.class)).collect();
    let classes: HashSet<_> = urls.iter().map(|url| url.class).collect();
    assert_eq!(classes.len(), BadHttp2::ALL.len());
    let input: String = urls.iter().map(|url| url.text.clone() + "\n").collect();
    for (option, is_alone) in [("", false), ("--http1.1", true)] {
        let line =
            format!("fetch -t 2 {option} --dns {} --cacert {}", internet.dns_addr(), ca.display());
        let ran = run(stoop(&line), input.clone());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let lines = ran.lines();
        assert_eq!(lines.len(), urls.len());
        for url in &urls {
            let expect = if is_alone { url.expect.over_http1() } else { url.expect };
            let line = lines.iter().find(|line| line.url == url.text.as_bytes()).expect("a line");
            let met = expect.result.is_met_by(&line.code, line.length);
            assert!(met && line.duration_ms < 2_200, "{} {expect:?}: {line:?}", url.class);
        }
    }
    std::fs::remove_file(&ca).expect("ours");
}

/// A server that runs until the test's process ends, and the addresses of the clients that connected.
struct CountingServer {
    origin: String,
    clients: Arc<Mutex<HashSet<SocketAddr>>>,
}

impl CountingServer {
    /// Starts it. It answers no request before `at_once` of them are in flight, except for `/alone`.
    fn start(server: Server, at_once: usize) -> Self {
        let clients = Arc::<Mutex<HashSet<SocketAddr>>>::default();
        let (seen, barrier) = (Arc::clone(&clients), Arc::new(Barrier::new(at_once)));
        let handler = move |request: Request| {
            seen.lock().expect("no panic").extend(request.remote_address());
            let (barrier, is_alone) = (Arc::clone(&barrier), request.path() == "/alone");
            async move {
                if !is_alone {
                    barrier.wait().await;
                }
                Response::from_text("Hello, world!")
            }
        };
        let handle = server.run(handler).expect("it runs");
        Self { origin: handle.endpoint().to_string(), clients }
    }

    fn connections(&self) -> usize {
        self.clients.lock().expect("no panic").len()
    }

    fn urls(&self, count: usize) -> String {
        (0..count).map(|n| format!("{}/{n}\n", self.origin)).collect()
    }
}

fn listen() -> Server {
    Server::listen("http://127.0.0.1:0").expect("a free port")
}

#[test]
fn with_prior_knowledge_http2_is_used_without_alpn() {
    let server = CountingServer::start(listen(), 1);
    let ran = run(stoop("fetch -f jsonl --http2-prior-knowledge"), server.urls(1));
    assert!(records(&ran).values().all(|record| record["http_version"] == "2"));
    let ran = run(stoop("fetch -f jsonl"), server.urls(1));
    assert!(records(&ran).values().all(|record| record["http_version"] == "1.1"));
}

#[test]
fn prior_knowledge_of_a_server_that_speaks_http1_is_an_error_with_an_explanation() {
    let server = CountingServer::start(listen().versions(Versions::Http1), 1);
    let ran = run(stoop("fetch -f jsonl --http2-prior-knowledge"), server.urls(1));
    let found = records(&ran);
    let record = found.values().next().expect("a line");
    assert_eq!(record["error_kind"], "h2_protocol", "{record}");
    let words = record["error"].as_str().expect("in words");
    assert!(words.contains("the server does not speak HTTP/2"), "{words}");
    assert!(record["duration_us"].as_u64().is_some_and(|us| us < 1_000_000), "{record}");
    assert!(ran.stderr.contains("try --http1.1"), "{}", ran.stderr);
    assert_eq!(server.connections(), 0);
}

/// A server with a self-signed certificate, and a limit of streams for each connection.
fn secure(streams_max: u32) -> Server {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let tls = ServerTls::builder()
        .certificate_pem(made.cert.pem(), made.signing_key.serialize_pem())
        .build();
    let mut limits = ServerLimits::default();
    limits.wire.http2.streams_max = streams_max;
    let server = Server::listen("https://127.0.0.1:0").expect("a free port");
    server.limits(limits).tls(tls.expect("it can be used"))
}

#[test]
fn all_slots_share_one_connection_to_an_origin() {
    let server = CountingServer::start(secure(100), 64);
    let ran = run(stoop("fetch -c 64 -f jsonl --insecure"), server.urls(128));
    assert!(records(&ran).values().all(|record| record["http_version"] == "2"), "{}", ran.stderr);
    assert_eq!(server.connections(), 1);
}

#[test]
fn no_slot_waits_for_a_connection_however_few_streams_there_are() {
    let server = CountingServer::start(secure(1), 64);
    let mut child = stoop("fetch -c 64 --insecure").spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    // The first response makes the limit known to the client.
    writeln!(stdin, "{}/alone", server.origin).expect("it reads");
    stdout.read_line(&mut String::new()).expect("it writes");
    stdin.write_all(server.urls(64).as_bytes()).expect("it reads");
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).expect("it writes");
    let ran = finish(child);
    let codes: Vec<_> = lines(&rest).into_iter().map(|line| line.code).collect();
    assert!(codes.len() == 64 && codes.iter().all(|code| code == "200"), "{}", ran.stderr);
    assert_eq!(server.connections(), 64);
}

#[test]
fn the_debug_data_of_a_goaway_is_shown() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = format!("http://{}", listener.local_addr().expect("bound"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("it comes");
        // Preface and SETTINGS at least.
        stream.read_exact(&mut [0; 33]).expect("it says so");
        let settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00";
        let go_away =
            b"\x00\x00\x16\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0btoo_many_pings";
        stream.write_all(&[&settings[..], go_away].concat()).expect("it reads");
        // Until the client closes: unread data would reset the connection.
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let ran = run(stoop("fetch -f jsonl --http2-prior-knowledge"), format!("{origin}/\n"));
    let found = records(&ran);
    let record = found.values().next().expect("a line");
    assert_eq!(record["error_kind"], "h2_goaway", "{record}");
    let words = record["error"].as_str().expect("in words");
    assert!(words.contains(": ENHANCE_YOUR_CALM: too_many_pings"), "{words}");
    server.join().expect("no panic");
}
