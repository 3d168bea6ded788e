//! Spans of requests, and the traces that they belong to.

mod fields;
mod recording;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use stoop::{
    Body, Client, Request, Response, Server, ServerHandle, StatusCode, TraceContext, Versions,
};
use stoop_web::{Extension, Router, State, TraceRequests, get};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use recording::{Recorded, Recording, block_on};

const VERSIONS: [(Versions, &str); 2] = [(Versions::Http1, "1.1"), (Versions::Http2, "2")];
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn serve(router: Router) -> ServerHandle {
    Server::listen("127.0.0.1:0").unwrap().run_here(router.build().unwrap()).unwrap()
}

/// What a handler asks.
#[derive(Clone)]
struct Backend(Client, String);

/// Content that tells when it is asked for, and when it is dropped.
struct Telling(Option<Bytes>);

impl http_body::Body for Telling {
    type Data = Bytes;
    type Error = stoop::Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, stoop::Error>>> {
        tracing::info!(target: "test", "content");
        Poll::Ready(self.0.take().map(|piece| Ok(Frame::data(piece))))
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        tracing::info!(target: "test", "dropped");
    }
}

/// Asks the backend, and answers with what that has said.
async fn front(State(Backend(client, url)): State<Backend>) -> Response {
    tracing::info!(target: "test", "called");
    tokio::task::yield_now().await;
    tracing::info!(target: "test", "called");
    let text = client.get(&url).await.unwrap().bytes().await.unwrap();
    Response::new(Body::stream(Telling(Some(text))))
}

/// What a request says of its trace.
fn echo(request: Request) -> String {
    let field = |name| String::from_utf8_lossy(request.field(name).unwrap_or(b"none")).into_owned();
    format!("{} {}", field("traceparent"), field("tracestate"))
}

/// Asks a server, whose handler asks another one, with these fields.
async fn chain(versions: Versions, fields: &[(&str, &str)]) -> String {
    let client = || Client::builder().versions(versions).build().unwrap();
    let back = serve(Router::new().route("/back", get(echo)).layer(TraceRequests::new()));
    let backend = Backend(client(), format!("{}/back", back.endpoint()));
    let app = Router::new().route("/users/{id}", get(front)).layer(TraceRequests::new());
    let server = serve(app.state(backend));
    let mut request = client().get(format!("{}/users/7?key=secret", server.endpoint()));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let text = request.await.unwrap().text().await.unwrap();
    server.drain(Duration::from_secs(5)).await;
    back.drain(Duration::from_secs(5)).await;
    text
}

#[test]
fn a_trace_goes_from_a_client_through_a_handler_to_another_server() {
    for (versions, version) in VERSIONS {
        let recording = Recording::default();
        let fields =
            [("traceparent", format!("00-{TRACE}-{PARENT}-01")), ("tracestate", "a=1, b=2".into())];
        let fields = fields.each_ref().map(|(name, value)| (*name, &**value));
        let text = recording.run(async {
            let text = chain(versions, &fields).await;
            recording.closed(2).await;
            text
        });
        let [front, back] = &recording.spans("stoop::server")[..] else { panic!("two requests") };
        // The first is that of the caller, which has a field of its own.
        let [_, asking] = &recording.spans("stoop")[..] else { panic!("two requests") };
        let parents =
            [(front, PARENT), (asking, front.value("span_id")), (back, asking.value("span_id"))];
        for (span, parent) in parents {
            assert_eq!(span.value("trace_id"), TRACE);
            assert_eq!(span.value("parent_span_id"), parent);
            assert_eq!(span.value("span_id").len(), 16);
        }
        assert_eq!(text, format!("00-{TRACE}-{}-01 a=1,b=2", asking.value("span_id")));
        for (name, value) in [
            ("http.request.method", "GET"),
            ("http.route", "/users/{id}"),
            ("url.scheme", "http"),
            ("url.path", "/users/7"),
            ("url.query", ""),
            ("network.protocol.version", version),
            ("network.peer.address", "127.0.0.1"),
            ("client.address", "127.0.0.1"),
            ("http.response.status_code", "200"),
            ("http.response.body.size", &text.len().to_string()),
            ("error.type", ""),
            ("trace_flags", "01"),
        ] {
            assert_eq!(front.value(name), value, "{name}");
        }
        assert!(front.value("network.peer.port").parse::<u16>().unwrap() > 0);
        assert!(front.value("http.server.request.duration").parse::<f64>().unwrap() > 0.0);
        // All of it was inside the span of its request.
        let id = front.value("span_id");
        assert_eq!(recording.span_of("called"), [id, id]);
        let of_content = recording.span_of("content");
        assert!(!of_content.is_empty() && of_content.iter().all(|span| span == id));
        assert_eq!(recording.span_of("dropped"), [id]);
        let both = [id, back.value("span_id")].map(str::to_owned);
        for event in ["responded", "ended"] {
            let mut spans = recording.span_of(event);
            // Those of the client have the same name, and its first has no place in a trace.
            spans.retain(|span| both.contains(span));
            spans.sort_unstable();
            let mut both = both.clone();
            both.sort_unstable();
            assert_eq!(spans, both, "{event}");
        }
    }
}

