//! The figures that the façade `metrics` is given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use stoop::StatusCode;
use stoop_web::{Path, Router, Sight, get};
use tokio::sync::oneshot;

use crate::kit;

/// Adds up figures by their names and labels.
#[derive(Clone, Default)]
struct Figures(Arc<Mutex<BTreeMap<String, f64>>>);

struct Figure(Figures, String);

impl Figure {
    fn add(&self, value: f64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }

    fn set_to(&self, value: f64) {
        self.0.0.lock().unwrap().insert(self.1.clone(), value);
    }
}

impl CounterFn for Figure {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }
    fn absolute(&self, value: u64) {
        self.set_to(value as f64);
    }
}

impl GaugeFn for Figure {
    fn increment(&self, value: f64) {
        self.add(value);
    }
    fn decrement(&self, value: f64) {
        self.add(-value);
    }
    fn set(&self, value: f64) {
        self.set_to(value);
    }
}

impl HistogramFn for Figure {
    fn record(&self, seconds: f64) {
        assert!((0.0..60.0).contains(&seconds), "{seconds}");
        self.add(1.0);
    }
}

impl Figures {
    fn figure(&self, key: &Key) -> Arc<Figure> {
        let labels = key.labels().map(|label| format!(" {}={}", label.key(), label.value()));
        Arc::new(Figure(self.clone(), format!("{}{}", key.name(), labels.collect::<String>())))
    }
}

impl Recorder for Figures {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.figure(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.figure(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.figure(key))
    }
}

const IN_FLIGHT: &str = "stoop_web_in_flight";

async fn all_ended(sight: &Sight) {
    while super::value(&super::figures(sight).await, IN_FLIGHT) != Some(0.0) {
        tokio::task::yield_now().await;
    }
}

/// What a recorder is told of some requests.
fn told(sight: &Sight) -> BTreeMap<String, f64> {
    let figures = Figures::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&figures, || {
        runtime.block_on(async {
            let missing = |Path(_): Path<u32>| (StatusCode::NOT_FOUND, "none");
            let late = get(std::future::pending::<()>).time_limit(Duration::from_millis(1));
            let router = Router::new().route("/users/{id}", get(missing)).route("/late", late);
            let client = kit::client(router.layer(sight.clone()));
            for target in ["/users/7", "/users/8?secret", "/made-up"] {
                kit::ask(&client, "GET", target).await;
            }
            kit::ask(&client, "BREW", "/users/7").await;
            kit::ask(&client, "GET", "/late").await;
            // The end of the last one follows its response.
            super::within(all_ended(sight)).await;
        });
    });
    figures.0.lock().unwrap().clone()
}

#[test]
fn the_same_exchanges_are_told_with_the_same_names_and_labels() {
    let sight = Sight::new().metrics(true);
    let told = told(&sight);
    let of = |labels: &str| format!("stoop_web_requests_total {labels}");
    let expected = [
        (of("method=GET route=/late status=5xx"), 1.0),
        (of("method=GET route=/users/{id} status=4xx"), 2.0),
        (of("method=GET route=fallback status=4xx"), 1.0),
        (of("method=other route=/users/{id} status=4xx"), 1.0),
        ("stoop_web_handler_seconds route=/users/{id}".to_owned(), 3.0),
        ("stoop_web_in_flight".to_owned(), 0.0),
        ("stoop_web_request_seconds method=GET route=/users/{id} status=4xx".to_owned(), 2.0),
    ];
    for (name, value) in expected {
        assert_eq!(told.get(&name), Some(&value), "{name} in {told:?}");
    }
    let text = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(super::figures(&sight));
    // What the recorder was told is what the endpoint shows.
    for (name, value) in &told {
        let (name, labels) = name.split_once(' ').unwrap_or((name, ""));
        let labels: Vec<_> = labels
            .split(' ')
            .filter_map(|label| label.split_once('='))
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        let suffix = if name.ends_with("_seconds") { "_count" } else { "" };
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let series = format!("{name}{suffix}{labels}");
        assert_eq!(super::value(&text, &series), Some(*value), "{series} in {text}");
    }
}

/// The gauge would have kept the exchange for ever.
#[test]
fn an_exchange_whose_beginning_was_told_is_told_to_its_end() {
    let (figures, sight) = (Figures::default(), Sight::new().metrics(true));
    let (go_on, goes_on) = oneshot::channel();
    let goes_on = Arc::new(Mutex::new(Some(goes_on)));
    let wait = move || {
        let goes_on = goes_on.lock().unwrap().take().unwrap();
        async move { goes_on.await.unwrap() }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&figures, || {
        runtime.block_on(async {
            let client = kit::client(Router::new().route("/", get(wait)).layer(sight.clone()));
            let quiet = async {
                while super::value(&super::figures(&sight).await, IN_FLIGHT) != Some(1.0) {
                    tokio::task::yield_now().await;
                }
                let _ = sight.clone().metrics(false);
                go_on.send("done").unwrap();
            };
            super::within(async { tokio::join!(kit::ask(&client, "GET", "/"), quiet) }).await;
            super::within(all_ended(&sight)).await;
        });
    });
    let told = figures.0.lock().unwrap().clone();
    let requests = "stoop_web_requests_total method=GET route=/ status=2xx";
    assert_eq!((told[IN_FLIGHT], told[requests]), (0.0, 1.0), "{told:?}");
}

#[test]
fn a_sight_that_is_not_asked_to_tells_nothing() {
    assert!(told(&Sight::new()).is_empty());
    assert!(told(&Sight::new().metrics(true).metrics(false)).is_empty());
}

#[test]
fn the_figures_of_servers_are_told_with_exchanges_and_when_that_is_asked_for() {
    let (figures, sight) = (Figures::default(), Sight::new().metrics(true));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let value = |name: &str| figures.0.lock().unwrap().get(name).copied();
    metrics::with_local_recorder(&figures, || {
        runtime.block_on(async {
            let router = Router::new().route("/", get(|| "here"));
            let (server, client) = super::serve(router, &sight, stoop::Versions::Http1);
            sight.add_server(&server);
            let ask = async |path: &str| {
                let answer = client.get(format!("{}{path}", server.endpoint())).await.unwrap();
                answer.text().await.unwrap();
            };
            ask("/").await;
            super::within(all_ended(&sight)).await;
            assert_eq!(value("stoop_server_accepted_total"), Some(1.0), "told with the exchange");
            assert_eq!(value("stoop_server_open_connections"), Some(1.0));
            ask("/none").await;
            super::within(server.close()).await;
            sight.record_server_metrics();
        });
    });
    assert_eq!(value("stoop_server_open_connections"), Some(0.0));
    for (status, count) in [("2xx", 1.0), ("3xx", 0.0), ("4xx", 1.0), ("5xx", 0.0)] {
        let name = format!("stoop_server_responses_total status={status}");
        assert_eq!(value(&name), Some(count), "{status}");
    }
    assert_eq!(value("stoop_server_timeouts_total limit=head"), Some(0.0));
}
