//! The Digest scheme (RFC 7616): challenges that are answered, and those that are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stoop::{Body, Client, Request, Response, StatusCode};

/// A client of servers that challenge what has no Authorization, and how many requests they got.
fn challenging() -> (Client, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let handler = move |request: Request| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let auth =
                request.field("authorization").map(|a| String::from_utf8_lossy(a).into_owned());
            if request.path() == "/away" {
                let moved = Response::from_status(StatusCode::TEMPORARY_REDIRECT);
                return moved.with_field("location", "http://other.test/").unwrap();
            }
            match auth {
                Some(auth) if auth.contains("username=\"me\"") => {
                    let content = request.into_body().bytes(100).await.unwrap();
                    Response::from_text(format!("{} {auth}", String::from_utf8_lossy(&content)))
                }
                _ => Response::from_status(StatusCode::UNAUTHORIZED)
                    .with_field("www-authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")
                    .unwrap(),
            }
        }
    };
    (Client::builder().handler(handler).build().unwrap(), requests)
}

#[tokio::test(start_paused = true)]
async fn a_challenge_is_answered_and_the_content_sent_again() {
    let (client, requests) = challenging();
    let request = client.put("http://a.test/x?y").body("content").digest_auth("me", "secret");
    let text = request.await.unwrap().text().await.unwrap();
    assert!(
        text.starts_with("content Digest username=\"me\", realm=\"r\", nonce=\"n\", "),
        "{text}"
    );
    assert!(text.contains("uri=\"/x?y\"") && text.contains("nc=00000001"), "{text}");
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_accepted_or_cannot_be_sent_again_is_a_401() {
    let (client, requests) = challenging();
    let wrong = client.get("http://a.test/").digest_auth("other", "x").await.unwrap();
    assert_eq!((wrong.status().as_u16(), requests.load(Ordering::Relaxed)), (401, 2));
    let (sender, body) = Body::channel(1);
    tokio::spawn(sender.finish());
    let once = client.put("http://a.test/").body(body).digest_auth("me", "x").await.unwrap();
    assert_eq!((once.status().as_u16(), requests.load(Ordering::Relaxed)), (401, 3));
    // Another origin is not told who asks.
    let away = client.get("http://a.test/away").digest_auth("me", "x").await.unwrap();
    assert_eq!((away.status().as_u16(), requests.load(Ordering::Relaxed)), (401, 5));
}
