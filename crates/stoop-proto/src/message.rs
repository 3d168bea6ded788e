//! Heads of messages (RFC 9110 §6), the same for all versions of HTTP.

use std::fmt;

use http::{Method, StatusCode, Version};

use crate::error::Misuse;
use crate::fields::Fields;
use crate::grammar::{self, TargetForm};
use crate::persistence::CloseReason;

/// The capacity that is kept for the target or reason when a head is cleared for the next message.
const LINE_KEPT_MAX: usize = 1024;

/// The head of a request: method, target, version and fields.
///
/// It can be used for many requests: [`RequestHead::clear`] keeps its memory.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHead {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) form: TargetForm,
    pub(crate) version: Version,
    pub(crate) protocol: Option<Box<str>>,
    pub(crate) fields: Fields,
}

impl Default for RequestHead {
    fn default() -> Self {
        Self {
            method: Method::GET,
            target: String::new(),
            form: TargetForm::Origin,
            version: Version::HTTP_11,
            protocol: None,
            fields: Fields::new(),
        }
    }
}

impl RequestHead {
    /// A request for `target`, in any of the four forms.
    ///
    /// # Errors
    /// [`Misuse::Target`] if a character of the target may not stand in a URI, or it has none of
    /// the four forms.
    pub fn new(method: Method, target: &str) -> Result<Self, Misuse> {
        let mut head = Self { method, ..Self::default() };
        head.set_target(target)?;
        Ok(head)
    }

    /// An extended CONNECT, which requests a tunnel of a protocol such as `websocket` to a path
    /// (RFC 8441 §4). Only HTTP/2 has it.
    ///
    /// # Errors
    /// [`Misuse::Target`] if the protocol is no token, or the target does not begin with a slash or
    /// has a character that no URI may have.
    pub fn extended_connect(protocol: &str, target: &str) -> Result<Self, Misuse> {
        let is_path = target.starts_with('/');
        let fits = grammar::target_len(target.as_bytes()) == target.len();
        if !is_path || !fits || !grammar::is_token(protocol.as_bytes()) {
            return Err(Misuse::Target);
        }
        let target = target.to_owned();
        let protocol = Some(protocol.into());
        Ok(Self { method: Method::CONNECT, target, protocol, ..Self::default() })
    }

    /// Replaces the target.
    ///
    /// # Errors
    /// As [`RequestHead::new`].
    pub fn set_target(&mut self, target: &str) -> Result<(), Misuse> {
        let form = grammar::target_form(&self.method, target.as_bytes());
        self.form = form.map_err(|_| Misuse::Target)?;
        target.clone_into(&mut self.target);
        Ok(())
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.method = Method::GET;
        self.target.clear();
        self.target.shrink_to(LINE_KEPT_MAX);
        self.form = TargetForm::Origin;
        self.version = Version::HTTP_11;
        self.protocol = None;
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Replaces the method. Whether the target's form fits it is checked when the head is sent.
    pub fn set_method(&mut self, method: Method) {
        self.method = method;
    }

    /// The request-target as sent: visible ASCII.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The form of the target.
    pub fn form(&self) -> TargetForm {
        self.form
    }

    /// The path, without query; `/` where an absolute target has none, and empty for CONNECT.
    pub fn path(&self) -> &str {
        let rest = match self.form {
            TargetForm::Origin | TargetForm::Asterisk => self.target(),
            TargetForm::Authority => return "",
            TargetForm::Absolute => match self.after_scheme().find(['/', '?']) {
                Some(at) => &self.after_scheme()[at..],
                None => "/",
            },
        };
        let path = &rest[..memchr::memchr(b'?', rest.as_bytes()).unwrap_or(rest.len())];
        if path.is_empty() { "/" } else { path }
    }

    /// The query: the part behind the first `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.target().split_once('?').map(|(_, query)| query)
    }

    /// The host and port to which the request goes: from the target if it names them, else from Host
    /// (RFC 9112 §3.3).
    pub fn authority(&self) -> &str {
        match self.form {
            TargetForm::Authority => self.target(),
            TargetForm::Absolute => {
                let rest = self.after_scheme();
                &rest[..rest.find(['/', '?']).unwrap_or(rest.len())]
            }
            TargetForm::Origin | TargetForm::Asterisk => self
                .fields
                .first("host")
                .and_then(|host| std::str::from_utf8(host).ok())
                .unwrap_or_default(),
        }
    }

