//! A small, strict client: resolves by the testbed's own name server, follows redirects, reads the
//! body to its end, and has one deadline for all of that. It knows HTTP only as far as it must.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use stoop_io::{ClientTls, TlsError, TlsErrorKind};
use stoop_testbed::is_body;
use tokio::time::timeout;

use crate::raw::{RawConnection, trusting};
use crate::resolve::resolve;

/// The result of a fetch: a status or an error kind, and the body's length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchOutcome {
    pub(crate) code: String,
    pub(crate) length: u64,
    pub(crate) hops: u32,
}

pub(crate) struct Client {
    dns: SocketAddr,
    tls: ClientTls,
    deadline: Duration,
}

type ErrorWord = &'static str;

const REDIRECTS_MAX: u32 = 10;

impl Client {
    pub(crate) fn new(dns: SocketAddr, ca_pem: &str, deadline: Duration) -> Self {
        Self { dns, tls: trusting(ca_pem), deadline }
    }

    pub(crate) async fn fetch(&self, url: &str) -> FetchOutcome {
        let mut hops = 0;
        let found = timeout(self.deadline, self.follow(url, &mut hops)).await;
        let (code, length) = match found.unwrap_or(Err("total_timeout")) {
            Ok((status, length)) => (status.to_string(), length),
            Err(kind) => (kind.to_owned(), 0),
        };
        FetchOutcome { code, length, hops }
    }

    async fn follow(&self, url: &str, hops: &mut u32) -> Result<(u16, u64), ErrorWord> {
        let mut url = url.to_owned();
        loop {
            let answer = self.exchange(&url).await?;
            let Some(location) = answer.location else { return Ok((answer.status, answer.length)) };
            *hops += 1;
            if *hops > REDIRECTS_MAX {
                return Err("redirect_limit");
            }
            url = resolve_reference(&url, &location);
        }
    }

    async fn exchange(&self, url: &str) -> Result<FetchedResponse, ErrorWord> {
        let (scheme, rest) = url.split_once("://").ok_or("invalid_url")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let default = if scheme == "https" { ":443" } else { ":80" };
        let (name, port) = authority.split_once(':').unwrap_or((authority, &default[1..]));
        let address = match resolve(self.dns, name).await? {
            IpAddr::V4(v4) if v4.is_loopback() => (v4, port.parse().map_err(|_| "invalid_url")?),
            _ => return Err("internal"),
        };
        let connected = match scheme {
            "https" => RawConnection::secure(address.into(), name, &self.tls).await,
            _ => RawConnection::plain(address.into()).await,
        };
        let mut connection = connected.map_err(|error| connect_kind(&error))?;
        let request = format!("GET /{path} HTTP/1.1\r\nhost: {authority}\r\n\r\n");
        connection.send(request.as_bytes()).await.map_err(|error| kind(&error))?;
        receive(&mut connection).await
    }
}

fn connect_kind(error: &io::Error) -> ErrorWord {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
    match tls.map(TlsError::kind) {
        None if error.kind() == io::ErrorKind::ConnectionRefused => "connect_refused",
        None => "connect_reset",
        Some(TlsErrorKind::CertificateUntrusted) => "tls_cert_untrusted",
        Some(TlsErrorKind::CertificateName) => "tls_cert_name",
        Some(TlsErrorKind::CertificateExpired) => "tls_cert_expired",
        Some(_) => "tls_handshake",
    }
}

fn kind(error: &io::Error) -> ErrorWord {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "reset",
        _ => "closed_early",
    }
}

struct FetchedResponse {
    status: u16,
    location: Option<String>,
    length: u64,
}

async fn receive(connection: &mut RawConnection) -> Result<FetchedResponse, ErrorWord> {
    let mut bytes = Vec::new();
    let (head, status, location, length, chunked) = loop {
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut fields);
        if let httparse::Status::Complete(head) = response.parse(&bytes).map_err(|_| "h1_parse")? {
            let field = |name: &str| {
                let found = response.headers.iter().find(|f| f.name.eq_ignore_ascii_case(name));
                found.map(|f| String::from_utf8_lossy(f.value).into_owned())
            };
            let length = field("content-length").map(|l| l.parse::<u64>().unwrap());
            let status = response.code.unwrap_or_default();
            let length = if status == 204 { Some(0) } else { length };
            break (head, status, field("location"), length, field("transfer-encoding").is_some());
        }
        more(connection, &mut bytes).await?;
    };
    bytes.drain(..head);
    let length = if chunked {
        let mut total = 0;
        loop {
            let size = line(connection, &mut bytes).await?;
            let size = u64::from_str_radix(&size, 16).map_err(|_| "h1_parse")?;
            if size == 0 {
                break;
            }
            body(connection, &mut bytes, total, size).await?;
            total += size;
            if !line(connection, &mut bytes).await?.is_empty() {
                return Err("h1_parse");
            }
        }
        while !line(connection, &mut bytes).await?.is_empty() {}
        total
    } else if let Some(length) = length {
        body(connection, &mut bytes, 0, length).await?;
        length
    } else {
        let mut total = 0;
        loop {
            let length = bytes.len() as u64;
            body(connection, &mut bytes, total, length).await?;
            total += length;
            if !connection.receive(&mut bytes).await.map_err(|error| kind(&error))? {
                break total;
            }
        }
    };
    Ok(FetchedResponse { status, location, length })
}

async fn more(connection: &mut RawConnection, bytes: &mut Vec<u8>) -> Result<(), ErrorWord> {
    match connection.receive(bytes).await {
        Ok(true) => Ok(()),
        Ok(false) => Err("closed_early"),
        Err(error) => Err(kind(&error)),
    }
}

async fn line(connection: &mut RawConnection, bytes: &mut Vec<u8>) -> Result<String, ErrorWord> {
    loop {
        if let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
            let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
            bytes.drain(..end + 2);
            return Ok(line);
        }
        more(connection, bytes).await?;
    }
}

/// Takes `length` bytes of the body, of which `offset` came before, and looks at each.
async fn body(
    connection: &mut RawConnection,
    bytes: &mut Vec<u8>,
    mut offset: u64,
    length: u64,
) -> Result<(), ErrorWord> {
    let end = offset + length;
    loop {
        let here = bytes.len().min((end - offset) as usize);
        assert!(is_body(offset, &bytes[..here]), "the body differs");
        bytes.drain(..here);
        offset += here as u64;
        if offset == end {
            return Ok(());
        }
        more(connection, bytes).await?;
    }
}

/// RFC 3986 §5.2, for the forms the testbed uses.
fn resolve_reference(base: &str, reference: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if reference.contains("://") {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.starts_with('/') {
        format!("{scheme}://{authority}{reference}")
    } else {
        let directory = path.rfind('/').map_or("", |slash| &path[..=slash]);
        format!("{scheme}://{authority}/{directory}{reference}")
    }
}
