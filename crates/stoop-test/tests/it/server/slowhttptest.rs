//! slowhttptest in its modes: its connections are answered 408 or cut off in time, a client beside it is served all the
//! while, and memory stays within what the guide of limits says.
//!
//! Its attack by ranges is for files, and tested with the command that serves them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use stoop::{Request, Response, Server, ServerLimits, ServingEvent};
use stoop_test::peer::RawPeer;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::observed::EventLog;
use super::process::{ServerProcess, announce, count, wait_for_the_end};
use super::{GET, seconds};
use crate::programs::{self, are_missing};

/// How an attack ends whose connections were all closed: it had no reason to go on.
const CLOSED: &str = "No open connections left";

/// How many connections attack.
const CONNECTIONS: u64 = 200;

/// How long one of its connections may last: far longer than the limits below.
const LASTS_MAX: Duration = Duration::from_secs(20);

/// What the process takes on top of what the guide says of each connection.
const FURTHER_KIB: u64 = 8 * 1024;

/// Attacks a server with further arguments for a path. A connection may cost so much memory, and the attack ends as said.
/// Returns what the server has counted, if there is a slowhttptest.
async fn attack(
    arguments: &[&str],
    path: &str,
    each_kib: u64,
    end: &str,
) -> Option<BTreeMap<String, u64>> {
    if are_missing(&format!("server::slowhttptest {}", arguments[0]), &["slowhttptest"]) {
        return None;
    }
    let server = ServerProcess::start("slowhttptest::a_server_with_short_limits", "true");
    let address = server.address;
    assert_eq!(ask(address).await, "hello");
    let before = server.kib("VmRSS");
    let ended = Arc::new(AtomicBool::new(false));
    let bystander = tokio::spawn({
        let ended = ended.clone();
        async move {
            let mut answered = 0_u32;
            while !ended.load(Relaxed) {
                assert_eq!(ask(address).await, "hello");
                answered += 1;
            }
            answered
        }
    });
    let (url, connections) = (format!("http://{address}{path}"), CONNECTIONS.to_string());
    let common = ["-c", &connections, "-r", &connections, "-p", "10", "-u", &url];
    let all: Vec<String> = arguments.iter().chain(&common).map(ToString::to_string).collect();
    let printed = programs::run("slowhttptest", &all, b"").await.text();
    ended.store(true, Relaxed);
    assert!(bystander.await.unwrap() > 20);
    assert!(printed.contains(end), "{printed}");
    if let (Some(before), Some(peak)) = (before, server.kib("VmHWM")) {
        let cost = peak.saturating_sub(before);
        assert!(cost < CONNECTIONS * each_kib + FURTHER_KIB, "{cost} KiB");
    }
    let counts = server.finish();
    assert!(counts["longest"] < LASTS_MAX.as_millis() as u64, "{counts:?}");
    assert_eq!(counts["open"], 0, "{counts:?}");
    Some(counts)
}

/// One request on a connection of its own.
async fn ask(address: SocketAddr) -> String {
    let asked = async {
        let mut peer = RawPeer::new(TcpStream::connect(address).await.unwrap());
        peer.send(GET).await;
        peer.response().await.unwrap().text().to_owned()
    };
    timeout(seconds(10), asked).await.expect("a client beside the attack is served")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_that_drip_are_answered_408() {
    let slowly = ["-H", "-i", "1", "-x", "24", "-l", "60"];
    if let Some(counts) = attack(&slowly, "/", 64, CLOSED).await {
        assert_eq!(counts["late Head 408"], CONNECTIONS, "{counts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_drips_is_answered_408() {
    let slowly = ["-B", "-i", "1", "-s", "8192", "-l", "60"];
    if let Some(counts) = attack(&slowly, "/upload", 64, CLOSED).await {
        assert_eq!(counts["late BodyRate 408"], CONNECTIONS, "{counts:?}");
    }
}

/// Three requests in a row for a MiB, of which some bytes a second are read into a window that is hardly open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_are_hardly_read_are_cut_off() {
    let slowly = ["-X", "-k", "3", "-n", "1", "-w", "256", "-y", "512", "-z", "16", "-l", "10"];
    // It does not look whether its connections are reset.
    if let Some(counts) = attack(&slowly, "/large", 64 + 256, "Hit test time limit").await {
        assert_eq!(counts["late Send 0"], CONNECTIONS, "{counts:?}");
    }
}

#[test]
#[ignore = "a process that the tests above start"]
fn a_server_with_short_limits() {
    let mut limits = ServerLimits::default();
    limits.time.head = seconds(1);
    limits.time.body_grace = seconds(1);
    limits.time.send = seconds(2);
    limits.time.linger = Duration::from_millis(500);
    let (log, longest) = (EventLog::default(), Arc::new(AtomicU64::new(0)));
    let seen = longest.clone();
    let server = log.observe(Server::listen("127.0.0.1:0").unwrap()).observe(move |_, event| {
        if let ServingEvent::Closed { lasted, .. } = event {
            seen.fetch_max(lasted.as_millis() as u64, Relaxed);
        }
    });
    let large = Bytes::from(vec![7; 1 << 20]);
    let handler = move |request: Request| {
        let large = large.clone();
        async move {
            Ok::<_, stoop::Error>(match request.path() {
                "/large" => Response::from_bytes(large),
                "/upload" => {
                    let content = request.into_body().bytes(1 << 20).await?;
                    Response::from_text(content.len().to_string())
                }
                _ => Response::from_text("hello"),
            })
        }
    };
    let server = server.limits(limits).workers(1).run(handler).unwrap();
    announce(&server);
    wait_for_the_end();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cut_off = runtime.block_on(server.drain(seconds(10)));
    count("open", cut_off as u64);
    count("longest", longest.load(Relaxed));
    let mut lines = log.take();
    lines.sort_unstable();
    for same in lines.chunk_by(|a, b| a == b) {
        count(&same[0], same.len() as u64);
    }
}
