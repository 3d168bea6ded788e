//! What `axum::serve` takes is taken: applications, make-services, and layers around them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{Request, State};
use axum::handler::{Handler, HandlerWithoutStateExt};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use axum::{Router, ServiceExt};
use stoop::{Binding, Client, Server, Versions};
use stoop_axum::IncomingStream;
use tokio::net::{TcpListener, UnixListener};
use tower::Layer;
use tower::util::MapRequestLayer;
use tower_http::normalize_path::NormalizePathLayer;

use crate::certificate;

/// What a server answers at a path, which is the same over both versions.
async fn answer<F>(serve: impl FnOnce(TcpListener) -> F, path: &str) -> String
where
    F: IntoFuture<Output = io::Result<()>>,
    F::IntoFuture: Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    let serving = tokio::spawn(serve(listener).into_future());
    let mut texts = Vec::new();
    for versions in [Versions::Http1, Versions::Http2] {
        let client = Client::builder().versions(versions).build().unwrap();
        texts.push(client.get(&url).await.unwrap().text().await.unwrap());
    }
    serving.abort();
    assert_eq!(texts[0], texts[1]);
    texts.remove(0)
}

fn app() -> Router {
    Router::new().route("/", get(async || "root")).route("/path", get(async || "path"))
}

async fn stated(State(text): State<&'static str>) -> &'static str {
    text
}

async fn plain() -> &'static str {
    "plain"
}

#[tokio::test]
async fn applications_and_what_makes_them_are_served() {
    use stoop_axum::serve;
    assert_eq!(answer(|listener| serve(listener, app()), "/").await, "root");
    let method = get(async || "method");
    assert_eq!(answer(|listener| serve(listener, method), "/").await, "method");
    let handler = stated.with_state("stated");
    assert_eq!(answer(|listener| serve(listener, handler), "/").await, "stated");
    let handler = plain.into_make_service();
    assert_eq!(answer(|listener| serve(listener, handler), "/").await, "plain");
    let router = app().into_make_service();
    assert_eq!(answer(|listener| serve(listener, router), "/path").await, "path");
}

/// As axum's documentation has it for what happens before routing.
#[tokio::test]
async fn layers_around_an_application_are_served() {
    use stoop_axum::serve;
    let trimmed = NormalizePathLayer::trim_trailing_slash().layer(app());
    let trimmed = ServiceExt::<Request>::into_make_service(trimmed);
    assert_eq!(answer(|listener| serve(listener, trimmed), "/path/").await, "path");

    // These know requests of axum's alone.
    let rewrite = |mut request: Request| {
        *request.uri_mut() = "/path".parse().unwrap();
        request
    };
    let rewritten = MapRequestLayer::new(rewrite).layer(app());
    let rewritten = ServiceExt::<Request>::into_make_service(rewritten);
    assert_eq!(answer(|listener| serve(listener, rewritten), "/elsewhere").await, "path");

    let shown = ServiceExt::<Request>::into_make_service(from_fn(shorten).layer(app()));
    assert_eq!(answer(|listener| serve(listener, shown), "/a/long/path").await, "path");
}

async fn shorten(mut request: Request, next: Next) -> Response {
    *request.uri_mut() = request.uri().path().trim_start_matches("/a/long").parse().unwrap();
    next.run(request).await
}

#[tokio::test]
async fn a_make_service_of_ones_own_learns_of_the_client() {
    let make = tower::service_fn(async |stream: IncomingStream<'static, TcpListener>| {
        let (address, connection) = (*stream.remote_addr(), *stream.connection().unwrap());
        assert_eq!(connection.remote_address(), Some(address));
        let told = format!("{} {address:?}", address.ip().is_loopback());
        let app: Router = Router::new().fallback(move || async { told });
        Ok::<_, Infallible>(app)
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serving = tokio::spawn(stoop_axum::serve(listener, make).into_future());
    let told = Client::new().get(&url).await.unwrap().text().await.unwrap();
    assert!(told.starts_with("true 127.0.0.1:"), "{told}");
    serving.abort();
}

/// As it is written for `axum::serve::IncomingStream`.
#[derive(Clone, Debug)]
struct Peer(String);

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Peer(format!("over TCP from {}", stream.remote_addr().ip()))
    }
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        Peer(format!("over a Unix socket, unnamed: {}", stream.remote_addr().is_unnamed()))
    }
}