    fn after_scheme(&self) -> &str {
        self.target().split_once("://").map_or("", |(_, rest)| rest)
    }

    /// The version the peer speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Replaces the version. It tells which one a peer spoke; a machine sends its own.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// The protocol that an extended CONNECT requests, such as `websocket` (RFC 8441 §4).
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// The fields.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The fields, to be changed.
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?} {:?}", self.method, self.target(), self.version, self.fields)
    }
}

/// The head of a response: status, reason, version and fields.
#[derive(Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub(crate) status: StatusCode,
    pub(crate) reason: Vec<u8>,
    pub(crate) version: Version,
    pub(crate) fields: Fields,
}

impl Default for ResponseHead {
    fn default() -> Self {
        Self {
            status: StatusCode::OK,
            reason: Vec::new(),
            version: Version::HTTP_11,
            fields: Fields::new(),
        }
    }
}

impl ResponseHead {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.status = StatusCode::OK;
        self.reason.clear();
        self.reason.shrink_to(LINE_KEPT_MAX);
        self.version = Version::HTTP_11;
    }

    /// The status code.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The reason phrase as it was sent, often empty; HTTP/1 only, and without meaning.
    pub fn reason(&self) -> &[u8] {
        &self.reason
    }

    /// The version the peer speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Replaces the version. It tells which one a peer spoke; a machine sends its own.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// The fields.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }
}

impl fmt::Debug for ResponseHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {:?}", self.version, self.status, self.fields)
    }
}

/// The caller's part of the head of a response; the machine adds the framing.
#[derive(Clone, Copy, Debug)]
pub struct ResponseParts<'a> {
    /// The status.
    pub status: StatusCode,
    /// A Content-Type, if the fields do not have one.
    pub content_type: Option<&'a str>,
    /// The other fields. Transfer-Encoding, Connection and Keep-Alive are not taken from here but decided
    /// by the machine, which honours a `Connection: close`. A Content-Length declares the length of a body
    /// whose size is [unknown](BodySize::Unknown), or of the body that a response to HEAD, or a 304, does
    /// not have; otherwise it must equal the body's size.
    pub fields: Option<&'a Fields>,
    /// Date, as an IMF-fixdate, if the fields do not have one.
    pub date: Option<&'a [u8; 29]>,
    /// Why the connection is to end with this response, if the caller wants it to. Over HTTP/2,
    /// [`drain`](crate::h2::Connection::drain) is called instead.
    pub close: Option<CloseReason>,
}

impl ResponseParts<'_> {
    /// A response of that status without fields.
    pub fn new(status: StatusCode) -> Self {
        Self { status, content_type: None, fields: None, date: None, close: None }
    }
}

/// The size of a body, as far as it is known before the body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySize {
    /// Exactly this many bytes.
    Exact(u64),
    /// Not known, unless the fields have a Content-Length: then the body must have that length.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_gives_path_query_and_authority_in_each_form() {
        let mut head = RequestHead::new(Method::GET, "/a/b?c=d?e").unwrap();
        head.fields_mut().push("host", b"example.com:80").unwrap();
        assert_eq!((head.path(), head.query()), ("/a/b", Some("c=d?e")));
        assert_eq!(head.authority(), "example.com:80");

        let head = RequestHead::new(Method::GET, "http://h:81?q").unwrap();
        assert_eq!((head.path(), head.query()), ("/", Some("q")));
        assert_eq!((head.authority(), head.form()), ("h:81", TargetForm::Absolute));

        let head = RequestHead::new(Method::CONNECT, "h:443").unwrap();
        assert_eq!((head.path(), head.authority()), ("", "h:443"));
        let head = RequestHead::new(Method::OPTIONS, "*").unwrap();
        assert_eq!((head.path(), head.form()), ("*", TargetForm::Asterisk));
    }

    #[test]
    fn a_target_cannot_split_a_request() {
        for target in ["/a b", "/a\r\nX: y", "/\t", "/#f", "/ä", "", "a", "*"] {
            assert_eq!(RequestHead::new(Method::GET, target), Err(Misuse::Target), "{target:?}");
        }
    }
}
