//! What axum's extractors find in a request, and what its responses become.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Form, Json, Multipart, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Version};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::{Deserialize, Serialize};
use stoop::tls::ServerName;
use stoop::{Client, ConnectionInfo, Versions};

use crate::{listen, listen_tls};

#[derive(Deserialize, Serialize, Debug, PartialEq)]
struct Thing {
    name: String,
    count: u32,
}

fn app() -> Router {
    Router::new()
        .route("/who", get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>| peer.to_string()))
        .route(
            "/things/{id}",
            get(async |Path(id): Path<u32>, Query(thing): Query<Thing>| {
                Json(Thing { name: thing.name, count: thing.count + id })
            }),
        )
        .route("/json", post(async |Json(thing): Json<Thing>| (StatusCode::CREATED, Json(thing))))
        .route("/form", post(async |Form(thing): Form<Thing>| thing.name))
        .route("/upload", post(upload))
        .route("/away", get(async || Redirect::to("/things/1?name=a&count=1")))
        .route(
            "/state",
            get(async |State(n): State<u32>, Extension(text): Extension<&'static str>| {
                format!("{n} {text}")
            }),
        )
        .route(
            "/version",
            get(async |version: Version, fields: HeaderMap| {
                format!("{version:?} {:?}", fields["host"])
            }),
        )
        .route(
            "/panic",
            get(async || {
                panic!("as expected");
                #[expect(unreachable_code)]
                ()
            }),
        )
        .route("/events", get(events))
        .route("/length", post(async |body: axum::body::Bytes| body.len().to_string()))
        .layer(DefaultBodyLimit::max(10_000))
        .layer(Extension("extension"))
        .with_state(7)
}

async fn upload(mut parts: Multipart) -> Result<String, axum::extract::multipart::MultipartError> {
    let mut seen = String::new();
    while let Some(field) = parts.next_field().await? {
        let (name, file) = (field.name().map(str::to_owned), field.file_name().map(str::to_owned));
        let bytes = field.bytes().await?;
        seen += &format!("{name:?} {file:?} {}\n", bytes.len());
    }
    Ok(seen)
}

async fn events() -> impl IntoResponse {
    let events = ["a", "b"].map(|data| Ok::<_, Infallible>(Event::default().event("x").data(data)));
    Sse::new(futures_util::stream::iter(events))
}

