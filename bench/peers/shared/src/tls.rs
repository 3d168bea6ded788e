//! TLS with rustls, which offers one version of HTTP.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The names of the versions in ALPN.
pub const HTTP1: &[u8] = b"http/1.1";
pub const HTTP2: &[u8] = b"h2";

/// An acceptor for the certificate in PEM files.
pub fn acceptor(certificate: &Path, key: &Path, version: &[u8]) -> io::Result<TlsAcceptor> {
    Ok(TlsAcceptor::from(Arc::new(config(certificate, key, version)?)))
}

/// The configuration for the certificate in PEM files.
pub fn config(certificate: &Path, key: &Path, version: &[u8]) -> io::Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(certificate, &error))?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![version.to_vec()];
    Ok(config)
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
