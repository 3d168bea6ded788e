//! The server's configuration of TLS: which certificates it shows, which clients it asks for one, what
//! it accepts; and how it is replaced while servers use it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::ServerConfig;

use super::config_error::TlsConfigError;
use super::error::TlsError;
use super::machine::Machine;
use super::pem::Pem;
use super::server_config::{BuiltConfig, ServerTlsParts, build};
use super::stream::Tls;
use crate::any_transport::AnyTransport;

/// A server's configuration of TLS. Cheap to clone; what is [reloaded](Self::reload) is so for all clones, and for all
/// servers that they were given to.
///
/// Of the ciphers a client offers AES-128-GCM is preferred, in TLS 1.3 and 1.2: it costs least.
///
/// Sessions can be resumed: by tickets, which cost the server no memory and whose key changes every
/// six hours, and with each reload.
#[derive(Clone)]
pub struct ServerTls {
    shared: Arc<SharedConfig>,
    /// Which of the variants is this one's.
    variant: usize,
}

/// What all clones have in common.
struct SharedConfig {
    /// What it was built of. Locked as long as it is read again, so that what was read first does not replace what was
    /// read later.
    source: Mutex<ServerTlsBuilder>,
    /// Locked for one clone of an `Arc` with each handshake.
    current: RwLock<CurrentConfig>,
}

struct CurrentConfig {
    /// As it was configured.
    built: BuiltConfig,
    /// The same with other protocols, where none were configured. The first is as it was configured.
    variants: Vec<AlpnVariant>,
}

struct AlpnVariant {
    protocols: Option<Vec<Vec<u8>>>,
    config: Arc<ServerConfig>,
}

impl AlpnVariant {
    fn new(built: &BuiltConfig, protocols: Option<Vec<Vec<u8>>>) -> Self {
        let mut config = built.config.clone();
        if built.alpn_is_default
            && let Some(protocols) = &protocols
        {
            Arc::make_mut(&mut config).alpn_protocols.clone_from(protocols);
        }
        Self { protocols, config }
    }
}

impl ServerTls {
    /// Starts a configuration: ALPN `http/1.1`, unless the server that uses it sets another default;
    /// clients are not asked for certificates.
    pub fn builder() -> ServerTlsBuilder {
        ServerTlsBuilder::default()
    }

    /// Reads again the files that it was built of, and uses them for the handshakes that begin from now on. What was
    /// given as PEM text stays. Reading blocks the thread.
    ///
    /// Connections go on with what they were begun with. No session from before can be resumed, so that each client
    /// is verified by the CAs that hold now, and each sees the certificates of now.
    ///
    /// ```no_run
    /// # fn renewed(tls: &stoop_io::ServerTls) {
    /// if let Err(error) = tls.reload() {
    ///     eprintln!("the certificates from before stay: {error}");
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ServerTlsBuilder::build`]; what was used before is used on.
    pub fn reload(&self) -> Result<(), TlsConfigError> {
        let source = self.shared.source.lock().unwrap_or_else(PoisonError::into_inner);
        self.use_from_now_on(build(&source.parts)?);
        Ok(())
    }

    /// Uses another configuration for the handshakes that begin from now on: other certificates, or other CAs of
    /// clients; as [`reload`](Self::reload), which from now on reads the files of this one.
    ///
    /// # Errors
    /// As [`ServerTlsBuilder::build`]; what was used before is used on.
    pub fn replace(&self, by: ServerTlsBuilder) -> Result<(), TlsConfigError> {
        let mut source = self.shared.source.lock().unwrap_or_else(PoisonError::into_inner);
        self.use_from_now_on(build(&by.parts)?);
        *source = by;
        Ok(())
    }

    /// All of it at once.
    fn use_from_now_on(&self, built: BuiltConfig) {
        let mut current = self.shared.current.write().unwrap_or_else(PoisonError::into_inner);
        for variant in &mut current.variants {
            *variant = AlpnVariant::new(&built, variant.protocols.take());
        }
        current.built = built;
    }

    /// The same configuration, with these protocols, the preferred one first, if none were configured.
    pub fn with_alpn_default(mut self, protocols: &[&[u8]]) -> Self {
        let protocols = Some(protocols.iter().map(|name| name.to_vec()).collect());
        let mut current = self.shared.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_it = |variant: &AlpnVariant| variant.protocols == protocols;
        self.variant = current.variants.iter().position(is_it).unwrap_or_else(|| {
            let variant = AlpnVariant::new(&current.built, protocols);
            current.variants.push(variant);
            current.variants.len() - 1
        });
        drop(current);
        self
    }

    /// Begins a session over `inner`, a connected transport. The handshake runs as the result is
    /// polled.
    ///
    /// # Errors
    /// Only if the configuration is unusable, which building it has ruled out.
    pub fn accept(&self, inner: impl Into<AnyTransport>) -> Result<Tls, TlsError> {
        const PEER: &str = "the client";
        let (config, hello_bytes_max) = {
            let current = self.shared.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.variants[self.variant].config.clone(), current.built.hello_bytes_max)
        };
        match Machine::server(config) {
            Ok(server) => Ok(Tls::new(inner.into(), server, PEER, hello_bytes_max)),
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
///
/// A server of several names has a certificate for each:
///
/// ```
/// # fn example() -> Result<(), stoop_io::TlsConfigError> {
/// use stoop_io::ServerTls;
///
/// let tls = ServerTls::builder()
///     .certificate_files("example.com.pem", "example.com.key")
///     .further_certificate_files("example.org.pem", "example.org.key")
///     .build()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct ServerTlsBuilder {
    parts: ServerTlsParts,
}

