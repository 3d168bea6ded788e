//! What a client tells of its requests: to functions, to `tracing` and to `metrics`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use stoop::{
    Client, ClientBuilder, ClientEvent, Request, Response, Retries, Server, StatusCode, TraceParent,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};

use super::kit::{URL, scripted_by};

type Lines = Arc<Mutex<Vec<String>>>;

/// A builder whose client writes down what it tells.
fn observed() -> (ClientBuilder, Lines) {
    let lines = Lines::default();
    let seen = lines.clone();
    let builder = Client::builder().observe(move |id, event| {
        let line = match event {
            ClientEvent::Resolved { host, addresses, .. } => {
                format!("resolved {host} {addresses:?}")
            }
            ClientEvent::Connected { remote, .. } => format!("connected {}", remote.is_some()),
            ClientEvent::Secured { alpn, .. } => format!("secured {alpn:?}"),
            ClientEvent::Sending { head, url, is_reused, is_http2, .. } => {
                format!("sending {} {url} {is_reused} {is_http2}", head.method())
            }
            ClientEvent::Interim { head, .. } => format!("interim {}", head.status().as_u16()),
            ClientEvent::Responded { head, .. } => format!("responded {}", head.status().as_u16()),
            ClientEvent::Redirecting { from, to, .. } => format!("redirecting {from} {to}"),
            ClientEvent::Repeating { error, .. } => format!("repeating {}", error.kind().as_str()),
            ClientEvent::Retrying { attempt, wait, .. } => format!("retrying {attempt} {wait:?}"),
            ClientEvent::Failed { error, .. } => format!("failed {}", error.kind().as_str()),
            ClientEvent::Received { bytes, is_complete, error, .. } => {
                format!("received {bytes} {is_complete} {}", error.is_some())
            }
            _ => "other".to_owned(),
        };
        seen.lock().unwrap().push(format!("{id} {line}"));
    });
    (builder, lines)
}

fn take(lines: &Lines) -> Vec<String> {
    std::mem::take(&mut lines.lock().unwrap())
}

