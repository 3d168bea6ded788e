//! Requests: received by a server, sent by a client, one type.

#[cfg(feature = "digest-auth")]
mod challenge;
#[cfg(feature = "digest-auth")]
pub(crate) mod digest;
mod http_crate;
pub(crate) mod interim;
mod made;
mod parts;
mod past_redirect;
mod received;
pub(crate) mod relay;

use std::fmt;

use http::{Extensions, Method, Version};
use stoop_proto::{Fields, RequestHead};
use url::Url;

use crate::body::Body;
use crate::conn::recycle::Recycle;

pub use http_crate::ConnectProtocol;
pub use interim::{InterimError, InterimSender};
pub(crate) use parts::{RequestDeadlines, RequestParts};
pub use past_redirect::PastRedirect;

/// A request: a head, content, and where it came from. 48 bytes, cheap to move.
///
/// ```
/// use stoop::Request;
///
/// let request = Request::post("https://example.com/things", "new")?
///     .with_field("content-type", "text/plain")?;
/// assert_eq!(request.method(), "POST");
/// # Ok::<(), stoop::Error>(())
/// ```
pub struct Request {
    pub(crate) parts: Recycle<RequestParts>,
    pub(crate) body: Body,
}

impl Request {
    /// A copy of the request, if its content can be sent twice: a stream cannot.
    pub fn try_clone(&self) -> Option<Self> {
        Some(Self { parts: self.parts.clone(), body: self.body.try_clone()? })
    }

    /// The method.
    pub fn method(&self) -> &Method {
        self.parts.head.method()
    }

    /// The request-target as it was sent; of a request that was made for a URL, its path and query.
    pub fn target(&self) -> &str {
        self.parts.head.target()
    }

    /// The path, without query.
    pub fn path(&self) -> &str {
        self.parts.head.path()
    }

    /// What follows the first `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.parts.head.query()
    }

    /// Host and port the request is for.
    pub fn authority(&self) -> &str {
        match (self.parts.head.authority(), &self.parts.url) {
            ("", Some(url)) => crate::url::authority(url),
            (named, _) => named,
        }
    }

    /// The version the client speaks.
    pub fn version(&self) -> Version {
        self.parts.head.version()
    }

    /// The protocol that an extended CONNECT asks for, such as `websocket` (RFC 8441 §4).
    pub fn protocol(&self) -> Option<&str> {
        self.parts.head.protocol()
    }

    /// The value of the first field of that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.parts.head.fields().first(name)
    }

    /// All fields.
    pub fn fields(&self) -> &Fields {
        self.parts.head.fields()
    }

    /// All fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        self.parts.head.fields_mut()
    }

    /// The head.
    pub fn head(&self) -> &RequestHead {
        &self.parts.head
    }

    /// What the caller keeps with the request: it is never sent. Nothing is allocated for none.
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// What the caller keeps with the request, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.parts.extensions
    }

    /// Where a client sends it, without credentials once that has begun; `None` for one that was received, or made for
    /// a path alone.
    pub fn url(&self) -> Option<&str> {
        self.parts.url.as_ref().map(Url::as_str)
    }

    /// The content.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The content, to read.
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.body
    }

    /// The content alone.
    pub fn into_body(self) -> Body {
        self.body
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.parts.head, self.body)
    }
}

const _: () = assert!(size_of::<Request>() <= 64);

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts are used again, by the next request.
    #[test]
    fn what_was_kept_with_a_request_is_gone_with_it() {
        let mut request = Request::get("/").unwrap().without_deadlines();
        request.extensions_mut().insert("secret");
        let kept = &raw const *request.parts;
        drop(request);
        let next = Request::get("/").unwrap();
        assert!(std::ptr::eq(kept, &raw const *next.parts));
        assert!(
            next.extensions().is_empty()
                && matches!(next.parts.deadlines, RequestDeadlines::Default)
        );
    }
}
