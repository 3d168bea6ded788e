//! Sight of a running server: figures by route, as text for Prometheus and as a page.
//!
//! `layer` is the middleware that counts; `figures` and `recent` are what each core has counted, `buckets` and
//! `quantiles` durations among it. `snapshot` adds the cores' figures up, with those of servers (`server`), for
//! `prometheus`, `json` and `page` (HTML). `facade` tells the same to the crate `metrics`.

mod buckets;
#[cfg(feature = "metrics")]
mod facade;
mod figures;
mod json;
mod labels;
mod layer;
mod page;
mod prometheus;
mod quantiles;
mod recent;
mod server;
mod snapshot;

#[cfg(feature = "tracing")]
pub(crate) use labels::known_method;
pub use layer::Sight;
pub use page::StatusPage;
