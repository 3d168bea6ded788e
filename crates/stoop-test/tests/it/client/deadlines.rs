//! Time limits: what each covers, how exactly it is kept, and the error it ends in.

use std::time::Duration;

use stoop::{Body, ClientLimits, ClientTime, ErrorKind, Phase, Redirects, Request};
use tokio::time::{Instant, sleep};

use super::kit::{
    FetchOutcome, OK, ScriptedServer, URL, fetch, fetch_request, limited, ok, post, scripted_by,
    settle,
};
use crate::client::kit::counts;

/// A total deadline and no other limit.
fn only_total(total: Duration) -> ClientTime {
    let mut time = ClientTime::default();
    (time.dns, time.connect, time.tls) = (None, None, None);
    (time.head, time.read_idle, time.send_idle) = (None, None, None);
    time.total = Some(total);
    time
}

/// A server whose head drips.
async fn dripping_head(mut peer: ScriptedServer) {
    peer.head().await;
    for byte in format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(9999)).bytes() {
        peer.send([byte]).await;
        sleep(Duration::from_millis(90)).await;
    }
}

/// Asserts that `fetch` fails after `after` milliseconds, give or take the two that timers take.
async fn fails_after(
    after: u64,
    fetch: impl Future<Output = FetchOutcome>,
    kind: ErrorKind,
    phase: Phase,
) {
    let begun = Instant::now();
    assert_eq!(fetch.await, Err((kind, phase)));
    let took = begun.elapsed().as_millis() as u64;
    assert!((after..after + after / 10 + 5).contains(&took), "{took} ms, not {after}");
}

