//! What parsing a section (a head or a trailer section) comes to.

use crate::error::Violation;
use crate::h1::framing::FramingFacts;

/// A section that was read: how long it was, and what it says about what follows.
pub(super) struct ParsedSection {
    pub(super) len: usize,
    pub(super) facts: FramingFacts,
}

/// Why a section was not read.
#[derive(Clone, Copy)]
pub(super) enum ParseFailure {
    /// More bytes are needed.
    Incomplete,
    /// `httparse` does not understand it.
    Syntax,
    /// It is complete with so many bytes, and breaks a rule.
    Rule(usize, Violation),
}
