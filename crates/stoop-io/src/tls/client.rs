//! The client's configuration of TLS: what it trusts, which certificate it shows, what it offers.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls_pki_types::ServerName;

use super::config_error::TlsConfigError;
use super::error::{TlsError, TlsErrorKind};
use super::key_log::KeyLogFile;
use super::limits::{ALPN_DEFAULT, HANDSHAKE_BYTES_MAX, SESSIONS_MAX};
use super::machine::Machine;
use super::pem::Pem;
use super::pin::{PinSource, PinnedVerifier};
use super::provider::provider;
use super::stream::{Tls, TlsVersion};
use super::trust::{CaVerifier, NoVerification, Roots, Verifier, platform_verifier};
use crate::any_transport::AnyTransport;

/// A client's configuration of TLS. Cheap to clone; clones share one session cache.
///
/// ```
/// # fn main() -> Result<(), stoop_io::TlsConfigError> {
/// let tls = stoop_io::ClientTls::builder().alpn(["h2", "http/1.1"]).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    /// The platform's CAs are trusted.
    platform_cas: bool,
}

impl ClientTls {
    /// Starts a configuration: the platform's CAs, no client certificate, ALPN `http/1.1`, 256
    /// remembered sessions. Of the ciphers AES-128-GCM is preferred, which costs least.
    pub fn builder() -> ClientTlsBuilder {
        ClientTlsBuilder::default()
    }

    /// Does now what the first handshake would do otherwise, on the thread that happens to run it:
    /// loads the platform's CAs, if they are to be trusted, and gathers the randomness
    /// that all keys of the process come from. That takes some 20 to 50 ms the first time in a
    /// process, and next to nothing after; meanwhile, a handshake elsewhere waits for it. There is
    /// no need to call this, and no result: what went wrong is said by the handshake that needs it.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), stoop_io::TlsConfigError> {
    /// let tls = stoop_io::ClientTls::builder().build()?;
    /// std::thread::spawn({
    ///     let tls = tls.clone();
    ///     move || tls.warm_up()
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn warm_up(&self) {
        if self.platform_cas {
            let _ = platform_verifier();
        }
        let provider = self.config.crypto_provider();
        // The key share that a ClientHello would offer first.
        let _ = provider.kx_groups.first().map(|group| group.start());
        let _ = provider.secure_random.fill(&mut [0; 32]);
    }

    /// Begins a session over `inner`, a connected transport, with the server `name`: a DNS name, or
    /// an IP address (with or without brackets). The handshake runs as the result is polled.
    ///
    /// # Errors
    /// [`TlsErrorKind::InvalidName`] if `name` is neither.
    pub fn connect(&self, inner: impl Into<AnyTransport>, name: &str) -> Result<Tls, TlsError> {
        let alpn = self.config.alpn_protocols.clone();
        self.begin(inner.into(), name, alpn)
    }

    /// Whether protocols are offered by ALPN.
    pub fn offers_alpn(&self) -> bool {
        !self.config.alpn_protocols.is_empty()
    }

    /// Like [`ClientTls::connect`], but offers these protocols by ALPN, whatever was configured.
    pub fn connect_with_alpn(
        &self,
        inner: impl Into<AnyTransport>,
        name: &str,
        alpn: &[&[u8]],
    ) -> Result<Tls, TlsError> {
        self.begin(inner.into(), name, alpn.iter().map(|protocol| protocol.to_vec()).collect())
    }

    fn begin(&self, inner: AnyTransport, name: &str, alpn: Vec<Vec<u8>>) -> Result<Tls, TlsError> {
        let server = server_name(name).ok_or_else(|| {
            TlsError::new(TlsErrorKind::InvalidName, format!("not a server's name: {name:?}"))
        })?;
        match UnbufferedClientConnection::new_with_alpn(self.config.clone(), server, alpn) {
            Ok(client) => Ok(Tls::new(inner, Machine::Client(client), name, HANDSHAKE_BYTES_MAX)),
            Err(error) => Err(TlsError::explain(&error, name, &[])),
        }
    }
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls")
            .field("platform_cas", &self.platform_cas)
            .finish_non_exhaustive()
    }
}