#[test]
fn what_is_no_traceparent_begins_a_new_trace_and_is_no_error() {
    let good = format!("00-{TRACE}-{PARENT}-01");
    let zeros = format!("00-{}-{PARENT}-01", "0".repeat(32));
    for fields in [
        vec![],
        vec![("traceparent", "00-of-no-use-01")],
        vec![("traceparent", &*zeros)],
        vec![("traceparent", &*good), ("traceparent", &*good)],
    ] {
        let recording = Recording::default();
        let router = Router::new().route("/", get(|| "hello")).layer(TraceRequests::new());
        recording.run(async {
            let server = serve(router);
            let mut peer = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
            let fields = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
            let head = format!(
                "GET / HTTP/1.1\r\nhost: a\r\ntracestate: a=1\r\n{}\r\n",
                fields.collect::<String>()
            );
            peer.write_all(head.as_bytes()).await.unwrap();
            recording.closed(1).await;
        });
        let [span] = &recording.spans("stoop::server")[..] else { panic!("one request") };
        assert!(span.value("trace_id").len() == 32 && span.value("trace_id") != TRACE);
        assert_eq!((span.value("parent_span_id"), span.value("trace_flags")), ("", "01"));
        assert_eq!(span.value("http.response.status_code"), "200");
    }
}

#[test]
fn what_the_caller_does_not_sample_is_not_sampled_here() {
    let recording = Recording::default();
    let came = format!("00-{TRACE}-{PARENT}-00");
    let text = recording.run(chain(Versions::Http1, &[("traceparent", &came)]));
    assert!(text.starts_with(&format!("00-{TRACE}-")) && text.ends_with("-00 none"), "{text}");
    assert_ne!(text, format!("{came} none"));
}

#[test]
fn where_no_span_is_recorded_the_trace_is_handed_on_as_it_came() {
    for (versions, _) in VERSIONS {
        let came = format!("00-{TRACE}-{PARENT}-01");
        let fields = [("traceparent", &*came), ("tracestate", "a=1")];
        assert_eq!(block_on(chain(versions, &fields)), format!("{came} a=1"));
        assert_eq!(block_on(chain(versions, &[])), "none none");
    }
}

#[test]
fn a_spawned_task_continues_the_trace_by_the_extension() {
    let recording = Recording::default();
    let text = recording.run(async {
        let client = Client::builder().handler(echo).build().unwrap();
        let spawn = async |State(client): State<Client>,
                           Extension(context): Extension<TraceContext>| {
            let request = client.get("http://b.test/").extension(context);
            tokio::spawn(async { request.await.unwrap().text().await.unwrap() }).await.unwrap()
        };
        let app = Router::new().route("/", get(spawn)).layer(TraceRequests::new().query(true));
        let server = serve(app.state(client));
        let url = format!("{}/?q=1", server.endpoint());
        let text = Client::new().get(url).await.unwrap().text().await.unwrap();
        recording.closed(1).await;
        text
    });
    let [front] = &recording.spans("stoop::server")[..] else { panic!("one request") };
    let last = recording.spans("stoop").pop().unwrap();
    assert_eq!(last.value("parent_span_id"), front.value("span_id"));
    assert!(text.contains(last.value("span_id")), "{text}");
    assert_eq!(front.value("url.query"), "q=1");
}

/// The span of a request to `/`, which a client may leave once its handler has told of it.
fn outcome(
    versions: Versions,
    leaves: bool,
    router: Router,
    called: Option<mpsc::UnboundedReceiver<()>>,
) -> Recorded {
    let recording = Recording::default();
    recording.run(async {
        let server = serve(router.layer(TraceRequests::new()));
        let url = server.endpoint().to_string();
        let mut called = called;
        let mut wait = async || {
            if let Some(called) = &mut called {
                called.recv().await.unwrap();
            }
        };
        if versions == Versions::Http1 && leaves {
            let mut peer = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
            peer.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            wait().await;
            // Reset: a connection that is only closed may still wait for its answer.
            peer.set_zero_linger().unwrap();
        } else {
            let client = Client::builder().versions(versions).build().unwrap();
            let exchange =
                tokio::spawn(async move { client.get(url).await.unwrap().bytes().await });
            wait().await;
            if leaves {
                exchange.abort();
            }
            let _ = exchange.await;
        }
        recording.closed(1).await;
    });
    recording.spans("stoop::server").remove(0)
}

fn panics_at_once() -> &'static str {
    panic!("on purpose")
}

async fn panics_later() -> &'static str {
    tokio::task::yield_now().await;
    panic!("on purpose")
}

#[test]
fn a_span_tells_that_the_client_has_left_and_what_went_wrong() {
    for (versions, _) in VERSIONS {
        let said = |span: &Recorded| {
            ["http.response.status_code", "error.type"].map(|name| span.value(name).to_owned())
        };
        // Before it was answered.
        let (tell, called) = mpsc::unbounded_channel();
        let waits = move || {
            tell.send(()).unwrap();
            std::future::pending::<&str>()
        };
        let span = outcome(versions, true, Router::new().route("/", get(waits)), Some(called));
        assert_eq!(said(&span), ["", "dropped"]);
        // While it was answered.
        let (tell, called) = mpsc::unbounded_channel();
        let streams = move || {
            let (sender, body) = Body::channel(1);
            let tell = tell.clone();
            tokio::spawn(async move {
                sender.send("first").await.unwrap();
                // Taken, so that the head was written.
                sender.send("second").await.unwrap();
                tell.send(()).unwrap();
                std::future::pending::<()>().await;
            });
            Response::new(body)
        };
        let span = outcome(versions, true, Router::new().route("/", get(streams)), Some(called));
        assert_eq!(said(&span), ["200", "client"]);
        // An error of the handler's, and its panics.
        let fails = || StatusCode::BAD_GATEWAY;
        let span = outcome(versions, false, Router::new().route("/", get(fails)), None);
        assert_eq!(said(&span), ["502", "502"]);
        let span = outcome(versions, false, Router::new().route("/", get(panics_at_once)), None);
        assert_eq!(said(&span), ["500", "panic"]);
        let span = outcome(versions, false, Router::new().route("/", get(panics_later)), None);
        assert_eq!(said(&span), ["500", "panic"]);
    }
}
