//! [`Refusal`]: why a server does not open a connection, as a response.

use std::fmt;

use stoop::{IntoResponse, Response, StatusCode};

/// What is wrong with a request for a WebSocket. As a response it says so in its text.
///
/// ```
/// use stoop::{IntoResponse, Request};
/// use stoop_websocket::{Refusal, ServerHandshake};
///
/// let request = Request::get("/chat")?;
/// let refusal = ServerHandshake::new().prepare(&request).unwrap_err();
/// assert_eq!(refusal, Refusal::NotWebSocket);
/// assert_eq!(refusal.into_response().status(), 426);
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The method is not GET: 405.
    Method,
    /// The request is HTTP/1.0: 426.
    HttpVersion,
    /// Upgrade does not list `websocket`: 426.
    NotWebSocket,
    /// The request came over HTTP/2, and is no extended CONNECT for `websocket`: 400.
    NotExtendedConnect,
    /// Connection does not list `upgrade`, although Upgrade lists `websocket`: 400.
    Connection,
    /// Sec-WebSocket-Key is missing, repeated, or not the base64 of 16 bytes: 400.
    Key,
    /// Sec-WebSocket-Version is not 13: 426, with the version that is.
    Version,
    /// The page that opens the connection is of an origin that may not: 403.
    Origin,
    /// Sec-WebSocket-Protocol is no list of tokens: 400.
    Protocols,
    /// Sec-WebSocket-Extensions is no list of extensions: 400.
    Extensions,
}

impl Refusal {
    /// The status that answers it.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::HttpVersion | Self::NotWebSocket | Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::NotExtendedConnect
            | Self::Connection
            | Self::Key
            | Self::Protocols
            | Self::Extensions => StatusCode::BAD_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Method => "a WebSocket is requested by GET (RFC 6455 §4.1)",
            Self::HttpVersion => "a WebSocket needs HTTP/1.1 at least (RFC 6455 §4.1)",
            Self::NotWebSocket => "Upgrade does not list websocket (RFC 6455 §4.1)",
            Self::NotExtendedConnect => {
                "over HTTP/2 a WebSocket is requested by an extended CONNECT (RFC 8441 §5)"
            }
            Self::Connection => "Connection does not list upgrade (RFC 6455 §4.1)",
            Self::Key => "Sec-WebSocket-Key is not one value of 16 bytes in base64 (RFC 6455 §4.1)",
            Self::Version => "Sec-WebSocket-Version is not 13 (RFC 6455 §4.4)",
            Self::Origin => "pages of this origin may not connect (RFC 6455 §10.2)",
            Self::Protocols => "Sec-WebSocket-Protocol is not a list of tokens (RFC 6455 §4.1)",
            Self::Extensions => {
                "Sec-WebSocket-Extensions is not a list of extensions (RFC 6455 §9.1)"
            }
        }
    }

    /// The field that a status has to come with.
    const fn field(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Method => Some(("allow", "GET")),
            Self::Version => Some(("sec-websocket-version", "13")),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Refusal {}

impl IntoResponse for Refusal {
    type Body = stoop::Body;

    fn into_response(self) -> Response {
        let text = format!("{self}\n");
        let mut response = Response::from_text(text).with_status(self.status());
        if self.status() == StatusCode::UPGRADE_REQUIRED {
            // RFC 9110 §15.5.22: 426 says what to upgrade to.
            response = response.with_field("upgrade", "websocket").expect("a value without CR LF");
        }
        if let Some((name, value)) = self.field() {
            response = response.with_field(name, value).expect("a value without CR LF");
        }
        response
    }
}
