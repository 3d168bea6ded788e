//! What parsing a section (a head or a trailer section) comes to.

use crate::error::Violation;
use crate::h1::framing::Facts;

/// A section that was read: how long it was, and what it says about what follows.
pub(super) struct Parsed {
    pub(super) len: usize,
    pub(super) facts: Facts,
}

/// Why a section was not read.
#[derive(Clone, Copy)]
pub(super) enum Unread {
    /// More bytes are needed.
    Partial,
    /// `httparse` does not understand it.
    Syntax,
    /// It is complete with so many bytes, and breaks a rule.
    Rule(usize, Violation),
}
