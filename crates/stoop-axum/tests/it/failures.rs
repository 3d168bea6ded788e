//! Errors of an application that its clients are not told: the server's observers are.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use http::StatusCode;
use stoop::{Client, HandlerError, Server, ServingEvent, Versions};
use tower::ServiceBuilder;
use tower::service_fn;
use tower::timeout::TimeoutLayer;

/// An error of the application's, as its handlers return it.
struct Failed(&'static str);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let told = Extension(HandlerError::new(io::Error::other(self.0)));
        (StatusCode::SERVICE_UNAVAILABLE, told, "try again").into_response()
    }
}

fn app() -> Router {
    let fails = || {
        let pieces = [Ok("half"), Err(io::Error::other("no disk"))];
        Body::from_stream(futures_util::stream::iter(pieces))
    };
    Router::new()
        .route("/own", get(async || Err::<&str, _>(Failed("no database"))))
        .route("/content", get(async move || fails()))
        .route("/fine", get(async || "fine"))
}

/// What a server has told of failures.
type Told = Arc<Mutex<Vec<String>>>;

fn observed() -> (Server, Told) {
    let told = Told::default();
    let tell = told.clone();
    let server = Server::listen("127.0.0.1:0").unwrap().observe(move |_, event| {
        let line = match event {
            ServingEvent::HandlerFailed { method, path, status, error, .. } => {
                format!("{method} {path} {}: {error}", status.as_u16())
            }
            ServingEvent::ContentFailed { error: Some(error), .. } => error.to_string(),
            _ => return,
        };
        tell.lock().unwrap().push(line);
    });
    (server, told)
}

#[tokio::test]
async fn the_errors_of_an_application_are_told_to_observers() {
    for versions in [Versions::Http1, Versions::Http2] {
        let (server, told) = observed();
        let server = server.run_here(stoop_axum::handler(app())).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        let ask = async |path: &str| {
            let answer = client.get(format!("{}{path}", server.endpoint())).await.unwrap();
            (answer.status().as_u16(), answer.text().await.ok())
        };
        assert_eq!(ask("/fine").await, (200, Some("fine".to_owned())));
        assert_eq!(ask("/own").await, (503, Some("try again".to_owned())));
        assert_eq!(ask("/content").await, (200, None));
        server.close().await;
        assert_eq!(*told.lock().unwrap(), ["GET /own 503: no database", "no disk"]);
    }
}

/// A layer whose error nothing makes a response.
#[tokio::test]
async fn the_error_of_a_service_is_told_to_observers() {
    let never = service_fn(async |_: axum::extract::Request| {
        std::future::pending::<()>().await;
        Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
    });
    let late = ServiceBuilder::new().layer(TimeoutLayer::new(Duration::from_millis(1)));
    for versions in [Versions::Http1, Versions::Http2] {
        let (server, told) = observed();
        let service = late.clone().service(never);
        let server = server.run_here(stoop_axum::handler(service)).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        let answer = client.get(format!("{}/late", server.endpoint())).await.unwrap();
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        server.close().await;
        assert_eq!(*told.lock().unwrap(), ["GET /late 500: request timed out"]);
    }
}
