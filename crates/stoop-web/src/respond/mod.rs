//! Types that handlers return, besides those of which `stoop` itself makes a response.

mod html;
#[cfg(feature = "json")]
mod json;
mod redirect;
pub(crate) mod text;

pub use html::{Html, NoContent};
#[cfg(feature = "json")]
pub use json::Json;
pub use redirect::Redirect;
