//! Exchanges whose handlers the server drops for reasons of its own, over both versions: no client has left. The clock
//! is paused where a limit is to pass.

use std::future::pending;
use std::time::Duration;

use stoop::{Body, Request, ServerLimits, StatusCode};
use stoop_web::{Router, Sight, get, post};
use tokio::sync::mpsc::unbounded_channel;

use super::{BOTH, check_values, figures, serve_within, within};

#[tokio::test(start_paused = true)]
async fn a_handler_beyond_the_limit_of_the_server_is_counted_as_the_503_that_its_client_gets() {
    for versions in BOTH {
        let sight = Sight::new();
        let mut limits = ServerLimits::default();
        limits.time.handler = Duration::from_secs(3);
        let router = Router::new().route("/", get(pending::<()>));
        let (server, client) = serve_within(limits, router, &sight, versions);
        let response = within(client.get(server.endpoint().to_string()).into_future()).await;
        assert_eq!(response.unwrap().status(), 503);
        drop(client);
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/",status="5xx"}"#, 1.0),
                (r#"stoop_web_handler_seconds_count{route="/"}"#, 0.0),
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 0.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}

/// One handler answers to the failure, which the server has done already.
#[tokio::test(start_paused = true)]
async fn content_that_does_not_come_is_counted_as_the_408_that_its_client_gets() {
    async fn waits(request: Request) {
        let _ = request.into_body().bytes(9).await;
        pending::<()>().await;
    }
    async fn fails(request: Request) -> StatusCode {
        request.into_body().bytes(9).await.unwrap_err();
        StatusCode::INTERNAL_SERVER_ERROR
    }
    for versions in BOTH {
        let sight = Sight::new();
        let router = Router::new().route("/waits", post(waits)).route("/fails", post(fails));
        let (server, client) = serve_within(ServerLimits::default(), router, &sight, versions);
        for path in ["waits", "fails"] {
            let (_sender, body) = Body::channel(1);
            let request = client.post(format!("{}/{path}", server.endpoint())).body(body);
            let response = tokio::time::timeout(Duration::from_secs(100), request).await;
            assert_eq!(response.unwrap().unwrap().status(), 408, "{versions:?}");
        }
        drop(client);
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="POST",route="/waits",status="4xx"}"#, 1.0),
                (r#"stoop_web_requests_total{method="POST",route="/fails",status="4xx"}"#, 1.0),
                // That of the handler that had one.
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 1.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}

#[tokio::test]
async fn no_client_has_left_a_server_that_closes() {
    for versions in BOTH {
        let sight = Sight::new();
        let (begin, mut begun) = unbounded_channel();
        let wait = move || {
            begin.send(()).unwrap();
            pending::<()>()
        };
        let router = Router::new().route("/", get(wait));
        let (server, client) = serve_within(ServerLimits::default(), router, &sight, versions);
        let url = server.endpoint().to_string();
        let asked = tokio::spawn(async move { client.get(url).await.is_err() });
        within(begun.recv()).await.unwrap();
        within(server.close()).await;
        assert!(within(asked).await.unwrap());
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/",status="none"}"#, 1.0),
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 1.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}
