//! A server in a process without descriptors: it says so, serves what it has, and accepts again once there are some.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stoop::{PauseReason, Request, Server, ServerLimits, ServingEvent};

use super::process::{ServerProcess, announce, count, wait_for_the_end};
use super::{GET, seconds};

/// Far more than the process has descriptors.
const CLIENTS: usize = 150;

fn ask(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(seconds(20))).unwrap();
    stream.write_all(GET.as_bytes()).unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"hello") {
        let mut some = [0; 1_024];
        let n = stream.read(&mut some).expect("it is answered");
        assert!(n > 0, "closed behind {:?}", response.escape_ascii());
        response.extend_from_slice(&some[..n]);
    }
}

#[test]
fn a_server_without_descriptors_says_so_and_goes_on() {
    let mut server = ServerProcess::start("starved::a_server_with_few_descriptors", "ulimit -n 64");
    // They wait in the queue of the listening socket.
    let connect = |_| TcpStream::connect(server.address).unwrap();
    let mut clients: Vec<_> = (0..CLIENTS).map(connect).collect();
    server.told("paused OutOfDescriptors");
    // Those that were accepted are served meanwhile, and as they leave, all others in turn.
    clients.reverse();
    while let Some(mut client) = clients.pop() {
        ask(&mut client);
    }
    let counts = server.finish();
    assert_eq!(counts["accepted"], CLIENTS as u64);
    assert!(counts["starved"] >= 1 && counts["told"] >= 1, "{counts:?}");
    assert!(counts["told"] <= counts["starved"], "{counts:?}");
    // It is no pause at `connections_max`.
    assert_eq!(counts["paused"], 0);
}

#[test]
#[ignore = "a process with few descriptors, which the test above starts"]
fn a_server_with_few_descriptors() {
    let mut limits = ServerLimits::default();
    limits.connections_max = 1_000;
    let told = Arc::new(AtomicU64::new(0));
    let seen = told.clone();
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits).observe(move |_, event| {
        if let ServingEvent::Paused { reason, .. } = event {
            println!("paused {reason:?}");
            let is_it = u64::from(*reason == PauseReason::OutOfDescriptors);
            seen.fetch_add(is_it, Relaxed);
        }
    });
    let server = server.workers(1).run(|_: Request| "hello").unwrap();
    announce(&server);
    wait_for_the_end();
    let stats = server.stats();
    count("accepted", stats.accepted);
    count("starved", stats.starved);
    count("paused", stats.paused);
    count("told", told.load(Relaxed));
}