/// Asserts that a GET fails after `after` milliseconds, with `script` as its server.
async fn get_fails_after<F>(
    time: ClientTime,
    script: fn(ScriptedServer) -> F,
    after: u64,
    kind: ErrorKind,
    phase: Phase,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let client = scripted_by(limited(|limits| limits.time = time), script);
    fails_after(after, fetch(&client), kind, phase).await;
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_total_covers_every_phase() {
    let total = only_total(Duration::from_secs(2));
    let kind = ErrorKind::TotalTimeout;
    get_fails_after(total.clone(), ScriptedServer::stall, 2000, kind, Phase::Wait).await;
    get_fails_after(total.clone(), dripping_head, 2000, kind, Phase::Wait).await;
    // Content that drips, however it is framed.
    async fn dripping(mut peer: ScriptedServer, head: &str, piece: &str) {
        peer.head().await;
        peer.send(head).await;
        loop {
            peer.send(piece).await;
            sleep(Duration::from_millis(90)).await;
        }
    }
    let length = |peer| dripping(peer, "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "a");
    get_fails_after(total.clone(), length, 2000, kind, Phase::Receive).await;
    let close = |peer| dripping(peer, "HTTP/1.1 200 OK\r\n\r\n", "a");
    get_fails_after(total.clone(), close, 2000, kind, Phase::Receive).await;
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = |peer| dripping(peer, CHUNKED, "1\r\na\r\n");
    get_fails_after(total.clone(), chunks, 2000, kind, Phase::Receive).await;
    // Trailers that drip.
    let trailers = |peer| {
        dripping(peer, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "a: b\r\n")
    };
    get_fails_after(total, trailers, 2000, kind, Phase::Receive).await;
}

/// `head_wait` holds for each response, interim ones too, and begins once the request is sent.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_waited_for_as_long_as_each_head_may_take() {
    let time = |wait, send_idle| {
        let mut time = only_total(Duration::from_secs(60));
        time.head_wait = Some(Duration::from_millis(wait));
        time.send_idle = send_idle;
        time
    };
    let kind = ErrorKind::ReadTimeout;
    for (wait, send_idle) in [(2000, None), (2000, Some(Duration::from_secs(1)))] {
        get_fails_after(time(wait, send_idle), ScriptedServer::stall, wait, kind, Phase::Wait)
            .await;
    }
    async fn interim(mut peer: ScriptedServer) {
        peer.head().await;
        for _ in 0..3 {
            sleep(Duration::from_millis(1500)).await;
            peer.send("HTTP/1.1 103 Early Hints\r\n\r\n").await;
        }
        peer.stall().await;
    }
    get_fails_after(time(2000, None), interim, 6500, kind, Phase::Wait).await;
    // A server that has the request may be at work on it: it is not sent again, as one is on a connection that was stale.
    async fn second(mut peer: ScriptedServer) {
        peer.head().await;
        peer.send(OK).await;
        peer.stall().await;
    }
    let client = scripted_by(limited(|limits| limits.time = time(2000, None)), second);
    assert_eq!(fetch(&client).await, ok());
    fails_after(2000, fetch(&client), kind, Phase::Wait).await;
    // It holds once the content is sent that a server asked for, and not while that is waited for.
    async fn asks(mut peer: ScriptedServer) {
        peer.head().await;
        sleep(Duration::from_millis(700)).await;
        peer.send("HTTP/1.1 100 Continue\r\n\r\n").await;
        peer.stall().await;
    }
    let client = scripted_by(limited(|limits| limits.time = time(500, None)), asks);
    let request = post(vec![b'a'; 100]).with_field("expect", "100-continue").unwrap();
    fails_after(1200, fetch_request(&client, request), kind, Phase::Wait).await;
    // A head that drips is no head, and one of which some has come has begun to be late when it was asked for.
    get_fails_after(time(2000, None), dripping_head, 2000, kind, Phase::Wait).await;
    async fn begins(mut peer: ScriptedServer) {
        peer.head().await;
        sleep(Duration::from_millis(900)).await;
        peer.send("H").await;
        peer.stall().await;
    }
    get_fails_after(time(2000, Some(Duration::from_secs(1))), begins, 2000, kind, Phase::Wait)
        .await;
    // The caller may take as long as it likes to make content, and the server to send its own.
    async fn slow(mut peer: ScriptedServer) {
        peer.skip("\r\n0\r\n\r\n").await;
        sleep(Duration::from_millis(1900)).await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").await;
        sleep(Duration::from_secs(5)).await;
        peer.answer("ok").await;
    }
    let client = scripted_by(limited(|limits| limits.time = time(2000, None)), slow);
    let (sender, body) = Body::channel(1);
    let sending = async move {
        sleep(Duration::from_secs(5)).await;
        sender.send("piece").await.unwrap();
        sender.finish().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(fetch_request(&client, post(body)), sending);
    assert_eq!(outcome, ok());
}

/// The kernel took all content at once, and the time for the head passed while it was on its way.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_head_is_late_only_once_the_server_has_taken_the_content() {
    use std::io::{Read, Write};
    const CONTENT: usize = 1 << 20;
    let listener = super::kit::narrow_listener();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut piece, mut taken) = (vec![0; 32 << 10], 0);
        while taken < CONTENT {
            std::thread::sleep(Duration::from_millis(100));
            taken += stream.read(&mut piece).unwrap();
        }
        stream.write_all(OK.as_bytes()).unwrap();
        // The second request is taken, and not answered.
        let _ = stream.read(&mut piece);
        std::thread::sleep(Duration::from_secs(5));
    });
    let time = |limits: &mut ClientLimits| limits.time.head_wait = Some(Duration::from_secs(1));
    let client = limited(time).build().unwrap();
    let url = format!("http://{address}/");
    let begun = Instant::now();
    let response = client.post(&url).body(vec![b'a'; CONTENT]).await.unwrap();
    assert_eq!(response.bytes().await.unwrap(), "ok");
    assert!(begun.elapsed() > Duration::from_secs(2));
    let error = client.get(&url).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ReadTimeout, Phase::Wait));
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_that_is_always_there_ends_at_the_deadline() {
    async fn flood(mut peer: ScriptedServer) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
        let piece = vec![b'a'; 60_000];
        loop {
            peer.send(&piece).await;
            sleep(Duration::from_millis(1)).await;
        }
    }
    let time = only_total(Duration::from_secs(1));
    let client = scripted_by(limited(|limits| limits.time = time.clone()), flood);
    fails_after(1000, fetch(&client), ErrorKind::TotalTimeout, Phase::Receive).await;
    let mut body = client.get(URL).await.unwrap().into_body();
    let begun = Instant::now();
    let error = body.discard().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TotalTimeout);
    assert!(begun.elapsed() < Duration::from_millis(1010));
}

