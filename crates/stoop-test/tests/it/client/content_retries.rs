//! Requests that are sent again because the content of their responses failed: `Client::retry`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{
    Body, Client, ClientBuilder, Error, ErrorKind, FollowUp, Next, Phase, Request, Response,
    Retries, RetryAction, RetryAttempt,
};
use tokio::time::{Instant, sleep};

use super::kit::{EACH_VERSION, OK, ScriptedServer, URL, kind_and_phase, limited, scripted_by};

const SECOND: Duration = Duration::from_secs(1);

/// A client with these retries, whose first `broken` connections have half of the content that they announce.
fn breaking(builder: ClientBuilder, broken: usize) -> Client {
    scripted_by(builder, move |mut peer| async move {
        let head = peer.head().await;
        if peer.number >= broken {
            return peer.answer(OK).await;
        }
        if head.starts_with("POST") {
            peer.bytes(5).await;
        }
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab").await;
    })
}

fn retrying(max: u32) -> ClientBuilder {
    Client::builder().retries(Retries::up_to(max))
}

/// Reads all content, and sends the request again where that fails, as often as the client does. The last response, its
/// content, and how often there was one.
async fn read(client: &Client, response: Response) -> Result<(Response, String, u32), Error> {
    let (mut response, mut content, mut responses) = (response, Vec::new(), 1);
    loop {
        match response.body_mut().chunk().await {
            Ok(Some(piece)) => content.extend_from_slice(&piece),
            Ok(None) => return Ok((response, String::from_utf8(content).unwrap(), responses)),
            Err(error) => {
                let Some(again) = client.retry(&mut response, &error) else { return Err(error) };
                assert_eq!(response.body_mut().len(), Some(0), "there is no content any more");
                assert!(client.retry(&mut response, &error).is_none(), "once");
                content.clear();
                responses += 1;
                response = again.await?;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_whose_content_breaks_off() {
    let client = breaking(retrying(2), 2);
    let begun = Instant::now();
    let response = client.get(URL).await.unwrap();
    let (response, content, responses) = read(&client, response).await.unwrap();
    assert_eq!((&*content, responses, response.attempts()), ("ok", 3, 3));
    let waited = begun.elapsed().as_millis();
    assert!((150..=310).contains(&waited), "{waited} ms: between half and all of 100 and 200");
    // One more than there may be retries is the outcome.
    let client = breaking(retrying(2), 3);
    let response = client.get(URL).await.unwrap();
    let error = read(&client, response).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::ClosedEarly, Phase::Receive));
}

#[tokio::test(start_paused = true)]
async fn it_is_not_sent_again_beyond_what_is_safe_and_what_the_budget_leaves() {
    for (builder, request, broken) in [
        (Client::builder(), Request::get(URL), 1),
        (retrying(3), Request::post(URL, "order"), 1),
        (retrying(3).middleware(through), Request::get(URL), 1),
    ] {
        let client = breaking(builder, broken);
        let response = client.send(request.unwrap()).await.unwrap();
        let error = read(&client, response).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ClosedEarly);
    }
    let builder = Client::builder().retries(Retries::up_to(1).budget_percent(0));
    let client = breaking(builder, usize::MAX);
    let mut retries = 0;
    for _ in 0..20 {
        let mut response = client.get(URL).await.unwrap();
        let error = response.bytes_or_error().await;
        if let Some(again) = client.retry(&mut response, &error) {
            retries += 1;
            drop(again.await);
        }
    }
    assert_eq!(retries, 10, "the first ten");
}

async fn through(request: Request, next: Next) -> Result<Response, Error> {
    next.run(request).await
}

trait BytesOrError {
    async fn bytes_or_error(&mut self) -> Error;
}

impl BytesOrError for Response {
    /// How its content fails.
    async fn bytes_or_error(&mut self) -> Error {
        self.body_mut().discard().await.unwrap_err()
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_is_asked_and_what_paces_sees_the_response() {
    let asked: Arc<Mutex<Vec<(ErrorKind, Phase)>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let retries = Retries::up_to(5).decided_by(move |attempt: &RetryAttempt<'_>| {
        let Err(error) = attempt.outcome() else { return RetryAction::Stop };
        seen.lock().unwrap().push((error.kind(), error.phase()));
        match attempt.number() {
            1 => RetryAction::Retry,
            _ => RetryAction::Stop,
        }
    });
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&told);
    let builder = Client::builder().retries(retries).pace(move |next: &FollowUp<'_>| {
        let response = next.response().map(|response| response.status().as_u16());
        let error = next.outcome().err().map(Error::kind);
        kept.lock().unwrap().push(format!("{response:?} {error:?} {:?}", next.retry_after()));
        sleep(Duration::from_secs(60))
    });
    // Also what is not known to be safe, where the function says so.
    let client = scripted_by(builder.timeout(5 * SECOND), |mut peer| async move {
        peer.until("order").await;
        peer.send("HTTP/1.1 503 Busy\r\nretry-after: 3\r\ncontent-length: 4\r\n\r\nab").await;
    });
    let begun = Instant::now();
    let response = client.post(URL).body("order").await.unwrap();
    let error = read(&client, response).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::ClosedEarly, Phase::Receive));
    assert_eq!(*asked.lock().unwrap(), [(ErrorKind::ClosedEarly, Phase::Receive); 2]);
    assert_eq!(*told.lock().unwrap(), ["Some(503) Some(ClosedEarly) Some(3s)"]);
    assert_eq!(begun.elapsed().as_secs(), 60, "the pace counts to no deadline");
}

