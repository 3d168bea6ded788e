//! The server's configuration of TLS: which certificate it shows, which clients it asks for one, what
//! it accepts.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};

use super::config_error::TlsConfigError;
use super::error::TlsError;
use super::limits::{ALPN_DEFAULT, HANDSHAKE_BYTES_MAX, HELLO_BYTES_MAX, TICKETS_PER_CONNECTION};
use super::machine::Machine;
use super::pem::Pem;
use super::provider::provider;
use super::stream::Tls;
use super::trust::read_roots;
use crate::any_transport::AnyTransport;

/// A server's configuration of TLS. Cheap to clone.
///
/// Of the ciphers a client offers AES-128-GCM is preferred, in TLS 1.3 and 1.2: it costs least.
///
/// Sessions can be resumed: by tickets, which cost the server no memory and whose key changes every
/// six hours.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    /// The protocols to accept were not configured.
    alpn_is_default: bool,
    /// Ciphertext of a client that may wait during the handshake.
    hello_bytes_max: usize,
}

impl ServerTls {
    /// Starts a configuration: ALPN `http/1.1`, unless the server that uses it sets another default;
    /// clients are not asked for certificates.
    pub fn builder() -> ServerTlsBuilder {
        ServerTlsBuilder::default()
    }

    /// The same configuration, with these protocols, the preferred one first, if none were configured.
    pub fn with_alpn_default(mut self, protocols: &[&[u8]]) -> Self {
        if self.alpn_is_default {
            let config = Arc::make_mut(&mut self.config);
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        }
        self
    }

    /// Begins a session over `inner`, a connected transport. The handshake runs as the result is
    /// polled.
    ///
    /// # Errors
    /// Only if the configuration is unusable, which building it has ruled out.
    pub fn accept(&self, inner: impl Into<AnyTransport>) -> Result<Tls, TlsError> {
        const PEER: &str = "the client";
        match Machine::server(self.config.clone()) {
            Ok(server) => Ok(Tls::new(inner.into(), server, PEER, self.hello_bytes_max)),
            Err(error) => Err(TlsError::explain(&error, PEER, &[])),
        }
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

/// Makes a [`ServerTls`].
#[derive(Clone, Debug, Default)]
pub struct ServerTlsBuilder {
    certificate: Option<(Pem, Pem)>,
    client_cas: Vec<Pem>,
    anonymous_clients: bool,
    alpn: Option<Vec<Vec<u8>>>,
}

impl ServerTlsBuilder {
    /// Shows this certificate chain (the server's own first). Both files are PEM; the key has no
    /// passphrase. This or [`ServerTlsBuilder::certificate_pem`] is required.
    pub fn certificate_files(mut self, chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.certificate = Some((Pem::File(chain.into()), Pem::File(key.into())));
        self
    }

    /// Shows this certificate chain (the server's own first). Both are PEM; the key has no
    /// passphrase.
    pub fn certificate_pem(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.certificate = Some((Pem::Bytes(chain.into()), Pem::Bytes(key.into())));
        self
    }

    /// Asks every client for a certificate issued by a CA of this PEM file, and refuses those
    /// without. May be repeated.
    pub fn client_ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.client_cas.push(Pem::File(path.into()));
        self
    }

    /// Asks every client for a certificate issued by a CA of this PEM text, and refuses those
    /// without. May be repeated.
    pub fn client_ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.client_cas.push(Pem::Bytes(pem.into()));
        self
    }

    /// Lets clients in that show no certificate although one was asked for; one that is shown must
    /// still be good. Default: false. Needs a client CA.
    pub fn allow_anonymous_clients(mut self, allowed: bool) -> Self {
        self.anonymous_clients = allowed;
        self
    }

    /// Accepts these protocols by ALPN, the preferred one first; none: ignores what clients offer.
    /// A client that offers protocols of which none is here is refused (RFC 7301 §3.2). Default:
    /// what the server that uses it speaks, else `http/1.1`.
    pub fn alpn<P: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.alpn = Some(protocols.into_iter().map(Into::into).collect());
        self
    }

    /// Reads the files and builds.
    ///
    /// # Errors
    /// If there is no certificate, or a file cannot be read or used, saying which and why.
    pub fn build(self) -> Result<ServerTls, TlsConfigError> {
        let internal = |error: String| TlsConfigError::new(None, error);
        let Some((chain, key)) = &self.certificate else {
            return Err(internal("a server needs a certificate and its key".into()));
        };
        let clients = if self.client_cas.is_empty() {
            if self.anonymous_clients {
                return Err(internal(
                    "anonymous clients are allowed, but no client CA named".into(),
                ));
            }
            Arc::new(NoClientAuth)
        } else {
            let roots = Arc::new(read_roots(&self.client_cas)?.0);
            let builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
            let builder =
                if self.anonymous_clients { builder.allow_unauthenticated() } else { builder };
            builder.build().map_err(|error| internal(error.to_string()))?
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| internal(error.to_string()))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain.certificates()?, key.key()?)
            .map_err(|error| TlsConfigError::unusable(key.path(), &error))?;
        let alpn_is_default = self.alpn.is_none();
        config.alpn_protocols = self.alpn.unwrap_or_else(|| vec![ALPN_DEFAULT.to_vec()]);
        // The preferred suite is ours, for its cost, whatever the client prefers.
        config.ignore_client_order = true;
        config.send_tls13_tickets = TICKETS_PER_CONNECTION;
        #[cfg(feature = "tls")]
        let ticketer = rustls::crypto::aws_lc_rs::Ticketer::new();
        #[cfg(not(feature = "tls"))]
        let ticketer = rustls::crypto::ring::Ticketer::new();
        config.ticketer = ticketer.map_err(|error| internal(error.to_string()))?;
        let hello_bytes_max =
            if self.client_cas.is_empty() { HELLO_BYTES_MAX } else { HANDSHAKE_BYTES_MAX };
        Ok(ServerTls { config: Arc::new(config), alpn_is_default, hello_bytes_max })
    }
}