#[tokio::test(start_paused = true)]
async fn the_total_covers_waiting_for_a_connection_and_redirects() {
    let kind = ErrorKind::TotalTimeout;
    let client = scripted_by(
        limited(|limits| {
            limits.time = only_total(Duration::from_secs(2));
            limits.pool.per_origin_max = 1;
        }),
        ScriptedServer::stall,
    );
    let first = tokio::spawn({
        let client = client.clone();
        async move { fetch(&client).await }
    });
    settle().await;
    fails_after(2000, fetch(&client), kind, Phase::Queue).await;
    first.await.unwrap().unwrap_err();
    // Redirects, one each half second.
    let client = scripted_by(
        limited(|limits| limits.time = only_total(Duration::from_secs(2))),
        |mut peer| async move {
            while !peer.head().await.is_empty() {
                sleep(Duration::from_millis(450)).await;
                peer.send("HTTP/1.1 302 Go\r\nlocation: /\r\ncontent-length: 0\r\n\r\n").await;
            }
        },
    );
    fails_after(2000, fetch(&client), kind, Phase::Wait).await;
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_total_covers_sending() {
    let client = scripted_by(
        limited(|limits| limits.time = only_total(Duration::from_secs(2))),
        ScriptedServer::stall,
    );
    let large = Request::post(URL, vec![0; 1 << 20]).unwrap();
    fails_after(2000, fetch_request(&client, large), ErrorKind::TotalTimeout, Phase::Send).await;
    let (sender, body) = Body::channel(1);
    let slow = Request::post(URL, body).unwrap();
    fails_after(2000, fetch_request(&client, slow), ErrorKind::TotalTimeout, Phase::Send).await;
    drop(sender);
    // Also where the response came before the request was sent, and the caller waits for its content.
    let client = scripted_by(
        limited(|limits| limits.time = only_total(Duration::from_secs(2))),
        |mut peer| async move {
            peer.head().await;
            peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").await;
            peer.stall().await;
        },
    );
    let (sender, body) = Body::channel(1);
    let slow = Request::post(URL, body).unwrap();
    fails_after(2000, fetch_request(&client, slow), ErrorKind::TotalTimeout, Phase::Receive).await;
    assert!(sender.send("x").await.is_err());
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_whole_head_has_its_own_limit() {
    let mut time = only_total(Duration::from_secs(60));
    time.head = Some(Duration::from_secs(3));
    let kind = ErrorKind::FirstByteTimeout;
    get_fails_after(time.clone(), ScriptedServer::stall, 3000, kind, Phase::Wait).await;
    async fn dripping(mut peer: ScriptedServer) {
        peer.head().await;
        for byte in format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(9999)).bytes() {
            peer.send([byte]).await;
            sleep(Duration::from_millis(1000)).await;
        }
    }
    get_fails_after(time.clone(), dripping, 3000, kind, Phase::Wait).await;
    // An interim response does not end the wait for the head.
    async fn processing(mut peer: ScriptedServer) {
        peer.head().await;
        for _ in 0..3 {
            sleep(Duration::from_secs(2)).await;
            peer.send("HTTP/1.1 102 Processing\r\n\r\n").await;
        }
        peer.stall().await;
    }
    get_fails_after(time.clone(), processing, 3000, kind, Phase::Wait).await;
    // Neither does a redirect.
    async fn redirecting(mut peer: ScriptedServer) {
        while !peer.head().await.is_empty() {
            sleep(Duration::from_millis(800)).await;
            peer.send("HTTP/1.1 302 Go\r\nlocation: /\r\ncontent-length: 0\r\n\r\n").await;
        }
    }
    get_fails_after(time.clone(), redirecting, 3000, kind, Phase::Wait).await;
    // Behind the head, the content may take any time.
    async fn content(mut peer: ScriptedServer) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await;
        for _ in 0..9 {
            sleep(Duration::from_secs(1)).await;
            peer.send("a").await;
        }
    }
    let client = scripted_by(limited(|limits| limits.time = time), content);
    assert_eq!(fetch(&client).await, Ok((200, "a".repeat(9))));
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_head_covers_waiting_and_sending() {
    let three = |limits: &mut ClientLimits| {
        limits.time = only_total(Duration::from_secs(60));
        limits.time.head = Some(Duration::from_secs(3));
        limits.pool.per_origin_max = 1;
    };
    let kind = ErrorKind::FirstByteTimeout;
    let client = scripted_by(limited(three), ScriptedServer::stall);
    let large = Request::post(URL, vec![0; 1 << 20]).unwrap();
    fails_after(3000, fetch_request(&client, large), kind, Phase::Send).await;
    let (_sender, body) = Body::channel(1);
    let slow = Request::post(URL, body).unwrap();
    let error = client.send(slow).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (kind, Phase::Send));
    assert!(error.to_string().contains("still being sent"), "{error}");
    let first = tokio::spawn({
        let client = client.clone();
        let forever = Request::get(URL).unwrap().without_deadlines();
        async move { fetch_request(&client, forever).await }
    });
    settle().await;
    fails_after(3000, fetch(&client), kind, Phase::Queue).await;
    first.abort();
    // The limit does not hold behind a response that came early, and the request is still sent.
    let client = scripted_by(limited(three), |mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").await;
        peer.skip("\r\n0\r\n\r\n").await;
        peer.send("0\r\n\r\n").await;
    });
    let (sender, body) = Body::channel(1);
    let response = client.send(Request::post(URL, body).unwrap()).await.unwrap();
    for _ in 0..10 {
        sleep(Duration::from_secs(2)).await;
        sender.send("piece").await.unwrap();
    }
    sender.finish().await.unwrap();
    assert_eq!(super::kit::read(response).await, Ok((200, "a".to_owned())));
}

