//! A Content-Length that the caller declares for content of unknown size: it is sent, and content that
//! breaks it breaks the message off, in both roles and both versions (RFC 9110 §8.6).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use stoop::{Body, Error, ErrorKind, Request, Response};

use super::kit::{EACH_VERSION, URL, client_of};
use crate::bodies::{NextFrame, PIECE_BYTES, next_piece};
use crate::rfc9110::content_length::MALFORMED;

/// Content of unknown size, of that many pieces. Each is ready at the second poll for it, so that the pieces
/// before it are sent first.
struct DelayedPieces(usize, bool);

impl http_body::Body for DelayedPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> NextFrame {
        self.1 = !self.1;
        if self.1 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        next_piece(&mut self.0, &[b'x'; PIECE_BYTES])
    }
}

fn stream(pieces: usize) -> Body {
    Body::stream(DelayedPieces(pieces, false))
}

fn post(pieces: usize, length: &str) -> Request {
    let request = Request::post(URL, stream(pieces)).unwrap();
    request.with_field("content-length", length).unwrap()
}

/// Answers with the length that was announced, and how much content came or how reading it failed.
async fn describe_content(mut request: Request) -> String {
    let (field, known) =
        (request.field("content-length").map(<[u8]>::to_vec), request.body().len());
    let field = field.map(|field| String::from_utf8(field).unwrap());
    let coded = request.field("transfer-encoding").is_some();
    let read = request.body_mut().discard().await.map_err(|error| error.kind());
    format!("{field:?} {known:?} {coded} {read:?}")
}

#[tokio::test]
async fn a_streamed_request_lost_its_length() {
    for versions in EACH_VERSION {
        let client = client_of(versions, describe_content);
        let n = 3 * PIECE_BYTES;
        let response = client.send(post(3, &n.to_string())).await.unwrap();
        let said = response.into_body().bytes(1_000).await.unwrap();
        assert_eq!(said, format!("Some(\"{n}\") Some({n}) false Ok({n})"), "{versions:?}");
        // The same number twice counts as one.
        let twice =
            post(1, &PIECE_BYTES.to_string()).with_field("content-length", PIECE_BYTES.to_string());
        let response = client.send(twice.unwrap()).await.unwrap();
        let said = response.into_body().bytes(1_000).await.unwrap();
        assert_eq!(
            said,
            format!("Some(\"{PIECE_BYTES}\") Some({PIECE_BYTES}) false Ok({PIECE_BYTES})")
        );
    }
}

/// RFC 9110 §8.6: a declared length of 0 is sent, whatever the method.
#[tokio::test]
async fn a_declared_length_of_zero_was_lost() {
    for versions in EACH_VERSION {
        let client = client_of(versions, describe_content);
        for (method, declared, said) in [
            (http::Method::DELETE, true, "Some(\"0\")"),
            (http::Method::GET, true, "Some(\"0\")"),
            (http::Method::DELETE, false, "None"),
            (http::Method::GET, false, "None"),
            (http::Method::POST, false, "Some(\"0\")"),
        ] {
            let mut request = Request::new(method, URL).unwrap();
            if declared {
                request = request.with_field("content-length", "0").unwrap();
            }
            let response = client.send(request).await.unwrap();
            let seen = response.into_body().bytes(1_000).await.unwrap();
            assert_eq!(seen, format!("{said} Some(0) false Ok(0)"), "{versions:?}");
        }
    }
}

#[tokio::test]
async fn a_streamed_response_lost_its_length() {
    for versions in EACH_VERSION {
        let n = 3 * PIECE_BYTES;
        let handler =
            move |_: Request| Response::new(stream(3)).with_field("content-length", n.to_string());
        let client = client_of(versions, move |request: Request| handler(request).unwrap());
        let response = client.get(URL).await.unwrap();
        assert_eq!(response.field("content-length"), Some(n.to_string().as_bytes()));
        assert_eq!(response.field("transfer-encoding"), None);
        let body = response.into_body();
        assert_eq!(body.len(), Some(n as u64));
        assert_eq!(body.bytes(n).await.unwrap().len(), n);
        // An answer to HEAD has the same length, and no content.
        let head = client.send(Request::new(http::Method::HEAD, URL).unwrap()).await.unwrap();
        assert_eq!(head.field("content-length"), Some(n.to_string().as_bytes()));
        assert_eq!(head.into_body().bytes(n).await.unwrap().len(), 0);
    }
}

