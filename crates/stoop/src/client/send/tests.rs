//! Where redirects lead, how large a request under way is, and servers that vanish.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use stoop_io::{
    AnyTransport, FillResult, Liveness, LivenessCheck, Output, PeerAddress, Transport, from_io,
    from_io_with_peer,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Client, ClientBuilder, ConnectionCounts, ErrorKind, Phase};

/// A caller that spawns a request on a runtime of several threads needs this.
#[allow(dead_code)]
fn a_request_under_way_can_be_sent_to_another_thread(client: Client) -> impl Send {
    async move { client.get("http://a/").await?.into_body().chunk().await }
}

/// A caller that logs in a task what is to be sent, or has come, by reference and across an await, needs this.
#[allow(dead_code)]
fn what_is_looked_at_across_an_await_in_a_task_was_not_sync(client: Client) -> impl Send {
    async fn log(_: &impl std::fmt::Debug) {
        tokio::task::yield_now().await;
    }
    async move {
        let request = crate::Request::get("http://a/")?;
        log(&request).await;
        let response = client.send(request).await?;
        log(&response).await;
        let body = response.into_body();
        log(&body).await;
        let (made, theirs) =
            (crate::Response::from_text("a"), http::Response::new(crate::Body::empty()));
        log(&made).await;
        log(&theirs).await;
        Ok::<_, crate::Error>(())
    }
}

#[tokio::test]
async fn a_request_under_way_is_small() {
    let client = Client::new();
    let future = client.get("http://a/");
    assert!(size_of_val(&future) <= 1024, "{} bytes", size_of_val(&future));
}

/// A client whose n-th connection is to the n-th of these addresses. Each answers `/` by a
/// redirect to the host `inside`, and anything else by 200.
fn going_to(builder: ClientBuilder, addresses: &'static [&'static str]) -> Client {
    let made = AtomicUsize::new(0);
    let connect = move |_| {
        let address = addresses[made.fetch_add(1, Ordering::Relaxed)].parse().unwrap();
        let (ours, mut theirs) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let mut request = [0; 4096];
            while let Ok(1..) = theirs.read(&mut request).await {
                let answer: &[u8] = match request.starts_with(b"GET / ") {
                    true => {
                        b"HTTP/1.1 302 Go\r\nlocation: http://inside/x\r\ncontent-length: 0\r\n\r\n"
                    }
                    false => b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
                };
                theirs.write_all(answer).await.unwrap();
            }
        });
        let io = from_io_with_peer(ours, PeerAddress::Inet(address));
        let connecting: crate::client::Connecting = Box::pin(std::future::ready(Ok(io)));
        connecting
    };
    builder.made_by(connect).build().unwrap()
}

async fn outcome(client: &Client, url: &str) -> Result<u16, (ErrorKind, Phase)> {
    let response = client.get(url).await.map_err(|error| (error.kind(), error.phase()))?;
    Ok(response.status().as_u16())
}

#[tokio::test]
async fn a_public_server_may_not_send_us_to_a_private_one() {
    let denied = Err((ErrorKind::RedirectDenied, Phase::Redirect));
    for private in [&["8.8.8.8:80", "10.0.0.1:80"], &["[2606::1]:80", "[::ffff:7f00:1]:80"]] {
        let client = going_to(Client::builder(), private);
        assert_eq!(outcome(&client, "http://outside/").await, denied);
        // Nor by a connection that was made for a request that may go there.
        assert_eq!(outcome(&client, "http://inside/x").await, Ok(200));
        assert_eq!(client.connections(), ConnectionCounts { open: 2, idle: 2 });
        assert_eq!(outcome(&client, "http://outside/").await, denied);
        let client = going_to(Client::builder().allow_private(true), private);
        assert_eq!(outcome(&client, "http://outside/").await, Ok(200));
    }
    // Who is private already may lead anywhere, and a public one to another.
    for fine in [
        &["10.0.0.1:80", "127.0.0.1:80"],
        &["10.0.0.1:80", "8.8.8.8:80"],
        &["8.8.8.8:80", "9.9.9.9:80"],
    ] {
        assert_eq!(outcome(&going_to(Client::builder(), fine), "http://outside/").await, Ok(200));
    }
}

