//! Requests that follow from others wait for what the program says.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{
    Client, ClientBuilder, ErrorKind, FollowUp, Phase, Request, Response, Retries, StatusCode,
};
use tokio::time::{Instant, sleep};

/// Each request waits so long that follows from another.
const PACE: Duration = Duration::from_secs(10);

/// A site that redirects from `/1` to `/2` and from there to `/3`, and answers `/busy` by 503 with a Retry-After.
fn site(request: Request) -> Response {
    let to =
        |path: &str| Response::from_status(StatusCode::FOUND).with_field("location", path).unwrap();
    match request.path() {
        "/1" => to("/2"),
        "/2" => to("http://other.test/3"),
        "/busy" => Response::from_status(StatusCode::SERVICE_UNAVAILABLE)
            .with_field("retry-after", "1")
            .unwrap(),
        path => Response::from_text(path.to_owned()),
    }
}

/// A client of the site that waits, and what it was to wait for.
fn paced(builder: ClientBuilder) -> (Client, Arc<Mutex<Vec<String>>>) {
    let urls = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&urls);
    let pace = move |next: &FollowUp<'_>| {
        let (status, retry_after) = (next.outcome().unwrap().as_u16(), next.retry_after());
        asked.lock().unwrap().push(format!("{status} {} {retry_after:?}", next.url()));
        sleep(PACE)
    };
    (builder.pace(pace).handler(site).build().unwrap(), urls)
}

#[tokio::test(start_paused = true)]
async fn each_redirect_waits_and_the_deadline_does_not_count_that() {
    let (client, urls) = paced(Client::builder().timeout(Duration::from_secs(5)));
    let begun = Instant::now();
    let response = client.get("http://a.test/1").await.unwrap();
    assert_eq!(begun.elapsed(), 2 * PACE);
    assert!(response.timings().first_byte() < PACE);
    assert_eq!(response.text().await.unwrap(), "/3");
    assert_eq!(*urls.lock().unwrap(), ["302 http://a.test/2 None", "302 http://other.test/3 None"]);
    // What follows from nothing waits for nothing.
    assert_eq!(client.get("http://a.test/4").await.unwrap().status(), 200);
    assert_eq!((begun.elapsed(), urls.lock().unwrap().len()), (2 * PACE, 2));
}

#[tokio::test(start_paused = true)]
async fn each_retry_waits_from_its_failure_on_and_the_deadline_does_not_count_that() {
    let second = Duration::from_secs(1);
    let builder = Client::builder().retries(Retries::up_to(2)).timeout(5 * second);
    let (client, urls) = paced(builder);
    let begun = Instant::now();
    let response = client.get("http://a.test/busy").await.unwrap();
    assert_eq!(response.status(), 503);
    // Beside the delay: what `sleep` was called for goes on meanwhile.
    assert_eq!(begun.elapsed(), 2 * PACE);
    assert_eq!(*urls.lock().unwrap(), ["503 http://a.test/busy Some(1s)"; 2]);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_goes_on_after_the_wait() {
    let slow = async |request: Request| {
        if request.path() == "/1" {
            return Response::from_status(StatusCode::FOUND).with_field("location", "/2").unwrap();
        }
        sleep(Duration::from_secs(6)).await;
        Response::from_text("late")
    };
    let builder = Client::builder().timeout(Duration::from_secs(5)).pace(|_| sleep(PACE));
    let client = builder.handler(slow).build().unwrap();
    let begun = Instant::now();
    let error = client.get("http://a.test/1").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::TotalTimeout, Phase::Wait));
    assert_eq!(begun.elapsed(), PACE + Duration::from_secs(5));
}

/// The wait of an attempt counted to the deadline of all of them, and there was no time left for another.
#[tokio::test(start_paused = true)]
async fn a_retry_comes_though_the_attempt_before_waited_longer_than_the_deadline() {
    let asked = AtomicU32::new(0);
    let site = move |request: Request| {
        if request.path() == "/1" {
            return Response::from_status(StatusCode::FOUND).with_field("location", "/2").unwrap();
        }
        match asked.fetch_add(1, Relaxed) {
            0 => Response::from_status(StatusCode::SERVICE_UNAVAILABLE),
            _ => Response::from_text("here"),
        }
    };
    let builder = Client::builder().retries(Retries::up_to(1)).timeout(Duration::from_secs(5));
    let client = builder.pace(|_| sleep(PACE)).handler(site).build().unwrap();
    let begun = Instant::now();
    assert_eq!(client.get("http://a.test/1").await.unwrap().text().await.unwrap(), "here");
    assert_eq!(begun.elapsed(), 3 * PACE);
}