#[tokio::test]
async fn extractors_and_responses_work_over_each_version() {
    let server = listen(app());
    let base = server.endpoint().to_string();
    for versions in [Versions::Http1, Versions::Http2] {
        let client = Client::builder().versions(versions).build().unwrap();
        let text = async |path: &str| {
            client.get(format!("{base}{path}")).await.unwrap().text().await.unwrap()
        };
        let peer: SocketAddr = text("/who").await.parse().unwrap();
        assert!(peer.ip().is_loopback() && peer.port() != server.port());
        assert_eq!(text("/away").await, r#"{"name":"a","count":2}"#);
        assert_eq!(text("/state").await, "7 extension");
        let host = format!("\"127.0.0.1:{}\"", server.port());
        let version = if versions == Versions::Http1 { "HTTP/1.1" } else { "HTTP/2.0" };
        assert_eq!(text("/version").await, format!("{version} {host}"));
        assert_eq!(text("/events").await, "event: x\ndata: a\n\nevent: x\ndata: b\n\n");
        let thing = Thing { name: "ä".to_owned(), count: 3 };
        let created = client.post(format!("{base}/json")).json(&thing).send().await.unwrap();
        assert_eq!(created.status(), 201);
        assert_eq!(created.json::<Thing>().await.unwrap(), thing);
        let named = client.post(format!("{base}/form")).form(&thing).send().await.unwrap();
        assert_eq!(named.text().await.unwrap(), "ä");
        let bad = client.get(format!("{base}/things/x?name=a&count=1")).await.unwrap();
        assert_eq!(bad.status(), 400);
        let lost = client.post(format!("{base}/who")).send().await.unwrap();
        assert_eq!(
            (lost.status(), lost.field("allow")),
            (StatusCode::METHOD_NOT_ALLOWED, Some(&b"GET,HEAD"[..]))
        );
        let panicked = client.get(format!("{base}/panic")).await.unwrap();
        assert_eq!(panicked.status(), 500);
        let large =
            client.post(format!("{base}/length")).body(vec![0; 10_001]).send().await.unwrap();
        assert_eq!(large.status(), 413);
        let fits =
            client.post(format!("{base}/length")).body(vec![0; 10_000]).send().await.unwrap();
        assert_eq!(fits.text().await.unwrap(), "10000");
    }
    server.close().await;
}

#[tokio::test]
async fn a_form_with_files_is_read_as_it_comes() {
    let server = listen(app());
    let url = format!("{}/upload", server.endpoint());
    let text = "--b\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\n\
                content-disposition: form-data; name=\"f\"; filename=\"x.bin\"\r\n\r\nfour\r\n--b--\r\n";
    let sent = Client::new().post(&url).header("content-type", "multipart/form-data; boundary=b");
    let seen = sent.body(text).send().await.unwrap().text().await.unwrap();
    assert_eq!(seen, "Some(\"a\") None 1\nSome(\"f\") Some(\"x.bin\") 4\n");
    server.close().await;
}

/// RFC 9110 §9.3.2: a HEAD has the fields that a GET would have had, and no content.
#[tokio::test]
async fn a_head_has_the_length_of_a_get() {
    let server = listen(app());
    let url = format!("{}/state", server.endpoint());
    let client = Client::new();
    let head = stoop::Request::new(http::Method::HEAD, &url).unwrap();
    let head = client.send(head).await.unwrap();
    assert_eq!((head.status(), head.field("content-length")), (StatusCode::OK, Some(&b"11"[..])));
    assert_eq!(client.get(&url).await.unwrap().field("content-length"), Some(&b"11"[..]));
    server.close().await;
}

#[tokio::test]
async fn a_unix_socket_has_no_connect_info_and_tls_tells_of_its_session() {
    let path = std::env::temp_dir().join(format!("stoop-axum-{}.sock", std::process::id()));
    let server = stoop::Server::listen(&*path).unwrap();
    let server = server.run_here(stoop_axum::handler(app())).unwrap();
    let client = Client::builder().unix_socket(&path).build().unwrap();
    assert_eq!(client.get("http://here/state").await.unwrap().text().await.unwrap(), "7 extension");
    assert_eq!(client.get("http://here/who").await.unwrap().status(), 500);
    server.close().await;

    let session = async |Extension(connection): Extension<ConnectionInfo>,
                         Extension(name): Extension<ServerName>| {
        format!("{:?} {} {name}", connection.version(), connection.tls().unwrap().cipher)
    };
    let (server, client) = listen_tls(Router::new().route("/", get(session)));
    let url = format!("https://localhost:{}/", server.port());
    let told = client.get(&url).await.unwrap().text().await.unwrap();
    assert!(told.starts_with("HTTP/2.0 TLS13_AES_") && told.ends_with(" localhost"), "{told}");
    server.close().await;
}

/// The stream of a handler that its client leaves is dropped.
#[tokio::test]
async fn a_stream_is_dropped_with_its_client() {
    struct Counted(std::sync::mpsc::Sender<()>);
    impl Drop for Counted {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (dropped, drops) = std::sync::mpsc::channel();
    let endless = move || {
        let counted = Counted(dropped.clone());
        let pieces = futures_util::stream::repeat_with(move || {
            let _ = &counted;
            Ok::<_, Infallible>("x".repeat(10_000))
        });
        std::future::ready(Body::from_stream(pieces))
    };
    let server = listen(Router::new().route("/", get(endless)));
    let mut response = Client::new().get(server.endpoint().to_string()).await.unwrap();
    assert!(response.body_mut().chunk().await.unwrap().is_some());
    drop(response);
    let waited = tokio::task::spawn_blocking(move || drops.recv_timeout(Duration::from_secs(10)));
    waited.await.unwrap().expect("the stream is dropped");
    server.close().await;
}
