//! The memory of an idle session on a server: 2,000 clients in another process.
//!
//! `cargo test --profile fast -p stoop-io --test tls_memory -- --ignored --nocapture`
#![cfg(all(any(feature = "tls", feature = "tls-ring"), target_os = "linux"))]

mod tls_support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use stoop_io::{Tcp, Tls};
use tls_support::*;
use tokio::net::TcpListener;

const CONNECTIONS: usize = 2_000;

/// The address that the clients connect to; set for the process that runs them.
const SERVER: &str = "STOOP_TEST_SERVER";

#[test]
#[ignore = "a measurement"]
fn an_idle_session_takes_the_memory_that_is_printed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match std::env::var(SERVER) {
        Ok(address) => runtime.block_on(clients(&address)),
        Err(_) => runtime.block_on(server()),
    }
}

async fn server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let tls = Ca::new("test").server().build().unwrap();
    let mut clients = Command::new(std::env::current_exe().unwrap())
        .args([
            "an_idle_session_takes_the_memory_that_is_printed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(SERVER, listener.local_addr().unwrap().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut sessions: Vec<Box<Tls>> = Vec::with_capacity(CONNECTIONS);
    let mut before = 0;
    // The first hundred warm up what is pooled or made once.
    for n in 0..CONNECTIONS + 100 {
        if n == 100 {
            before = anonymous_kib();
        }
        let (stream, peer) = listener.accept().await.unwrap();
        let mut session = Box::new(tls.accept(Tcp::new(stream, peer)).unwrap());
        handshake(&mut session).await.unwrap();
        let request = receive(session.as_mut(), 64).await.unwrap();
        send(session.as_mut(), &request).await.unwrap();
        sessions.push(session);
    }
    let grown = anonymous_kib() - before;
    let each = grown as f64 / CONNECTIONS as f64;
    println!("{each:.2} KiB for each of {CONNECTIONS} idle sessions ({grown} KiB)");
    println!("of which {} bytes are the session itself", size_of::<Tls>());
    clients.stdin.take().unwrap().write_all(b"done\n").unwrap();
    clients.wait().unwrap();
    assert!(each <= 10.0, "more than 10 KiB each");
}

async fn clients(address: &str) {
    let tls = stoop_io::ClientTls::builder().dangerous_accept_any_certificate().build().unwrap();
    let mut sessions = Vec::new();
    for _ in 0..CONNECTIONS + 100 {
        let tcp = Tcp::connect(address.parse().unwrap()).await.unwrap();
        let mut session = tls.connect(tcp, "localhost").unwrap();
        handshake(&mut session).await.unwrap();
        send(&mut session, &[b'?'; 64]).await.unwrap();
        receive(&mut session, 64).await.unwrap();
        sessions.push(session);
    }
    let mut line = String::new();
    BufReader::new(std::io::stdin()).read_line(&mut line).unwrap();
}

/// Anonymous memory of this process.
fn anonymous_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
