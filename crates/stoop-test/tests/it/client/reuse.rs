//! Reuse of connections: which are kept, which must not be, and requests that meet a closed one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use stoop::{Body, Client, ErrorKind, Method, Phase, Request};
use tokio::time::sleep;

use super::kit::{
    OK, ScriptedServer, URL, fetch, fetch_request, get, limited, listen_scripted, ok, scripted,
    scripted_by, settle,
};
use crate::client::kit::counts;

/// A client, and the number of connections it made.
fn counting_connections<F>(
    builder: stoop::ClientBuilder,
    script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static,
) -> (Client, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let client = scripted_by(builder, move |peer| {
        count.fetch_max(peer.number + 1, Relaxed);
        script(peer)
    });
    (client, made)
}

#[tokio::test(start_paused = true)]
async fn one_connection_serves_one_request_after_the_other() {
    let (client, made) = counting_connections(Client::builder(), |peer| peer.serve(OK));
    for _ in 0..100 {
        assert_eq!(fetch(&client).await, ok());
        assert_eq!(counts(&client), (1, 1));
    }
    assert_eq!(made.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn connections_that_will_not_persist_are_not_kept() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ] {
        let client = scripted(move |peer| peer.serve(answer));
        assert_eq!(fetch(&client).await, ok());
        assert_eq!(counts(&client), (0, 0), "{answer:?}");
    }
    let client = scripted(|peer| peer.serve(OK));
    let request = Request::get(URL).unwrap().with_field("connection", "close").unwrap();
    assert_eq!(fetch_request(&client, request).await, ok());
    assert_eq!(counts(&client), (0, 0));
    let client = scripted(|peer| {
        peer.serve("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok")
    });
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_expires_and_an_empty_pool_has_no_watcher() {
    let (client, made) = counting_connections(Client::builder(), |peer| peer.serve(OK));
    fetch(&client).await.unwrap();
    sleep(Duration::from_secs(48)).await;
    assert_eq!(counts(&client), (1, 1));
    sleep(Duration::from_secs(4)).await;
    assert_eq!(counts(&client), (0, 0));
    fetch(&client).await.unwrap();
    assert_eq!((counts(&client), made.load(Relaxed)), ((1, 1), 2));
    let client =
        scripted_by(limited(|limits| limits.pool.idle = Duration::ZERO), |peer| peer.serve(OK));
    for _ in 0..3 {
        fetch(&client).await.unwrap();
    }
    settle().await;
    assert!(counts(&client).0 <= 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_that_its_server_closed_is_let_go() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send(OK).await;
        sleep(Duration::from_secs(5)).await;
    });
    fetch(&client).await.unwrap();
    sleep(Duration::from_secs(7)).await;
    assert_eq!(counts(&client), (0, 0));
    // So is a connection on which the server sent bytes unasked.
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send(OK).await;
        sleep(Duration::from_secs(5)).await;
        peer.send("HTTP/1.1 408 Request Timeout\r\n\r\n").await;
        peer.stall().await;
    });
    fetch(&client).await.unwrap();
    sleep(Duration::from_secs(7)).await;
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn unread_content_is_drained_if_it_is_there_and_little() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    for (answer, kept) in [
        (OK.to_owned(), true),
        (chunked.to_owned(), true),
        (format!("HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n{}", "a".repeat(60_000)), true),
        (format!("HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\n{}", "a".repeat(70_000)), false),
        ("HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\nnot all".to_owned(), false),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n".to_owned(), false),
        ("HTTP/1.1 200 OK\r\n\r\nto the end".to_owned(), false),
    ] {
        let shown = answer[..60.min(answer.len())].to_owned();
        let client = scripted(move |peer| peer.serve(answer.clone()));
        let response = get(&client).await.unwrap();
        settle().await;
        assert_eq!(counts(&client), (1, 0));
        drop(response);
        let kept = usize::from(kept);
        assert_eq!(counts(&client), (kept, kept), "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_outlives_its_client() {
    let client = scripted(|peer| peer.serve(OK));
    let response = get(&client).await.unwrap();
    drop(client);
    assert_eq!(super::kit::read(response).await, ok());
}

/// A server that answers `k` requests on each connection, then closes it up to 5 ms after the k-th. Returns
/// also how often it answered each request, by the request's number.
async fn closing_server() -> (std::net::SocketAddr, Arc<std::sync::Mutex<Vec<u16>>>) {
    let seen = Arc::new(std::sync::Mutex::new(vec![0u16; 20_000]));
    let counts = seen.clone();
    let server = listen_scripted(move |mut peer: ScriptedServer| {
        let counts = counts.clone();
        async move {
            let k = 1 + peer.number * 7 % 5;
            for _ in 0..k {
                let head = peer.head().await;
                let Some(id) = head.split(' ').nth(1).and_then(|path| path[1..].parse().ok())
                else {
                    return;
                };
                let id: usize = id;
                counts.lock().unwrap()[id] += 1;
                peer.send(OK).await;
            }
            match peer.number % 3 {
                0 => {}
                n => sleep(Duration::from_micros((peer.number * 1237 % 5000 * n) as u64)).await,
            }
        }
    });
    (server.await, seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_to_a_server_that_closes_at_any_time_all_succeed() {
    let (server, _) = closing_server().await;
    let client = Client::new();
    let ids = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..16)
        .map(|_| {
            let (client, ids) = (client.clone(), ids.clone());
            tokio::spawn(async move {
                loop {
                    let id = ids.fetch_add(1, Relaxed);
                    if id >= 10_000 {
                        return;
                    }
                    let request = Request::get(&format!("http://{server}/{id}")).unwrap();
                    assert_eq!(fetch_request(&client, request).await, ok(), "request {id}");
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_is_never_sent_twice() {
    let (server, seen) = closing_server().await;
    let client = Client::new();
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut failed = 0;
                for id in worker * 250..(worker + 1) * 250 {
                    let request = Request::post(&format!("http://{server}/{id}"), "").unwrap();
                    match fetch_request(&client, request).await {
                        Ok(answer) => assert_eq!(answer.0, 200),
                        Err((ErrorKind::ClosedEarly | ErrorKind::Reset, _)) => failed += 1,
                        Err(other) => panic!("{other:?}"),
                    }
                }
                failed
            })
        })
        .collect();
    let mut failed = 0;
    for worker in workers {
        failed += worker.await.unwrap();
    }
    assert!(seen.lock().unwrap().iter().all(|times| *times <= 1));
    assert!(failed < 500, "{failed} of 2,000 met a connection that had just been closed");
}

#[tokio::test(start_paused = true)]
async fn a_request_is_repeated_only_where_that_is_safe() {
    // The connection closes when the second request comes.
    let server = |mut peer: ScriptedServer| async move {
        peer.head().await;
        peer.send(OK).await;
        peer.head().await;
    };
    let again = |method: Method, body: Body| async move {
        let (client, made) = counting_connections(Client::builder(), server);
        fetch(&client).await.unwrap();
        let request = Request::new(method, URL).unwrap().with_body(body);
        (fetch_request(&client, request).await, made.load(Relaxed))
    };
    let closed = Err((ErrorKind::ClosedEarly, Phase::Wait));
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE] {
        assert_eq!(again(method, Body::empty()).await, (ok(), 2));
    }
    assert_eq!(again(Method::PUT, "content".into()).await.1, 2);
    assert_eq!(again(Method::POST, Body::empty()).await, (closed.clone(), 1));
    assert!(matches!(again(Method::PATCH, "content".into()).await, (Err(_), 1)));
    // Streamed content cannot be sent again.
    let (sender, body) = Body::channel(2);
    sender.send("content").await.unwrap();
    sender.finish().await.unwrap();
    assert!(matches!(again(Method::PUT, body).await, (Err(_), 1)));
    // A request is not repeated where its connection was new.
    let (client, made) = counting_connections(Client::builder(), |mut peer| async move {
        peer.head().await;
    });
    assert_eq!((fetch(&client).await, made.load(Relaxed)), (closed.clone(), 1));
    // Nor where the server had begun to answer.
    let (client, made) = counting_connections(Client::builder(), |mut peer| async move {
        peer.head().await;
        peer.send(OK).await;
        peer.head().await;
        peer.send("H").await;
    });
    fetch(&client).await.unwrap();
    assert_eq!((fetch(&client).await, made.load(Relaxed)), (closed.clone(), 1));
    // Repeating has a limit.
    let (client, made) = counting_connections(limited(|limits| limits.retries_max = 0), server);
    fetch(&client).await.unwrap();
    assert_eq!((fetch(&client).await, made.load(Relaxed)), (closed, 1));
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_leaves_healthy_connections_alone() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        settle().await;
        peer.send(OK).await;
        match peer.number {
            3 => drop(peer.head().await),
            _ => peer.serve(OK).await,
        }
    });
    // Four requests at a time make four connections, the last of which is stale.
    let all = tokio::join!(fetch(&client), fetch(&client), fetch(&client), fetch(&client));
    assert_eq!(all, (ok(), ok(), ok(), ok()));
    assert_eq!(counts(&client), (4, 4));
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(counts(&client), (4, 4));
}
