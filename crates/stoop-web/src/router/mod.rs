//! The router: patterns and what answers them, checked once and then asked for each request.

mod app;
mod build;
mod builder;
mod errors;
mod fallback;
mod fixed;
mod hosts;
mod methods;
pub(crate) mod normal;
mod pattern;
mod slash;
mod tree;

pub use app::{App, AppHandler, AppKind};
pub use builder::{LocalRouter, Router};
pub use errors::{RouterError, RouterProblem};
pub use methods::{Route, any, connect, delete, get, head, on, options, patch, post, put};
pub use slash::TrailingSlash;
