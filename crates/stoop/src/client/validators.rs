//! What is known of a URL from an earlier response, to ask whether its content has changed since (RFC 9110 §13.1).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use stoop_proto::{Fields, RequestHead};

/// What tells one state of a URL's content from others (RFC 9110 §8.8), as an earlier response had it:
/// [`ClientBuilder::validators`](crate::ClientBuilder::validators).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// The value of its ETag, weak or strong, with its quotes: If-None-Match has it as it is.
    pub etag: Option<Bytes>,
    /// The value of its Last-Modified: If-Modified-Since has it as it is.
    pub last_modified: Option<Bytes>,
}

type Find = dyn Fn(&Method, &str) -> Option<Validators> + Send + Sync;

/// Finds what is known of a URL.
#[derive(Clone)]
pub(crate) struct FindValidators(Arc<Find>);

impl FindValidators {
    pub(crate) fn new(
        find: impl Fn(&Method, &str) -> Option<Validators> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }

    /// Adds the conditions for a URL. False if there are none: nothing is known of it, or what no field can have.
    pub(crate) fn add(&self, head: &mut RequestHead, url: &str) -> bool {
        let Some(known) = (self.0)(head.method(), url) else { return false };
        let conditions =
            [("if-none-match", known.etag), ("if-modified-since", known.last_modified)];
        let mut has_some = false;
        for (name, value) in conditions {
            has_some |= value.is_some_and(|value| head.fields_mut().push(name, &value).is_ok());
        }
        has_some
    }

    /// Takes away what was added.
    pub(crate) fn remove(fields: &mut Fields) {
        fields.remove("if-none-match");
        fields.remove("if-modified-since");
    }
}

impl fmt::Debug for FindValidators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FindValidators")
    }
}

/// Whether a request may be conditional: it asks for all content, and has no conditions of the caller's.
pub(crate) fn may_add(head: &RequestHead) -> bool {
    const OWN: [&str; 6] = [
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "if-range",
        "range",
    ];
    matches!(*head.method(), Method::GET | Method::HEAD)
        && !OWN.iter().any(|name| head.fields().contains(name))
}
