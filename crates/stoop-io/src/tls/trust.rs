//! Verifies the certificates of servers: by the platform's CAs, by named ones, by both, or
//! (dangerously) not at all.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore};
use rustls::{SignatureScheme, crypto};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::config_error::TlsConfigError;
use super::pem::Pem;
use super::provider::provider;

/// Reads every certificate of `sources`, once, as a root. A file may be a pipe.
pub(super) fn read_roots(
    sources: &[Pem],
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsConfigError> {
    let mut store = RootCertStore::empty();
    let mut all = Vec::new();
    for source in sources {
        for certificate in source.certificates()? {
            store.add(certificate.clone()).map_err(|error| {
                TlsConfigError::new(source.path(), format!("not usable as a CA: {error}"))
            })?;
            all.push(certificate);
        }
    }
    Ok((store, all))
}

/// The platform's CAs could not be loaded.
#[derive(Debug)]
pub(super) struct NoPlatformRoots(String);

impl fmt::Display for NoPlatformRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this machine's trusted certificates could not be loaded ({})", self.0)
    }
}

impl std::error::Error for NoPlatformRoots {}

pub(super) type Verifier = Arc<dyn ServerCertVerifier>;

/// The platform's verifier, or why there is none. Loaded once in a process, at its first use: it reads
/// some hundred files.
pub(super) fn platform_verifier() -> Result<Verifier, Error> {
    static PLATFORM: OnceLock<Result<Verifier, Arc<NoPlatformRoots>>> = OnceLock::new();
    PLATFORM
        .get_or_init(|| match rustls_platform_verifier::Verifier::new(provider()) {
            Ok(verifier) => Ok(Arc::new(verifier)),
            Err(error) => Err(Arc::new(NoPlatformRoots(error.to_string()))),
        })
        .clone()
        .map_err(|none| Error::InvalidCertificate(CertificateError::Other(OtherError(none))))
}

/// Whether a server showed the certificate of a CA as its own. rustls has no variant for it.
pub(super) fn is_ca_used_as_end_entity(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.0.to_string() == "CaUsedAsEndEntity")
}

/// The CAs that are trusted.
pub(super) struct Roots<'a> {
    pub(super) named: &'a [Pem],
    pub(super) platform: bool,
    /// Those of Mozilla, which are compiled in.
    #[cfg(feature = "webpki-roots")]
    pub(super) webpki: bool,
}

/// Accepts certificates that a named CA issued, or one of the platform's where those are trusted.
#[derive(Debug)]
pub(super) struct CaVerifier {
    /// Verifies by the CAs that were named.
    named: Option<Arc<WebPkiServerVerifier>>,
    /// The same certificates, byte for byte: a server's own may be among them.
    named_certificates: Vec<CertificateDer<'static>>,
    /// The platform's are trusted, too. They are loaded, and a machine without any is an error,
    /// only once a certificate needs them: plain HTTP and named CAs work without.
    platform: bool,
}

impl CaVerifier {
    pub(super) fn new(roots: &Roots<'_>) -> Result<Self, TlsConfigError> {
        #[cfg_attr(not(feature = "webpki-roots"), expect(unused_mut, reason = "it is extended"))]
        let (mut store, named_certificates) = read_roots(roots.named)?;
        #[cfg(feature = "webpki-roots")]
        if roots.webpki {
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        let named = if store.is_empty() {
            None
        } else {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider()).build();
            Some(verifier.map_err(|error| TlsConfigError::new(None, error.to_string()))?)
        };
        if !roots.platform && named.is_none() {
            return Err(TlsConfigError::new(
                None,
                "the platform's CAs are switched off, and no others are named",
            ));
        }
        Ok(Self { named, named_certificates, platform: roots.platform })
    }

    /// Whether a server's certificate is rejected for its issuer alone, and is itself one that was
    /// named, so that the user trusts it. What `openssl req -x509` makes is marked as a CA, which a
    /// server's certificate that another CA issued must not be.
    ///
    /// The verifier checks the time before it checks either, so that is not left out.
    fn is_named_itself(&self, end_entity: &CertificateDer<'_>, error: &Error) -> bool {
        let is_of_issuer = match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
            Error::InvalidCertificate(error) => is_ca_used_as_end_entity(error),
            _ => false,
        };
        is_of_issuer && self.named_certificates.contains(end_entity)
    }
}

impl ServerCertVerifier for CaVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let ask = |verifier: &dyn ServerCertVerifier| {
            verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now)
        };
        // Named CAs first: they are few, and quick to tell that they do not know the issuer.
        if let Some(named) = &self.named {
            match (ask(named.as_ref()), self.platform) {
                (Err(error), _) if self.is_named_itself(end_entity, &error) => {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                    return Ok(ServerCertVerified::assertion());
                }
                (Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)), true) => {}
                (answer, _) => return answer,
            }
        }
        if !self.platform {
            return Err(CertificateError::UnknownIssuer.into());
        }
        match platform_verifier() {
            Ok(platform) => ask(platform.as_ref()),
            // With CAs named the issuer is unknown, whether or not the platform has any.
            Err(_) if self.named.is_some() => Err(CertificateError::UnknownIssuer.into()),
            Err(none) => Err(none),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &provider().signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &provider().signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts any certificate. Signatures are not checked either: where the certificate may be any, its
/// signature proves nothing, and some certificates that are accepted this way cannot even be parsed.
#[derive(Debug)]
pub(super) struct NoVerification;

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