/// A URL's host as a name that a certificate can carry: without brackets or the root's dot.
fn server_name(name: &str) -> Option<ServerName<'static>> {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Some(ServerName::IpAddress(ip.into()));
    }
    let bare = name.strip_suffix('.').unwrap_or(name);
    ServerName::try_from(bare.to_owned()).ok()
}

/// Makes a [`ClientTls`].
#[derive(Clone, Debug)]
pub struct ClientTlsBuilder {
    cas: Vec<Pem>,
    platform_cas: bool,
    any_certificate: bool,
    certificate: Option<(Pem, Pem)>,
    alpn: Vec<Vec<u8>>,
    sessions_max: usize,
    #[cfg(feature = "webpki-roots")]
    webpki_cas: bool,
    sends_name: bool,
    versions: (TlsVersion, TlsVersion),
    key_log: Option<PathBuf>,
    pins: Vec<PinSource>,
}

impl Default for ClientTlsBuilder {
    fn default() -> Self {
        Self {
            cas: Vec::new(),
            platform_cas: true,
            any_certificate: false,
            certificate: None,
            alpn: vec![ALPN_DEFAULT.to_vec()],
            sessions_max: SESSIONS_MAX,
            #[cfg(feature = "webpki-roots")]
            webpki_cas: false,
            sends_name: true,
            versions: (TlsVersion::V1_2, TlsVersion::V1_3),
            key_log: None,
            pins: Vec::new(),
        }
    }
}

