//! Figures as JSON, for the page and for programs.

use std::fmt::Display;
use std::io::Write;

use super::figures::RouteFigures;
use super::labels::{CLASSES, METHODS, REASONS};
use super::quantiles::Quantiles;
use super::recent::SlowExchange;
use super::server::ServerFigures;
use super::snapshot::Snapshot;
use crate::access_log::put_json;

/// Quantiles that are shown, and their names.
const SHOWN: [(&str, f64); 3] = [("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)];

/// An object with all figures.
pub(super) fn json(title: &str, snapshot: &Snapshot) -> Vec<u8> {
    let mut object = Object::begin(Vec::new());
    object.text("title", title.as_bytes());
    object.value("start_time_seconds", snapshot.began_unix);
    object.value("uptime_seconds", snapshot.uptime.as_secs());
    object.value("in_flight", snapshot.in_flight);
    object.value("requests", snapshot.count());
    object.value("last_second", snapshot.last_second());
    object.value("per_second", format_args!("{:.1}", snapshot.per_second()));
    object.object("latency", |inner| put_quantiles(&snapshot.durations, inner));
    object.object("statuses", |inner| {
        for (class, name) in CLASSES.iter().enumerate() {
            inner.value(name, snapshot.class(class));
        }
    });
    object.object("cut_short", |inner| {
        REASONS.iter().zip(snapshot.cut_short).for_each(|(name, count)| inner.value(name, count));
    });
    object.value("clients_left", snapshot.clients_left);
    match snapshot.memory_bytes {
        Some(bytes) => object.value("memory_bytes", bytes),
        None => object.value("memory_bytes", "null"),
    }
    match &snapshot.server {
        Some(server) => object.object("server", |inner| put_server(server, inner)),
        None => object.value("server", "null"),
    }
    object.list("seconds", &snapshot.seconds, |second, out| {
        let _ = write!(out, "[{},{}]", second.requests, second.errors);
    });
    object.objects("routes", &snapshot.routes, |(route, figures), inner| {
        put_route(route, figures, inner);
    });
    object.objects("slowest", &snapshot.slow, |slow, inner| {
        let ago = snapshot.uptime.saturating_sub(slow.at);
        put_slow(slow, ago.as_secs(), inner);
    });
    object.end()
}

fn put_quantiles(durations: &Quantiles, object: &mut Object) {
    let millis = |micros: u64| micros as f64 / 1e3;
    for (name, part) in SHOWN {
        object.value(name, format_args!("{:.3}", millis(durations.quantile(part))));
    }
    object.value("max_ms", format_args!("{:.3}", millis(durations.longest())));
}

fn put_server(server: &ServerFigures, object: &mut Object) {
    for (family, samples) in server.families() {
        match samples.as_slice() {
            [("", value)] => object.value(family.name, value),
            samples => object.object(family.name, |inner| {
                samples.iter().for_each(|(label, value)| inner.value(label, value));
            }),
        }
    }
}

fn put_route(route: &str, figures: &RouteFigures, object: &mut Object) {
    object.text("route", route.as_bytes());
    object.value("requests", figures.count());
    object.value("errors", figures.class(5));
    object.value("sent_bytes", figures.bytes);
    put_quantiles(&figures.total, object);
    object.objects("series", &figures.series, |series, inner| {
        inner.text("method", METHODS[usize::from(series.method)].as_bytes());
        inner.text("status", CLASSES[usize::from(series.class)].as_bytes());
        inner.value("requests", series.total.count());
        inner.value("seconds", series.total.seconds());
    });
}

fn put_slow(slow: &SlowExchange, ago_seconds: u64, object: &mut Object) {
    object.text("method", METHODS[slow.method].as_bytes());
    object.text("path", slow.path.as_bytes());
    object.value("is_cut", slow.path.is_cut());
    match slow.status {
        Some(status) => object.value("status", status),
        None => object.value("status", "null"),
    }
    object.value("ms", format_args!("{:.3}", slow.took.as_micros() as f64 / 1e3));
    object.value("ago_seconds", ago_seconds);
}

/// An object that is being written. Writing into its bytes does not fail.
struct Object {
    out: Vec<u8>,
    is_empty: bool,
}

impl Object {
    /// An object behind what is in `out`.
    fn begin(mut out: Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    fn end(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    fn name(&mut self, name: &str) {
        let comma = if self.is_empty { "" } else { "," };
        self.is_empty = false;
        let _ = write!(self.out, "{comma}\"{name}\":");
    }

    /// A value that is JSON as it is written.
    fn value(&mut self, name: &str, value: impl Display) {
        self.name(name);
        let _ = write!(self.out, "{value}");
    }

    fn text(&mut self, name: &str, text: &[u8]) {
        self.name(name);
        put_json(text, &mut self.out);
    }

    fn object(&mut self, name: &str, put: impl FnOnce(&mut Self)) {
        self.name(name);
        let mut inner = Self::begin(std::mem::take(&mut self.out));
        put(&mut inner);
        self.out = inner.end();
    }

    fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        put: impl Fn(T, &mut Vec<u8>),
    ) {
        self.name(name);
        self.out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            put(item, &mut self.out);
        }
        self.out.push(b']');
    }

    fn objects<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        put: impl Fn(T, &mut Self),
    ) {
        self.list(name, items, |item, out| {
            let mut inner = Self::begin(std::mem::take(out));
            put(item, &mut inner);
            *out = inner.end();
        });
    }
}
