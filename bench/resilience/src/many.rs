//! Very many origins: a server on every address of 127.0.0.0/8, which answers after as many milliseconds as the path says,
//! and a client that asks them one after the other.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use stoop::{Client, Request, ServerLimits};
use tokio::net::TcpListener;
use tokio::task::{JoinSet, LocalSet};

use crate::process;

/// How often the memory is read.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// Listens on every address of 127.0.0.0/8.
pub(crate) fn listener() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    // What comes by other devices is not for this server.
    socket.bind_device(Some(b"lo"))?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into())?;
    socket.listen(4096)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Serves, and prints its port.
pub(crate) async fn serve() -> io::Result<()> {
    let listener = listener()?;
    println!("{}", listener.local_addr()?.port());
    let limits = ServerLimits::default();
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(stoop::rt::serve(stream, answer, limits.clone()));
    }
}

async fn answer(request: Request) -> &'static str {
    let wait = request.path().trim_start_matches('/').parse().unwrap_or(0);
    if wait > 0 {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    "Hello, world!"
}

/// The requests to send.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) requests: u64,
    pub(crate) origins: u64,
    pub(crate) concurrency: u64,
}

/// Sends the requests, and prints its figures: failures, requests per second, and the most memory in each half.
pub(crate) async fn fetch(port: u16, batch: Batch) -> io::Result<()> {
    let client = Client::new();
    let (next, failed) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let begun = Instant::now();
    let halves = LocalSet::new()
        .run_until(async {
            let mut tasks = JoinSet::new();
            for _ in 0..batch.concurrency {
                let (client, next, failed) = (client.clone(), next.clone(), failed.clone());
                tasks.spawn_local(async move {
                    while next.get() < batch.requests {
                        let number = next.replace(next.get() + 1);
                        let [.., a, b, c] = (number % batch.origins + 1).to_be_bytes();
                        let url = format!("http://127.{a}.{b}.{c}:{port}/");
                        if !is_answered(&client, &url).await {
                            failed.set(failed.get() + 1);
                        }
                    }
                });
            }
            let mut halves = [0.0f64; 2];
            while !tasks.is_empty() {
                tokio::select! {
                    _ = tasks.join_next() => {}
                    () = tokio::time::sleep(LOOK_PERIOD) => {}
                }
                let half = &mut halves[usize::from(next.get() > batch.requests / 2)];
                *half = half.max(process::memory_mib("VmRSS"));
            }
            halves
        })
        .await;
    let figures = serde_json::json!({
        "failed": failed.get(),
        "requests_per_s": batch.requests as f64 / begun.elapsed().as_secs_f64(),
        "peak_mib": process::memory_mib("VmHWM"),
        "first_half_mib": halves[0],
        "second_half_mib": halves[1],
    });
    println!("{figures}");
    Ok(())
}

async fn is_answered(client: &Client, url: &str) -> bool {
    match client.get(url).await {
        Ok(response) => response.bytes().await.is_ok_and(|content| content == "Hello, world!"),
        Err(_) => false,
    }
}
