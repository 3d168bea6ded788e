//! Requests for the rest of content that broke off: `Client::retry_with`.

use std::sync::{Arc, Mutex};

use stoop::{Client, Fields, Request, Retries, RetryAction};

use super::kit::{URL, scripted_by};

/// The fields that ask for what follows so many bytes.
fn rest(from: usize) -> Fields {
    let mut fields = Fields::new();
    fields.push("range", format!("bytes={from}-").as_bytes()).expect("a field");
    fields.push("if-range", b"\"v1\"").expect("a field");
    fields
}

#[tokio::test(start_paused = true)]
async fn the_rest_is_asked_for_by_fields_that_the_request_itself_does_not_have() {
    const ANSWERS: [&str; 5] = [
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nab",
        "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 206 Part\r\ncontent-range: bytes 2-5/6\r\ncontent-length: 4\r\n\r\ncd",
        "HTTP/1.1 206 Part\r\ncontent-range: bytes 4-5/6\r\ncontent-length: 2\r\n\r\ne",
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
    ];
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&heads);
    let builder = Client::builder().retries(Retries::up_to(4).budget_percent(100));
    let client = scripted_by(builder, move |mut peer| {
        let kept = Arc::clone(&kept);
        async move {
            let head = peer.head().await;
            kept.lock().unwrap().push(head);
            peer.send(ANSWERS[peer.number]).await;
        }
    });
    let request = Request::get(URL).unwrap().with_field("if-range", "\"own\"").unwrap();
    let mut response =
        client.send(request.with_field("x-kept", "yes").unwrap()).await.expect("a response");
    let mut content = Vec::new();
    let mut statuses = Vec::new();
    let whole = loop {
        statuses.push(response.status().as_u16());
        match response.body_mut().chunk().await {
            Ok(Some(piece)) => content.extend_from_slice(&piece),
            Ok(None) => break response.attempts(),
            Err(error) if content.len() < 5 => {
                let again = client.retry_with(&mut response, &error, rest(content.len()));
                response = again.expect("there may be four").await.expect("a response");
            }
            Err(error) => {
                content.clear();
                let again = client.retry(&mut response, &error).expect("there may be four");
                response = again.await.expect("a response");
            }
        }
    };
    assert_eq!((whole, content.as_slice()), (5, b"abcdef".as_slice()));
    statuses.dedup();
    assert_eq!(statuses, [200, 206, 200]);
    let heads = heads.lock().unwrap();
    let asked = |head: &str| {
        let field = |name: &str| {
            let lines = head.lines().filter_map(|line| line.strip_prefix(name));
            lines.collect::<Vec<_>>().join(",")
        };
        assert_eq!(field("x-kept: "), "yes", "{head}");
        format!("{} {}", field("range: "), field("if-range: "))
    };
    let asked: Vec<_> = heads.iter().map(|head| asked(head)).collect();
    let expected =
        [" \"own\"", "bytes=2- \"v1\"", "bytes=2- \"v1\"", "bytes=4- \"v1\"", " \"own\""];
    assert_eq!(asked, expected);
}

/// The request was not sent again where such a response has no content, which cannot fail.
#[tokio::test(start_paused = true)]
async fn a_range_that_is_refused_is_not_asked_for_again_and_the_request_is_sent_as_it_was() {
    for refusal in [
        "416 No\r\ncontent-length: 0",
        "416 No\r\ncontent-length: 1",
        "206 Part\r\ncontent-length: 0",
    ] {
        let asked: Arc<Mutex<Vec<bool>>> = Arc::default();
        let kept = Arc::clone(&asked);
        // One that would have each range be asked for again.
        let retries = Retries::up_to(2).decided_by(|attempt| match attempt.outcome() {
            Ok(response) if response.status() != 416 => RetryAction::Stop,
            _ => RetryAction::Retry,
        });
        let client = scripted_by(Client::builder().retries(retries), move |mut peer| {
            let kept = Arc::clone(&kept);
            async move {
                let head = peer.head().await;
                kept.lock().unwrap().push(head.contains("range: "));
                let answer = match peer.number {
                    0 => "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nab",
                    1 => &format!("HTTP/1.1 {refusal}\r\nconnection: close\r\n\r\n"),
                    _ => "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
                };
                peer.send(answer).await;
            }
        });
        let mut response = client.get(URL).await.expect("a response");
        let error = response.body_mut().discard().await.expect_err("it breaks off");
        let again = client.retry_with(&mut response, &error, rest(2));
        let mut refused = again.expect("there may be two").await.expect("a response");
        assert!(refusal.starts_with(refused.status().as_str()), "{refusal}: {refused:?}");
        let again = client.retry(&mut refused, &error).expect("there may be two");
        let response = again.await.expect("a response");
        assert_eq!(response.attempts(), 3, "{refusal}");
        assert_eq!(response.text().await.expect("all of it"), "abcdef", "{refusal}");
        assert_eq!(*asked.lock().unwrap(), [false, true, false], "{refusal}");
    }
}
