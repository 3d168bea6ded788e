//! The pool's limits of connections, and the order of requests that wait for one.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Client, ErrorKind, Phase};
use tokio::time::sleep;

use super::kit::{
    OK, ScriptedServer, fetch, kind_and_phase, limited, ok, read, scripted_by, settle,
};
use crate::client::kit::counts;

/// A client of a server that takes a second for each request, and the most requests that it had at once.
fn slow(builder: stoop::ClientBuilder) -> (Client, Arc<AtomicUsize>) {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let client = scripted_by(builder, move |mut peer: ScriptedServer| {
        let (now, most) = (now.clone(), most.clone());
        async move {
            while !peer.head().await.is_empty() {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                sleep(Duration::from_secs(1)).await;
                now.fetch_sub(1, SeqCst);
                peer.send(OK).await;
            }
        }
    });
    (client, seen)
}

async fn fetch_from(client: &Client, host: usize) -> super::kit::FetchOutcome {
    read(client.get(format!("http://h{host}/")).await.map_err(kind_and_phase)?).await
}

#[tokio::test(start_paused = true)]
async fn an_origin_has_no_more_connections_than_its_limit_and_turns_are_in_order() {
    let (client, most) = slow(limited(|limits| {
        limits.pool.per_origin_max = 3;
        limits.time.total = None;
    }));
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for n in 0..30 {
        let (client, order) = (client.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            fetch(&client).await.unwrap();
            order.lock().unwrap().push(n);
        }));
        settle().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(most.load(SeqCst), 3);
    assert_eq!(*order.lock().unwrap(), (0..30).collect::<Vec<_>>());
    assert_eq!(counts(&client), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_client_has_no_more_connections_than_its_limit_and_no_origin_starves() {
    let (client, most) = slow(limited(|limits| {
        limits.pool.total_max = 4;
        limits.time.total = None;
    }));
    let mut tasks = Vec::new();
    // Requests to one origin could take all connections.
    for n in 0..40 {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let begun = tokio::time::Instant::now();
            fetch_from(&client, if n % 10 == 9 { n } else { 0 }).await.unwrap();
            let turn = n / 4 + 1;
            assert_eq!(begun.elapsed().as_secs() as usize, turn, "request {n}");
        }));
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(most.load(SeqCst), 4);
    assert!(counts(&client).0 <= 4);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_bounded_and_make_room() {
    let (client, _) = slow(limited(|limits| {
        limits.pool.idle_per_origin_max = 2;
        limits.pool.idle_max = 5;
        limits.pool.total_max = 12;
    }));
    for host in [0, 0, 0, 0, 1, 1, 1, 2, 2, 3] {
        let client = client.clone();
        tokio::spawn(async move { fetch_from(&client, host).await });
    }
    sleep(Duration::from_millis(500)).await;
    assert_eq!(counts(&client), (10, 0));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(counts(&client), (5, 5));
    // Twelve other origins at once, for which idle connections make room.
    for host in 10..22 {
        let client = client.clone();
        tokio::spawn(async move { fetch_from(&client, host).await });
    }
    sleep(Duration::from_millis(500)).await;
    assert_eq!(counts(&client), (12, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_gives_up_waiting_takes_no_place() {
    let (client, most) = slow(limited(|limits| {
        limits.pool.total_max = 1;
        limits.time.total = Some(Duration::from_millis(100));
    }));
    let first = tokio::spawn({
        let client = client.clone();
        async move {
            let request = stoop::Request::get("http://h0/").unwrap().without_deadlines();
            read(client.send(request).await.unwrap()).await
        }
    });
    settle().await;
    for n in 0..8 {
        let outcome = fetch_from(&client, n % 3).await;
        assert_eq!(outcome, Err((ErrorKind::TotalTimeout, Phase::Queue)));
    }
    assert_eq!(first.await.unwrap(), ok());
    assert_eq!((counts(&client), most.load(SeqCst)), ((1, 1), 1));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_origins_leave_no_connections_beyond_the_limits() {
    let client = scripted_by(
        limited(|limits| {
            limits.pool.total_max = 64;
            limits.pool.idle_max = 16;
        }),
        |peer| peer.serve(OK),
    );
    for host in 0..10_000 {
        fetch_from(&client, host).await.unwrap();
        assert!(counts(&client).0 <= 16);
    }
    sleep(Duration::from_secs(60)).await;
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_connection_has_a_deadline_and_an_error_of_its_own() {
    let (client, most) = slow(limited(|limits| {
        limits.pool.total_max = 1;
        limits.time.queue = Some(Duration::from_millis(300));
    }));
    let first = tokio::spawn({
        let client = client.clone();
        async move { fetch_from(&client, 0).await }
    });
    settle().await;
    let begun = tokio::time::Instant::now();
    let error = client.get("http://h1/").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::QueueTimeout, Phase::Queue));
    assert_eq!(begun.elapsed().as_millis() / 10, 30);
    assert!(error.is_timeout() && error.is_unprocessed() && error.is_connect());
    // A deadline of the exchange that is nearer is told as such.
    let nearer = client.get("http://h1/").timeout(Duration::from_millis(100)).await;
    assert_eq!(nearer.map_err(kind_and_phase).err(), Some((ErrorKind::TotalTimeout, Phase::Queue)));
    assert_eq!(first.await.unwrap(), ok());
    // A request that gets one in time is not bounded by it afterwards.
    assert_eq!(fetch_from(&client, 0).await, ok());
    assert_eq!(most.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_serves_no_longer_than_its_lifetime() {
    for versions in super::kit::EACH_VERSION {
        let slow = |request: stoop::Request| async move {
            if request.path() == "/slow" {
                sleep(Duration::from_secs(5)).await;
            }
            "ok"
        };
        let client = limited(|limits| limits.pool.lifetime = Duration::from_secs(10));
        let client = client.versions(versions).handler(slow).build().unwrap();
        let fetch = |path| {
            let sending = client.get(format!("http://h0{path}")).send();
            async move { sending.await.unwrap().text().await.unwrap() }
        };
        fetch("/").await;
        sleep(Duration::from_secs(8)).await;
        assert_eq!((fetch("/").await, counts(&client)), ("ok".into(), (1, 1)), "{versions:?}");
        // It is not used again, and does not idle any longer.
        sleep(Duration::from_secs(4)).await;
        assert_eq!(counts(&client), (0, 0), "{versions:?}");
        // What runs when the time is over is finished.
        fetch("/").await;
        sleep(Duration::from_secs(7)).await;
        assert_eq!(fetch("/slow").await, "ok", "{versions:?}");
        settle().await;
        assert_eq!(counts(&client), (0, 0), "{versions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_statistics_are_by_origin_and_in_all() {
    for versions in super::kit::EACH_VERSION {
        let slow = |_: stoop::Request| async {
            sleep(Duration::from_secs(1)).await;
            "ok"
        };
        let client = limited(|limits| {
            limits.pool.per_origin_max = 2;
            limits.wire.http2.streams_max = 2;
            limits.pool.http2_per_origin_max = 1;
        });
        let client = client.versions(versions).handler(slow).build().unwrap();
        assert_eq!(client.stats(), stoop::ClientStats::default());
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..7 {
            let client = client.clone();
            tasks.spawn(async move { fetch_from(&client, usize::from(n > 4)).await });
        }
        sleep(Duration::from_millis(500)).await;
        let stats = client.stats();
        let mut seen: Vec<_> = stats
            .origins
            .iter()
            .map(|o| (&*o.origin, o.connections.in_flight, o.connections.waiting))
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, [("http://h0", 2, 3), ("http://h1", 2, 0)], "{versions:?}");
        assert_eq!((stats.total.in_flight, stats.total.waiting), (4, 3), "{versions:?}");
        while let Some(fetched) = tasks.join_next().await {
            assert_eq!(fetched.unwrap(), ok());
        }
        settle().await;
        let total = client.stats().total;
        let connections = if versions == stoop::Versions::Http1 { 4 } else { 2 };
        assert_eq!((total.open, total.idle, total.in_flight), (connections, connections, 0));
        assert_eq!((total.connected, total.reused), (connections as u64, 7 - connections as u64));
        // An origin without connections is forgotten, and still counted.
        sleep(Duration::from_secs(60)).await;
        let stats = client.stats();
        assert_eq!((stats.total.open, stats.total.connected), (0, connections as u64));
        assert_eq!(stats.origins, []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_refuses_requests_and_finishes_exchanges() {
    for versions in super::kit::EACH_VERSION {
        let slow = |request: stoop::Request| async move {
            if request.path() == "/slow" {
                sleep(Duration::from_secs(5)).await;
            }
            "ok"
        };
        let client = limited(|limits| {
            limits.pool.total_max = 2;
            limits.wire.http2.streams_max = 1;
            limits.pool.http2_per_origin_max = 1;
            limits.pool.per_origin_max = 1;
        });
        let client = client.versions(versions).handler(slow).build().unwrap();
        fetch_from(&client, 1).await.unwrap();
        let send = |path: &'static str| {
            let client = client.clone();
            tokio::spawn(async move { client.get(format!("http://h0{path}")).await?.text().await })
        };
        let (running, waiting) = (send("/slow"), send("/"));
        settle().await;
        assert_eq!(counts(&client), (2, 1), "{versions:?}");
        client.close();
        settle().await;
        assert_eq!(counts(&client), (1, 0), "{versions:?}: what idled is closed");
        let refused = Some((ErrorKind::Cancelled, Phase::Queue));
        assert_eq!(waiting.await.unwrap().map_err(kind_and_phase).err(), refused);
        assert_eq!(client.get("http://h1/").await.map_err(kind_and_phase).err(), refused);
        assert_eq!(client.drain(Duration::from_secs(9)).await, 0, "{versions:?}");
        assert_eq!(running.await.unwrap().unwrap(), "ok");
        assert_eq!(counts(&client), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn draining_does_not_wait_for_content_that_its_owner_does_not_read() {
    for versions in super::kit::EACH_VERSION {
        let large = |_: stoop::Request| stoop::Response::from_bytes(vec![0; 9_000_000]);
        let client = limited(|limits| limits.time.total = None);
        let client = client.versions(versions).handler(large).build().unwrap();
        let mut unread = client.get("http://h0/").await.unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(client.drain(Duration::from_secs(3)).await, 1, "{versions:?}");
        assert_eq!(begun.elapsed().as_secs(), 3);
        settle().await;
        if versions == stoop::Versions::Http2 {
            let error = unread.body_mut().discard().await.unwrap_err();
            assert_eq!(kind_and_phase(error), (ErrorKind::Cancelled, Phase::Receive));
        } else {
            assert_eq!(unread.body_mut().discard().await.unwrap(), 9_000_000);
        }
        drop(unread);
        settle().await;
        assert_eq!(counts(&client), (0, 0), "{versions:?}");
    }
}

#[tokio::test]
async fn an_origin_that_refuses_connections_is_not_tried_again_at_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.77:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::builder().build().unwrap();
    let mut texts = Vec::new();
    for _ in 0..20 {
        let error = client.get(format!("http://{address}/")).await.unwrap_err();
        assert_eq!((error.kind(), error.phase()), (ErrorKind::ConnectRefused, Phase::Connect));
        assert_eq!(error.remote_address(), Some(address));
        assert!(error.is_unprocessed());
        texts.push(error.to_string());
    }
    let tried = texts.iter().filter(|text| !text.contains("not tried")).count();
    assert!((2..10).contains(&tried), "{texts:?}");
    assert_eq!(client.stats().total.open, 0);
    // Once it answers, and the delay is over, all is as before.
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            while let Ok(1..) = stream.read(&mut request).await {
                stream.write_all(OK.as_bytes()).await.unwrap();
            }
        }
    });
    sleep(Duration::from_millis(2100)).await;
    assert_eq!(read(client.get(format!("http://{address}/")).await.unwrap()).await, ok());
}

/// A client of a server that closes the first connection right behind its answer, and the paths that were asked for,
/// each behind the number of its connection.
fn closing_first() -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let builder = limited(|limits| limits.pool.per_origin_max = 1);
    let client = scripted_by(builder, move |mut peer: ScriptedServer| {
        let asked = asked.clone();
        async move {
            loop {
                let head = peer.head().await;
                let Some(path) = head.split(' ').nth(1) else { return };
                asked.lock().unwrap().push(format!("{} {path}", peer.number));
                sleep(Duration::from_secs(1)).await;
                peer.send(OK).await;
                if peer.number == 0 {
                    return;
                }
            }
        }
    });
    (client, seen)
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_turn_is_a_stale_connection_keeps_its_turn() {
    let (client, asked) = closing_first();
    let mut tasks = Vec::new();
    for path in ["first", "second", "third"] {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            // The kernel is asked before a connection is used again for what is not idempotent.
            let response = client.post(format!("http://server.test/{path}")).await;
            read(response.unwrap()).await
        }));
        settle().await;
    }
    for task in tasks {
        assert_eq!(task.await.unwrap(), ok());
    }
    assert_eq!(*asked.lock().unwrap(), ["0 /first", "1 /second", "1 /third"]);
    let total = client.stats().total;
    assert_eq!((total.connected, total.reused), (2, 2), "the second was given the stale one");
}

#[tokio::test(start_paused = true)]
async fn a_stale_connection_is_no_failure_to_connect() {
    let (client, asked) = closing_first();
    for _ in 0..2 {
        let response = client.post("http://server.test/").await.unwrap();
        assert_eq!(read(response).await, ok());
        settle().await;
    }
    assert_eq!(*asked.lock().unwrap(), ["0 /", "1 /"]);
    let total = client.stats().total;
    assert_eq!((total.connected, total.failed, total.open), (2, 0, 1));
}
