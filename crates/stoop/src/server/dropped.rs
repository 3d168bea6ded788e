//! [`DroppedHandler`]: why a handler is dropped before its answer was sent.

use std::cell::{Cell, RefCell};

use http::StatusCode;
use stoop_proto::Fields;

use crate::response::CutShort;

thread_local! {
    /// That of what this thread is dropping.
    static CURRENT: Cell<Option<DroppedHandler>> = const { Cell::new(None) };
    /// What was added to the answer in its place.
    static ADDED: RefCell<Option<Fields>> = const { RefCell::new(None) };
}

/// Why a server drops a handler that it waits for no longer, or the response of one that it does not send.
///
/// While the server drops them, [`current`](Self::current) tells why: what the handler holds can learn in its `Drop`
/// whether its client has left, or was answered by the server itself.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::mpsc::{Sender, channel};
/// use std::time::Duration;
/// use stoop::{Client, CutShort, DroppedHandler, Request, Server, ServerLimits};
///
/// struct Report(Sender<Option<DroppedHandler>>);
///
/// impl Drop for Report {
///     fn drop(&mut self) {
///         let _ = self.0.send(DroppedHandler::current());
///     }
/// }
///
/// let (tell, told) = channel();
/// let never = move |_: Request| {
///     let report = Report(tell.clone());
///     async move {
///         std::future::pending::<()>().await;
///         drop(report);
///         "never"
///     }
/// };
/// let mut limits = ServerLimits::default();
/// limits.time.handler = Duration::from_millis(10);
/// let server = Server::listen("127.0.0.1:0")?.limits(limits).run_here(never)?;
/// let status = Client::new().get(server.endpoint().to_string()).await?.status();
/// let dropped = told.recv()?.unwrap();
/// assert_eq!((dropped.why(), dropped.answer(), status.as_u16()), (CutShort::Timeout, Some(status), 503));
/// # server.close().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedHandler {
    why: CutShort,
    answer: Option<StatusCode>,
}

impl DroppedHandler {
    /// That of what a server is dropping on this thread. `None` if it drops nothing, and where a handler's future is
    /// dropped by something else: by the program, or with the runtime of its connection.
    pub fn current() -> Option<Self> {
        CURRENT.get()
    }

    /// Why its answer is not sent: [`Client`](CutShort::Client) if the client has left or broken the rules,
    /// [`Timeout`](CutShort::Timeout) if a time limit has passed, [`Server`](CutShort::Server) if the server closes, and
    /// [`Content`](CutShort::Content) if the content of an earlier response on its connection has failed.
    pub fn why(&self) -> CutShort {
        self.why
    }

    /// The status that the client gets instead. `None` if it gets none: it has left, or its connection is closed.
    pub fn answer(&self) -> Option<StatusCode> {
        self.answer
    }

    /// Has `change` add fields to the 503 that the client gets in place of the answer of a handler that took too long, beside
    /// the answer's own. For what a handler holds, in its `Drop`: middleware that adds the same to each answer. Returns
    /// whether there is such an answer: otherwise `change` is not called.
    pub fn add_fields(change: impl FnOnce(&mut Fields)) -> bool {
        let is_answered = |dropped: Self| dropped.answer == Some(StatusCode::SERVICE_UNAVAILABLE);
        if !CURRENT.get().is_some_and(is_answered) {
            return false;
        }
        let mut added = ADDED.take().unwrap_or_default();
        change(&mut added);
        ADDED.set(Some(added));
        true
    }

    pub(super) fn new(why: CutShort, answer: Option<StatusCode>) -> Self {
        Self { why, answer }
    }

    /// Runs what drops the handler.
    pub(super) fn in_scope(self, work: impl FnOnce()) {
        self.collecting(work);
    }

    /// The same, and returns the fields that were [added](Self::add_fields).
    pub(super) fn collecting(self, work: impl FnOnce()) -> Option<Fields> {
        let _before = Restore(CURRENT.replace(Some(self)), ADDED.take());
        work();
        ADDED.take()
    }
}

/// Brings back what was current before, after a panic too.
struct Restore(Option<DroppedHandler>, Option<Fields>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
        ADDED.set(self.1.take());
    }
}
