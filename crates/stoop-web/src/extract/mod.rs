//! Extraction: makes the arguments of a handler's function from a request, as their types say.

mod argument;
mod arities;
mod content;
mod fields;
mod function;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod json_problems;
mod path;
mod problem;
mod query;
mod rejection;
mod state;
mod values;

pub use argument::{FromContent, FromHead, Head, Immediate, ViaContent, ViaHead};
#[cfg(feature = "compression")]
pub(crate) use content::is_encoded;
#[cfg(feature = "multipart")]
pub(crate) use content::{plain_content, unread, wrong_type};
pub use fields::{Authority, Extension, Pattern, Peer};
pub use function::IntoEndpoint;
pub use path::Path;
pub use problem::{Place, Problem};
pub use query::{Form, Query};
pub use rejection::Rejection;
pub use state::State;
