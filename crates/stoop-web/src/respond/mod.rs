//! What handlers return, besides what is a response of `stoop` already.

mod html;
#[cfg(feature = "json")]
mod json;
mod redirect;
pub(crate) mod text;

pub use html::{Html, NoContent};
#[cfg(feature = "json")]
pub use json::Json;
pub use redirect::Redirect;