/// The client's defaults hold for what a request does not set.
#[tokio::test(start_paused = true)]
async fn a_request_may_have_deadlines_of_its_own() {
    let get = || Request::get(URL).unwrap();
    let s = Duration::from_secs;
    async fn slow(mut peer: ScriptedServer) {
        peer.head().await;
        sleep(Duration::from_secs(10_000)).await;
        peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
        for _ in 0..3 {
            sleep(Duration::from_secs(10_000)).await;
            peer.send("a").await;
        }
    }
    for versions in [stoop::Versions::Http1, stoop::Versions::Http2] {
        let client = match versions {
            stoop::Versions::Http2 => {
                let handler = async |_: Request| {
                    sleep(Duration::from_secs(10_000)).await;
                    let (sender, body) = Body::channel(1);
                    tokio::spawn(async move {
                        for _ in 0..3 {
                            sleep(Duration::from_secs(10_000)).await;
                            sender.send("a").await.unwrap();
                        }
                        sender.finish().await
                    });
                    stoop::Response::new(body)
                };
                stoop::Client::builder().versions(versions).handler(handler).build().unwrap()
            }
            _ => super::kit::scripted(slow),
        };
        let late = ErrorKind::FirstByteTimeout;
        fails_after(60_000, fetch(&client), late, Phase::Wait).await;
        // Longer than the head's limit, and shorter.
        let total = ErrorKind::TotalTimeout;
        let longer = fetch_request(&client, get().timeout(s(100)));
        fails_after(100_000, longer, total, Phase::Wait).await;
        let shorter = fetch_request(&client, get().timeout(s(1)));
        fails_after(1_000, shorter, total, Phase::Wait).await;
        // The last of several calls counts.
        let last = fetch_request(&client, get().without_deadlines().timeout(s(2)));
        fails_after(2_000, last, total, Phase::Wait).await;
        let begun = Instant::now();
        let outcome = fetch_request(&client, get().timeout(s(2)).without_deadlines()).await;
        assert_eq!(outcome, Ok((200, "aaa".to_owned())), "{versions:?}");
        assert!(begun.elapsed() >= s(40_000));
        // Idle content has its limit beside a request's own total.
        let idle = fetch_request(&client, get().timeout(s(11_000)));
        fails_after(10_090_000, idle, ErrorKind::ReadTimeout, Phase::Receive).await;
    }
}

/// There is then no limit either for how long the server reads nothing, or for how slowly it sends.
#[tokio::test(start_paused = true)]
async fn a_request_without_deadlines_has_no_limit_of_what_moves() {
    let client = scripted_by(
        limited(|limits| {
            (limits.time.body_grace, limits.time.body_window) =
                (Duration::ZERO, Duration::from_secs(1));
            limits.time.body_bytes_per_second_min = 1_000;
        }),
        |mut peer| async move {
            sleep(Duration::from_secs(10_000)).await;
            peer.head().await;
            peer.bytes(1 << 20).await;
            peer.send("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n").await;
            for _ in 0..3 {
                sleep(Duration::from_secs(60)).await;
                peer.send("a").await;
            }
        },
    );
    let large = || Request::post(URL, vec![0; 1 << 20]).unwrap();
    let outcome = fetch_request(&client, large().without_deadlines()).await;
    assert_eq!(outcome, Ok((200, "aaa".to_owned())));
    let watched = fetch_request(&client, large().timeout(Duration::from_secs(50_000)));
    fails_after(30_000, watched, ErrorKind::ReadTimeout, Phase::Send).await;
}

