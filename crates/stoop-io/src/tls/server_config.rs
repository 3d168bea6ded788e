//! Makes a configuration of rustls of what a server's builder names.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;

use super::by_name::CertificatesByName;
use super::config_error::TlsConfigError;
use super::limits::{ALPN_DEFAULT, HANDSHAKE_BYTES_MAX, HELLO_BYTES_MAX, TICKETS_PER_CONNECTION};
use super::pem::Pem;
use super::provider::provider;
use super::trust::read_roots;

/// What a configuration is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerTlsParts {
    pub(super) certificate: Option<(Pem, Pem)>,
    pub(super) further: Vec<(Pem, Pem)>,
    pub(super) refuses_unknown_names: bool,
    pub(super) client_cas: Vec<Pem>,
    pub(super) anonymous_clients: bool,
    pub(super) alpn: Option<Vec<Vec<u8>>>,
}

/// A configuration that can be used.
pub(super) struct BuiltConfig {
    pub(super) config: Arc<ServerConfig>,
    /// The protocols to accept were not configured.
    pub(super) alpn_is_default: bool,
    /// Ciphertext of a client that may wait during the handshake.
    pub(super) hello_bytes_max: usize,
}

/// Reads the files and builds. Its key for tickets, and its memory of sessions, are new.
pub(super) fn build(from: &ServerTlsParts) -> Result<BuiltConfig, TlsConfigError> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(internal)?
        .with_client_cert_verifier(client_verifier(from)?)
        .with_cert_resolver(Arc::new(certificates(from)?));
    config.alpn_protocols = from.alpn.clone().unwrap_or_else(|| vec![ALPN_DEFAULT.to_vec()]);
    // The preferred suite is ours, for its cost, whatever the client prefers.
    config.ignore_client_order = true;
    config.send_tls13_tickets = TICKETS_PER_CONNECTION;
    #[cfg(feature = "tls")]
    let ticketer = rustls::crypto::aws_lc_rs::Ticketer::new();
    #[cfg(not(feature = "tls"))]
    let ticketer = rustls::crypto::ring::Ticketer::new();
    config.ticketer = ticketer.map_err(internal)?;
    let hello_bytes_max =
        if from.client_cas.is_empty() { HELLO_BYTES_MAX } else { HANDSHAKE_BYTES_MAX };
    let alpn_is_default = from.alpn.is_none();
    Ok(BuiltConfig { config: Arc::new(config), alpn_is_default, hello_bytes_max })
}

fn internal(error: impl ToString) -> TlsConfigError {
    TlsConfigError::new(None, error.to_string())
}

fn client_verifier(from: &ServerTlsParts) -> Result<Arc<dyn ClientCertVerifier>, TlsConfigError> {
    if from.client_cas.is_empty() {
        if from.anonymous_clients {
            return Err(internal("anonymous clients are allowed, but no client CA named"));
        }
        return Ok(Arc::new(NoClientAuth));
    }
    let roots = Arc::new(read_roots(&from.client_cas)?.0);
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
    let builder = if from.anonymous_clients { builder.allow_unauthenticated() } else { builder };
    builder.build().map_err(internal)
}

fn certificates(from: &ServerTlsParts) -> Result<CertificatesByName, TlsConfigError> {
    let Some(first) = &from.certificate else {
        return Err(internal("a server needs a certificate and its key"));
    };
    let mut certificates = CertificatesByName::default();
    let own = certified(first)?;
    let own_names = certificates.add(&own);
    if !from.refuses_unknown_names {
        certificates.add_default(&own);
    } else if own_names.is_empty() {
        return Err(unnamed(&first.0));
    }
    for further in &from.further {
        let certified = certified(further)?;
        let names = certificates.add(&certified);
        if names.is_empty() {
            return Err(unnamed(&further.0));
        }
        // Of the same names with another kind of key.
        if names == own_names && !from.refuses_unknown_names {
            certificates.add_default(&certified);
        }
    }
    Ok(certificates)
}

fn certified((chain, key): &(Pem, Pem)) -> Result<Arc<CertifiedKey>, TlsConfigError> {
    CertifiedKey::from_der(chain.certificates()?, key.key()?, &provider())
        .map(Arc::new)
        .map_err(|error| TlsConfigError::unusable(chain.path(), key.path(), &error))
}

fn unnamed(chain: &Pem) -> TlsConfigError {
    TlsConfigError::new(
        chain.path(),
        "the certificate would never be chosen: it has no DNS name (subjectAltName)",
    )
}
