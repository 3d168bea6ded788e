//! The server in one line.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use futures_util::stream::{self, StreamExt};
use stoop::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

fn app() -> Router {
    Router::new().route("/", get(async || "hello"))
}

#[tokio::test]
async fn a_listener_of_tokio_is_served_until_the_signal() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (begun, ended) = (begun.clone(), ended.clone());
        async move || {
            begun.notify_one();
            ended.notified().await;
            "late"
        }
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = stoop_axum::serve(listener, app().route("/slow", get(slow)))
        .with_graceful_shutdown(async { drop(stopped.await) });
    let serving = tokio::spawn(serving.into_future());
    let client = Client::new();
    let hello = client.get(format!("http://{address}/")).await.unwrap();
    assert_eq!(hello.text().await.unwrap(), "hello");
    let running = tokio::spawn(client.get(format!("http://{address}/slow")).send());
    begun.notified().await;
    stop.send(()).unwrap();
    // What runs is finished, and nothing more is accepted.
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!serving.is_finished());
    ended.notify_one();
    assert_eq!(running.await.unwrap().unwrap().text().await.unwrap(), "late");
    timeout(Duration::from_secs(5), serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn what_does_not_end_is_cut_off_after_the_grace() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let begun = Arc::new(Notify::new());
    let never = {
        let begun = begun.clone();
        async move || {
            begun.notify_one();
            std::future::pending::<()>().await
        }
    };
    let stop = {
        let begun = begun.clone();
        async move { begun.notified().await }
    };
    let serving = stoop_axum::serve(listener, Router::new().route("/", get(never)))
        .with_graceful_shutdown(stop)
        .grace(Duration::from_millis(50));
    let serving = tokio::spawn(serving.into_future());
    let answer = Client::new().get(format!("http://{address}/")).await;
    assert!(answer.is_err());
    timeout(Duration::from_secs(5), serving).await.unwrap().unwrap().unwrap();
}

/// Tells when it is dropped.
struct OnDrop(UnboundedSender<()>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// As under `axum::serve`: a handler that waits, and content that is silent.
#[tokio::test]
async fn what_runs_is_dropped_when_its_client_closes() {
    let (dropped, mut drops) = unbounded_channel();
    let (waiting, silent) = (dropped.clone(), dropped);
    let waits = async move || {
        let _held = OnDrop(waiting.clone());
        std::future::pending::<()>().await
    };
    let stays = async move || {
        let held = OnDrop(silent.clone());
        let first = stream::once(async { Ok::<_, Infallible>("first") });
        let never = stream::once(async move {
            let _held = held;
            std::future::pending().await
        });
        Body::from_stream(first.chain(never))
    };
    let app = Router::new().route("/waits", get(waits)).route("/stays", get(stays));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(stoop_axum::serve(listener, app).into_future());
    for path in ["/waits", "/stays"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes())
            .await
            .unwrap();
        if path == "/stays" {
            let mut some = [0; 1024];
            assert!(client.read(&mut some).await.unwrap() > 0);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(drops.try_recv().is_err(), "{path}");
        drop(client);
        timeout(Duration::from_secs(30), drops.recv()).await.expect(path).unwrap();
    }
    serving.abort();
}

#[tokio::test]
async fn a_server_that_is_dropped_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(stoop_axum::serve(listener, app()).into_future());
    let client = Client::new();
    client.get(format!("http://{address}/")).await.unwrap();
    serving.abort();
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(5), refused).await.expect("it is closed");
}

#[tokio::test]
async fn whatever_listens_is_served() {
    let path = std::env::temp_dir().join(format!("stoop-axum-serve-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let serving = tokio::spawn(stoop_axum::serve(listener, app()).into_future());
    let client = Client::builder().unix_socket(&path).build().unwrap();
    assert_eq!(client.get("http://here/").await.unwrap().text().await.unwrap(), "hello");
    serving.abort();
    std::fs::remove_file(&path).unwrap();

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(stoop_axum::serve(listener, app()).into_future());
    let hello = Client::new().get(format!("http://{address}/")).await.unwrap();
    assert_eq!(hello.text().await.unwrap(), "hello");
    let taken = stoop_axum::serve(address, app()).await.unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    assert!(taken.to_string().contains("another program listens there"), "{taken}");
    let nowhere = stoop_axum::serve("nowhere", app()).await.unwrap_err();
    assert!(nowhere.to_string().starts_with("cannot listen on \"nowhere\""), "{nowhere}");
    serving.abort();
}

/// A client that sends its head one byte at a time is not waited for.
#[tokio::test]
async fn the_limits_are_those_of_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = stoop_axum::serve(listener, app())
        .limits(|limits| limits.time.head = Duration::from_millis(100));
    let serving = tokio::spawn(serving.into_future());
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET / HT").await.unwrap();
    let mut read = String::new();
    slow.read_to_string(&mut read).await.unwrap();
    assert!(read.starts_with("HTTP/1.1 408 "), "{read}");
    serving.abort();
}