#[tokio::test]
async fn each_step_of_a_request_is_told_in_its_order_with_the_requests_number() {
    let (builder, lines) = observed();
    let server = Server::listen("127.0.0.1:0").unwrap();
    let server = server
        .run_here(|request: Request| match request.path() {
            "/from" => {
                let moved = Response::from_status(StatusCode::FOUND);
                moved.with_field("location", "/to").unwrap()
            }
            _ => Response::from_text("hello"),
        })
        .unwrap();
    let port = server.endpoint().to_string().rsplit(':').next().unwrap().to_owned();
    let client = builder.resolve("a.test", [[127, 0, 0, 1].into()]).build().unwrap();
    let url = |path: &str| format!("http://a.test:{port}{path}");
    client.get(url("/from")).await.unwrap().text().await.unwrap();
    let (from, to) = (url("/from"), url("/to"));
    assert_eq!(
        take(&lines),
        [
            "0 resolved a.test [127.0.0.1]".to_owned(),
            "0 connected true".to_owned(),
            format!("0 sending GET {from} false false"),
            "0 responded 302".to_owned(),
            format!("0 redirecting {from} {to}"),
            format!("0 sending GET {to} true false"),
            "0 responded 200".to_owned(),
            "0 received 5 true false".to_owned(),
        ]
    );
    // What is dropped unread, or looked at, is told too.
    drop(client.get(&to).await.unwrap());
    client.get(&to).await.unwrap().into_body().discard().await.unwrap();
    let last: Vec<_> = take(&lines).into_iter().filter(|line| line.contains("received")).collect();
    assert_eq!(last, ["1 received 0 false false", "2 received 5 true false"]);
    let failed = client.get("http://127.0.0.1:1/").await;
    assert!(failed.is_err());
    assert_eq!(take(&lines), ["3 failed connect_refused"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_again_and_what_comes_before_the_response_is_told() {
    let (builder, lines) = observed();
    let client = scripted_by(builder, |mut peer| async move {
        peer.head().await;
        match peer.number {
            0 => {
                peer.send("HTTP/1.1 204 Done\r\n\r\n").await;
                peer.head().await;
            }
            _ => {
                peer.send("HTTP/1.1 103 Early\r\n\r\n").await;
                peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await;
            }
        }
    });
    client.get(URL).await.unwrap();
    let broken = client.get(URL).await.unwrap().text().await;
    assert!(broken.is_err());
    assert_eq!(
        take(&lines),
        [
            "0 connected false",
            "0 sending GET http://server.test/ false false",
            "0 responded 204",
            "0 received 0 true false",
            "1 sending GET http://server.test/ true false",
            "1 repeating closed_early",
            "1 connected false",
            "1 sending GET http://server.test/ false false",
            "1 interim 103",
            "1 responded 200",
            "1 received 5 false true",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_told_as_the_same_request() {
    let (builder, lines) = observed();
    let client = builder
        .retries(Retries::up_to(1))
        .handler(|_: Request| StatusCode::SERVICE_UNAVAILABLE)
        .build()
        .unwrap();
    client.get(URL).await.unwrap();
    let lines = take(&lines);
    let retries: Vec<_> = lines.iter().filter(|line| line.starts_with("0 retrying 2 ")).collect();
    assert_eq!(retries.len(), 1, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("0 ")));
    assert_eq!(lines.iter().filter(|line| line.ends_with("responded 503")).count(), 2);
}

/// Writes down spans and their values, and events.
#[derive(Clone, Default)]
struct Recording(Lines, Arc<AtomicU64>);

struct Values(String);

impl Visit for Values {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Recording {
    fn note(&self, what: &str, record: impl FnOnce(&mut Values)) {
        let mut values = Values(what.to_owned());
        record(&mut values);
        self.0.lock().unwrap().push(values.0);
    }
}

impl Subscriber for Recording {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "stoop"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(span.metadata().name(), |values| span.record(values));
        Id::from_u64(self.1.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn record(&self, _: &Id, record: &Record<'_>) {
        self.note("value", |values| record.record(values));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        self.note("event", |values| event.record(values));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Runs `future` on this thread, which tells `recording`.
///
/// Whether a place in the code is heard is remembered for all threads, and where there is one subscriber asked of the thread
/// that comes there first: if that is another test's, which has none, it is asked again until it is known.
fn record<T>(recording: &Recording, future: impl Future<Output = T>) -> T {
    tracing::subscriber::with_default(recording.clone(), || {
        block_on(async {
            let client = Client::builder().handler(echo_trace).build().unwrap();
            // While another thread finds out, the answer is yes and may become no.
            let mut heard = 0;
            while heard < 3 {
                tracing::callsite::rebuild_interest_cache();
                client.get(URL).await.unwrap();
                heard = if take(&recording.0).is_empty() { 0 } else { heard + 1 };
            }
            drop(client);
            take(&recording.0);
            future.await
        })
    })
}

/// Answers with the request's `traceparent`.
fn echo_trace(request: Request) -> Response {
    Response::from_bytes(request.field("traceparent").unwrap_or(b"none").to_vec())
}

#[test]
fn a_request_is_a_span_with_its_outcome_and_sends_its_place_in_the_trace() {
    let recording = Recording::default();
    let text = record(&recording, async {
        let client = Client::builder().handler(echo_trace).build().unwrap();
        let parent = TraceParent::parse(b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let request = client.get("http://me:secret@a.test/").extension(parent.unwrap());
        let text = request.await.unwrap().text().await.unwrap();
        let own = client.get("http://a.test/").header("traceparent", "own");
        assert_eq!(own.await.unwrap().text().await.unwrap(), "own");
        text
    });
    let sent = TraceParent::parse(text.as_bytes()).unwrap();
    assert_eq!(sent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert!(!text.contains("00f067aa0ba902b7"), "{text}");
    let lines = take(&recording.0);
    assert_eq!(lines[0], "request http.request.method=GET url.full=http://me:***@a.test/");
    let has = |line: &str| lines.iter().any(|known| known.contains(line));
    assert!(has("value trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\""), "{lines:?}");
    assert!(has("value http.response.status_code=200"), "{lines:?}");
    assert!(has("event message=received bytes=55 is_complete=true"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("secret")), "{lines:?}");
}

/// Each attempt began a trace of its own.
#[test]
fn all_attempts_of_a_request_are_sent_with_the_place_of_its_span() {
    let recording = Recording::default();
    let (tell, told) = std::sync::mpsc::channel();
    record(&recording, async {
        let fails = move |request: Request| {
            tell.send(request.field("traceparent").unwrap().to_vec()).unwrap();
            StatusCode::SERVICE_UNAVAILABLE
        };
        let retries = Retries::up_to(1).delay(Duration::ZERO, Duration::ZERO);
        let client = Client::builder().retries(retries).handler(fails).build().unwrap();
        client.get("http://a.test/").await.unwrap();
    });
    let (first, second) = (told.recv().unwrap(), told.recv().unwrap());
    assert_eq!(first, second);
    let sent = TraceParent::parse(&first).unwrap();
    let lines = take(&recording.0);
    let span = format!("value span_id={:?}", sent.span_id());
    assert_eq!(lines.iter().filter(|line| line.contains("span_id=")).collect::<Vec<_>>(), [&span]);
}

#[test]
fn nothing_is_sent_of_a_trace_that_no_program_records() {
    block_on(async {
        let client = Client::builder().handler(echo_trace).build().unwrap();
        assert_eq!(client.get("http://a.test/").await.unwrap().text().await.unwrap(), "none");
    });
}

/// Adds up figures by their names and labels.
#[derive(Clone, Default)]
struct Figures(Arc<Mutex<BTreeMap<String, f64>>>);

struct Figure(Figures, String);

impl Figure {
    fn add(&self, value: f64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }
}

impl CounterFn for Figure {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }
    fn absolute(&self, _: u64) {}
}

impl HistogramFn for Figure {
    fn record(&self, _: f64) {
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
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.figure(key))
    }
}

#[test]
fn requests_failures_and_bytes_are_counted() {
    let figures = Figures::default();
    metrics::with_local_recorder(&figures, || {
        block_on(async {
            let counted = || Client::builder().metrics(true);
            let client = counted().handler(|_: Request| "hello").build().unwrap();
            for _ in 0..3 {
                client.get(URL).await.unwrap().text().await.unwrap();
            }
            let broken = scripted_by(counted(), |mut peer| async move {
                peer.head().await;
                peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await;
            });
            assert!(broken.get(URL).await.unwrap().text().await.is_err());
            assert!(
                counted()
                    .build()
                    .unwrap()
                    .get("http://127.0.0.1:1/")
                    .timeout(Duration::from_secs(5))
                    .await
                    .is_err()
            );
            // A client that is not asked to counts nothing.
            let silent = Client::builder().handler(|_: Request| "hello").build().unwrap();
            silent.get(URL).await.unwrap().text().await.unwrap();
        });
    });
    let figures = figures.0.lock().unwrap().clone();
    let expected = [
        // A handler is called without one.
        ("stoop_client_connections_total", 1.0),
        ("stoop_client_errors_total method=GET kind=closed_early phase=receive", 1.0),
        ("stoop_client_errors_total method=GET kind=connect_refused phase=connect", 1.0),
        ("stoop_client_first_byte_seconds method=GET", 4.0),
        ("stoop_client_received_bytes_total", 20.0),
        ("stoop_client_requests_total method=GET status=200", 4.0),
    ];
    assert_eq!(figures, expected.map(|(name, value)| (name.to_owned(), value)).into());
}
