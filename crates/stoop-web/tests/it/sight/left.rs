//! Exchanges whose client does not wait for all of the response, over both versions.

use std::sync::{Arc, Mutex};

use stoop::{Body, Client, Response, ServerHandle, ServerLimits, Versions};
use stoop_web::{Router, Sight, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{BOTH, check_values, figures, serve, serve_within, within};

/// A client that asks once, and leaves: over HTTP/1 by a reset, because one that only says that it sends no more may
/// wait for its response still.
enum Visitor {
    Http1(TcpStream),
    Http2(JoinHandle<()>, oneshot::Receiver<()>),
}

impl Visitor {
    async fn ask(server: &ServerHandle, client: Client, versions: Versions) -> Self {
        if versions == Versions::Http1 {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            return Self::Http1(stream);
        }
        let (told, has_some) = oneshot::channel();
        let url = server.endpoint().to_string();
        let task = tokio::spawn(async move {
            let mut response = client.get(url).await.unwrap();
            assert_eq!(response.chunk().await.unwrap().as_deref(), Some(&b"some"[..]));
            told.send(()).unwrap();
            std::future::pending().await
        });
        Self::Http2(task, has_some)
    }

    /// Reads what there is, with the content `some`.
    async fn read_some(&mut self) {
        match self {
            Self::Http1(stream) => {
                let mut received = Vec::new();
                while !received.windows(4).any(|bytes| bytes == b"some") {
                    assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
                }
            }
            Self::Http2(_, has_some) => has_some.await.unwrap(),
        }
    }

    fn leave(self) {
        match self {
            Self::Http1(stream) => stream.set_zero_linger().unwrap(),
            Self::Http2(task, _) => task.abort(),
        }
    }
}

/// Sends when it is dropped.
struct Guard(Option<oneshot::Sender<()>>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.take().map(|sender| sender.send(()));
    }
}

#[tokio::test]
async fn an_exchange_whose_client_left_before_the_answer_is_counted_once() {
    for versions in BOTH {
        let sight = Sight::new();
        let (started, has_started) = oneshot::channel();
        let (gone, is_gone) = oneshot::channel();
        let both = Arc::new(Mutex::new(Some((started, Guard(Some(gone))))));
        let wait = move || {
            let (started, guard) = both.lock().unwrap().take().unwrap();
            async move {
                let _guard = guard;
                started.send(()).unwrap();
                std::future::pending::<()>().await;
            }
        };
        let (server, client) = serve(Router::new().route("/", get(wait)), &sight, versions);
        let visitor = Visitor::ask(&server, client, versions).await;
        within(has_started).await.unwrap();
        check_values(&figures(&sight).await, &[("stoop_web_in_flight", 1.0)]);
        visitor.leave();
        within(is_gone).await.unwrap();
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/",status="none"}"#, 1.0),
                (r#"stoop_web_request_seconds_count{method="GET",route="/",status="none"}"#, 1.0),
                (r#"stoop_web_handler_seconds_count{route="/"}"#, 0.0),
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 1.0),
                ("stoop_web_clients_left_total", 1.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}

#[tokio::test]
async fn an_exchange_whose_client_left_during_the_response_is_counted_once() {
    for versions in BOTH {
        let sight = Sight::new();
        let (ended, has_ended) = oneshot::channel();
        let ended = Arc::new(Mutex::new(Some(ended)));
        let begin = move || {
            let ended = ended.lock().unwrap().take().unwrap();
            let (sender, body) = Body::channel(1);
            async move {
                sender.send("some").await.unwrap();
                // It has an end that does not come.
                tokio::spawn(async move {
                    let _sender = sender;
                    std::future::pending::<()>().await;
                });
                Response::new(body).on_sent(|_| ended.send(()).unwrap())
            }
        };
        let (server, client) = serve(Router::new().route("/", get(begin)), &sight, versions);
        let mut visitor = Visitor::ask(&server, client, versions).await;
        within(visitor.read_some()).await;
        check_values(&figures(&sight).await, &[("stoop_web_in_flight", 1.0)]);
        visitor.leave();
        within(has_ended).await.unwrap();
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/",status="2xx"}"#, 1.0),
                (r#"stoop_web_cut_short_total{reason="client"}"#, 1.0),
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 0.0),
                (r#"stoop_web_sent_bytes_total{route="/"}"#, 4.0),
                ("stoop_web_clients_left_total", 1.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}

/// The server lets handlers run to their end.
#[tokio::test]
async fn an_exchange_whose_handler_runs_on_after_its_client_has_left_is_counted_once() {
    for versions in BOTH {
        let sight = Sight::new();
        let (started, has_started) = oneshot::channel();
        let (go_on, goes_on) = oneshot::channel();
        let both = Arc::new(Mutex::new(Some((started, goes_on))));
        let wait = move || {
            let (started, goes_on) = both.lock().unwrap().take().unwrap();
            async move {
                started.send(()).unwrap();
                goes_on.await.unwrap();
                "late"
            }
        };
        let mut limits = ServerLimits::default();
        limits.detached_handlers_max = 1;
        let router = Router::new().route("/", get(wait));
        let (server, client) = serve_within(limits, router, &sight, versions);
        let visitor = Visitor::ask(&server, client, versions).await;
        within(has_started).await.unwrap();
        visitor.leave();
        let detached = async {
            while server.detached_handlers() == 0 {
                tokio::task::yield_now().await;
            }
        };
        within(detached).await;
        check_values(&figures(&sight).await, &[("stoop_web_in_flight", 1.0)]);
        go_on.send(()).unwrap();
        within(server.drain(std::time::Duration::from_secs(20))).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/",status="2xx"}"#, 1.0),
                (r#"stoop_web_handler_seconds_count{route="/"}"#, 1.0),
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 1.0),
                (r#"stoop_web_sent_bytes_total{route="/"}"#, 0.0),
                ("stoop_web_clients_left_total", 1.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}
