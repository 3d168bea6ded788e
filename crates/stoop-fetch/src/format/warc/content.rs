//! What the record of a response has of its content.

use crate::capture::Exchange;
use crate::earlier::EarlierResponse;

/// The content that a response record has.
#[derive(Clone, Copy)]
pub(super) struct Content<'a> {
    pub(super) bytes: &'a [u8],
    /// It is what the response had, as far as it was received.
    pub(super) is_kept: bool,
    pub(super) is_decoded: bool,
    pub(super) truncated: Option<&'static str>,
    /// The response is a 304: an earlier one is still right.
    pub(super) not_modified: Option<&'a EarlierResponse>,
}

impl Content<'_> {
    /// None of the content of a response is kept, and the record's head says so.
    pub(super) fn not_kept(exchange: &Exchange) -> Self {
        let response = exchange.response.as_ref();
        let may_have_some =
            response.is_some_and(|it| it.fields.first("content-length") != Some(b"0"));
        Self {
            bytes: &[],
            is_kept: exchange.method != "HEAD",
            is_decoded: false,
            truncated: may_have_some.then_some("unspecified"),
            not_modified: None,
        }
    }
}