#[tokio::test]
async fn a_request_that_may_go_to_public_addresses_alone_goes_nowhere_else() {
    let send = async |client: &Client, url: &str| {
        let sent = client.get(url).public_only().send().await;
        sent.map(|_| ()).map_err(|error| (error.kind(), error.phase()))
    };
    let private = going_to(Client::builder(), &["10.0.0.1:80"]);
    let denied = Err((ErrorKind::AddressDenied, Phase::Dns));
    assert_eq!(send(&private, "http://inside/x").await, denied);
    // Nor over a connection that was made for another request.
    assert_eq!(outcome(&private, "http://inside/x").await, Ok(200));
    assert_eq!(send(&private, "http://inside/x").await, denied);
    let public = going_to(Client::builder(), &["8.8.8.8:80", "9.9.9.9:80"]);
    assert_eq!(send(&public, "http://outside/").await, Ok(()));
    // Where redirects to private ones may be followed, those of this request may not.
    let lenient = going_to(Client::builder().allow_private(true), &["8.8.8.8:80", "10.0.0.1:80"]);
    let denied = Err((ErrorKind::RedirectDenied, Phase::Redirect));
    assert_eq!(send(&lenient, "http://outside/").await, denied);
}

#[tokio::test]
async fn what_paces_redirects_is_told_of_those_before_and_whether_private_addresses_will_do() {
    for (first, is_public_only) in [("8.8.8.8:80", true), ("10.0.0.1:80", false)] {
        let addresses = Box::leak(Box::new([first, "9.9.9.9:80"]));
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let telling = Arc::clone(&told);
        let builder = Client::builder().pace(move |next| {
            let from = next.redirects().iter().map(|past| past.url().to_owned());
            telling.lock().unwrap().push((from.collect::<Vec<_>>(), next.is_public_only()));
            std::future::ready(())
        });
        assert_eq!(outcome(&going_to(builder, addresses), "http://outside/").await, Ok(200));
        let expected = [(vec!["http://outside/".to_owned()], is_public_only)];
        assert_eq!(*told.lock().unwrap(), expected);
    }
}

/// A connection whose other end vanishes, or closes: it takes what is sent, and acknowledges nothing of it.
struct Vanishing {
    io: AnyTransport,
    is_gone: Arc<AtomicBool>,
    closes: bool,
    is_reset: Arc<AtomicBool>,
    unacknowledged: usize,
}

impl Transport for Vanishing {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
        match self.closes && self.unacknowledged > 0 {
            true => Poll::Ready(Ok(FillResult::End)),
            false => self.io.poll_fill(cx, room),
        }
    }
    fn received(&self) -> &[u8] {
        self.io.received()
    }
    fn consume(&mut self, n: usize) {
        self.io.consume(n);
    }
    fn take(&mut self, n: usize) -> Bytes {
        self.io.take(n)
    }
    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        if self.is_gone.load(Ordering::Relaxed) {
            self.unacknowledged += out.len();
            out.clear();
            return Poll::Ready(Ok(()));
        }
        self.io.poll_flush(cx, out)
    }
    fn unsent(&self) -> usize {
        self.io.unsent()
    }
    fn unacknowledged(&self) -> usize {
        self.unacknowledged
    }
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_shutdown(cx)
    }
    fn liveness(&mut self, look: LivenessCheck) -> Liveness {
        self.io.liveness(look)
    }
    fn has_failed(&self) -> bool {
        self.is_reset.load(Ordering::Relaxed)
    }
    fn peer(&self) -> PeerAddress {
        self.io.peer()
    }
}

/// A client whose first connection vanishes when the flag is set, or `closes` then; `/slow` is answered after
/// 50 s.
fn vanishing(closes: bool) -> (Client, Arc<AtomicBool>) {
    let (client, gone, _) = closing(closes);
    (client, gone)
}

