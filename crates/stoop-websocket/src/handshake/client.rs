//! [`ClientHandshake`]: the handshake of a client (RFC 6455 §4.1, RFC 8441 §5).

use std::fmt;

use stoop::rt::UpgradedStream;
use stoop::{Client, ErrorKind, Misuse, Phase, Request, Response, Switch, Upgraded, Versions};

use crate::grammar;
use crate::handshake::answer::{AnswerFault, verify};
use crate::handshake::key::new_key;
use crate::limits::Limits;
use crate::machine::Deflate;
use crate::socket::WebSocket;

/// Opens a connection to a URL, on default terms: [`ClientHandshake::connect`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = stoop::Client::new();
/// let mut socket = stoop_websocket::connect(&client, "wss://example.com/chat").await?;
/// socket.send_text("hello").await?;
/// while let Some(message) = socket.recv().await? {
///     // …
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`ClientHandshake::connect`].
pub async fn connect(
    client: &Client,
    url: &str,
) -> Result<WebSocket<UpgradedStream>, ConnectError> {
    ClientHandshake::new().connect(client, url).await
}

/// The terms on which a client opens WebSockets, and what it sends along.
///
/// ```no_run
/// # async fn example(client: stoop::Client) -> Result<(), stoop_websocket::ConnectError> {
/// use stoop_websocket::{ClientHandshake, Deflate};
///
/// let handshake = ClientHandshake::new()
///     .protocols(["chat.v2", "chat.v1"])
///     .field("authorization", "Bearer s3cr3t")
///     .deflate(Deflate::default());
/// let socket = handshake.connect(&client, "wss://example.com/chat").await?;
/// assert_eq!(socket.protocol(), Some("chat.v2"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    limits: Limits,
    protocols: Vec<String>,
    fields: Vec<(String, Vec<u8>)>,
    deflate: Option<Deflate>,
    versions: Versions,
}

impl Default for ClientHandshake {
    fn default() -> Self {
        let (protocols, fields) = (Vec::new(), Vec::new());
        let versions = Versions::Http1;
        Self { limits: Limits::default(), protocols, fields, deflate: None, versions }
    }
}

impl ClientHandshake {
    /// Default limits, no subprotocol, no compression, HTTP/1.1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the limits of the connection.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The subprotocols to offer, the preferred one first: tokens (RFC 6455 §4.1).
    pub fn protocols<P: Into<String>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.protocols = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a field to the request, such as Origin or Authorization. Those of the handshake itself have methods of
    /// their own, and are refused.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Offers to compress messages. Off by default; see [`ServerHandshake::deflate`](crate::ServerHandshake::deflate).
    pub fn deflate(mut self, deflate: Deflate) -> Self {
        self.deflate = Some(deflate);
        self
    }

    /// Over which versions of HTTP to connect: [`Versions::Http1`] by default, which every server of WebSockets
    /// speaks. [`Versions::Http2`] is a stream beside others of the client's connection to that origin (RFC 8441), and fails
    /// where the server does not allow it. [`Versions::All`] is that, and HTTP/1.1 where the server does not allow it;
    /// without TLS it is HTTP/1.1.
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Opens a connection to a URL of the schemes `ws` and `wss`, or `http` and `https`. It goes by all that the client
    /// has: its proxy, TLS, cookies, deadlines. Redirects are not followed: they are
    /// [`ConnectError::Declined`].
    ///
    /// Cancel-safe: dropped, it leaves nothing behind but, at most, a connection that is closed.
    ///
    /// # Errors
    /// [`ConnectError`] has each of them.
    pub async fn connect(
        &self,
        client: &Client,
        url: &str,
    ) -> Result<WebSocket<UpgradedStream>, ConnectError> {
        let url = http_url(url)?;
        let versions = match self.versions {
            Versions::All if url.starts_with("http:") => Versions::Http1,
            versions => versions,
        };
        if versions != Versions::Http1 {
            match self.connect_http2(client, &url, versions).await {
                Err(ConnectError::Http(error))
                    if versions == Versions::All && is_not_allowed(&error) => {}
                connected => return connected,
            }
        }
        let key = new_key();
        let request = Request::get(&url)?
            .versions(Versions::Http1)
            .with_field("upgrade", "websocket")?
            .with_field("sec-websocket-key", &key)?;
        let upgraded = switched(client, self.complete(request)?).await?;
        self.open(upgraded, Some(&key))
    }

    async fn connect_http2(
        &self,
        client: &Client,
        url: &str,
        versions: Versions,
    ) -> Result<WebSocket<UpgradedStream>, ConnectError> {
        let mut request = Request::extended_connect(url, "websocket")?;
        if versions == Versions::Http2 {
            request = request.versions(Versions::Http2);
        }
        let upgraded = switched(client, self.complete(request)?).await?;
        self.open(upgraded, None)
    }

