//! Builds a router: checks its whole description, tells everything that is wrong, and makes its tables.

use std::sync::Arc;

use matchit::InsertError;
use stoop::Method;

use crate::limit::{BodyLimit, TimeLimit};
use crate::route::endpoint::{Endpoint, Fixed};
use crate::route::entry::Entry;
use crate::route::mode::Mode;
use crate::route::slot::{Shape, Slot};
use crate::route::states::{Needs, Value};
use crate::router::app::{App, Table};
use crate::router::builder::Router;
use crate::router::errors::{RouterError, RouterProblem};
use crate::router::fallback::{Allow, method_not_allowed, no_tunnel, not_found, options_of_server};
use crate::router::fixed::FixedPaths;
use crate::router::hosts::HostPattern;
use crate::router::methods::{Route, RouteLimits};
use crate::router::normal::normal_pattern;
use crate::router::pattern::{check_prefix, is_fixed, names};
use crate::router::tree::Tree;

/// Bytes of content that extractors read where no limit is set: what axum's read, and more than forms and JSON
/// that people send have.
const EXTRACTED_BYTES_MAX: u64 = 2 * 1024 * 1024;

impl<M: Mode> Router<M> {
    /// Checks the router, and makes it a handler.
    ///
    /// # Errors
    /// All that is wrong with it: malformed patterns, those that match the same paths, methods with two endpoints, and
    /// state that a handler asks for and the router has not.
    pub fn build(mut self) -> Result<App<M>, RouterError> {
        let mut build = Build { problems: Vec::new(), values: Vec::new() };
        build.values(&mut self);
        let hosts = std::mem::take(&mut self.hosts);
        let (layers, limits) = (self.layers.clone(), self.limits);
        let tunnel = self.tunnel.take().unwrap_or_else(|| M::endpoint(Fixed(no_tunnel)));
        let tunnel = build.single("", tunnel, &layers, limits);
        let server = build.single("", M::endpoint(Fixed(options_of_server)), &layers, limits);
        let tree = build.tree(self);
        let mut host_trees = Vec::new();
        for (host, mut router) in hosts {
            router.layers = layers.iter().cloned().chain(router.layers).collect();
            router.limits = router.limits.or(limits);
            let tree = build.tree(router);
            match HostPattern::new(&host) {
                Ok(pattern) if host_trees.iter().any(|(known, _)| *known == pattern) => {
                    build.problem(RouterProblem::Conflict { pattern: host.clone(), with: host });
                }
                Ok(pattern) => host_trees.push((pattern, tree)),
                Err(why) => build.problem(RouterProblem::Pattern { pattern: host, why }),
            }
        }
        host_trees.sort_by_key(|(host, _)| host.rank());
        match build.problems.is_empty() {
            true => Ok(App(Arc::new(Table {
                tree,
                hosts: host_trees,
                tunnel,
                server,
                values: build.values,
            }))),
            false => Err(RouterError(build.problems)),
        }
    }
}

/// What is known of the whole router while it is built.
struct Build<M: Mode> {
    problems: Vec<RouterProblem>,
    values: Vec<Value<M>>,
}

impl<M: Mode> Build<M> {
    fn problem(&mut self, problem: RouterProblem) {
        self.problems.push(problem);
    }

    /// Takes the state of a router and of those for its hosts.
    fn values(&mut self, router: &mut Router<M>) {
        for value in std::mem::take(&mut router.values) {
            match self.values.iter().any(|known| known.id == value.id) {
                true => self.problem(RouterProblem::StateTwice { name: value.name }),
                false => self.values.push(value),
            }
        }
        for (host, inner) in &mut router.hosts {
            self.values(inner);
            if !inner.hosts.is_empty() {
                let why = "a router for a host cannot have hosts of its own";
                self.problems.push(RouterProblem::Pattern { pattern: host.clone(), why });
            }
        }
    }

    fn tree(&mut self, router: Router<M>) -> Tree<M> {
        for prefix in &router.prefixes {
            if let Err(why) = check_prefix(prefix) {
                self.problem(RouterProblem::Pattern { pattern: prefix.clone(), why });
            }
        }
        let mut tree = Tree {
            fixed: FixedPaths::new(),
            patterns: matchit::Router::new(),
            fallbacks: Vec::new(),
            slash: router.slash,
        };
        let (layers, limits, not_allowed) = (router.layers, router.limits, router.not_allowed);
        for (pattern, mut routes) in by_pattern(router.parts) {
            for route in &mut routes {
                route.layers = layers.iter().cloned().chain(route.layers.drain(..)).collect();
                route.limits = route.limits.or(limits);
                route.not_allowed = route.not_allowed.take().or_else(|| not_allowed.clone());
            }
            let form = normal_pattern(&pattern);
            match self.entry(&pattern, routes) {
                Ok(entry) if is_fixed(&form) => {
                    tree.fixed.insert(form.into(), Arc::new(entry));
                }
                Ok(entry) => {
                    if let Err(error) = tree.patterns.insert(form, Arc::new(entry)) {
                        self.problem(refused(pattern, error));
                    }
                }
                Err(why) => self.problem(RouterProblem::Pattern { pattern, why }),
            }
        }
        for part in router.fallbacks {
            let prefix = normal_pattern(&part.prefix);
            if tree.fallbacks.iter().any(|(known, _)| *known == prefix) {
                self.problem(RouterProblem::Fallback { prefix: part.prefix });
                continue;
            }
            let layers: Vec<_> = layers.iter().cloned().chain(part.layers).collect();
            let entry = self.single(&prefix, part.endpoint, &layers, part.limits.or(limits));
            tree.fallbacks.push((prefix, Arc::new(entry)));
        }
        if tree.fallbacks.iter().all(|(prefix, _)| !prefix.is_empty()) {
            let entry = self.single("", M::endpoint(Fixed(not_found)), &layers, limits);
            tree.fallbacks.push((String::new(), Arc::new(entry)));
        }
        tree.fallbacks.sort_by_key(|(prefix, _)| usize::MAX - prefix.len());
        tree
    }

