//! One client on several runtimes, which start and end, and on several threads.

use std::net::SocketAddr;
use std::thread;

use stoop::{Client, Request, Server, ServerHandle};
use tokio::runtime::{Builder, Runtime};

use super::kit::{FetchOutcome, fetch_request, ok};
use crate::client::kit::counts;

fn server() -> (ServerHandle, SocketAddr) {
    let handler = |_: Request| stoop::Response::from_text("ok");
    let server = Server::listen("127.0.0.1:0").unwrap().workers(1).run(handler).unwrap();
    let stoop::Address::Inet(address) = *server.endpoint().address() else { unreachable!() };
    (server, address)
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn fetch(client: &Client, server: SocketAddr) -> FetchOutcome {
    fetch_request(client, Request::get(&format!("http://{server}/")).unwrap()).await
}

#[test]
fn a_connection_moves_to_the_runtime_that_needs_it() {
    let (_server, address) = server();
    let client = Client::new();
    // The first runtime is not driven while the second one is, and is driven again later.
    let (first, second) = (current_thread(), current_thread());
    for _ in 0..3 {
        assert_eq!(first.block_on(fetch(&client, address)), ok());
        assert_eq!(second.block_on(fetch(&client, address)), ok());
    }
    assert_eq!(counts(&client), (1, 1));
}

#[test]
fn a_runtime_that_ended_takes_nothing_with_it() {
    let (_server, address) = server();
    let client = Client::new();
    for _ in 0..3 {
        let runtime = current_thread();
        assert_eq!(runtime.block_on(fetch(&client, address)), ok());
        drop(runtime);
    }
    assert!(counts(&client).0 <= 1);
    let many = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let task = many.spawn({
        let client = client.clone();
        async move { fetch(&client, address).await }
    });
    assert_eq!(many.block_on(task).unwrap(), ok());
}

#[test]
fn idle_connections_expire_though_the_runtime_that_began_to_watch_them_ended() {
    let (server, address) = server();
    let client = Client::new();
    let first = current_thread();
    assert_eq!(first.block_on(fetch(&client, address)), ok());
    drop(first);
    let second = current_thread();
    assert_eq!(second.block_on(fetch(&client, address)), ok());
    second.block_on(async {
        server.close().await;
        for _ in 0..40 {
            if counts(&client) == (0, 0) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the closed connection still idles: {client:?}");
    });
}

#[test]
fn threads_with_runtimes_of_their_own_share_a_client() {
    let (_server, address) = server();
    let client = Client::new();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            thread::spawn(move || {
                let runtime = current_thread();
                for _ in 0..300 {
                    assert_eq!(runtime.block_on(fetch(&client, address)), ok());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let (open, idle) = counts(&client);
    assert!(open == idle && open <= 4, "{client:?}");
}

#[test]
fn a_local_runtime_will_do() {
    let (_server, address) = server();
    let runtime = Builder::new_current_thread().enable_all().build_local(Default::default());
    let client = Client::new();
    runtime.unwrap().block_on(async {
        let tasks = (0..64).map(|_| {
            let client = client.clone();
            tokio::task::spawn_local(async move { fetch(&client, address).await })
        });
        for task in tasks.collect::<Vec<_>>() {
            assert_eq!(task.await.unwrap(), ok());
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_may_move_between_threads_at_any_time() {
    let (_server, address) = server();
    let client = Client::new();
    let tasks = (0..64).map(|_| {
        let client = client.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                tokio::task::yield_now().await;
                assert_eq!(fetch(&client, address).await, ok());
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let (open, idle) = counts(&client);
    assert!(open == idle && idle <= 64);
}
