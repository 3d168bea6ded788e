//! Figures for the `metrics` façade: the feature `metrics`.
//!
//! | name | kind | labels |
//! |---|---|---|
//! | `stoop_client_requests_total` | counter, at each response | `method`, `status` |
//! | `stoop_client_errors_total` | counter, at each failure, of content too | `method`, `kind`, `phase` |
//! | `stoop_client_first_byte_seconds` | histogram, from the call to the head of a response | `method` |
//! | `stoop_client_received_bytes_total` | counter, of content as its owner sees it | |
//! | `stoop_client_connections_total` | counter, of connections made | |
//! | `stoop_client_redirects_total`, `_repeats_total`, `_retries_total` | counters | |

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
