//! Trailers and interim responses, over HTTP/1.1 and HTTP/2, and the server on the thread that calls it.

use axum::Router;
use axum::extract::{Extension, Request};
use axum::response::Response;
use axum::routing::{get, post};
use stoop::{Body, Client, ClientEvent, Fields, InterimSender, Server, Versions};
use tokio::sync::mpsc::unbounded_channel;

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];

#[tokio::test]
async fn trailers_go_both_ways() {
    // What comes is what goes, piece by piece.
    let echo = async |request: Request| Response::new(request.into_body());
    let server = super::listen(Router::new().route("/", post(echo)));
    for versions in VERSIONS {
        let client = Client::builder().versions(versions).build().unwrap();
        let (sender, body) = Body::channel(1);
        let mut sums = Fields::new();
        sums.push("x-sum", b"7").unwrap();
        let sending = tokio::spawn(async move {
            sender.send("hi").await.unwrap();
            sender.trailers(&sums).await.unwrap();
        });
        let request = client.post(server.endpoint().to_string()).header("te", "trailers");
        let mut response = request.body(body).send().await.unwrap();
        let mut content = Vec::new();
        while let Some(piece) = response.body_mut().chunk().await.unwrap() {
            content.extend_from_slice(&piece);
        }
        assert_eq!(content, b"hi", "{versions:?}");
        let trailers = response.body_mut().take_trailers().unwrap();
        assert_eq!(trailers.first("x-sum"), Some(&b"7"[..]), "{versions:?}");
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn early_hints_are_sent_by_a_handler() {
    let hinting = async |Extension(interim): Extension<InterimSender>| {
        interim.early_hints(["</style.css>; rel=preload; as=style"]).unwrap();
        tokio::task::yield_now().await;
        "hello"
    };
    let mut limits = stoop_axum::server_limits();
    limits.interim_responses_max = 1;
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
    let app = Router::new().route("/", get(hinting));
    let server = server.run_here(stoop_axum::handler(app)).unwrap();
    for versions in VERSIONS {
        let (told, mut tell) = unbounded_channel();
        let observe = move |_, event: &ClientEvent<'_>| {
            if let ClientEvent::Interim { head, .. } = event {
                told.send(head.status().as_u16()).unwrap();
            }
        };
        let client = Client::builder().versions(versions).observe(observe).build().unwrap();
        let response = client.get(server.endpoint().to_string()).await.unwrap();
        assert_eq!(response.text().await.unwrap(), "hello", "{versions:?}");
        assert_eq!(tell.recv().await, Some(103), "{versions:?}");
    }
}

#[tokio::test]
async fn a_handler_is_told_when_its_response_was_sent() {
    let (told, mut tell) = unbounded_channel();
    let telling = async move || {
        let told = told.clone();
        let response = stoop::Response::from_text("hello");
        let response = response.on_sent(move |sent| {
            told.send((sent.is_complete(), sent.content_bytes())).unwrap();
        });
        http::Response::from(response).map(axum::body::Body::new)
    };
    let server = super::listen(Router::new().route("/", get(telling)));
    for versions in VERSIONS {
        let client = Client::builder().versions(versions).build().unwrap();
        let response = client.get(server.endpoint().to_string()).await.unwrap();
        assert_eq!(response.text().await.unwrap(), "hello", "{versions:?}");
        assert_eq!(tell.recv().await, Some((true, 5)), "{versions:?}");
    }
}

#[test]
fn an_application_runs_on_the_thread_that_calls() {
    let (told, tell) = std::sync::mpsc::channel();
    let caller = std::thread::spawn(move || {
        let this = std::thread::current().id();
        let app = Router::new()
            .route("/", get(async move || (std::thread::current().id() == this).to_string()));
        let server = Server::listen("127.0.0.1:0").unwrap().workers(1);
        server.run_blocking(stoop_axum::handler(app), |handle| told.send(handle).unwrap())
    });
    let server = tell.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = runtime.block_on(async {
        let client = Client::new();
        client.get(server.endpoint().to_string()).await.unwrap().text().await.unwrap()
    });
    assert_eq!(text, "true");
    runtime.block_on(server.close());
    caller.join().unwrap().unwrap();
}
