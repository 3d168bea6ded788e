//! RFC 9112 §9.3.2: requests that do not wait for the responses to those before them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Request, Response, ServerLimits};
use stoop_test::peer::RawPeer;
use tokio::io::DuplexStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::{connect, connect_with};

fn get(path: usize) -> String {
    format!("GET /{path} HTTP/1.1\r\nhost: a\r\n\r\n")
}

fn number(request: &Request) -> usize {
    request.path()[1..].parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn answers_come_in_the_order_of_the_requests() {
    // Later responses are ready first.
    let mut peer = connect(async |request: Request| {
        let n = number(&request);
        sleep(Duration::from_millis(100 - n as u64)).await;
        n.to_string()
    });
    peer.send((0..50).map(get).collect::<String>()).await;
    for n in 0..50 {
        assert_eq!(peer.response().await.unwrap().text(), n.to_string());
    }
}

/// Responses that are ready at once, ready later, and streamed, in turn.
#[tokio::test(start_paused = true)]
async fn answers_of_every_kind_come_in_order() {
    /// A handler that answers in each of these ways in turn.
    struct MixedHandler;
    impl stoop::Handler for MixedHandler {
        type Body = stoop::Body;
        type Output = Response;
        type Future = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;
        fn call(&self, request: Request) -> stoop::Answer<Self::Future, stoop::Body> {
            let n = number(&request);
            let text = n.to_string();
            match n % 4 {
                0 => stoop::Answer::Now(Response::from_text(text)),
                1 => stoop::Answer::Later(Box::pin(async move {
                    sleep(Duration::from_millis(7)).await;
                    Response::from_text(text)
                })),
                2 => stoop::Answer::Later(Box::pin(async move { Response::from_text(text) })),
                _ => {
                    let (sender, body) = stoop::Body::channel(1);
                    tokio::spawn(async move {
                        sleep(Duration::from_millis(3)).await;
                        sender.send(text).await?;
                        sender.finish().await
                    });
                    stoop::Answer::Now(Response::new(body))
                }
            }
        }
    }
    let mut peer = connect(MixedHandler);
    peer.send((0..200).map(get).collect::<String>()).await;
    for n in 0..200 {
        assert_eq!(peer.response().await.unwrap().text(), n.to_string());
    }
}

/// Counts how many handlers run at a time, and how many ran.
#[derive(Clone, Default)]
struct HandlerCount(Arc<[AtomicUsize; 3]>);

impl HandlerCount {
    async fn run(self, time: Duration) {
        self.0[2].fetch_add(1, Ordering::Relaxed);
        let now = self.0[0].fetch_add(1, Ordering::Relaxed) + 1;
        self.0[1].fetch_max(now, Ordering::Relaxed);
        sleep(time).await;
        self.0[0].fetch_sub(1, Ordering::Relaxed);
    }
    fn most_at_once(&self) -> usize {
        self.0[1].load(Ordering::Relaxed)
    }
    fn total(&self) -> usize {
        self.0[2].load(Ordering::Relaxed)
    }
}

fn counting(limits: ServerLimits) -> (RawPeer<DuplexStream>, HandlerCount) {
    let count = HandlerCount::default();
    let counted = count.clone();
    let (peer, _) = connect_with(limits, move |mut request: Request| {
        let counted = counted.clone();
        async move {
            let _ = request.body_mut().discard().await;
            counted.run(Duration::from_secs(1)).await;
            request.path().to_owned()
        }
    });
    (peer, count)
}

#[tokio::test(start_paused = true)]
async fn safe_requests_without_content_run_beside_each_other_up_to_the_bound() {
    let (mut peer, count) = counting(ServerLimits::default());
    peer.send((0..64).map(get).collect::<String>()).await;
    let begin = Instant::now();
    for n in 0..64 {
        assert_eq!(peer.response().await.unwrap().text(), format!("/{n}"));
    }
    assert_eq!((count.most_at_once(), count.total()), (16, 64));
    assert!(begin.elapsed() < Duration::from_millis(4_200), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn unsafe_requests_run_alone() {
    for other in [
        "POST /p HTTP/1.1\r\nhost: a\r\n\r\n",
        "DELETE /p HTTP/1.1\r\nhost: a\r\n\r\n",
        "PUT /p HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi",
        "GET /p HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ] {
        let (mut peer, count) = counting(ServerLimits::default());
        peer.send(other.repeat(3)).await;
        for _ in 0..3 {
            assert_eq!(peer.response().await.unwrap().text(), "/p");
        }
        assert_eq!(count.most_at_once(), 1, "{other}");

        // They do not run beside safe requests either.
        let (mut peer, count) = counting(ServerLimits::default());
        peer.send([&get(1), other, &get(2), other].concat()).await;
        for expected in ["/1", "/p", "/2", "/p"] {
            assert_eq!(peer.response().await.unwrap().text(), expected);
        }
        assert_eq!(count.most_at_once(), 1, "{other}");
    }
}

/// Content that does not come fails its own request, and not the ones before it.
#[tokio::test(start_paused = true)]
async fn a_stalled_upload_behind_slow_requests_costs_them_nothing() {
    let (mut peer, _) = counting(ServerLimits::default());
    let upload = "POST /p HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhi";
    peer.send([&get(1), &get(2), upload].concat()).await;
    assert_eq!(peer.response().await.unwrap().text(), "/1");
    assert_eq!(peer.response().await.unwrap().text(), "/2");
    assert_eq!(peer.response().await.unwrap().status, 408);
}

/// Of a hundred thousand requests to a handler that does not answer, sixteen are taken, and the client is
/// held up once the pipes are full.
#[tokio::test(start_paused = true)]
async fn reading_stops_at_the_bound() {
    let (open, calls) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (gate, counted) = (open.clone(), calls.clone());
    let (peer, _) = connect_with(ServerLimits::default(), move |_: Request| {
        let (gate, counted) = (gate.clone(), counted.clone());
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            drop(gate.acquire().await);
            "hello\n"
        }
    });
    let (stream, _) = peer.into_parts();
    let (read, mut write) = tokio::io::split(stream);
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let writer = tokio::spawn(async move {
        let request = get(1).repeat(100);
        for _ in 0..1_000 {
            // The limit on requests of a connection ends it.
            if tokio::io::AsyncWriteExt::write_all(&mut write, request.as_bytes()).await.is_err() {
                break;
            }
            counted.fetch_add(request.len(), Ordering::Relaxed);
        }
        write
    });
    sleep(Duration::from_secs(1)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 16);
    // The pipe's bytes, and those that the server has read at once.
    assert!(sent.load(Ordering::Relaxed) <= 64 * 1024 + 128 * 1024);
    open.add_permits(1 << 20);
    let mut reader = tokio::io::BufReader::new(read);
    let mut answers = 0;
    let mut line = String::new();
    while answers < 100_000 {
        line.clear();
        tokio::io::AsyncBufReadExt::read_line(&mut reader, &mut line).await.unwrap();
        if line.is_empty() {
            break;
        }
        answers += usize::from(line.starts_with("HTTP/1.1 200"));
    }
    assert_eq!(answers, 10_000);
    writer.abort();
}
