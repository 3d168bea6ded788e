//! Functions around the call of a client.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Client, ClientBuilder, Error, ErrorKind, Next, Phase, Request, Response, StatusCode};

use super::kit::{OK, URL, scripted_by};

/// Answers with the fields `x-via` of the request.
async fn via(request: Request) -> Response {
    let values: Vec<_> = request.fields().all("x-via").map(String::from_utf8_lossy).collect();
    Response::from_text(values.join(","))
}

fn marking(
    mark: &'static str,
) -> impl Fn(Request, Next) -> std::pin::Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>
{
    move |request, next| {
        Box::pin(async move {
            let response = next.run(request.with_field("x-via", mark)?).await?;
            Ok(response.with_field("x-back", mark)?)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_added_first_is_called_first() {
    let builder = Client::builder().middleware(marking("a")).middleware(marking("b"));
    let client = builder.handler(via).build().unwrap();
    let response = client.get(URL).await.unwrap();
    let back: Vec<_> = response.fields().all("x-back").map(<[u8]>::to_vec).collect();
    assert_eq!(back, [b"b", b"a"]);
    assert_eq!(response.text().await.unwrap(), "a,b");
}

#[tokio::test(start_paused = true)]
async fn it_may_answer_by_itself_and_fail() {
    async fn cached(request: Request, next: Next) -> Result<Response, Error> {
        match request.path() {
            "/cached" => Ok(Response::from_text("kept")),
            "/never" => Err(Error::new(ErrorKind::Cancelled, Phase::Request)),
            _ => next.run(request).await,
        }
    }
    let client = Client::builder().middleware(cached).handler(via).build().unwrap();
    let text = async |url| client.get(url).await?.text().await;
    assert_eq!(text("http://a/cached").await.unwrap(), "kept");
    assert_eq!(text("http://a/").await.unwrap(), "");
    assert_eq!(text("http://a/never").await.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(client.connections().open, 1);
}

#[tokio::test(start_paused = true)]
async fn it_may_send_a_request_again() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let busy = move |_: Request| {
        let is_third = counted.fetch_add(1, Ordering::Relaxed) == 2;
        let status = if is_third { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        std::future::ready(Response::from_status(status))
    };
    let repeat = async |request: Request, next: Next| {
        loop {
            let copy = request.try_clone().expect("it has no content");
            let response = next.clone().run(copy).await?;
            if response.status() != StatusCode::SERVICE_UNAVAILABLE {
                return Ok(response);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let client = Client::builder().middleware(repeat).handler(busy);
    let client = client.build().unwrap();
    assert_eq!(client.get(URL).await.unwrap().status(), StatusCode::OK);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn interim_responses_go_past_it_to_the_caller() {
    const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let client = scripted_by(Client::builder().middleware(marking("a")), async |mut peer| {
        peer.head().await;
        peer.answer(&format!("{HINTS}{HINTS}{OK}")).await;
    });
    let seen = Mutex::new(Vec::new());
    let show = |head: &stoop::ResponseHead| seen.lock().unwrap().push(head.status().as_u16());
    let response = client.send_with_interim(Request::get(URL).unwrap(), show).await.unwrap();
    assert_eq!((response.status(), &*seen.lock().unwrap()), (StatusCode::OK, &vec![103, 103]));
}

/// It had the whole deadline again from where it called on.
#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_request_counts_from_the_call_and_not_from_the_end_of_its_middleware() {
    async fn late(request: Request, next: Next) -> Result<Response, Error> {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        next.run(request).await
    }
    async fn stuck(_: Request, _: Next) -> Result<Response, Error> {
        std::future::pending().await
    }
    let slow = |_: Request| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        "late"
    };
    let took = async |builder: ClientBuilder| {
        let client = builder.handler(slow).build().unwrap();
        let begun = tokio::time::Instant::now();
        let error = client.get(URL).timeout(Duration::from_secs(2)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TotalTimeout, "{error}");
        (error.phase(), begun.elapsed().as_millis())
    };
    let (phase, elapsed) = took(Client::builder().middleware(late)).await;
    assert_eq!(phase, Phase::Wait);
    assert!((2_000..2_050).contains(&elapsed), "{elapsed} ms");
    let (phase, elapsed) = took(Client::builder().middleware(stuck)).await;
    assert_eq!(phase, Phase::Request);
    assert!((2_000..=2_200).contains(&elapsed), "{elapsed} ms");
}
