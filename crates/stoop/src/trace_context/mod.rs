//! The place of a request in a distributed trace: W3C Trace Context, in both roles. The feature `tracing`.
//!
//! `parent` is `traceparent`, `state` is `tracestate`; what carries both, to clients and to what a handler calls, is here.

mod parent;
mod state;

use std::cell::RefCell;
use std::sync::Arc;

pub use parent::TraceParent;
use stoop_proto::Fields;

use crate::request::Request;

thread_local! {
    /// That of what this thread is at.
    static CURRENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
}

/// The place of a request in a distributed trace, with what the systems that trace it keep along with it: the fields
/// `traceparent` and `tracestate` of W3C Trace Context, level 1.
///
/// As an [extension](crate::RequestBuilder::extension) of a client's request it says which trace that belongs to. Without
/// one, the request belongs to the [current](Self::current) trace.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::{Client, Request, Response, TraceContext};
///
/// // A handler that continues the trace of what it was asked.
/// let incoming = Request::get("/")?
///     .with_field("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")?
///     .with_field("tracestate", "rojo=00f067aa0ba902b7")?;
/// let context = TraceContext::received(incoming.fields()).unwrap();
/// assert_eq!(context.state(), Some("rojo=00f067aa0ba902b7"));
///
/// let backend = |request: Request| {
///     Response::from_bytes(request.field("traceparent").unwrap_or_default().to_vec())
/// };
/// let client = Client::builder().handler(backend).build()?;
/// let sent = client.get("http://backend.example/").extension(context).await?.text().await?;
/// assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    parent: TraceParent,
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// What the fields of a message say: `None` without a `traceparent`, with several, and with one that is malformed
    /// (§3.2.2, §4.3). A malformed `tracestate` is left out; of one that is longer than 512 characters, as much is kept
    /// as fits (§3.3.1.5).
    pub fn received(fields: &Fields) -> Option<Self> {
        let mut parents = fields.all("traceparent");
        let (parent, None) = (parents.next()?, parents.next()) else { return None };
        Some(Self { parent: TraceParent::parse(parent)?, state: state::read(fields) })
    }

    /// That of a new trace, which is to be recorded.
    pub fn random() -> Self {
        TraceParent::random().into()
    }

    /// That of another span of the same trace.
    pub fn child(&self) -> Self {
        Self { parent: self.parent.child(), state: self.state.clone() }
    }

    /// The trace, the span and the flags.
    pub fn parent(&self) -> TraceParent {
        self.parent
    }

    /// The value of `tracestate`, if there is one.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// That of what this thread runs [in its scope](Self::in_scope), if it does.
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` with this as the [current](Self::current) one: what a [`Client`](crate::Client) is asked for
    /// meanwhile belongs to its trace. To run a future so, run each of its polls; a task of its own that it spawns is
    /// not in the scope.
    pub fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _scope = Scope { before: CURRENT.replace(Some(self.clone())) };
        work()
    }

    /// That which a request belongs to, by its extensions or because it is asked for in a scope.
    pub(crate) fn of_request(request: &Request) -> Option<Self> {
        let extensions = request.extensions();
        match (extensions.get::<Self>(), extensions.get::<TraceParent>()) {
            (Some(context), _) => Some(context.clone()),
            (None, Some(parent)) => Some((*parent).into()),
            (None, None) => Self::current(),
        }
    }

    /// Writes the fields of it into a request that has none of its own.
    pub(crate) fn send_with(&self, request: &mut Request) {
        if request.field("traceparent").is_some() {
            return;
        }
        // It is digits and hyphens; and what was read of a field may stand in one.
        let _ = request.fields_mut().push("traceparent", self.parent.to_string().as_bytes());
        if let Some(state) = self.state().filter(|_| request.field("tracestate").is_none()) {
            let _ = request.fields_mut().push("tracestate", state.as_bytes());
        }
    }
}

impl From<TraceParent> for TraceContext {
    fn from(parent: TraceParent) -> Self {
        Self { parent, state: None }
    }
}

/// Brings back what was current before, after a panic too.
struct Scope {
    before: Option<TraceContext>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn received(lines: &[(&str, &str)]) -> Option<(String, Option<String>)> {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push(name, value.as_bytes()).unwrap();
        }
        let context = TraceContext::received(&fields)?;
        Some((context.parent().to_string(), context.state().map(str::to_owned)))
    }

    #[test]
    fn a_context_needs_one_traceparent() {
        let parent = ("traceparent", PARENT);
        assert_eq!(received(&[parent]), Some((PARENT.to_owned(), None)));
        assert_eq!(received(&[]), None);
        assert_eq!(received(&[parent, parent]), None);
        assert_eq!(received(&[("traceparent", &format!("{PARENT},{PARENT}"))]), None);
        assert_eq!(received(&[("tracestate", "a=b")]), None);
        let state = ("tracestate", "a=b");
        assert_eq!(received(&[parent, state]), Some((PARENT.to_owned(), Some("a=b".to_owned()))));
        assert_eq!(received(&[parent, ("tracestate", "=")]), Some((PARENT.to_owned(), None)));
    }

    #[test]
    fn a_scope_ends_where_it_began_after_a_panic_too() {
        let (one, other) = (TraceContext::random(), TraceContext::random());
        assert_eq!(TraceContext::current(), None);
        one.in_scope(|| {
            other.in_scope(|| assert_eq!(TraceContext::current().as_ref(), Some(&other)));
            assert_eq!(TraceContext::current().as_ref(), Some(&one));
            catch_unwind(|| other.in_scope(|| panic!("on purpose"))).unwrap_err();
            assert_eq!(TraceContext::current().as_ref(), Some(&one));
        });
        assert_eq!(TraceContext::current(), None);
    }
}