    /// Adds what the versions have in common.
    fn complete(&self, request: Request) -> Result<Request, ConnectError> {
        let mut request = request.with_field("sec-websocket-version", "13")?;
        if let Some(other) = self.protocols.iter().find(|protocol| !grammar::is_token(protocol)) {
            return Err(ConnectError::Protocol(other.clone()));
        }
        if !self.protocols.is_empty() {
            request = request.with_field("sec-websocket-protocol", self.protocols.join(", "))?;
        }
        if let Some(deflate) = &self.deflate {
            request = request.with_field("sec-websocket-extensions", deflate.offer())?;
        }
        for (name, value) in &self.fields {
            let is_ours =
                name.get(..14).is_some_and(|it| it.eq_ignore_ascii_case("sec-websocket-"));
            if is_ours || ["upgrade", "connection"].iter().any(|it| name.eq_ignore_ascii_case(it)) {
                return Err(ConnectError::Field(name.clone()));
            }
            request = request.with_field(name, value)?;
        }
        Ok(request)
    }

    fn open(
        &self,
        upgraded: Upgraded,
        key: Option<&str>,
    ) -> Result<WebSocket<UpgradedStream>, ConnectError> {
        let Some(head) = upgraded.response_head() else {
            return Err(ConnectError::Answer(AnswerFault::Accept));
        };
        let answer = verify(head, key, &self.protocols, self.deflate.as_ref());
        let (protocol, agreed) = answer.map_err(ConnectError::Answer)?;
        let socket = WebSocket::client(stoop::rt::stream(upgraded), self.limits, agreed);
        Ok(socket.with_backlog(UpgradedStream::backlog).with_protocol(protocol.as_deref()))
    }
}

async fn switched(client: &Client, request: Request) -> Result<Upgraded, ConnectError> {
    match client.switch(request).await? {
        Switch::Accepted(upgraded) => Ok(upgraded),
        Switch::Declined(response) => Err(ConnectError::Declined(Box::new(response))),
    }
}

/// Whether the connection is one of HTTP/1.1, or the server does not allow extended CONNECT. Nothing was sent.
fn is_not_allowed(error: &stoop::Error) -> bool {
    error.phase() == Phase::Request
        && matches!(error.kind(), ErrorKind::H2Refused | ErrorKind::InvalidMessage)
}

/// The URL with the scheme that HTTP has for it (RFC 6455 §3).
fn http_url(url: &str) -> Result<String, ConnectError> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(ConnectError::Url("it has no scheme"));
    };
    // RFC 6455 §3: "Fragment identifiers are meaningless in the context of WebSocket URIs and MUST NOT be used".
    if rest.contains('#') {
        return Err(ConnectError::Url("it has a fragment"));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "ws" | "http" => Ok(format!("http://{rest}")),
        "wss" | "https" => Ok(format!("https://{rest}")),
        _ => Err(ConnectError::Url("its scheme is not ws, wss, http or https")),
    }
}

/// Why a client has no WebSocket.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL is none of a WebSocket (RFC 6455 §3), for this reason.
    Url(&'static str),
    /// This subprotocol of the caller's is no token.
    Protocol(String),
    /// The caller adds this field, which belongs to the handshake.
    Field(String),
    /// The request failed.
    Http(stoop::Error),
    /// The server answers something else: a redirect, an error, or a page.
    Declined(Box<Response>),
    /// The server opens a connection, but not the one that was asked for.
    Answer(AnswerFault),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(reason) => {
                write!(f, "the URL is none of a WebSocket: {reason} (RFC 6455 §3)")
            }
            Self::Protocol(protocol) => {
                write!(f, "the subprotocol {protocol:?} is no token (RFC 6455 §4.1)")
            }
            Self::Field(name) => write!(f, "the field {name:?} belongs to the handshake"),
            Self::Http(error) => error.fmt(f),
            Self::Declined(response) => {
                write!(f, "the server opens no WebSocket: it answers {}", response.status())
            }
            Self::Answer(fault) => write!(f, "the server's handshake is wrong: {fault}"),
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Http(error) => Some(error),
            Self::Answer(fault) => Some(fault),
            Self::Url(_) | Self::Protocol(_) | Self::Field(_) | Self::Declined(_) => None,
        }
    }
}

impl From<stoop::Error> for ConnectError {
    fn from(error: stoop::Error) -> Self {
        Self::Http(error)
    }
}

impl From<Misuse> for ConnectError {
    fn from(misuse: Misuse) -> Self {
        Self::Http(misuse.into())
    }
}
