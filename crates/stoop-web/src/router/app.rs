//! [`App`]: a router that was built, and answers requests.

use std::sync::Arc;

use memchr::memchr2;
use stoop::{Answer, Body, Handler, IntoHandler, Method, Request, Response, StatusCode};

use crate::route::endpoint::{Endpoint, Matched};
use crate::route::entry::Entry;
use crate::route::middleware::Rest;
use crate::route::mode::{Mode, Shared};
use crate::route::slot::Slot;
use crate::route::spans::Spans;
use crate::route::states::{Value, WorkerState};
use crate::router::hosts::HostPattern;
use crate::router::normal::{NormalPath, may_differ};
use crate::router::slash::other_form;
use crate::router::tree::{Found, Tree};

/// A router that is built: a handler for [`Server::run`](stoop::Server::run) and all the other ways to run a server,
/// and for [`ClientBuilder::handler`](stoop::ClientBuilder::handler). A clone is the same router; what each worker has
/// of its own is made where the server makes it a handler.
pub struct App<M: Mode = Shared>(pub(crate) Arc<Table<M>>);

/// All that is settled when a router is built.
pub(crate) struct Table<M: Mode> {
    pub(crate) tree: Tree<M>,
    /// Exact names first, then the longest suffixes.
    pub(crate) hosts: Vec<(HostPattern, Tree<M>)>,
    pub(crate) tunnel: Entry<M>,
    pub(crate) server: Entry<M>,
    pub(crate) values: Vec<Value<M>>,
}

impl<M: Mode> Clone for App<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The kind of [`App`]s among what can be made a handler.
pub enum AppKind {}

impl<M: Mode> IntoHandler<AppKind> for App<M> {
    type Handler = AppHandler<M>;

    fn into_handler(self) -> AppHandler<M> {
        let state = Arc::new(WorkerState::new(&self.0.values));
        AppHandler { table: self.0, state }
    }
}

/// An [`App`] on one worker, with that worker's state.
pub struct AppHandler<M: Mode = Shared> {
    table: Arc<Table<M>>,
    state: Arc<WorkerState<M>>,
}

impl<M: Mode> Clone for AppHandler<M> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), state: self.state.clone() }
    }
}

/// What a path without parameters has.
static NO_SPANS: Spans = Spans::NONE;

impl<M: Mode> Handler for AppHandler<M> {
    type Body = Body;
    type Output = Response;
    type Future = M::Future;

    #[inline]
    fn call(&self, request: Request) -> Answer<M::Future, Body> {
        let tree = match self.table.hosts.is_empty() {
            true => &self.table.tree,
            false => self.tree_of(request.authority()),
        };
        // A target without a query is its path, and what is no path is no pattern either: to look for the end of the
        // path first took a quarter of the instructions of all this.
        let Some(entry) = tree.fixed.get(request.target()) else {
            return self.call_patterned(tree, request);
        };
        // As `Entry::call`, here because a request that is moved through it is copied once more.
        let slot = entry.slot(request.method());
        if slot.chain.is_empty() {
            return slot.endpoint.call(request, &Matched(slot.matched(&NO_SPANS, &*self.state)));
        }
        self.call_layered(slot, request)
    }
}

impl<M: Mode> AppHandler<M> {
    /// Answers by an endpoint with middleware around it, for a path without parameters. Apart, as the two below, so that
    /// requests that need neither save no registers for it.
    #[inline(never)]
    fn call_layered(&self, slot: &Arc<Slot<M>>, request: Request) -> Answer<M::Future, Body> {
        Rest::new(slot, &self.state, &NO_SPANS).answer(request)
    }

    #[inline(never)]
    fn tree_of(&self, authority: &str) -> &Tree<M> {
        let found = self.table.hosts.iter().find(|(host, _)| host.matches(authority));
        found.map_or(&self.table.tree, |(_, tree)| tree)
    }

    /// Answers what no pattern without parameters is, as it came. Apart, so that those others do not pay for it.
    #[inline(never)]
    fn call_patterned(&self, tree: &Tree<M>, request: Request) -> Answer<M::Future, Body> {
        let mut spans = Spans::NONE;
        match self.find(tree, &request, &mut spans) {
            Found::Entry(entry) => entry.call(request, &spans, &self.state),
            Found::Elsewhere => Answer::Now(elsewhere(&request)),
        }
    }

    /// The entry of a path that is none of the fixed ones as it came.
    fn find<'a>(&'a self, tree: &'a Tree<M>, request: &Request, spans: &mut Spans) -> Found<'a, M> {
        let target = request.target();
        // Most targets are a path in its form, of which no fixed one was found: a single look tells that.
        if target.starts_with('/') && memchr2(b'?', b'%', target.as_bytes()).is_none() {
            return tree.find(target, spans);
        }
        let path = request.path();
        match path {
            "" if request.method() == Method::CONNECT => return Found::Entry(&self.table.tunnel),
            "*" => return Found::Entry(&self.table.server),
            _ => {}
        }
        if may_differ(path) {
            return find_encoded(tree, path, spans);
        }
        match tree.fixed.get(path) {
            Some(entry) => Found::Entry(entry),
            None => tree.find(path, spans),
        }
    }
}

/// The entry of a path that has percent-encoding: its route is that of the path's normal form, and its parameters are
/// parts of the path as it came.
#[inline(never)]
fn find_encoded<'a, M: Mode>(tree: &'a Tree<M>, path: &str, spans: &mut Spans) -> Found<'a, M> {
    let normal = NormalPath::new(path);
    if let Some(entry) = tree.fixed.get(normal.as_str()) {
        return Found::Entry(entry);
    }
    let found = tree.find(normal.as_str(), spans);
    spans.encode(|at| normal.origin(at));
    found
}

/// 308 to the path with a slash more or less at its end, otherwise as it came, with the query (RFC 9110 §15.4.9).
fn elsewhere(request: &Request) -> Response {
    let path = other_form(request.path()).unwrap_or_default();
    let location = match request.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let response = Response::from_status(StatusCode::PERMANENT_REDIRECT);
    let redirect = response.with_field("location", location);
    redirect.unwrap_or_else(|_| Response::from_status(StatusCode::NOT_FOUND))
}