/// A total of 90 s is longer than the default limit of the head, which does not apply beside it.
#[tokio::test(start_paused = true)]
async fn a_clients_timeout_is_not_cut_short_by_a_default() {
    let client = scripted_by(
        stoop::Client::builder().timeout(Duration::from_secs(90)),
        ScriptedServer::stall,
    );
    fails_after(90_000, fetch(&client), ErrorKind::TotalTimeout, Phase::Wait).await;
    // The same by the limits rather than by the call.
    let builder = limited(|limits| limits.time.total = Some(Duration::from_secs(90)));
    let client = scripted_by(builder, ScriptedServer::stall);
    fails_after(90_000, fetch(&client), ErrorKind::TotalTimeout, Phase::Wait).await;
    // A limit of the head that was set does apply.
    let builder = limited(|limits| limits.time.head = Some(Duration::from_secs(2)));
    let client = scripted_by(builder.timeout(Duration::from_secs(90)), ScriptedServer::stall);
    fails_after(2_000, fetch(&client), ErrorKind::FirstByteTimeout, Phase::Wait).await;
}

#[tokio::test(start_paused = true)]
async fn content_that_stops_has_its_own_limit() {
    let mut time = only_total(Duration::from_secs(60));
    time.read_idle = Some(Duration::from_secs(3));
    async fn stopping(mut peer: ScriptedServer) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await;
        for _ in 0..3 {
            sleep(Duration::from_secs(2)).await;
            peer.send("a").await;
        }
        peer.stall().await;
    }
    get_fails_after(time, stopping, 9000, ErrorKind::ReadTimeout, Phase::Receive).await;
}

#[tokio::test(start_paused = true)]
async fn short_deadlines_are_kept_as_well_as_long_ones() {
    for ms in [1, 5, 20, 100, 1000, 30_000] {
        let time = only_total(Duration::from_millis(ms));
        get_fails_after(time, ScriptedServer::stall, ms, ErrorKind::TotalTimeout, Phase::Wait)
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_connection_serves_requests_with_different_deadlines() {
    let client = scripted_by(
        limited(|limits| limits.time = only_total(Duration::from_secs(60))),
        |mut peer| async move {
            for _ in 0..3 {
                peer.head().await;
                sleep(Duration::from_millis(1)).await;
                peer.send(OK).await;
            }
            peer.head().await;
            peer.stall().await;
        },
    );
    let fetch_in = async |seconds: u64| {
        let request = Request::get(URL).unwrap().timeout(Duration::from_secs(seconds));
        let response = client.send(request).await;
        super::kit::read(response.map_err(super::kit::kind_and_phase)?).await
    };
    for seconds in [30, 50, 20] {
        fetch_in(seconds).await.unwrap();
        assert_eq!(counts(&client), (1, 1));
    }
    // The requests before have armed the timer for a later time.
    fails_after(2000, fetch_in(2), ErrorKind::TotalTimeout, Phase::Wait).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_without_deadlines_waits_as_long_as_it_takes() {
    let client = scripted_by(
        limited(|limits| {
            limits.time = only_total(Duration::ZERO);
            limits.time.total = None;
        })
        .redirects(Redirects::none()),
        |mut peer| async move {
            peer.head().await;
            sleep(Duration::from_secs(100_000)).await;
            peer.send(OK).await;
        },
    );
    assert_eq!(fetch(&client).await, ok());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_was_lost_to_limits_that_were_set_after_it() {
    let limits = || only_total(Duration::from_secs(60));
    let second = Duration::from_secs(1);
    for after in [false, true] {
        let builder = stoop::Client::builder();
        let builder = if after { builder.timeout(second) } else { builder };
        let mut all = ClientLimits::default();
        all.time = limits();
        let builder = builder.limits(all);
        let builder = if after { builder } else { builder.timeout(second) };
        let client = scripted_by(builder, ScriptedServer::stall);
        fails_after(1000, fetch(&client), ErrorKind::TotalTimeout, Phase::Wait).await;
    }
}
