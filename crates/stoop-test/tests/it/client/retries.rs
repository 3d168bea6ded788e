//! Requests that are sent again by the caller's policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use stoop::{Body, Client, ErrorKind, Phase, Request, Response, Retries, StatusCode};
use tokio::time::Instant;

use super::kit::kind_and_phase;

/// A client of a handler that answers the first `failures` requests by `status`, with a field, and how many it
/// has had.
fn failing(
    retries: Retries,
    failures: u32,
    status: u16,
    field: Option<(&'static str, &'static str)>,
) -> (Client, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let answer = move |request: Request| {
        let n = counted.fetch_add(1, SeqCst);
        async move {
            let content = request.into_body().bytes(100).await?;
            if n >= failures {
                return Ok(Response::from_bytes(content));
            }
            let response = Response::from_status(StatusCode::from_u16(status).unwrap());
            Ok::<_, stoop::Error>(match field {
                Some((name, value)) => response.with_field(name, value)?,
                None => response,
            })
        }
    };
    (Client::builder().retries(retries).handler(answer).build().unwrap(), count)
}

const URL: &str = "http://a.test/";

#[tokio::test(start_paused = true)]
async fn a_status_that_may_pass_is_retried_with_growing_delays() {
    let (client, count) = failing(Retries::up_to(3), 3, 503, None);
    let begun = Instant::now();
    let response = client.put(URL).body("content").await.unwrap();
    assert_eq!((response.status().as_u16(), count.load(SeqCst)), (200, 4));
    assert_eq!(response.text().await.unwrap(), "content");
    let waited = begun.elapsed().as_millis();
    assert!((350..=700).contains(&waited), "{waited} ms: between half and all of 100, 200 and 400");
    // One more failure than there may be retries is the outcome.
    let (client, count) = failing(Retries::up_to(3), 4, 503, None);
    let response = client.get(URL).await.unwrap();
    assert_eq!((response.status().as_u16(), count.load(SeqCst)), (503, 4));
    // None by default.
    let (client, count) = failing(Retries::default(), 1, 503, None);
    assert_eq!(client.get(URL).await.unwrap().status(), 503);
    assert_eq!(count.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_safe_or_will_not_pass_is_not_retried() {
    for (method, status) in [("POST", 503), ("PATCH", 503), ("GET", 404), ("GET", 501)] {
        let (client, count) = failing(Retries::up_to(3), 9, status, None);
        let response = client.request(method.parse().unwrap(), URL).await.unwrap();
        assert_eq!((response.status().as_u16(), count.load(SeqCst)), (status, 1), "{method}");
    }
    // A stream cannot be sent again, unless it can be made again.
    let stream = || Body::from_stream(Response::from_text("x").stream());
    let (client, count) = failing(Retries::up_to(3), 1, 503, None);
    assert_eq!(client.put(URL).body(stream()).await.unwrap().status(), 503);
    assert_eq!(count.load(SeqCst), 1);
    let (client, count) = failing(Retries::up_to(3), 1, 503, None);
    let response = client.put(URL).body(Body::replayable(stream)).await.unwrap();
    assert_eq!((response.text().await.unwrap(), count.load(SeqCst)), ("x".to_owned(), 2));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_waited_for_if_it_is_short_enough() {
    let field = Some(("retry-after", "7"));
    let (client, count) = failing(Retries::up_to(1), 1, 429, field);
    let begun = Instant::now();
    assert_eq!(client.get(URL).await.unwrap().status(), 200);
    assert_eq!((begun.elapsed().as_secs(), count.load(SeqCst)), (7, 2));
    let short = Retries::up_to(1).retry_after_max(Duration::from_secs(5));
    let (client, count) = failing(short, 1, 429, field);
    assert_eq!(client.get(URL).await.unwrap().status(), 429);
    assert_eq!(count.load(SeqCst), 1);
    // Nor is one that the deadline of the request does not leave time for.
    let (client, count) = failing(Retries::up_to(1), 1, 429, field);
    let begun = Instant::now();
    let response = client.get(URL).timeout(Duration::from_secs(6)).await.unwrap();
    assert_eq!((response.status().as_u16(), count.load(SeqCst)), (429, 1));
    assert!(begun.elapsed().as_millis() < 10);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_request_holds_for_all_attempts() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let slow = move |_: Request| {
        let n = counted.fetch_add(1, SeqCst);
        async move {
            if n == 0 {
                return Response::from_status(StatusCode::BAD_GATEWAY);
            }
            std::future::pending().await
        }
    };
    let retries = Retries::up_to(5).delay(Duration::from_secs(1), Duration::from_secs(1));
    let client = Client::builder().retries(retries).handler(slow).build().unwrap();
    let begun = Instant::now();
    let outcome = client.get(URL).timeout(Duration::from_secs(3)).await.map_err(kind_and_phase);
    assert_eq!(outcome.err(), Some((ErrorKind::TotalTimeout, Phase::Wait)));
    assert_eq!((begun.elapsed().as_secs(), count.load(SeqCst)), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_retried_within_the_deadline_of_the_request() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let slow = move |_: Request| {
        let n = counted.fetch_add(1, SeqCst);
        async move {
            if n % 3 == 2 {
                return Response::from_text("late");
            }
            std::future::pending().await
        }
    };
    let second = Duration::from_secs(1);
    let retries = Retries::up_to(2).delay(second, second).attempt_timeout(second);
    let client = Client::builder().retries(retries).handler(slow).build().unwrap();
    let begun = Instant::now();
    let response = client.get(URL).await.unwrap();
    assert_eq!((response.attempts(), count.load(SeqCst)), (3, 3));
    let waited = begun.elapsed().as_millis();
    assert!((3_000..=4_010).contains(&waited), "{waited} ms: two attempts, and what is waited");
    // What may not be sent twice is not.
    let outcome = client.post(URL).await.map_err(kind_and_phase);
    assert_eq!(outcome.err(), Some((ErrorKind::TotalTimeout, Phase::Wait)));
    // The deadline of the request is all that there is.
    let begun = Instant::now();
    let outcome = client.get(URL).timeout(second / 2).await.map_err(kind_and_phase);
    assert_eq!(outcome.err(), Some((ErrorKind::TotalTimeout, Phase::Wait)));
    assert!((500..510).contains(&begun.elapsed().as_millis()));
}

#[tokio::test(start_paused = true)]
async fn retries_add_a_share_to_the_load_and_no_more() {
    let (client, count) = failing(Retries::up_to(3).budget_percent(10), u32::MAX, 503, None);
    for _ in 0..200 {
        assert_eq!(client.get(URL).await.unwrap().status(), 503);
    }
    // Ten at first, and one for each ten requests.
    assert_eq!(count.load(SeqCst), 200 + 10 + 20);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_cannot_be_made_is_tried_again_whatever_the_method() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let connect = move |_: stoop::ConnectTarget| {
        let n = counted.fetch_add(1, SeqCst);
        async move {
            if n == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
            }
            let (ours, theirs) = tokio::io::duplex(4096);
            let limits = stoop::ServerLimits::default();
            tokio::spawn(stoop::rt::serve(theirs, |_: Request| "ok", limits));
            Ok(ours)
        }
    };
    let builder = Client::builder().retries(Retries::up_to(1));
    let client = stoop::rt::connector(builder, connect).build().unwrap();
    let response = client.post(URL).body("once").await.unwrap();
    assert_eq!((response.text().await.unwrap(), count.load(SeqCst)), ("ok".to_owned(), 2));
}

/// It was sent again for the sake of the request that followed it, and its server did the same twice.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_redirected_is_not_sent_again_because_the_next_was_not_sent() {
    for status in [303, 307] {
        let count = Arc::new(AtomicU32::new(0));
        let counted = count.clone();
        let connect = move |target: stoop::ConnectTarget| {
            let counted = counted.clone();
            async move {
                if target.host() != "a.test" {
                    return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
                }
                let (ours, theirs) = tokio::io::duplex(4096);
                let answer = move |_: Request| {
                    counted.fetch_add(1, SeqCst);
                    let status = StatusCode::from_u16(status).unwrap();
                    let response = Response::from_status(status);
                    response.with_field("location", "http://b.test/").unwrap()
                };
                let limits = stoop::ServerLimits::default();
                tokio::spawn(stoop::rt::serve(theirs, answer, limits));
                Ok(ours)
            }
        };
        let builder = Client::builder().retries(Retries::up_to(2));
        let client = stoop::rt::connector(builder, connect).build().unwrap();
        let error = client.post(URL).body("order").await.unwrap_err();
        assert_eq!((error.kind(), error.redirects()), (ErrorKind::ConnectRefused, 1));
        assert_eq!(count.load(SeqCst), 1, "{status}");
        assert!(client.get(URL).await.is_err());
        assert_eq!(count.load(SeqCst), 4, "{status}: what may be sent twice is");
    }
}
