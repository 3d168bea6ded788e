//! Single requests, sent without an HTTP library: to check that a contender is up and answers as all the
//! others do, and to use connections once that then stay idle.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::http2::{self, Scheme};
use crate::websocket::WebSocketClient;

pub(crate) const BODY: &str = "Hello, world!";
/// The fields that every contender sends; the report names those that send more.
const EXPECTED_FIELDS: [&str; 3] = ["content-type", "content-length", "date"];
const RESPONSE_BYTES_MAX: usize = 4096;
const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a server, over TLS or not.
pub(crate) trait ByteStream: Read + Write {}
impl<T: Read + Write> ByteStream for T {}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SessionKind {
    Http1,
    Http2,
    /// HTTP/1.1, with the content in files.
    Files,
    WebSocket,
}

/// Opens connections to servers, over TLS if it is given a CA certificate to trust.
pub(crate) struct ServerConnector {
    tls: Option<Arc<ClientConfig>>,
    kind: SessionKind,
}

/// A connection on which requests can be sent.
pub(crate) enum Session {
    Http1(Box<dyn ByteStream>),
    Http2(Box<http2::Http2Client<Box<dyn ByteStream>>>),
    Files(Box<dyn ByteStream>),
    WebSocket(WebSocketClient<Box<dyn ByteStream>>),
}

impl ServerConnector {
    pub(crate) fn new(ca: Option<&Path>, kind: SessionKind) -> Result<Self> {
        let config = ca.map(|ca| client_config(ca, kind)).transpose();
        Ok(Self { tls: config.context("the CA certificate of this run")?, kind })
    }

    /// Begins to use a connection that this opened.
    pub(crate) fn session(&self, connection: Box<dyn ByteStream>) -> Result<Session> {
        let scheme = if self.tls.is_some() { Scheme::Https } else { Scheme::Http };
        Ok(match self.kind {
            SessionKind::Http1 => Session::Http1(connection),
            SessionKind::Http2 => {
                Session::Http2(Box::new(http2::Http2Client::open(connection, scheme)?))
            }
            SessionKind::Files => Session::Files(connection),
            SessionKind::WebSocket => Session::WebSocket(WebSocketClient::open(connection)?),
        })
    }

    pub(crate) fn connect(&self, address: SocketAddr) -> Result<Box<dyn ByteStream>> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true).context("TCP_NODELAY")?;
        stream.set_read_timeout(Some(TIMEOUT)).context("a read timeout")?;
        stream.set_write_timeout(Some(TIMEOUT)).context("a write timeout")?;
        let Some(config) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::from(address.ip());
        let session = ClientConnection::new(Arc::clone(config), name).context("a TLS session")?;
        Ok(Box::new(StreamOwned::new(session, stream)))
    }
}

fn client_config(ca: &Path, kind: SessionKind) -> Result<Arc<ClientConfig>> {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca)?)?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = match kind {
        SessionKind::Http2 => vec![b"h2".to_vec()],
        SessionKind::Http1 | SessionKind::Files | SessionKind::WebSocket => {
            vec![b"http/1.1".to_vec()]
        }
    };
    // Every connection belongs to a new client.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

impl Session {
    /// Sends a small GET, and returns the head of the response; an error unless it is 200 with the agreed body. Over
    /// WebSocket it sends a message, and there is no head; an error unless it comes back.
    pub(crate) fn hello(&mut self) -> Result<String> {
        match self {
            Self::Http1(connection) => hello(&mut **connection, "/"),
            Self::Files(connection) => hello(&mut **connection, "/hello.txt"),
            Self::WebSocket(client) => client.echo(BODY.as_bytes()).map(|()| String::new()),
            Self::Http2(client) => {
                let http2::Http2Response { head, body } = client.request("/", None)?;
                let is_agreed = head.starts_with("HTTP/2 200 ") && body == BODY.as_bytes();
                ensure!(is_agreed, "not the agreed response: {head:?}");
                Ok(head)
            }
        }
    }
}

fn hello(stream: &mut dyn ByteStream, path: &str) -> Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.flush())
        .context("cannot send a request")?;
    let mut response = Vec::new();
    let mut piece = [0; 1024];
    while !response.ends_with(BODY.as_bytes()) {
        let count = stream.read(&mut piece).context("no response")?;
        if count == 0 || response.len() > RESPONSE_BYTES_MAX {
            bail!("not the agreed response: {:?}", String::from_utf8_lossy(&response));
        }
        response.extend_from_slice(&piece[..count]);
    }
    let response = String::from_utf8_lossy(&response).into_owned();
    match response.split_once("\r\n\r\n") {
        Some((head, BODY)) if head.starts_with("HTTP/1.1 200 ") => Ok(head.to_owned()),
        _ => bail!("not the agreed response: {response:?}"),
    }
}

/// The fields of `head` besides the agreed ones; an error if one of those is missing or differs. A
/// parameter after the agreed value, such as a charset, makes a response longer and is no advantage.
pub(crate) fn extra_fields(head: &str) -> Result<Vec<String>> {
    let fields: Vec<(String, &str)> = head
        .split("\r\n")
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    for (name, value) in [("content-type", "text/plain"), ("content-length", "13")] {
        let agreed = |v: &str| v == value || v.starts_with(&format!("{value};"));
        if !fields.iter().any(|(n, v)| n == name && agreed(v)) {
            bail!("the response has no `{name}: {value}`, as all others have: {head:?}");
        }
    }
    if !fields.iter().any(|(name, _)| name == "date") {
        bail!("the response has no date, as all others have: {head:?}");
    }
    let extra = fields.into_iter().filter(|(name, _)| !EXPECTED_FIELDS.contains(&name.as_str()));
    Ok(extra.map(|(name, value)| format!("{name}: {value}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\
                        Date: Sat, 21 Nov 2026 00:00:00 GMT";

    #[test]
    fn the_agreed_fields_are_required_in_any_case_and_others_are_named() {
        assert_eq!(extra_fields(HEAD).unwrap(), Vec::<String>::new());
        let more = format!("{HEAD}\r\nServer: nginx");
        assert_eq!(extra_fields(&more).unwrap(), ["server: nginx"]);
        let charset = HEAD.replace("plain", "plain; charset=utf-8");
        assert_eq!(extra_fields(&charset).unwrap(), Vec::<String>::new());
        assert!(extra_fields(&HEAD.replace("plain", "plainer")).is_err());
        assert!(extra_fields(&HEAD.replace("13", "12")).is_err());
        assert!(extra_fields("HTTP/1.1 200 OK\r\nDate: now").is_err());
    }
}
