//! The log of connections that stoop's server serves.

mod http2;

use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::super::good::{limits, serve_good};
use super::super::network::Network;
use super::*;
use crate::certificates::Certificates;
use crate::connection::{IDLE_MAX, OriginConnection, STALL_MAX};
use crate::internet::expect::PlannedResult;
use crate::internet::plan::Plan;
use crate::log::{EntryKind, Log, LogEntry};
use crate::stats::Counters;

/// Making keys takes longer than all the rest, and none of this is about them.
static CERTIFICATES: LazyLock<Certificates> = LazyLock::new(|| Certificates::new(&[]).unwrap());

/// A connection to the hosts of a small plan, by name and without TLS.
struct TestConnection {
    plan: Plan,
    log: Log,
    client: DuplexStream,
    server: JoinHandle<()>,
}

impl TestConnection {
    fn new(capacity: usize, latency: f64) -> Self {
        let plan = Plan::new(1, 400).latency(latency);
        let (log, counters) = (Log::memory(), Counters::default());
        let net = Arc::new(Network {
            plan: plan.clone(),
            shared: true,
            certificates: CERTIFICATES.clone(),
            limits: limits(),
            log: log.clone(),
            counters: counters.clone(),
            busy: Default::default(),
            permits: Arc::new(tokio::sync::Semaphore::new(1)),
        });
        let (client, server) = tokio::io::duplex(capacity);
        let line = LogLine::new(log.clone(), counters.clone(), counters.accept());
        let server =
            tokio::spawn(serve_good(net, OriginConnection::new(server, line), None, false));
        Self { plan, log, client, server }
    }

    /// The host and the length of some page that is answered 200 over plain HTTP, with a body of
    /// this much at least, and how long that takes.
    fn page(&self, body: u64) -> (String, u64, Duration) {
        let found = self.plan.iter().find_map(|url| match url.expect.result {
            PlannedResult::Status { code: 200, body: b }
                if b >= body
                    && url.expect.hops == Some(0)
                    && url.text.starts_with("http:")
                    && url.text.ends_with('/') =>
            {
                Some((url.host, b, url.expect.wait))
            }
            _ => None,
        });
        found.unwrap()
    }

    async fn send(&mut self, head: &str) {
        self.client.write_all(head.as_bytes()).await.unwrap();
    }

    /// What comes until the server closes.
    async fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.client.read_to_end(&mut bytes).await.unwrap();
        bytes
    }

    /// The log, once the client has closed and the server is done.
    async fn entries(self) -> Vec<LogEntry> {
        drop(self.client);
        self.server.await.unwrap();
        self.log.entries()
    }
}

fn get(host: &str, fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nhost: {host}\r\n{fields}\r\n")
}

#[tokio::test]
async fn each_exchange_of_a_kept_connection_has_a_line() {
    let mut scene = TestConnection::new(1 << 20, 0.0);
    let (host, body, _) = scene.page(200_000);
    // The second is asked for before the first is answered: its line is its own all the same.
    scene.send(&get(&host, "")).await;
    let page = get(&host, "connection: close\r\n").replace("GET / ", "GET /none ");
    scene.send(&page).await;
    let sent = scene.rest().await.len() as u64;
    let [first, second] = scene.entries().await.try_into().unwrap();
    let found = |entry: &LogEntry| (entry.kind, entry.status, entry.ended, entry.target.clone());
    let complete = |status, target: &str| {
        (EntryKind::Exchange, Some(status), EntryEnd::Complete, target.to_owned())
    };
    assert_eq!(found(&first), complete(200, "/"));
    assert_eq!(found(&second), complete(404, "/none"));
    assert!(first.sent > body && second.sent < 500 && first.sent + second.sent == sent);
    assert!(first.end <= second.begin && first.host == host);
}

#[tokio::test]
async fn a_request_for_another_host_is_refused_by_the_handler() {
    let mut scene = TestConnection::new(1 << 20, 0.0);
    scene.send(&get("nowhere.test", "")).await;
    let sent = scene.rest().await.len() as u64;
    let [entry] = scene.entries().await.try_into().unwrap();
    let found = (entry.kind, entry.status, entry.ended, entry.sent);
    assert_eq!(found, (EntryKind::Exchange, Some(421), EntryEnd::BadRequest, sent));
}

#[tokio::test]
async fn a_response_without_content_ends_with_its_head() {
    let mut scene = TestConnection::new(1 << 20, 0.0);
    let (host, ..) = scene.page(1);
    scene.send(&get(&host, "").replace("GET", "HEAD")).await;
    scene.send(&get(&host, "connection: close\r\n").replace("GET / ", "GET /none ")).await;
    let sent = scene.rest().await.len() as u64;
    let entries = scene.entries().await;
    let found: Vec<_> = entries.iter().map(|entry| (entry.status, entry.ended)).collect();
    assert_eq!(found, [(Some(200), EntryEnd::Complete), (Some(404), EntryEnd::Complete)]);
    assert_eq!(entries.iter().map(|entry| entry.sent).sum::<u64>(), sent);
}

