//! TLS over a connection that was made.

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use std::future::poll_fn;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use std::io;

use stoop_io::AnyTransport;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::{ClientTls, TlsError, TlsErrorKind};
use url::Url;

use crate::client::terms::ConnectLimits;
use crate::error::{Error, ErrorKind, Phase};
use crate::versions::Versions;

/// Speaks TLS over a connection, with the host of a URL.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub(super) async fn secure(
    tls: &ClientTls,
    io: AnyTransport,
    url: &Url,
    versions: Versions,
    terms: ConnectLimits<'_>,
) -> Result<AnyTransport, Error> {
    let name = url.host_str().unwrap_or_default();
    // What is to be spoken, whatever the configuration was made for.
    let alpn = if tls.offers_alpn() { versions.offered() } else { &[] };
    let session = tls.connect_with_alpn(io, name, alpn);
    let mut session = session.map_err(tls_error)?;
    let handshake = poll_fn(|cx| session.poll_handshake(cx));
    let done = terms.within(terms.time.tls, Phase::Tls, handshake).await?;
    done.map_err(tls_error)?;
    Ok(session.into())
}

/// Says that there is no TLS.
#[cfg(not(any(feature = "tls", feature = "tls-ring")))]
pub(super) async fn secure(
    _: AnyTransport,
    _: &Url,
    _: Versions,
    _: ConnectLimits<'_>,
) -> Result<AnyTransport, Error> {
    let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
    Err(error.with_detail("https needs the feature `tls`"))
}

/// What an error of a session means.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
fn tls_error(error: TlsError) -> Error {
    let kind = match error.kind() {
        TlsErrorKind::CertificateExpired => ErrorKind::TlsCertExpired,
        TlsErrorKind::CertificateName => ErrorKind::TlsCertName,
        TlsErrorKind::CertificateUntrusted
        | TlsErrorKind::CertificateInvalid
        | TlsErrorKind::KeyNotPinned => ErrorKind::TlsCertUntrusted,
        TlsErrorKind::InvalidName => ErrorKind::InvalidUrl,
        TlsErrorKind::Io(io::ErrorKind::ConnectionReset) => ErrorKind::Reset,
        TlsErrorKind::Closed | TlsErrorKind::Io(_) => ErrorKind::ClosedEarly,
        TlsErrorKind::Handshake
        | TlsErrorKind::NotTls
        | TlsErrorKind::CertificateMissing
        | TlsErrorKind::Alert(_) => ErrorKind::TlsHandshake,
    };
    Error::new(kind, Phase::Tls).with_source(error)
}
