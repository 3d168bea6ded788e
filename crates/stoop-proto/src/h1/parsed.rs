//! The results of parsing a section, which is a head or a trailer section.

use crate::error::Violation;
use crate::h1::framing::FramingFacts;

/// A parsed section: its length, and its facts about the body that follows.
pub(super) struct ParsedSection {
    pub(super) len: usize,
    pub(super) facts: FramingFacts,
}

/// Why a section was not parsed.
#[derive(Clone, Copy)]
pub(super) enum ParseFailure {
    /// More bytes are needed.
    Incomplete,
    /// `httparse` refuses it.
    Syntax,
    /// It is complete, with this many bytes, and breaks a rule.
    Rule(usize, Violation),
}
