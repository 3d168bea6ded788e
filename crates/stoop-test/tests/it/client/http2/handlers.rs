//! A handler in this process, over HTTP/2: what holds over HTTP/1 holds here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use super::super::kit::client_of;
use crate::client::kit::counts;
use bytes::Bytes;
use stoop::{Body, Request, Response, StatusCode, Version, Versions};
use tokio::time::{Instant, sleep};

async fn echo(request: Request) -> Response {
    let length = request.field("content-length").map(<[u8]>::to_vec);
    let response = Response::new(request.into_body());
    match length {
        Some(length) => response.with_field("x-length", length).unwrap(),
        None => response,
    }
}

#[tokio::test]
async fn a_response_says_which_version_it_came_by() {
    let client = client_of(Versions::Http2, |request: Request| {
        Response::from_text(format!("{:?} {}", request.version(), request.authority()))
    });
    let response = client.get("http://a.test:81/x").await.unwrap();
    assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_2));
    assert_eq!(response.into_body().bytes(99).await.unwrap(), "HTTP/2.0 a.test:81");
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test]
async fn content_goes_both_ways_with_and_without_a_length() {
    let client = client_of(Versions::Http2, echo);
    for len in [0, 1, 1_000, 70_000, 3_000_000] {
        let bytes: Bytes = (0..len).map(|n: u32| n as u8).collect::<Vec<_>>().into();
        let request = Request::post("http://a/", bytes.clone()).unwrap();
        let response = client.send(request).await.unwrap();
        assert_eq!(response.field("x-length"), Some(len.to_string().as_bytes()));
        assert_eq!(response.into_body().bytes(usize::MAX).await.unwrap(), bytes);
        let (sender, body) = Body::channel(1);
        let pieces = bytes.clone();
        tokio::spawn(async move {
            for piece in pieces.chunks(10_000) {
                sender.send(Bytes::copy_from_slice(piece)).await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        let response = client.send(Request::post("http://a/", body).unwrap()).await.unwrap();
        assert_eq!(response.field("x-length"), None);
        assert_eq!(response.into_body().bytes(usize::MAX).await.unwrap(), bytes);
    }
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test]
async fn a_conversation_goes_to_and_fro_on_one_stream() {
    let client = client_of(Versions::Http2, echo);
    let (sender, body) = Body::channel(1);
    let response = client.send(Request::post("http://a/", body).unwrap()).await.unwrap();
    let mut answer = response.into_body();
    for n in 0..100 {
        sender.send(format!("{n}")).await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), n.to_string());
    }
    sender.finish().await.unwrap();
    assert_eq!(answer.chunk().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn many_requests_share_a_connection_and_wait_for_none() {
    let most = Arc::new(AtomicUsize::new(0));
    let (now, seen) = (Arc::new(AtomicUsize::new(0)), most.clone());
    let client = client_of(Versions::Http2, move |_: Request| {
        let (now, most) = (now.clone(), seen.clone());
        async move {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            sleep(Duration::from_secs(1)).await;
            now.fetch_sub(1, SeqCst);
            Response::from_text("ok")
        }
    });
    let begun = Instant::now();
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.get("http://a/").await.unwrap().status() })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), 200);
    }
    assert_eq!(begun.elapsed().as_secs(), 1);
    assert_eq!((counts(&client), most.load(SeqCst)), ((1, 1), 100));
}

#[tokio::test(start_paused = true)]
async fn connections_are_opened_as_streams_run_short_and_no_more_than_the_limit() {
    let client = client_of(Versions::Http2, async |_: Request| {
        sleep(Duration::from_secs(1)).await;
        Response::from_text("ok")
    });
    let begun = Instant::now();
    // Our server allows 100 streams a connection.
    let tasks: Vec<_> = (0..3_300)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.get("http://a/").await.unwrap().status() })
        })
        .collect();
    sleep(Duration::from_millis(500)).await;
    assert_eq!(counts(&client).0, 32);
    for task in tasks {
        assert_eq!(task.await.unwrap(), 200);
    }
    assert_eq!(begun.elapsed().as_secs(), 2);
}

/// The redirected request goes over the same connection.
#[tokio::test]
async fn redirects_are_followed_on_the_connection_that_is_there() {
    let client = client_of(Versions::Http2, |request: Request| match request.path() {
        "/" => {
            let response = Response::from_status(StatusCode::FOUND);
            response.with_field("location", "/there").unwrap().boxed()
        }
        path => Response::from_text(path.to_owned()),
    });
    let response = client.get("http://a/").await.unwrap();
    assert_eq!((response.redirects(), response.version()), (1, Version::HTTP_2));
    assert_eq!(response.into_body().bytes(99).await.unwrap(), "/there");
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test]
async fn trailers_go_both_ways() {
    let client = client_of(Versions::Http2, async |request: Request| {
        let mut body = request.into_body();
        while body.chunk().await.unwrap().is_some() {}
        let trailers = *body.take_trailers().unwrap();
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send("some").await.unwrap();
            sender.trailers(&trailers).await.unwrap();
        });
        Response::new(body)
    });
    let (sender, body) = Body::channel(1);
    let sending = async move {
        sender.send("some").await.unwrap();
        let mut trailers = stoop::Fields::new();
        trailers.push("sum", b"7").unwrap();
        sender.trailers(&trailers).await.unwrap();
    };
    let request = client.send(Request::post("http://a/", body).unwrap());
    let ((), response) = tokio::join!(sending, request);
    let mut body = response.unwrap().into_body();
    assert_eq!(body.chunk().await.unwrap().unwrap(), "some");
    assert_eq!(body.chunk().await.unwrap(), None);
    let trailers = body.take_trailers().unwrap();
    assert_eq!((trailers.len(), trailers.first("sum")), (1, Some(&b"7"[..])));
}
