//! What a server tells of errors that its clients are not told: of handlers, services of tower, and content.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::StatusCode;
use stoop::{
    Body, Client, Error, ErrorKind, HandlerError, Phase, Request, Response, ServerHandle,
    ServerLimits, Versions, from_tower,
};
use tokio::time::sleep;

use super::observed::{EventLog, observed};
use super::seconds;
use crate::any_handler::IntoAny;
use crate::programs::TestFolder;

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// The status of the answer to a request for a path, if there is one, and whether all of its content came.
async fn ask(server: &ServerHandle, versions: Versions, path: &str) -> (u16, bool) {
    let client = Client::builder().versions(versions).build().unwrap();
    let response = client.get(format!("{}{path}", server.endpoint())).await.unwrap();
    (response.status().as_u16(), response.bytes().await.is_ok())
}

/// What a server with that handler tells of requests for these paths, which are all answered so.
async fn told<K>(
    handler: impl IntoAny<K> + Clone,
    asked: &[(&str, u16, bool)],
) -> Vec<(Vec<String>, ServerHandle)> {
    let mut all = Vec::new();
    for versions in VERSIONS {
        let (server, log): (ServerHandle, EventLog) =
            observed(ServerLimits::default(), handler.clone());
        for (path, status, is_whole) in asked {
            assert_eq!(ask(&server, versions, path).await, (*status, *is_whole), "{path}");
        }
        all.push((log.between(&server).await, server));
    }
    all
}

