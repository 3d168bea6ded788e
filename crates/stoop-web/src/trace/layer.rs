//! The middleware that has a span for each request.

use stoop::{Answer, Body, Request, TraceContext};

use super::scope::TraceScope;
use super::span::{Traced, record_context, span};
use crate::exchange::{now, watch};
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::{Mode, map};

/// A span of `tracing` for each request, of the target `stoop::server` at the level INFO, in the trace that the request
/// belongs to (feature `tracing`).
///
/// The handler runs in the span, and so does content that is made while it is sent. The span ends when all of the response
/// was sent, or it was given up. Its fields have the names of OpenTelemetry's conventions where there are such:
///
/// | field | value |
/// |---|---|
/// | `http.request.method` | the method, if it is one of RFC 9110's or `PATCH`; any other is `_OTHER`, |
/// | `http.request.method_original` | and here, 2 KiB of it at most |
/// | `http.route` | the pattern of the route, where there is one |
/// | `url.scheme`, `url.path` | `http` or `https`; 2 KiB of the path at most, without the query |
/// | `url.query` | only by [`query`](Self::query) |
/// | `network.protocol.version` | `1.0`, `1.1`, `2` |
/// | `network.peer.address`, `network.peer.port` | the other end of the connection, over TCP |
/// | `client.address` | the client, as [`TrustedProxies`](crate::TrustedProxies) around it have found it, else the peer |
/// | `http.response.status_code` | at the end: the status that was sent |
/// | `http.response.body.size` | at the end: bytes of content that were sent |
/// | `http.server.request.duration` | at the end: seconds since the request's head came |
/// | `error.type` | at the end, if it went wrong: see below |
/// | `trace_id`, `span_id`, `parent_span_id`, `trace_flags` | the place in the trace, in hexadecimal digits |
///
/// `error.type` is the status if it is 500 or above; a word of [`CutShort`](stoop::CutShort) if not all of the response was
/// sent, such as `client` if the client has left; `panic`; `timeout` if the handler took longer than the router
/// or the server allows, or the content that it read did not come in time; and `dropped` if it was dropped before it
/// answered for any other reason: the client had left, or something around it has answered instead. Two events at the level
/// DEBUG are in the span: `responded` when the handler has answered, and `ended`.
///
/// # Traces
///
/// A request with a valid `traceparent` (W3C Trace Context, level 1) continues that trace, with its flags and its
/// `tracestate`. Any other begins a new one; a field that is malformed, and more than one, counts as none. The place
/// of the span is a [`TraceContext`] among the request's extensions, and the [current](TraceContext::current) one of the
/// handler: a [`Client`](stoop::Client) that it calls sends it on by itself. In tasks that the handler spawns, it is the
/// [extension](stoop::RequestBuilder::extension) that does it. Where no program records the span, the place that came is
/// handed on as it is.
///
/// So a client says which trace its request belongs to, and whether that is to be recorded. Where clients are not to be
/// believed, remove both fields before the request comes here: in the proxy, or by middleware around this.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::{Client, Request, Response, TraceContext};
/// use stoop_web::{Extension, Router, State, TraceRequests, get};
///
/// async fn front(State(backend): State<Client>, Extension(context): Extension<TraceContext>) -> String {
///     // By itself:
///     let here = backend.get("http://backend.test/").await.unwrap().text().await.unwrap();
///     // From elsewhere:
///     let call = async move {
///         let request = backend.get("http://backend.test/").extension(context);
///         request.await.unwrap().text().await.unwrap()
///     };
///     let there = tokio::spawn(call).await.unwrap();
///     format!("{here} {there}")
/// }
///
/// let echo = |request: Request| {
///     Response::from_bytes(request.field("traceparent").unwrap_or_default().to_vec())
/// };
/// let backend = Client::builder().handler(echo).build()?;
/// let app = Router::new().route("/", get(front)).layer(TraceRequests::new()).state(backend).build()?;
/// let client = Client::builder().handler(app).build()?;
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let text = client.get("http://a.test/").header("traceparent", parent).await?.text().await?;
/// // Nothing records spans here.
/// assert_eq!(text, format!("{parent} {parent}"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceRequests {
    shows_query: bool,
}

impl TraceRequests {
    /// Without queries, which often hold what is secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether spans have the query, as `url.query`, 2 KiB of it at most. Default: false.
    pub fn query(mut self, shown: bool) -> Self {
        self.shows_query = shown;
        self
    }
}

impl<M: Mode> Middleware<M> for TraceRequests {
    fn handle(&self, mut request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let came = TraceContext::received(request.fields());
        let span = span(&request, next.pattern(), self.shows_query);
        if span.is_disabled() {
            let Some(context) = came else { return next.answer(request) };
            request.extensions_mut().insert(context.clone());
            return within::<M>(request, next, TraceScope { span, context });
        }
        let context = came.as_ref().map_or_else(TraceContext::random, TraceContext::child);
        request.extensions_mut().insert(context.clone());
        record_context(&span, came.as_ref(), &context);
        let traced = Traced { span: span.clone(), began: now(), status: None };
        watch::<M>(traced, || within::<M>(request, next, TraceScope { span, context }))
    }

    fn sees_refusals(&self) -> bool {
        true
    }
}

/// The answer of the rest of the chain, which runs in the scope.
fn within<M: Mode>(request: Request, next: Next<M>, scope: TraceScope) -> Answer<M::Future, Body> {
    let answer = match scope.run(|| next.answer(request)) {
        Answer::Now(response) => Answer::Now(response),
        Answer::Later(future) => {
            let scope = scope.clone();
            Answer::Later(M::around(future, move |poll| scope.run(poll)))
        }
    };
    map::<M>(answer, move |response| scope.content(response))
}