/// Sends `a` of `ab`; the first connection ends after a second, and the second one does not go on.
async fn slowly(mut peer: ScriptedServer) {
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na").await;
    if peer.number > 0 {
        return peer.stall().await;
    }
    sleep(61 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_request_holds_for_all_attempts_but_for_pauses() {
    let tenth = SECOND / 10;
    let retries = Retries::up_to(5).delay(tenth, tenth);
    let client = scripted_by(Client::builder().retries(retries).timeout(2 * SECOND), slowly);
    let begun = Instant::now();
    let mut response = client.get(URL).await.unwrap();
    assert_eq!(response.chunk().await.unwrap().as_deref(), Some(&b"a"[..]));
    response.body_mut().pause();
    sleep(60 * SECOND).await;
    let error = response.chunk().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ClosedEarly);
    let mut response =
        client.retry(&mut response, &error).expect("a second is left").await.unwrap();
    assert_eq!(response.chunk().await.unwrap().as_deref(), Some(&b"a"[..]));
    let error = response.chunk().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TotalTimeout);
    let elapsed = begun.elapsed().as_millis();
    assert!((62_000..62_020).contains(&elapsed), "{elapsed} ms");
    assert!(client.retry(&mut response, &error).is_none(), "the deadline is over");
}

#[tokio::test(start_paused = true)]
async fn content_that_stalls_or_takes_longer_than_an_attempt_may_is_asked_for_again() {
    let script = |mut peer: ScriptedServer| async move {
        peer.head().await;
        if peer.number > 0 {
            return peer.answer(OK).await;
        }
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab").await;
        peer.stall().await;
    };
    let of_attempt = Client::builder().retries(Retries::up_to(1).attempt_timeout(3 * SECOND));
    let silent = limited(|limits| limits.time.read_idle = Some(3 * SECOND));
    for builder in [of_attempt, silent.retries(Retries::up_to(1))] {
        let client = scripted_by(builder, script);
        let begun = Instant::now();
        let response = client.get(URL).await.unwrap();
        let (_, content, responses) = read(&client, response).await.unwrap();
        assert_eq!((&*content, responses, begun.elapsed().as_secs()), ("ok", 2, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn content_of_each_version_is_asked_for_again() {
    for versions in EACH_VERSION {
        let asked = Arc::new(Mutex::new(0));
        let answer = move |_: Request| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            if *asked > 1 {
                return Response::from_text("whole");
            }
            let (sender, body) = Body::channel(1);
            tokio::spawn(async move {
                sender.send("half").await.unwrap();
                // Dropped before its end, it fails.
            });
            Response::new(body)
        };
        let client = retrying(1).versions(versions).handler(answer).build().unwrap();
        let response = client.get(URL).await.unwrap();
        let (response, content, responses) = read(&client, response).await.unwrap();
        let attempts = response.attempts();
        assert_eq!((&*content, responses, attempts), ("whole", 2, 2), "{versions:?}");
    }
}

/// Content that breaks off at once, and how often it was asked for. By one client over each version, with each layer that
/// content can have.
async fn each_broken(builder: fn() -> ClientBuilder, mut check: impl AsyncFnMut(Client, &str)) {
    for versions in EACH_VERSION {
        for coding in ["identity", "gzip"] {
            for is_observed in [false, true] {
                let answer = move |_: Request| {
                    let (sender, body) = Body::channel(1);
                    tokio::spawn(async move {
                        // The head of a member, and nothing of its content.
                        sender.send(&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..]).await.unwrap();
                    });
                    Response::new(body).with_field("content-encoding", coding).unwrap()
                };
                let builder = builder().versions(versions).handler(answer);
                let builder = match is_observed {
                    true => builder.observe(|_, _| {}),
                    false => builder,
                };
                let told = format!("{versions:?} {coding} {is_observed}");
                check(builder.build().unwrap(), &told).await;
            }
        }
    }
}

/// It said that there was one, after the time of that.
#[tokio::test(start_paused = true)]
async fn the_error_of_content_tells_of_all_attempts() {
    each_broken(
        || retrying(2),
        async |client, told| {
            let response = client.get(URL).await.unwrap();
            let error = read(&client, response).await.unwrap_err();
            assert_eq!(error.attempts(), 3, "{told}: {error}");
            let elapsed = error.elapsed().unwrap().as_millis();
            assert!((150..=310).contains(&elapsed), "{told}: {elapsed} ms");
        },
    )
    .await;
}

/// Such as one in which what had come before is written.
#[tokio::test(start_paused = true)]
async fn a_pause_after_content_has_failed_counts_to_no_deadline() {
    each_broken(
        || retrying(1).timeout(2 * SECOND),
        async |client, told| {
            let mut response = client.get(URL).await.unwrap();
            let error = response.bytes_or_error().await;
            response.body_mut().pause();
            sleep(60 * SECOND).await;
            let again = client.retry(&mut response, &error);
            let mut response = again.expect(told).await.unwrap();
            let begun = Instant::now();
            let error = response.bytes_or_error().await;
            assert!(begun.elapsed() < SECOND, "{told}");
            assert_eq!((error.attempts(), response.attempts()), (2, 2), "{told}");
        },
    )
    .await;
}
