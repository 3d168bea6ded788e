//! Tunnels through HTTP proxies: CONNECT (RFC 9110 §9.3.6), over HTTP/1.1 or HTTP/2.

use std::future::Future;
use std::pin::Pin;

use http::StatusCode;
use stoop_io::AnyTransport;
use stoop_proto::Fields;
use url::Url;

use super::server::Proxy;
use crate::client::observe::RequestObserver;
use crate::error::{Error, ErrorKind, Phase};
use crate::request::Request;

/// Asks a proxy for a tunnel, and tells the observer of it.
pub(crate) type OpenTunnel = Box<dyn Fn(Request, RequestObserver) -> Opening + Send + Sync>;

/// A tunnel that is being opened.
type Opening = Pin<Box<dyn Future<Output = Result<AnyTransport, Error>> + Send>>;

/// The request for a tunnel to the host and port of a URL.
pub(crate) fn request(proxy: &Proxy, url: &Url) -> Result<Request, Error> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let mut request = Request::connect(proxy.url().as_str(), &format!("{host}:{port}"))?;
    for field in proxy.fields()?.iter() {
        request.fields_mut().push(field.name(), field.value())?;
    }
    Ok(request)
}

/// What it means that a proxy opens no tunnel.
pub(crate) fn declined(status: StatusCode, fields: &Fields) -> Error {
    match status {
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => wants_credentials(fields),
        status => {
            let refused = Error::new(ErrorKind::ProxyRefused, Phase::Connect);
            refused.with_detail(format_args!("it answered CONNECT by {status}"))
        }
    }
}

/// The error that a 407 is (RFC 9110 §15.5.8).
pub(crate) fn wants_credentials(fields: &Fields) -> Error {
    let error = Error::new(ErrorKind::ProxyAuth, Phase::Connect);
    match fields.first("proxy-authenticate") {
        Some(challenge) => {
            let challenge = String::from_utf8_lossy(challenge);
            error.with_detail(format_args!("it asks for {challenge}"))
        }
        None => error.with_detail("it answered by 407"),
    }
}