impl ServerTlsBuilder {
    /// Shows this certificate chain (the server's own first). Both files are PEM; the key has no
    /// passphrase. This or [`ServerTlsBuilder::certificate_pem`] is required.
    pub fn certificate_files(mut self, chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.parts.certificate = Some((Pem::File(chain.into()), Pem::File(key.into())));
        self
    }

    /// Shows this certificate chain (the server's own first). Both are PEM; the key has no
    /// passphrase.
    pub fn certificate_pem(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.parts.certificate = Some((Pem::Bytes(chain.into()), Pem::Bytes(key.into())));
        self
    }

    /// Shows this chain instead to clients that ask for a name in it, by SNI (RFC 6066 §3). May be repeated.
    ///
    /// The DNS names in a certificate count, first those that are the whole name and then those with a wildcard, which
    /// stands for the leftmost label (RFC 9525 §6.3). Of several certificates for one name, the first counts whose key
    /// the client can verify: one with ECDSA and one with RSA serve old clients too. What no certificate has the name
    /// of, and clients that name nothing, get the first certificate.
    pub fn further_certificate_files(
        mut self,
        chain: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.parts.further.push((Pem::File(chain.into()), Pem::File(key.into())));
        self
    }

    /// As [`further_certificate_files`](Self::further_certificate_files), from PEM text.
    pub fn further_certificate_pem(
        mut self,
        chain: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.parts.further.push((Pem::Bytes(chain.into()), Pem::Bytes(key.into())));
        self
    }

    /// Refuses clients that ask for a name that no certificate has, or for none, in place of showing them the first
    /// certificate: the handshake fails with the alert `access_denied`. Default: false.
    pub fn refuse_unknown_names(mut self, refuses: bool) -> Self {
        self.parts.refuses_unknown_names = refuses;
        self
    }

    /// Asks every client for a certificate issued by a CA of this PEM file, and refuses those
    /// without. May be repeated.
    pub fn client_ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.parts.client_cas.push(Pem::File(path.into()));
        self
    }

    /// Asks every client for a certificate issued by a CA of this PEM text, and refuses those
    /// without. May be repeated.
    pub fn client_ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.parts.client_cas.push(Pem::Bytes(pem.into()));
        self
    }

    /// Lets clients in that show no certificate although one was asked for; one that is shown must
    /// still be good. Default: false. Needs a client CA.
    pub fn allow_anonymous_clients(mut self, allowed: bool) -> Self {
        self.parts.anonymous_clients = allowed;
        self
    }

    /// Accepts these protocols by ALPN, the preferred one first; none: ignores what clients offer.
    /// A client that offers protocols of which none is here is refused (RFC 7301 §3.2). Default:
    /// what the server that uses it speaks, else `http/1.1`.
    pub fn alpn<P: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.parts.alpn = Some(protocols.into_iter().map(Into::into).collect());
        self
    }

    /// Reads the files and builds.
    ///
    /// # Errors
    /// If there is no certificate, a further one has no DNS name, or a file cannot be read or used, saying which and
    /// why.
    pub fn build(self) -> Result<ServerTls, TlsConfigError> {
        let built = build(&self.parts)?;
        let variants = vec![AlpnVariant::new(&built, None)];
        let current = RwLock::new(CurrentConfig { built, variants });
        let shared = Arc::new(SharedConfig { source: Mutex::new(self), current });
        Ok(ServerTls { shared, variant: 0 })
    }
}
