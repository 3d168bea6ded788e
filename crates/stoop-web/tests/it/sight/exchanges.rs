//! What is counted of exchanges, over both versions.

use std::time::Duration;

use stoop::{Body, Client, Method, Request, Response, Server, StatusCode, Versions};
use stoop_web::{Path, Router, Sight, get};

use super::{BOTH, check_values, figures, serve, within};

/// Asks, and reads all of what comes, if it does.
async fn ask(client: &Client, method: &str, url: &str) -> Option<u16> {
    let request = Request::new(Method::from_bytes(method.as_bytes()).unwrap(), url).unwrap();
    let response = within(client.send(request)).await.ok()?;
    let status = response.status().as_u16();
    within(response.text()).await.ok()?;
    Some(status)
}

#[tokio::test]
async fn requests_are_counted_by_method_pattern_and_class() {
    for versions in BOTH {
        let sight = Sight::new();
        let missing = |Path(_): Path<u32>| (StatusCode::NOT_FOUND, "none");
        let router = Router::new()
            .route("/", get(|| "hello").post(|| StatusCode::CREATED))
            .route("/users/{id}", get(missing))
            .route("/broken", get(|| async { StatusCode::INTERNAL_SERVER_ERROR }));
        let (server, client) = serve(router, &sight, versions);
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/"),
            ("HEAD", "/"),
            ("POST", "/"),
            ("GET", "/users/7"),
            ("GET", "/users/8?secret"),
            ("GET", "/broken"),
            ("BREW", "/"),
            ("GET", "/made-up-1"),
            ("GET", "/made-up-2"),
        ] {
            ask(&client, method, &format!("{}{path}", server.endpoint())).await.unwrap();
        }
        drop(client);
        within(server.close()).await;
        let text = figures(&sight).await;
        let of = "stoop_web_requests_total";
        for (labels, count) in [
            (r#"method="GET",route="/",status="2xx""#, 2.0),
            (r#"method="HEAD",route="/",status="2xx""#, 1.0),
            (r#"method="POST",route="/",status="2xx""#, 1.0),
            (r#"method="other",route="/",status="4xx""#, 1.0),
            (r#"method="GET",route="/users/{id}",status="4xx""#, 2.0),
            (r#"method="GET",route="/broken",status="5xx""#, 1.0),
            (r#"method="GET",route="fallback",status="4xx""#, 2.0),
        ] {
            check_values(
                &text,
                &[
                    (&format!("{of}{{{labels}}}"), count),
                    (&format!("stoop_web_request_seconds_count{{{labels}}}"), count),
                ],
            );
        }
        assert_eq!(text.lines().filter(|line| line.starts_with(of)).count(), 7);
        check_values(
            &text,
            &[
                // Five characters for GET, and no content for HEAD.
                (r#"stoop_web_sent_bytes_total{route="/users/{id}"}"#, 8.0),
                (r#"stoop_web_handler_seconds_count{route="/users/{id}"}"#, 2.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
        for told in ["secret", "BREW", "made-up"] {
            assert!(!text.contains(told), "{told}");
        }
    }
}

#[tokio::test]
async fn a_handler_that_panics_is_counted_as_the_failure_that_its_client_gets() {
    for versions in BOTH {
        let sight = Sight::new();
        fn at_once() -> &'static str {
            panic!("on purpose")
        }
        async fn later() -> &'static str {
            tokio::task::yield_now().await;
            panic!("on purpose")
        }
        let router = Router::new().route("/at_once", get(at_once)).route("/later", get(later));
        let (server, client) = serve(router, &sight, versions);
        sight.add_server(&server);
        for path in ["/at_once", "/later"] {
            let status = ask(&client, "GET", &format!("{}{path}", server.endpoint())).await;
            assert_eq!(status, Some(500), "{path}");
        }
        drop(client);
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/at_once",status="5xx"}"#, 1.0),
                (r#"stoop_web_requests_total{method="GET",route="/later",status="5xx"}"#, 1.0),
                (r#"stoop_web_cut_short_total{reason="dropped"}"#, 0.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
                ("stoop_server_panics_total", 2.0),
            ],
        );
    }
}

#[tokio::test]
async fn a_handler_beyond_its_time_limit_is_counted_as_the_503_that_its_client_gets() {
    for versions in BOTH {
        let sight = Sight::new();
        let limited = get(std::future::pending::<()>).time_limit(Duration::from_millis(1));
        let (server, client) = serve(Router::new().route("/", limited), &sight, versions);
        assert_eq!(ask(&client, "GET", &server.endpoint().to_string()).await, Some(503));
        drop(client);
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_requests_total{method="GET",route="/",status="5xx"}"#, 1.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}

#[tokio::test]
async fn content_that_fails_is_counted_as_cut_short() {
    for versions in BOTH {
        let sight = Sight::new();
        let fail = || {
            let (sender, body) = Body::channel(1);
            drop(sender);
            Response::new(body)
        };
        let (server, client) = serve(Router::new().route("/", get(fail)), &sight, versions);
        assert_eq!(ask(&client, "GET", &server.endpoint().to_string()).await, None);
        drop(client);
        within(server.close()).await;
        check_values(
            &figures(&sight).await,
            &[
                (r#"stoop_web_cut_short_total{reason="content"}"#, 1.0),
                (r#"stoop_web_request_seconds_count{method="GET",route="/",status="2xx"}"#, 1.0),
                ("stoop_web_clients_left_total", 0.0),
                ("stoop_web_in_flight", 0.0),
            ],
        );
    }
}

#[tokio::test]
async fn patterns_beyond_the_bound_are_counted_together() {
    let sight = Sight::new();
    let mut router = Router::new().layer(sight.clone());
    for n in 0..1_010 {
        router = router.route(format!("/{n}"), get(|| "hello"));
    }
    let client = crate::kit::client(router);
    for n in 0..1_010 {
        crate::kit::ask(&client, "GET", &format!("/{n}")).await;
    }
    let text = figures(&sight).await;
    let requests = text.lines().filter(|line| line.starts_with("stoop_web_requests_total{"));
    assert_eq!(requests.count(), 1_001);
    check_values(
        &text,
        &[
            (r#"stoop_web_requests_total{method="GET",route="other",status="2xx"}"#, 10.0),
            (r#"stoop_web_requests_total{method="GET",route="/999",status="2xx"}"#, 1.0),
        ],
    );
}

/// Threads of two servers, each of which counts for itself.
#[tokio::test]
async fn the_figures_of_all_workers_and_servers_are_added_up() {
    let sight = Sight::new();
    let router = Router::new().route("/", get(|| "hello")).layer(sight.clone());
    let app = router.build().unwrap();
    let servers = [0, 1].map(|_| {
        let server = Server::listen("127.0.0.1:0").unwrap().workers(2);
        let server = server.run(app.clone()).unwrap();
        sight.add_server(&server);
        server
    });
    for server in &servers {
        for versions in [Versions::Http1, Versions::Http2] {
            for _ in 0..4 {
                // Connections of their own, which several workers get.
                let client = Client::builder().versions(versions).build().unwrap();
                let status = ask(&client, "GET", &server.endpoint().to_string()).await;
                assert_eq!(status, Some(200));
            }
        }
    }
    for server in servers {
        within(server.close()).await;
        tokio::task::spawn_blocking(|| server.join()).await.unwrap();
    }
    check_values(
        &figures(&sight).await,
        &[
            (r#"stoop_web_requests_total{method="GET",route="/",status="2xx"}"#, 16.0),
            (r#"stoop_web_sent_bytes_total{route="/"}"#, 80.0),
            ("stoop_web_in_flight", 0.0),
            ("stoop_server_accepted_total", 16.0),
            (r#"stoop_server_responses_total{status="2xx"}"#, 16.0),
            ("stoop_server_open_connections", 0.0),
        ],
    );
}