    /// The endpoints of one pattern.
    fn entry(&mut self, pattern: &str, routes: Vec<Route<M>>) -> Result<Entry<M>, &'static str> {
        let shape =
            Shape { pattern: pattern.into(), prefix: "".into(), names: names(pattern)?.into() };
        let mut methods: Vec<(Method, Arc<Slot<M>>)> = Vec::new();
        let (mut any, mut others) = (None, None);
        let mut not_allowed = None;
        for route in routes {
            let mut twice = route.twice;
            for (method, endpoint) in route.methods {
                if methods.iter().any(|(known, _)| *known == method) {
                    twice.push(Some(method));
                    continue;
                }
                let slot = self.slot(&shape, endpoint, &route.layers, route.limits);
                methods.push((method, Arc::new(slot)));
            }
            if let Some(endpoint) = route.any {
                let slot = self.slot(&shape, endpoint, &route.layers, route.limits);
                if any.replace(slot).is_some() {
                    twice.push(None);
                }
            }
            for method in twice {
                self.problem(RouterProblem::Method { pattern: pattern.to_owned(), method });
            }
            not_allowed = not_allowed.or(route.not_allowed);
            others.get_or_insert((route.layers, route.limits));
        }
        // RFC 9110 §9.3.2: HEAD is GET without content, which the server leaves out.
        let slot_of = |methods: &[(Method, Arc<Slot<M>>)], method: Method| {
            methods.iter().find(|(of, _)| *of == method).map(|(_, slot)| slot.clone())
        };
        if let (Some(get), None) = (slot_of(&methods, Method::GET), slot_of(&methods, Method::HEAD))
        {
            methods.push((Method::HEAD, get));
        }
        // Allow names it first.
        methods.sort_by_key(|(method, _)| *method != Method::GET);
        let others = match any {
            Some(any) => any,
            None => {
                let (layers, limits) = others.unwrap_or_default();
                let endpoint =
                    not_allowed.unwrap_or_else(|| M::endpoint(Fixed(method_not_allowed)));
                let mut slot = self.slot(&shape, endpoint, &layers, limits);
                slot.chain.push(M::middleware(Allow(allow(&methods))));
                slot
            }
        };
        let get = slot_of(&methods, Method::GET);
        Ok(Entry { methods, get, others: Arc::new(others) })
    }

    /// What has one endpoint for everything, below a prefix.
    fn single(
        &mut self,
        prefix: &str,
        endpoint: Arc<M::Endpoint>,
        layers: &[Arc<M::Middleware>],
        limits: RouteLimits,
    ) -> Entry<M> {
        let shape = Shape { pattern: "".into(), prefix: prefix.into(), names: Arc::new([]) };
        let slot = self.slot(&shape, endpoint, layers, limits);
        Entry { methods: Vec::new(), get: None, others: Arc::new(slot) }
    }

    fn slot(
        &mut self,
        shape: &Shape,
        endpoint: Arc<M::Endpoint>,
        layers: &[Arc<M::Middleware>],
        limits: RouteLimits,
    ) -> Slot<M> {
        let mut needs = Needs::default();
        endpoint.needs(&mut needs);
        if let Some(name) = needs.missing(&self.values) {
            self.problem(RouterProblem::State { pattern: shape.pattern.to_string(), name });
        }
        let time = limits.time.map(|limit| M::middleware(TimeLimit(limit)));
        let body = limits.body_bytes_max.map(|bytes| M::middleware(BodyLimit(bytes)));
        Slot {
            shape: shape.clone(),
            endpoint,
            chain: time.into_iter().chain(layers.iter().cloned()).chain(body).collect(),
            body_bytes_max: limits.body_bytes_max.unwrap_or(EXTRACTED_BYTES_MAX),
        }
    }
}

/// The routes of each pattern, however it is written, in the order in which the patterns first came.
fn by_pattern<M: Mode>(parts: Vec<(String, Route<M>)>) -> Vec<(String, Vec<Route<M>>)> {
    let mut grouped: Vec<(String, Vec<Route<M>>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (pattern, route) in parts {
        let place = *places.entry(normal_pattern(&pattern)).or_insert(grouped.len());
        match grouped.get_mut(place) {
            Some((_, routes)) => routes.push(route),
            None => grouped.push((pattern, vec![route])),
        }
    }
    grouped
}

/// The value of Allow (RFC 9110 §10.2.1).
fn allow<M: Mode>(methods: &[(Method, Arc<Slot<M>>)]) -> String {
    let mut names: Vec<_> = methods.iter().map(|(method, _)| method.as_str()).collect();
    if !names.contains(&"OPTIONS") {
        names.push("OPTIONS");
    }
    names.join(", ")
}

fn refused(pattern: String, error: InsertError) -> RouterProblem {
    let why = match error {
        InsertError::Conflict { with } => return RouterProblem::Conflict { pattern, with },
        InsertError::InvalidParamSegment => "a segment has at most one parameter",
        InsertError::InvalidCatchAll => "the rest of a path can only be at the end of a pattern",
        _ => "a parameter is written `{name}`, or `{*name}` for the rest of the path",
    };
    RouterProblem::Pattern { pattern, why }
}