/// Fails when it is asked whether it is ready, or when it is called, at once or later.
#[derive(Clone)]
struct Failing(&'static str);

impl tower::Service<http::Request<Body>> for Failing {
    type Response = http::Response<Body>;
    type Error = stoop::BoxError;
    type Future = std::pin::Pin<
        Box<dyn Future<Output = Result<http::Response<Body>, stoop::BoxError>> + Send>,
    >;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), stoop::BoxError>> {
        match self.0 {
            "ready" => Poll::Ready(Err("not ready".into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            match request.uri().path() {
                "/late" => sleep(seconds(1)).await,
                "/upstream" => return Err(Error::new(ErrorKind::DnsServfail, Phase::Dns).into()),
                "/fine" => return Ok(http::Response::new(Body::empty())),
                _ => {}
            }
            Err("no database".into())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_service_is_told_with_its_request_and_not_to_the_client() {
    let asked =
        [("/a", 500, true), ("/late", 500, true), ("/upstream", 502, true), ("/fine", 200, true)];
    for (lines, server) in told(from_tower(Failing("call")), &asked).await {
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(
            lines[..2],
            ["failed GET /a 500: no database", "failed GET /late 500: no database"]
        );
        assert!(lines[2].starts_with("failed GET /upstream 502: "), "{lines:?}");
        assert!(lines[2].ends_with(" [dns_servfail, dns]"), "{lines:?}");
        assert_eq!((server.stats().responses.server_error, server.stats().panics), (3, 0));
    }
    for (lines, _) in told(from_tower(Failing("ready")), &[("/a", 500, true)]).await {
        assert_eq!(lines, ["failed GET /a 500: not ready"]);
    }
    let (server, _) = observed(ServerLimits::default(), from_tower(Failing("call")));
    let response = Client::new().get(server.endpoint().to_string()).await.unwrap();
    assert!(!response.text().await.unwrap().contains("database"));
}

/// A handler that answers at once, and one that does not; by `?`, and by a response of its own.
#[tokio::test(start_paused = true)]
async fn the_error_of_a_handler_is_told() {
    fn fail(request: &Request) -> Result<Response, Error> {
        if request.path() == "/fine" {
            return Ok(Response::from_text("fine"));
        }
        if request.path() == "/own" {
            let mut response = Response::from_status(StatusCode::IM_A_TEAPOT);
            response.extensions_mut().insert(HandlerError::new(io::Error::other("no tea")));
            return Ok(response);
        }
        Err(Error::new(ErrorKind::Internal, Phase::Request).with_detail("out of it"))
    }
    let asked = [("/a?b", 500, true), ("/own", 418, true), ("/fine", 200, true)];
    let expected = [
        "failed GET /a 500: an internal error, please report it: out of it [internal, request]",
        "failed GET /own 418: no tea",
    ];
    for (lines, _) in told(|request: Request| fail(&request), &asked).await {
        assert_eq!(lines, expected);
    }
    let later = async |request: Request| {
        sleep(seconds(1)).await;
        fail(&request)
    };
    for (lines, _) in told(later, &asked).await {
        assert_eq!(lines, expected);
    }
}

/// Content that says nothing of its length, and content that is shorter than it has said.
#[tokio::test(start_paused = true)]
async fn content_that_fails_while_it_is_sent_is_told_and_counted() {
    fn answer(request: Request) -> Response {
        if request.path() == "/short" {
            return Response::new("four").with_field("content-length", "5").unwrap();
        }
        let (sender, body) = Body::channel(1);
        let path = request.path().to_owned();
        tokio::spawn(async move {
            sender.send("half").await.unwrap();
            match &*path {
                "/error" => sender.fail(io::Error::other("no disk")).await,
                _ => sender.finish().await.unwrap(),
            }
        });
        Response::new(body)
    }
    for (lines, server) in told(answer, &[("/fine", 200, true), ("/error", 200, false)]).await {
        let expected =
            "content failed 0: the content to be sent failed: no disk [request_body, send]";
        assert_eq!(lines, [expected]);
        assert_eq!((server.stats().content_failures, server.stats().panics), (1, 0));
    }
}

/// Content of a type of the caller's, whose first piece is there at once.
struct Broken(Option<&'static str>);

impl http_body::Body for Broken {
    type Data = bytes::Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<http_body::Frame<bytes::Bytes>>>> {
        Poll::Ready(match self.0.take() {
            Some("panic") => panic!("on purpose"),
            Some("end") => None,
            Some("error") => Some(Err(io::Error::other("at once"))),
            Some(data) => Some(Ok(http_body::Frame::data(data.into()))),
            None => Some(Err(io::Error::other("then"))),
        })
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(5)
    }
}

#[tokio::test(start_paused = true)]
async fn content_that_fails_at_its_first_poll_panics_or_is_too_short_is_told() {
    let handler = |request: Request| {
        Response::from_stream(Broken(match request.path() {
            "/panic" => Some("panic"),
            "/end" => Some("end"),
            "/error" => Some("error"),
            _ => Some("abc"),
        }))
    };
    let asked = [
        ("/panic", 200, false),
        ("/end", 200, false),
        ("/error", 200, false),
        ("/then", 200, false),
    ];
    for (lines, server) in told(handler, &asked).await {
        assert_eq!(lines[0], "content panicked 0");
        assert!(lines[1].starts_with("content failed 0: "), "{lines:?}");
        assert_eq!(lines[2..], ["content failed 0: at once", "content failed 0: then"]);
        assert_eq!((server.stats().content_failures, server.stats().panics), (3, 1));
    }
}

/// A small file is answered 500, as nothing was sent yet. A large one is cut short where the server reads it.
#[tokio::test]
async fn a_file_that_cannot_be_read_is_told_and_counted() {
    let folder = TestFolder::new("failures-file");
    let file = Arc::new(File::open(folder.write("f", "hello")).unwrap());
    let handler = move |request: Request| -> Response {
        let end = request.path()[1..].parse().unwrap();
        Response::new(Body::from_file(file.clone(), 5..end))
    };
    let told = told(handler, &[("/10", 500, true), ("/6", 500, true)]).await;
    for (lines, server) in told {
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| line.starts_with("content failed 500: ")), "{lines:?}");
        assert_eq!(server.stats().content_failures, 2);
    }
    let (server, log) = observed(ServerLimits::default(), {
        let file = Arc::new(File::open(folder.write("g", "hello")).unwrap());
        move |_: Request| Response::new(Body::from_file(file.clone(), 0..1_000_000))
    });
    assert_eq!(ask(&server, Versions::Http2, "/").await, (200, false));
    let lines = log.between(&server).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("content failed 0: "), "{lines:?}");
}
