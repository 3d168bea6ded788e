//! permessage-deflate (RFC 7692 §7): what is agreed, and the compression of messages.

mod agreement;
mod compress;
mod inflate;
mod options;

pub use agreement::AgreedDeflate;
pub(crate) use compress::Compressor;
pub(crate) use inflate::Inflater;
pub use options::{Deflate, NotAgreed};