#[tokio::test]
async fn a_request_that_is_not_as_long_as_announced_is_broken_off() {
    for versions in EACH_VERSION {
        for (pieces, length) in [(2, 2 * PIECE_BYTES + 1), (0, 1), (2, 2 * PIECE_BYTES - 1), (2, 0)]
        {
            let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
            let client = client_of(versions, move |mut request: Request| {
                let told = told.clone();
                tokio::spawn(async move {
                    let read = request.body_mut().discard().await;
                    told.send(read.map_err(|error| error.kind())).unwrap();
                });
                std::future::pending::<&'static str>()
            });
            let error = client.send(post(pieces, &length.to_string())).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RequestBody, "{pieces} {length}: {error}");
            assert!(error.to_string().contains("its announced length"), "{error}");
            if length > 0 {
                let read = tell.recv().await.unwrap();
                assert_eq!(read, Err(ErrorKind::ClosedEarly), "{versions:?} {pieces} {length}");
            }
        }
    }
}

#[tokio::test]
async fn a_response_that_is_not_as_long_as_announced_is_broken_off() {
    for versions in EACH_VERSION {
        for (pieces, length) in [(2, 2 * PIECE_BYTES + 1), (0, 1), (2, 2 * PIECE_BYTES - 1)] {
            let client = client_of(versions, move |_: Request| {
                let response = Response::new(stream(pieces));
                response.with_field("content-length", length.to_string()).unwrap()
            });
            // Content that was sent before may be lost with the connection.
            let read = match client.get(URL).await {
                Ok(response) => response.into_body().bytes(1 << 20).await.map(drop),
                Err(error) => Err(error),
            };
            let kind = read.unwrap_err().kind();
            let broken = matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset);
            assert!(broken, "{versions:?} {pieces} {length}: {kind:?}");
        }
    }
}

#[tokio::test]
async fn an_invalid_length_is_never_sent() {
    for versions in EACH_VERSION {
        let client = client_of(versions, describe_content);
        let with = |body: Body, lengths: &[&str]| {
            let add = |request: Request, length: &&str| {
                request.with_field("content-length", length).unwrap()
            };
            lengths.iter().fold(Request::post(URL, body).unwrap(), add)
        };
        let refused = async |request| {
            let error: Error = client.send(request).await.unwrap_err();
            assert!(error.to_string().contains("Content-Length"), "{error}");
            assert_eq!(error.culprit(), stoop::Culprit::Caller);
        };
        for length in MALFORMED {
            refused(with(stream(1), &[length])).await;
            refused(with("hello".into(), &[length])).await;
            refused(with(Body::empty(), &[length])).await;
        }
        // A length that contradicts another one, or the known size of the content.
        refused(with(stream(1), &["4", "5"])).await;
        refused(with("hello".into(), &["4"])).await;
        refused(with("hello".into(), &["5", "4"])).await;
        refused(with(Body::empty(), &["4"])).await;
        let fits = client.send(with("hello".into(), &["5", "5"])).await.unwrap();
        let said = fits.into_body().bytes(1_000).await.unwrap();
        assert_eq!(said, "Some(\"5\") Some(5) false Ok(5)");
    }
}

#[tokio::test]
async fn a_response_with_an_invalid_length_is_500() {
    for versions in EACH_VERSION {
        let client = client_of(versions, |request: Request| {
            let body = if request.path() == "/stream" { stream(1) } else { "hello".into() };
            let lengths = request.fields().all("x-length");
            let add = |response: Response, length: &[u8]| {
                response.with_field("content-length", length).unwrap()
            };
            lengths.fold(Response::new(body), add)
        });
        let status = async |path: &str, lengths: &[&str]| {
            let request = Request::get(&format!("http://a{path}")).unwrap();
            let add =
                |request: Request, length: &&str| request.with_field("x-length", length).unwrap();
            let request = lengths.iter().fold(request, add);
            client.send(request).await.unwrap().status().as_u16()
        };
        for path in ["/stream", "/buffer"] {
            for length in MALFORMED {
                assert_eq!(status(path, &[length]).await, 500, "{versions:?} {path} {length:?}");
            }
            assert_eq!(status(path, &["5", "4"]).await, 500);
        }
        assert_eq!(status("/buffer", &["4"]).await, 500);
        assert_eq!(status("/buffer", &["5", "5"]).await, 200);
    }
}
