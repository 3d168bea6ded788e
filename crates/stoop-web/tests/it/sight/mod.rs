//! Figures of a service, as it shows them to Prometheus, to the façade `metrics`, and to people.

mod browser;
mod dropped;
mod exchanges;
mod exposition;
#[cfg(feature = "metrics")]
mod facade;
mod hostile;
mod left;
mod page;

use std::future::Future;
use std::time::Duration;

use stoop::{Client, Request, Server, ServerHandle, ServerLimits, Versions};
use stoop_web::{Router, Sight};

const BOTH: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// What a test waits for comes, or the test fails.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it comes in time")
}

/// A server with that router, counted, and a client of it that speaks a version.
fn serve(router: Router, sight: &Sight, versions: Versions) -> (ServerHandle, Client) {
    serve_within(ServerLimits::default(), router, sight, versions)
}

/// The same with limits.
fn serve_within(
    limits: ServerLimits,
    router: Router,
    sight: &Sight,
    versions: Versions,
) -> (ServerHandle, Client) {
    let app = router.layer(sight.clone()).build().unwrap();
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits).run_here(app).unwrap();
    (server, Client::builder().versions(versions).build().unwrap())
}

/// The figures as Prometheus gets them.
async fn figures(sight: &Sight) -> String {
    let text = sight.prometheus()(Request::get("/").unwrap()).text().await.unwrap();
    exposition::check(&text);
    text
}

/// The value of a series.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    Some(line.parse().unwrap())
}

/// What a text says of several series.
fn check_values(text: &str, expected: &[(&str, f64)]) {
    for (series, count) in expected {
        assert_eq!(value(text, series), Some(*count), "{series} in {text}");
    }
}
