//! Stopped servers leave no file open. Alone in its process, because it counts the process's files.

#![cfg(target_os = "linux")]

use std::net::Ipv4Addr;
use std::time::Duration;

use stoop_testbed::{Behaviour, DnsAnswer, DnsServer, Internet, Options, Origin, Records};
use tokio::net::TcpStream;

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Starts one of everything, connects to it, and stops it with the clients still there.
async fn once() {
    let internet = Internet::start(Internet::plan(1, 1_000), Options::default()).await.unwrap();
    let ports = internet.planned().ports();
    let mut clients = Vec::new();
    for n in 0..50 {
        let port = if n % 2 == 0 { ports.http } else { ports.https };
        clients.push(TcpStream::connect((Ipv4Addr::new(127, 1, 0, n), port)).await.unwrap());
    }
    let mut origins = Vec::new();
    for (_, behaviour) in Behaviour::all() {
        let origin = Origin::start(behaviour).await.unwrap();
        let connecting = TcpStream::connect(origin.address());
        if let Ok(Ok(client)) = tokio::time::timeout(Duration::from_millis(5), connecting).await {
            clients.push(client);
        }
        origins.push(origin);
    }
    let dns = DnsServer::start(Records::default().with("a.test", DnsAnswer::NoData)).await.unwrap();
    clients.push(TcpStream::connect(dns.address()).await.unwrap());
    assert!(open_files() > 150);
    let stats = internet.stop().await.unwrap();
    assert_eq!((stats.open, stats.accepted), (0, 50));
    for origin in origins {
        origin.stop().await;
    }
    drop(dns);
    drop(clients);
    // Dropping only asks the tasks to end; they do once the runtime turns.
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test]
async fn stopped_servers_leave_no_file_open() {
    once().await;
    let before = open_files();
    for _ in 0..3 {
        once().await;
    }
    assert_eq!(open_files(), before);
}
