//! Figures in Prometheus' text format, version 0.0.4.

use std::fmt::Write;

use super::buckets::Buckets;
use super::labels::{CLASSES, METHODS, REASONS};
use super::server::ServerFigures;
use super::snapshot::Snapshot;

/// The media type of the format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Room for what a line has besides its labels' values: 22 of them are a histogram's.
const LINE_BYTES: usize = 96;

/// All figures as text.
pub(super) fn text(snapshot: &Snapshot) -> String {
    let series: usize = snapshot.routes.values().map(|route| route.series.len() + 1).sum();
    let mut out = Exposition(String::with_capacity(series * 26 * LINE_BYTES));
    out.of_exchanges(snapshot);
    out.of_routes(snapshot);
    out.of_process(snapshot);
    if let Some(server) = &snapshot.server {
        out.of_server(server);
    }
    out.0
}

/// The text so far. Writing into it does not fail.
struct Exposition(String);

/// The labels of a line, in their order.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    fn of_exchanges(&mut self, snapshot: &Snapshot) {
        let series = snapshot.routes.iter().flat_map(|(route, figures)| {
            figures.series.iter().map(move |series| {
                let (method, class) = (usize::from(series.method), usize::from(series.class));
                let labels =
                    [("method", METHODS[method]), ("route", &**route), ("status", CLASSES[class])];
                (labels, &series.total)
            })
        });
        let name = "stoop_web_requests_total";
        self.begin(name, "counter", "Exchanges that are over.");
        for (labels, total) in series.clone() {
            self.line(name, &labels, &total.count());
        }
        let help = "Seconds from a request's head to when its response was sent or given up.";
        self.begin("stoop_web_request_seconds", "histogram", help);
        for (labels, total) in series {
            self.histogram("stoop_web_request_seconds", &labels, total);
        }
        self.begin("stoop_web_in_flight", "gauge", "Requests that came and are not over.");
        self.line("stoop_web_in_flight", &[], &snapshot.in_flight);
        let name = "stoop_web_cut_short_total";
        self.begin(name, "counter", "Responses that were not sent to their end.");
        for (reason, count) in REASONS.iter().zip(snapshot.cut_short) {
            self.line(name, &[("reason", reason)], &count);
        }
        let name = "stoop_web_clients_left_total";
        self.begin(name, "counter", "Exchanges whose client did not wait for all of the response.");
        self.line(name, &[], &snapshot.clients_left);
    }

    fn of_routes(&mut self, snapshot: &Snapshot) {
        let help = "Seconds from a request's head to its handler's response.";
        self.begin("stoop_web_handler_seconds", "histogram", help);
        for (route, figures) in &snapshot.routes {
            self.histogram("stoop_web_handler_seconds", &[("route", route)], &figures.handler);
        }
        let name = "stoop_web_sent_bytes_total";
        self.begin(name, "counter", "Bytes of content that were sent.");
        for (route, figures) in &snapshot.routes {
            self.line(name, &[("route", route)], &figures.bytes);
        }
    }

    fn of_process(&mut self, snapshot: &Snapshot) {
        let help = "When counting began, in seconds since 1970.";
        self.begin("stoop_web_start_time_seconds", "gauge", help);
        self.line("stoop_web_start_time_seconds", &[], &snapshot.began_unix);
        if let Some(bytes) = snapshot.memory_bytes {
            self.begin("stoop_web_memory_bytes", "gauge", "Memory that is in use.");
            self.line("stoop_web_memory_bytes", &[], &bytes);
        }
    }

    fn of_server(&mut self, server: &ServerFigures) {
        for (family, samples) in server.families() {
            let kind = if family.is_counter { "counter" } else { "gauge" };
            let name = family.full_name();
            self.begin(&name, kind, family.help);
            for (value, count) in samples {
                match family.label {
                    Some(label) => self.line(&name, &[(label, value)], &count),
                    None => self.line(&name, &[], &count),
                }
            }
        }
    }

    /// What stands above a metric's lines. The texts are ours, and have nothing to escape.
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: Labels<'_>, value: &dyn std::fmt::Display) {
        self.0.push_str(name);
        for (index, (name, value)) in labels.iter().enumerate() {
            self.0.push(if index == 0 { '{' } else { ',' });
            self.label(name, value);
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A label: backslash, quote and line feed are escaped in its value.
    fn label(&mut self, name: &str, value: &str) {
        let _ = write!(self.0, "{name}=\"");
        for char in value.chars() {
            match char {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                char => self.0.push(char),
            }
        }
        self.0.push('"');
    }

    fn histogram(&mut self, name: &str, labels: Labels<'_>, buckets: &Buckets) {
        let bucket = format!("{name}_bucket");
        let below: Vec<_> =
            buckets.below().map(|(bound, below)| (bound.to_string(), below)).collect();
        let mut bounded = labels.to_vec();
        for (bound, below) in &below {
            bounded.push(("le", bound));
            self.line(&bucket, &bounded, below);
            bounded.pop();
        }
        bounded.push(("le", "+Inf"));
        self.line(&bucket, &bounded, &buckets.count());
        self.line(&format!("{name}_sum"), labels, &buckets.seconds());
        self.line(&format!("{name}_count"), labels, &buckets.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_leave_its_quotes() {
        let mut out = Exposition(String::new());
        out.line("a", &[("route", "/\"\\\n{é}"), ("b", "c")], &1.5);
        assert_eq!(out.0, "a{route=\"/\\\"\\\\\\n{é}\",b=\"c\"} 1.5\n");
    }

    #[test]
    fn a_histogram_has_its_bounds_in_seconds_and_its_sum() {
        let mut buckets = Buckets::default();
        buckets.record(std::time::Duration::from_micros(1_500));
        let mut out = Exposition(String::new());
        out.histogram("a_seconds", &[("b", "c")], &buckets);
        let lines: Vec<_> = out.0.lines().collect();
        assert_eq!(lines.len(), 22 + 3);
        assert_eq!(lines[0], r#"a_seconds_bucket{b="c",le="0.000064"} 0"#);
        assert_eq!(
            lines[4..6],
            [
                r#"a_seconds_bucket{b="c",le="0.001024"} 0"#,
                r#"a_seconds_bucket{b="c",le="0.002048"} 1"#,
            ]
        );
        assert_eq!(
            lines[21..],
            [
                r#"a_seconds_bucket{b="c",le="134.217728"} 1"#,
                r#"a_seconds_bucket{b="c",le="+Inf"} 1"#,
                r#"a_seconds_sum{b="c"} 0.0015"#,
                r#"a_seconds_count{b="c"} 1"#,
            ]
        );
    }
}