impl Connected<IncomingStream<'_>> for Peer {
    fn connect_info(stream: IncomingStream<'_>) -> Self {
        let tls = stream.connection().and_then(|connection| connection.tls());
        Peer(format!("from {}, over TLS: {}", stream.remote_addr().ip(), tls.is_some()))
    }
}

fn peer_app() -> Router {
    Router::new().route("/", get(async |ConnectInfo(Peer(told)): ConnectInfo<Peer>| told))
}

async fn address(ConnectInfo(address): ConnectInfo<SocketAddr>) -> String {
    address.ip().to_string()
}

#[tokio::test]
async fn connect_info_is_that_which_was_asked_for() {
    let app = Router::new().route("/", get(address));
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    assert_eq!(answer(|listener| stoop_axum::serve(listener, app), "/").await, "127.0.0.1");
    let handler = address.into_make_service_with_connect_info::<SocketAddr>();
    assert_eq!(answer(|listener| stoop_axum::serve(listener, handler), "/").await, "127.0.0.1");
    let app = peer_app().into_make_service_with_connect_info::<Peer>();
    let told = answer(|listener| stoop_axum::serve(listener, app), "/").await;
    assert_eq!(told, "over TCP from 127.0.0.1");
}

#[tokio::test]
async fn connect_info_of_ones_own_works_over_unix_sockets_and_tls() {
    let path = std::env::temp_dir().join(format!("stoop-axum-peer-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let app = peer_app().into_make_service_with_connect_info::<Peer>();
    let serving = stoop_axum::serve(listener, app.clone());
    assert_eq!(serving.local_addr().unwrap().as_pathname(), Some(&*path));
    let serving = tokio::spawn(serving.into_future());
    let client = Client::builder().unix_socket(&path).build().unwrap();
    let told = client.get("http://here/").await.unwrap().text().await.unwrap();
    assert_eq!(told, "over a Unix socket, unnamed: true");
    serving.abort();
    std::fs::remove_file(&path).unwrap();

    let (tls, client) = certificate();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let binding = Binding::new(listener).unwrap().tls(tls.clone());
    let serving = tokio::spawn(stoop_axum::serve(binding, app.clone()).into_future());
    let response = client.get(format!("https://localhost:{port}/")).await.unwrap();
    assert_eq!(response.version(), stoop::Version::HTTP_2);
    assert_eq!(response.text().await.unwrap(), "from 127.0.0.1, over TLS: true");
    serving.abort();

    // On threads of the server's own.
    let server = Server::listen("https://127.0.0.1:0").unwrap().tls(tls).workers(1);
    let server = server.run(stoop_axum::make_handler(app.clone())).unwrap();
    let told = client.get(format!("https://localhost:{}/", server.port())).await.unwrap();
    assert_eq!(told.text().await.unwrap(), "from 127.0.0.1, over TLS: true");
    server.close().await;

    // And without a connection.
    let client = Client::builder().handler(stoop_axum::make_handler(app)).build().unwrap();
    let told = client.get("http://here/").await.unwrap().text().await.unwrap();
    assert_eq!(told, "from 0.0.0.0, over TLS: false");
}

#[tokio::test]
async fn a_server_knows_where_it_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = stoop_axum::serve(listener, app());
    assert_eq!(serving.local_addr().unwrap(), address);
    let serving = serving.with_graceful_shutdown(std::future::ready(()));
    assert_eq!(serving.local_addr().unwrap(), address);
    serving.await.unwrap();
    let place = stoop_axum::serve("127.0.0.1:0", app()).local_addr().unwrap_err();
    assert_eq!(place.kind(), io::ErrorKind::NotConnected);
}
