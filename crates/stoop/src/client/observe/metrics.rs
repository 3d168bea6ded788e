//! Figures for the `metrics` façade: the feature `metrics`.
//!
//! The guide has them all, with their types, units and labels: `docs/sight.md`.

use http::Method;

use super::event::ClientEvent;
use crate::error::Error;

pub(super) fn tell(method: &Method, event: &ClientEvent<'_>) {
    let failed = |error: &Error| {
        let (kind, phase) = (error.kind().as_str(), error.phase().as_str());
        let method = method.to_string();
        metrics::counter!("stoop_client_errors_total", "method" => method, "kind" => kind, "phase" => phase)
            .increment(1);
    };
    match event {
        ClientEvent::Responded { head, timings } => {
            let (method, status) = (method.to_string(), head.status().as_str().to_owned());
            metrics::histogram!("stoop_client_first_byte_seconds", "method" => method.clone())
                .record(timings.first_byte().as_secs_f64());
            metrics::counter!("stoop_client_requests_total", "method" => method, "status" => status)
                .increment(1);
        }
        ClientEvent::Failed { error } => failed(error),
        ClientEvent::Received { bytes, error, .. } => {
            metrics::counter!("stoop_client_received_bytes_total").increment(*bytes);
            if let Some(error) = error {
                failed(error);
            }
        }
        ClientEvent::Connected { .. } => {
            metrics::counter!("stoop_client_connections_total").increment(1);
        }
        ClientEvent::Redirecting { .. } => {
            metrics::counter!("stoop_client_redirects_total").increment(1);
        }
        ClientEvent::Repeating { .. } => {
            metrics::counter!("stoop_client_repeats_total").increment(1);
        }
        ClientEvent::Retrying { .. } => {
            metrics::counter!("stoop_client_retries_total").increment(1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_guide_has_every_name() {
        let (code, guide) = (include_str!("metrics.rs"), include_str!("../../../docs/sight.md"));
        let prefix = concat!("stoop", "_client_");
        let names = |text: &'static str| {
            let names = text.split(['"', '`']).filter(|word| word.starts_with(prefix));
            names.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(names(code), names(guide));
        assert_eq!(names(code).len(), 8);
    }
}
