//! Lines of the access log for exchanges that do not end as they should, over both versions.

use std::io::{self, Write};
use std::time::Duration;

use stoop::{Body, Client, HandlerError, Response, Server, StatusCode, Versions};
use stoop_web::{AccessLog, Router, get};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// In which a line is written once its exchange is over: of a connection that was reset the server learns within a second.
const DEADLINE: Duration = Duration::from_secs(10);

/// A writer that hands its text on.
struct Lines(mpsc::UnboundedSender<String>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asks a router for `/` over a version, with this log around it, and returns the line. The client leaves once `called` is
/// told of, if it is given.
async fn line(
    log: fn(Lines) -> AccessLog,
    versions: Versions,
    router: Router,
    called: Option<mpsc::UnboundedReceiver<()>>,
) -> String {
    let (tell, mut lines) = mpsc::unbounded_channel();
    let log = log(Lines(tell));
    let handle = log.handle();
    let app = router.layer(log).build().unwrap();
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
    match (called, versions) {
        (Some(mut called), Versions::Http1) => {
            let mut peer = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
            peer.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            called.recv().await.unwrap();
            // Reset: a connection that is only closed may still wait for its answer.
            peer.set_zero_linger().unwrap();
        }
        (called, _) => {
            let client = Client::builder().versions(versions).build().unwrap();
            let url = server.endpoint().to_string();
            let exchange =
                tokio::spawn(async move { client.get(url).await.unwrap().bytes().await });
            if let Some(mut called) = called {
                called.recv().await.unwrap();
                exchange.abort();
            }
            let _ = exchange.await;
        }
    }
    let line = timeout(DEADLINE, async {
        loop {
            handle.flush();
            match lines.try_recv() {
                Ok(line) => return line,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    line.await.expect("no line")
}

#[tokio::test]
async fn a_client_that_left_before_it_was_answered_has_a_line() {
    for versions in [Versions::Http1, Versions::Http2] {
        let waits = || {
            let (tell, called) = mpsc::unbounded_channel();
            let wait = move || {
                tell.send(()).unwrap();
                std::future::pending::<&str>()
            };
            (Router::new().route("/", get(wait)), Some(called))
        };
        let (router, called) = waits();
        let text = line(AccessLog::common, versions, router, called).await;
        assert!(text.ends_with("\" 499 -\n"), "{text}");
        let (router, called) = waits();
        let text = line(AccessLog::json, versions, router, called).await;
        assert!(text.contains("\"status\":null,\"bytes\":0"), "{text}");
        assert!(text.ends_with("\"complete\":false,\"cut_short\":\"dropped\"}\n"), "{text}");
        assert!(!text.contains("response_ms"), "{text}");
    }
}

/// The server answers it 500. Lines said that the client had left, and of a panic before the first wait there was none.
#[tokio::test]
async fn a_handler_that_panics_has_a_line_with_500() {
    fn at_once() -> &'static str {
        panic!("on purpose")
    }
    async fn later() -> &'static str {
        tokio::task::yield_now().await;
        panic!("on purpose")
    }
    for versions in [Versions::Http1, Versions::Http2] {
        for router in [
            Router::new().route("/", get(at_once)),
            Router::new().route("/", get(later)),
            Router::new().route("/", get(later)).time_limit(DEADLINE),
        ] {
            let text = line(AccessLog::common, versions, router, None).await;
            assert!(text.ends_with("\" 500 -\n"), "{text}");
        }
        let router = Router::new().route("/", get(later));
        let text = line(AccessLog::json, versions, router, None).await;
        assert!(text.contains("\"status\":500,\"bytes\":0"), "{text}");
    }
}

/// Its client is told nothing of it, and neither was anything else.
#[tokio::test]
async fn the_error_of_a_handler_is_in_its_line() {
    async fn fails() -> Result<&'static str, stoop::Error> {
        let error = stoop::Error::new(stoop::ErrorKind::Internal, stoop::Phase::Request);
        Err(error.with_detail("the \"table\" is gone"))
    }
    for versions in [Versions::Http1, Versions::Http2] {
        let text =
            line(AccessLog::json, versions, Router::new().route("/", get(fails)), None).await;
        let error = r#","error":"an internal error, please report it: the \"table\" is gone [internal, request]","complete":true}"#;
        assert!(text.contains("\"status\":500,\"bytes\":0") && text.contains(error), "{text}");
        // A long one is cut where a character ends.
        let long = || {
            let mut response = Response::from_status(StatusCode::BAD_GATEWAY);
            response.extensions_mut().insert(HandlerError::new(format!("x{}", "ä".repeat(2_000))));
            response
        };
        let text = line(AccessLog::json, versions, Router::new().route("/", get(long)), None).await;
        let error = format!(",\"error\":\"x{}\",\"complete\":true", "ä".repeat(1_023));
        assert!(text.contains(&error), "{text}");
    }
}

/// The response is cut short, and its client can tell no more than that.
#[tokio::test]
async fn the_error_of_content_is_in_its_line() {
    let fails = || {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send("half").await.unwrap();
            sender.fail(io::Error::other("no disk")).await;
        });
        Response::new(body)
    };
    for versions in [Versions::Http1, Versions::Http2] {
        let text =
            line(AccessLog::json, versions, Router::new().route("/", get(fails)), None).await;
        let error = ",\"error\":\"the content to be sent failed: no disk [request_body, send]\"";
        let end = format!("{error},\"complete\":false,\"cut_short\":\"content\"}}\n");
        assert!(text.contains("\"status\":200,\"bytes\":4") && text.ends_with(&end), "{text}");
    }
}

/// The log is written while the panic of the handler unwinds, where another one would end the process.
#[tokio::test]
async fn a_format_that_panics_takes_nothing_down() {
    for versions in [Versions::Http1, Versions::Http2] {
        let log = AccessLog::custom(io::sink(), |_, _| panic!("on purpose"));
        let panics = || -> &'static str { panic!("on purpose") };
        let router = Router::new().route("/", get(|| "hello")).route("/panics", get(panics));
        let app = router.layer(log).build().unwrap();
        let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        for (path, status) in [("/panics", 500), ("/", 200), ("/panics", 500)] {
            let response = client.get(format!("{}{path}", server.endpoint())).await.unwrap();
            assert_eq!(response.status(), status);
        }
        server.close().await;
    }
}
