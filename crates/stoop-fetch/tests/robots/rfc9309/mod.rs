//! RFC 9309: `syntax`, `rules` and `access`, in its order.

mod access;
mod rules;
mod syntax;
