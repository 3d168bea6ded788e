//! The same figures for the `metrics` façade: the feature `metrics`.
//!
//! The guide has their names, units and labels: `docs/metrics.md`.

use std::sync::Arc;

use super::figures::Ended;
use super::labels::{CLASSES, METHODS, REASONS};
use super::server::ServerFigures;

/// A request has come.
pub(super) fn begin() {
    metrics::gauge!("stoop_web_in_flight").increment(1);
}

/// The exchange of a request for a route is over.
pub(super) fn end(route: Arc<str>, ended: &Ended) {
    let exchange = &ended.exchange;
    let (method, status) = (METHODS[exchange.method], CLASSES[ended.class]);
    metrics::gauge!("stoop_web_in_flight").decrement(1);
    let labels =
        [("method", method.into()), ("route", route.clone().into()), ("status", status.into())];
    let labels = labels.map(|(name, value): (&'static str, metrics::SharedString)| {
        metrics::Label::new(name, value)
    });
    metrics::counter!("stoop_web_requests_total", labels.to_vec()).increment(1);
    metrics::histogram!("stoop_web_request_seconds", labels.to_vec()).record(exchange.took);
    if let Some(took) = ended.until_response {
        metrics::histogram!("stoop_web_handler_seconds", "route" => route.clone()).record(took);
    }
    metrics::counter!("stoop_web_sent_bytes_total", "route" => route).increment(ended.bytes);
    if let Some(reason) = ended.cut_short {
        metrics::counter!("stoop_web_cut_short_total", "reason" => REASONS[reason]).increment(1);
    }
    if ended.has_left {
        metrics::counter!("stoop_web_clients_left_total").increment(1);
    }
}

/// The figures of all servers, as they are now.
pub(super) fn server(figures: &ServerFigures) {
    for (family, samples) in figures.families() {
        for (value, count) in samples {
            let name = family.full_name();
            let labels = family.label.map(|label| metrics::Label::new(label, value));
            let labels = labels.into_iter().collect::<Vec<_>>();
            match family.is_counter {
                true => metrics::counter!(name, labels).absolute(count),
                false => metrics::gauge!(name, labels).set(count as f64),
            }
        }
    }
}