#[tokio::test]
async fn content_of_a_request_is_read_and_ignored() {
    let mut scene = TestConnection::new(1 << 20, 0.0);
    let (host, ..) = scene.page(1);
    let fields = "expect: 100-continue\r\ncontent-length: 5\r\nconnection: close\r\n";
    scene.send(&get(&host, fields).replace("GET", "POST")).await;
    let mut first = [0; 25];
    scene.client.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 100 Continue\r\n\r\n");
    scene.send("12345").await;
    let sent = scene.rest().await.len() + first.len();
    let [entry] = scene.entries().await.try_into().unwrap();
    assert_eq!((entry.status, entry.ended), (Some(200), EntryEnd::Complete));
    assert_eq!(entry.sent, sent as u64);
}

#[tokio::test]
async fn a_malformed_request_is_answered_by_the_server_itself() {
    for (bytes, status, kind) in [
        ("nonsense\r\n\r\n", 400, EntryKind::Connection),
        ("GET / HTTP/1.1\r\n\r\n", 400, EntryKind::Connection),
        ("GET / HTTP/9.1\r\nhost: a\r\n\r\n", 505, EntryKind::Connection),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
            400,
            EntryKind::Connection,
        ),
    ] {
        let mut scene = TestConnection::new(1 << 20, 0.0);
        scene.send(bytes).await;
        let sent = scene.rest().await.len() as u64;
        let [entry] = scene.entries().await.try_into().unwrap();
        let found = (entry.kind, entry.status, entry.ended, entry.sent);
        assert_eq!(found, (kind, Some(status), EntryEnd::BadRequest, sent), "{bytes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_while_it_waits_is_noticed_at_once() {
    let mut scene = TestConnection::new(1 << 20, 100.0);
    let (host, _, wait) = scene.page(1);
    scene.send(&get(&host, "")).await;
    let begin = Instant::now();
    sleep(Duration::from_secs(1)).await;
    drop(scene.client);
    scene.server.await.unwrap();
    assert_eq!(begin.elapsed(), Duration::from_secs(1));
    assert!(wait > Duration::from_secs(2));
    let [entry] = scene.log.entries().try_into().unwrap();
    assert_eq!(
        (entry.kind, entry.sent, entry.ended),
        (EntryKind::Exchange, 0, EntryEnd::ClientClosed)
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_during_a_response_is_logged_with_what_was_sent() {
    let mut scene = TestConnection::new(4_096, 0.0);
    let (host, ..) = scene.page(200_000);
    scene.send(&get(&host, "")).await;
    sleep(Duration::from_secs(1)).await;
    let TestConnection { client, server, log, .. } = scene;
    drop(client);
    server.await.unwrap();
    let [entry] = log.entries().try_into().unwrap();
    assert_eq!((entry.status, entry.sent, entry.ended), (Some(200), 4_096, EntryEnd::ClientReset));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_given_up() {
    let mut scene = TestConnection::new(4_096, 0.0);
    let (host, ..) = scene.page(200_000);
    scene.send(&get(&host, "")).await;
    let begin = Instant::now();
    scene.server.await.unwrap();
    assert_eq!(begin.elapsed(), STALL_MAX);
    let [entry] = scene.log.entries().try_into().unwrap();
    assert_eq!((entry.status, entry.ended), (Some(200), EntryEnd::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_no_exchange() {
    let scene = TestConnection::new(4_096, 0.0);
    let begin = Instant::now();
    scene.server.await.unwrap();
    assert_eq!(begin.elapsed(), IDLE_MAX);
    let [entry] = scene.log.entries().try_into().unwrap();
    assert_eq!((entry.kind, entry.ended), (EntryKind::Unused, EntryEnd::TimedOut));

    let scene = TestConnection::new(4_096, 0.0);
    drop(scene.client);
    scene.server.await.unwrap();
    let [entry] = scene.log.entries().try_into().unwrap();
    assert_eq!((entry.kind, entry.ended), (EntryKind::Unused, EntryEnd::ClientClosed));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_come_times_out() {
    let mut scene = TestConnection::new(4_096, 0.0);
    scene.send("GET / HTTP/1.1\r\n").await;
    assert!(scene.rest().await.starts_with(b"HTTP/1.1 408 "));
    let [entry] = scene.entries().await.try_into().unwrap();
    let found = (entry.kind, entry.status, entry.ended);
    assert_eq!(found, (EntryKind::Connection, Some(408), EntryEnd::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_logs_that_it_was_stopped() {
    let mut scene = TestConnection::new(4_096, 100.0);
    let (host, ..) = scene.page(1);
    scene.send(&get(&host, "")).await;
    sleep(Duration::from_secs(1)).await;
    scene.server.abort();
    assert!(scene.server.await.unwrap_err().is_cancelled());
    let [entry] = scene.log.entries().try_into().unwrap();
    assert_eq!((entry.kind, entry.ended), (EntryKind::Exchange, EntryEnd::Stopped));
}
