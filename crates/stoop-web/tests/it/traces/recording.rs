//! A subscriber that keeps what it is told.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use stoop::Client;
use stoop_web::{Router, TraceRequests, get};
use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span as it was recorded.
#[derive(Clone, Default)]
pub(super) struct Recorded {
    pub(super) target: String,
    values: BTreeMap<String, String>,
    pub(super) is_closed: bool,
    handles: usize,
}

impl Recorded {
    /// The value of a field; empty if it has none.
    pub(super) fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }
}

#[derive(Default)]
struct State {
    spans: Vec<Recorded>,
    /// Messages, each with the index of its span.
    events: Vec<(Option<usize>, String)>,
    entered: Vec<usize>,
}

/// Keeps spans of the targets `stoop` and `stoop::server`, and events of these and of the target `test`.
#[derive(Clone, Default)]
pub(super) struct Recording(Arc<Mutex<State>>, Arc<Notify>);

impl Recording {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Runs `future` on this thread, which tells this recording.
    ///
    /// Whether a place in the code is heard is remembered for all threads, and where there is one subscriber asked of the
    /// thread that comes there first: if that is another test's, which has none, it is asked again until it is known.
    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        // While another thread finds out, the answer is yes and may become no.
        let mut heard = 0;
        while heard < 3 {
            let first = Self::default();
            tracing::subscriber::with_default(first.clone(), || {
                tracing::callsite::rebuild_interest_cache();
                block_on(async {
                    let app = Router::new().route("/", get(|| "hello")).layer(TraceRequests::new());
                    let client = Client::builder().handler(app.build().unwrap()).build().unwrap();
                    client.get("http://a.test/").await.unwrap();
                });
            });
            let is_heard = ["stoop", "stoop::server"].map(|target| !first.spans(target).is_empty());
            heard = if is_heard == [true; 2] { heard + 1 } else { 0 };
        }
        tracing::subscriber::with_default(self.clone(), || block_on(future))
    }

    /// The spans of a target, in the order in which they began.
    pub(super) fn spans(&self, target: &str) -> Vec<Recorded> {
        let state = self.state();
        state.spans.iter().filter(|span| span.target == target).cloned().collect()
    }

    /// The identifier in its trace of the span that an event was in.
    pub(super) fn span_of(&self, message: &str) -> Vec<String> {
        let state = self.state();
        let of_message = state.events.iter().filter(|(_, known)| known == message);
        let span = |index: &Option<usize>| index.map(|index| state.spans[index].value("span_id"));
        of_message.map(|(index, _)| span(index).unwrap_or_default().to_owned()).collect()
    }

    /// Waits until so many spans of requests to servers are closed.
    pub(super) async fn closed(&self, count: usize) {
        let is_closed = |span: &&Recorded| span.target == "stoop::server" && span.is_closed;
        let all = async {
            loop {
                let next = self.1.notified();
                if self.state().spans.iter().filter(is_closed).count() >= count {
                    break;
                }
                next.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), all).await.expect("spans stay open");
    }
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn index(id: &Id) -> usize {
    id.into_u64() as usize - 1
}

struct Values<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Values<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Recording {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        ["stoop", "stoop::server", "test"].contains(&metadata.target())
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut recorded = Recorded { handles: 1, ..Recorded::default() };
        recorded.target = span.metadata().target().to_owned();
        span.record(&mut Values(&mut recorded.values));
        let mut state = self.state();
        state.spans.push(recorded);
        Id::from_u64(state.spans.len() as u64)
    }
    fn record(&self, id: &Id, record: &Record<'_>) {
        record.record(&mut Values(&mut self.state().spans[index(id)].values));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut values = BTreeMap::new();
        event.record(&mut Values(&mut values));
        let mut state = self.state();
        let current = state.entered.last().copied().filter(|_| event.is_contextual());
        let span = event.parent().map(index).or(current);
        state.events.push((span, values.remove("message").unwrap_or_default()));
    }
    fn enter(&self, id: &Id) {
        self.state().entered.push(index(id));
    }
    fn exit(&self, _: &Id) {
        self.state().entered.pop();
    }
    fn clone_span(&self, id: &Id) -> Id {
        self.state().spans[index(id)].handles += 1;
        id.clone()
    }
    fn try_close(&self, id: Id) -> bool {
        let mut state = self.state();
        let span = &mut state.spans[index(&id)];
        span.handles -= 1;
        span.is_closed |= span.handles == 0;
        self.1.notify_one();
        span.is_closed
    }
}