/// The same, and a flag that says that a reset has come.
fn closing(closes: bool) -> (Client, Arc<AtomicBool>, Arc<AtomicBool>) {
    let is_reset = Arc::new(AtomicBool::new(false));
    let reset = is_reset.clone();
    let gone = Arc::new(AtomicBool::new(false));
    let (flag, made) = (gone.clone(), AtomicUsize::new(0));
    let connect = move |_| {
        let (ours, theirs) = tokio::io::duplex(4096);
        let slow = |request: crate::Request| async move {
            if request.path() == "/slow" {
                tokio::time::sleep(Duration::from_secs(50)).await;
            }
            "ok"
        };
        tokio::spawn(crate::rt::serve(theirs, slow, crate::ServerLimits::default()));
        let is_gone = match made.fetch_add(1, Ordering::Relaxed) {
            0 => flag.clone(),
            _ => Arc::default(),
        };
        let vanishing = Vanishing {
            io: from_io(ours),
            is_gone,
            closes,
            is_reset: reset.clone(),
            unacknowledged: 0,
        };
        let io = AnyTransport::Custom(Box::new(vanishing));
        let connecting: crate::client::Connecting = Box::pin(std::future::ready(Ok(io)));
        connecting
    };
    (Client::builder().made_by(connect).build().unwrap(), gone, is_reset)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_acknowledges_nothing_of_a_request_is_gone() {
    let (client, gone) = vanishing(false);
    assert_eq!(outcome(&client, "http://a/").await, Ok(200));
    gone.store(true, Ordering::Relaxed);
    // What can be sent again goes over another connection.
    let begun = tokio::time::Instant::now();
    assert_eq!(outcome(&client, "http://a/").await, Ok(200));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(client.connections(), ConnectionCounts { open: 1, idle: 1 });

    let (client, gone) = vanishing(false);
    assert_eq!(outcome(&client, "http://a/").await, Ok(200));
    gone.store(true, Ordering::Relaxed);
    let begun = tokio::time::Instant::now();
    let error = client.post("http://a/").body("once").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ReadTimeout, Phase::Wait));
    assert!(error.to_string().contains("acknowledged nothing"), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_post_that_a_server_had_not_received_when_it_closed_is_sent_again() {
    for came_after in [Duration::ZERO, Duration::from_millis(100)] {
        let (client, gone, is_reset) = closing(true);
        assert_eq!(outcome(&client, "http://a/").await, Ok(200));
        gone.store(true, Ordering::Relaxed);
        tokio::spawn(async move {
            tokio::time::sleep(came_after).await;
            is_reset.store(true, Ordering::Relaxed);
        });
        let response = client.post("http://a/").body("once").await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.connection().unwrap().is_reused()),
            (200, false)
        );
        drop(response);
        assert_eq!(client.connections(), ConnectionCounts { open: 1, idle: 1 });
    }
}

/// A server that has ended its own direction may read on, and process what it reads.
#[tokio::test(start_paused = true)]
async fn a_post_to_a_server_that_has_ended_its_direction_and_may_read_on_is_not_sent_again() {
    let (client, gone, _) = closing(true);
    assert_eq!(outcome(&client, "http://a/").await, Ok(200));
    gone.store(true, Ordering::Relaxed);
    let begun = tokio::time::Instant::now();
    let error = client.post("http://a/").body("once").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ClosedEarly, Phase::Wait));
    assert!(!error.is_unprocessed() && !error.is_repeatable(), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(client.connections(), ConnectionCounts { open: 0, idle: 0 });
}

/// The deadline of the head ends the wait that tells a server that is gone from one that reads on.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_reset_ends_with_the_deadline_of_the_exchange() {
    for (timeout, least, most) in [(5_000, 500, 520), (20, 10, 20)] {
        let (client, gone, _) = closing(true);
        assert_eq!(outcome(&client, "http://a/").await, Ok(200));
        gone.store(true, Ordering::Relaxed);
        let begun = tokio::time::Instant::now();
        let timeout = Duration::from_millis(timeout);
        let error = client.post("http://a/").body("once").timeout(timeout).await.unwrap_err();
        assert_eq!((error.kind(), error.phase()), (ErrorKind::ClosedEarly, Phase::Wait));
        let took = begun.elapsed().as_millis();
        assert!((least..=most).contains(&took), "{took} ms with a timeout of {timeout:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_the_request_may_take_longer_to_answer() {
    let (client, _) = vanishing(false);
    let begun = tokio::time::Instant::now();
    assert_eq!(outcome(&client, "http://a/slow").await, Ok(200));
    assert_eq!(begun.elapsed().as_secs(), 50);
}
