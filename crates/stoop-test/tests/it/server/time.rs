//! Time limits of a client: every wait that it causes ends. The clock is paused.

use std::time::Duration;

use stoop::{Body, Request, Response};
use stoop_test::peer::RawPeer;
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep};

use super::{GET, connect, connect_to_reader, has_passed, hello, seconds};

/// A handler that reads the whole content and answers its length.
async fn length(request: Request) -> Result<Response, stoop::Error> {
    Ok(Response::from_text(request.into_body().bytes(1 << 30).await?.len().to_string()))
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_without_a_word() {
    let begin = Instant::now();
    let mut peer = connect(hello);
    assert!(peer.is_closed().await);
    assert!(has_passed(begin, seconds(60)), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_a_minute_after_its_last_response() {
    let mut peer = connect(hello);
    for _ in 0..3 {
        sleep(seconds(50)).await;
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
    }
    let begin = Instant::now();
    assert!(peer.is_closed().await);
    assert!(has_passed(begin, seconds(60)), "{:?}", begin.elapsed());
}

/// Sends `bytes`, one every `pause`, until the server responds.
async fn drip(
    peer: &mut RawPeer<DuplexStream>,
    bytes: &[u8],
    pause: Duration,
) -> stoop_test::peer::RawResponse {
    let mut bytes = bytes.iter().cycle();
    loop {
        peer.send([*bytes.next().unwrap()]).await;
        tokio::select! {
            response = peer.response() => return response.unwrap(),
            () = sleep(pause) => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_has_ten_seconds_from_its_first_byte() {
    let mut peer = connect(hello);
    sleep(seconds(30)).await;
    let begin = Instant::now();
    let response = drip(&mut peer, b"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", seconds(1)).await;
    assert_eq!((response.status, response.field("connection")), (408, Some("close")));
    assert!(has_passed(begin, seconds(10)), "{:?}", begin.elapsed());
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn an_empty_line_ahead_is_not_the_first_byte_of_a_head() {
    let mut peer = connect(hello);
    peer.send("\r").await;
    sleep(seconds(1)).await;
    peer.send("\n").await;
    sleep(seconds(30)).await;
    peer.send(&GET[..10]).await;
    sleep(seconds(5)).await;
    peer.send(&GET[10..]).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
}

/// A head that stalls is no request yet, and the requests before it are still answered.
#[tokio::test(start_paused = true)]
async fn a_head_that_stalls_behind_a_slow_handler_costs_that_one_nothing() {
    let mut peer = connect(async |_: Request| {
        sleep(seconds(100)).await;
        "slow"
    });
    peer.send([GET, "GET / HT"].concat()).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("slow", Some("close")));
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_is_never_cut_off() {
    for request in [GET, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi"] {
        let mut peer = connect(async |mut request: Request| {
            let _ = request.body_mut().discard().await;
            sleep(seconds(100_000)).await;
            "at last"
        });
        peer.send(request).await;
        assert_eq!(peer.response().await.unwrap().text(), "at last");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_of_a_response_is_never_cut_off() {
    let mut peer = connect(|_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            for _ in 0..3 {
                sleep(seconds(10_000)).await;
                sender.send("tick ").await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        Response::new(body)
    });
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "tick tick tick ");
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "tick tick tick ");
}

#[tokio::test(start_paused = true)]
async fn content_that_stalls_is_given_up() {
    let mut peer = connect(length);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").await;
    // Content well above the least rate, so that only the stall counts.
    peer.send([b'x'; 50_000]).await;
    let begin = Instant::now();
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (408, Some("close")));
    assert!(has_passed(begin, seconds(30)), "{:?}", begin.elapsed());
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn content_that_drips_is_given_up_after_its_grace() {
    let mut peer = connect(length);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").await;
    let begin = Instant::now();
    let response = drip(&mut peer, b"x", Duration::from_millis(100)).await;
    assert_eq!(response.status, 408);
    // The limit is 5 s of grace, and 1/240 s more for each byte.
    assert!(has_passed(begin, Duration::from_millis(5_200)), "{:?}", begin.elapsed());
}

/// Chunk extensions and sizes do not count as content.
#[tokio::test(start_paused = true)]
async fn chunks_that_drip_are_no_content() {
    let mut peer = connect(length);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5;a=").await;
    let begin = Instant::now();
    let response = drip(&mut peer, b"x", Duration::from_millis(10)).await;
    assert_eq!(response.status, 408);
    assert!(has_passed(begin, seconds(5)), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn content_just_above_the_rate_is_read_for_ever() {
    let mut peer = connect(length);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 150000\r\n\r\n").await;
    for _ in 0..600 {
        sleep(seconds(1)).await;
        peer.send([b'x'; 250]).await;
    }
    assert_eq!(peer.response().await.unwrap().text(), "150000");
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_content_stands_still_while_the_handler_does_not_read() {
    let mut peer = connect(async |mut request: Request| {
        let mut total = 0;
        while let Some(piece) = request.body_mut().chunk().await? {
            total += piece.len();
            sleep(seconds(1_000)).await;
        }
        Ok::<_, stoop::Error>(total.to_string())
    });
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\n").await;
    for _ in 0..20 {
        peer.send("x").await;
        sleep(seconds(1_000)).await;
    }
    assert_eq!(peer.response().await.unwrap().text(), "20");
}

#[tokio::test(start_paused = true)]
async fn the_handler_is_told_that_content_is_late() {
    let (mut peer, mut tell) = connect_to_reader();
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\nxx").await;
    assert_eq!(peer.response().await.unwrap().status, 408);
    assert_eq!(tell.recv().await.unwrap().kind(), stoop::ErrorKind::SlowBody);
}

/// A response that has begun cannot become a 408: it is broken off.
#[tokio::test(start_paused = true)]
async fn a_response_whose_source_is_late_is_broken_off() {
    let mut peer = connect(|request: Request| Response::new(request.into_body()));
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n").await;
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 200"));
    assert_eq!(peer.rest().await.unwrap(), b"2\r\nhi\r\n", "the last chunk must not come");
}

/// [`ServerTime::handler`](stoop::ServerTime::handler) counts for each of several requests anew.
#[tokio::test(start_paused = true)]
async fn a_handler_beyond_its_limit_is_dropped_and_answered_for() {
    let mut limits = stoop::ServerLimits::default();
    limits.time.handler = seconds(5);
    let (mut peer, _) = super::connect_with(limits, async |request: Request| {
        sleep(seconds(request.path()[1..].parse().unwrap())).await;
        "done"
    });
    let begin = Instant::now();
    let get = |seconds: u32| GET.replace("/ ", &format!("/{seconds} "));
    peer.send([get(4), get(1_000), get(1)].concat()).await;
    assert_eq!(peer.response().await.unwrap().text(), "done");
    assert_eq!(peer.response().await.unwrap().status, 503);
    assert!(has_passed(begin, seconds(5)), "{:?}", begin.elapsed());
    assert_eq!(peer.response().await.unwrap().text(), "done");
    // Content that the handler has not read does not hold up the next request.
    peer.send("POST /1000 HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\nhi").await;
    peer.send(get(1)).await;
    assert_eq!(peer.response().await.unwrap().status, 503);
    assert_eq!(peer.response().await.unwrap().text(), "done");
}