impl ClientTlsBuilder {
    /// Trusts the CA certificates of this PEM file too, and servers that show one of its
    /// certificates as their own: `openssl req -x509` makes such. Name and time are checked all the
    /// same.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.cas.push(Pem::File(path.into()));
        self
    }

    /// Trusts the CA certificates of this PEM text too, and servers that show one of its
    /// certificates as their own: `openssl req -x509` makes such. Name and time are checked all the
    /// same.
    pub fn ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.cas.push(Pem::Bytes(pem.into()));
        self
    }

    /// Whether the platform's CAs are trusted besides the named ones. Default: true.
    pub fn platform_cas(mut self, trusted: bool) -> Self {
        self.platform_cas = trusted;
        self
    }

    /// Whether the CAs are trusted that Mozilla trusts, as compiled into the program, besides the others: for
    /// machines that have none of their own. Default: false.
    #[cfg(feature = "webpki-roots")]
    pub fn webpki_cas(mut self, trusted: bool) -> Self {
        self.webpki_cas = trusted;
        self
    }

    /// Accepts only servers with one of the keys that were pinned, besides everything else that is checked: `pin` is
    /// `sha256/`, or curl's `sha256//`, and the SHA-256 of the certificate's SubjectPublicKeyInfo in base64
    /// (RFC 7469 §2.4). Of the certificates that a server shows its own counts. May be called again, for keys to
    /// come.
    ///
    /// `openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
    /// base64` shows the pin of a certificate.
    ///
    /// ```
    /// # fn main() -> Result<(), stoop_io::TlsConfigError> {
    /// let tls = stoop_io::ClientTls::builder()
    ///     .pinned_key("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn pinned_key(mut self, pin: impl Into<Box<str>>) -> Self {
        self.pins.push(PinSource::Hash(pin.into()));
        self
    }

    /// Pins the public key in this file, in PEM or DER, as [`pinned_key`](Self::pinned_key) does its hash: `openssl x509 -in
    /// cert.pem -pubkey -noout` writes one. The file is read by [`build`](Self::build).
    pub fn pinned_key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.pins.push(PinSource::File(path.into()));
        self
    }

    /// Whether the name of the server is sent in the clear with the ClientHello (SNI, RFC 6066 §3). Many servers
    /// cannot be talked to without. The certificate is checked for it all the same. Default: true.
    pub fn server_name_indication(mut self, sent: bool) -> Self {
        self.sends_name = sent;
        self
    }

    /// The oldest version to agree on. Default: TLS 1.2, older ones are not implemented.
    pub fn min_version(mut self, version: TlsVersion) -> Self {
        self.versions.0 = version;
        self
    }

    /// The newest version to agree on. Default: TLS 1.3.
    pub fn max_version(mut self, version: TlsVersion) -> Self {
        self.versions.1 = version;
        self
    }

    /// Dangerous: appends the secrets of each session to this file, so that a recording of the network can be
    /// decrypted, as by Wireshark, by all who can read it. The format is the one of the variable `SSLKEYLOGFILE`,
    /// which is not read.
    pub fn key_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.key_log = Some(path.into());
        self
    }

    /// Shows this certificate chain (the client's own first) to servers that ask for one. Both
    /// files are PEM; the key has no passphrase.
    pub fn certificate_files(mut self, chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.certificate = Some((Pem::File(chain.into()), Pem::File(key.into())));
        self
    }

    /// Shows this certificate chain (the client's own first) to servers that ask for one. Both are
    /// PEM; the key has no passphrase.
    pub fn certificate_pem(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.certificate = Some((Pem::Bytes(chain.into()), Pem::Bytes(key.into())));
        self
    }

    /// Offers these protocols by ALPN, the preferred one first; none: offers nothing. Default:
    /// `http/1.1`. An HTTP client offers the versions that it speaks instead, unless this is none.
    pub fn alpn<P: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.alpn = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// Remembers at most this many sessions (a few KiB each; up to 8 of one server), so that a
    /// later connection to the same server is cheaper. 0: none. Default: 256.
    pub fn sessions_max(mut self, sessions: usize) -> Self {
        self.sessions_max = sessions;
        self
    }

    /// Dangerous: accepts whatever certificate a server shows. The connection is then not private
    /// from an attacker on the way; for tests and for looking at broken servers only.
    pub fn dangerous_accept_any_certificate(mut self) -> Self {
        self.any_certificate = true;
        self
    }

    /// Reads the files that were named, and builds. The platform's CAs are read when a certificate
    /// first needs them, or by [`ClientTls::warm_up`].
    ///
    /// A machine without any CA certificates is not an error here: a server that needs one of them
    /// is refused with [`TlsErrorKind::CertificateUntrusted`] and the reason.
    ///
    /// # Errors
    /// If a file cannot be read or used, saying which and why; and if nothing is left to trust.
    pub fn build(self) -> Result<ClientTls, TlsConfigError> {
        let (oldest, newest) = self.versions;
        let versions: Vec<_> = [TlsVersion::V1_3, TlsVersion::V1_2]
            .into_iter()
            .filter(|version| (oldest..=newest).contains(version))
            .map(TlsVersion::supported)
            .collect();
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&versions)
            .map_err(|error| TlsConfigError::new(None, error.to_string()))?
            .dangerous();
        let mut verifier: Verifier = match self.any_certificate {
            true => Arc::new(NoVerification),
            false => Arc::new(CaVerifier::new(&Roots {
                named: &self.cas,
                platform: self.platform_cas,
                #[cfg(feature = "webpki-roots")]
                webpki: self.webpki_cas,
            })?),
        };
        if !self.pins.is_empty() {
            let pins = self.pins.iter().map(PinSource::read).collect::<Result<_, _>>()?;
            verifier = Arc::new(PinnedVerifier::new(verifier, pins));
        }
        let builder = builder.with_custom_certificate_verifier(verifier);
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain.certificates()?, key.key()?)
                .map_err(|error| TlsConfigError::unusable(chain.path(), key.path(), &error))?,
        };
        config.alpn_protocols = self.alpn;
        config.resumption = match self.sessions_max {
            0 => Resumption::disabled(),
            sessions => Resumption::in_memory_sessions(sessions),
        };
        config.enable_sni = self.sends_name;
        if let Some(path) = &self.key_log {
            config.key_log = Arc::new(KeyLogFile::open(path)?);
        }
        let platform_cas = self.platform_cas && !self.any_certificate;
        Ok(ClientTls { config: Arc::new(config), platform_cas })
    }
}
