//! Whom a client believes: the platform's roots, CAs it was given, both, or (dangerously) anybody.

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
pub(super) fn roots(
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

/// This machine could not tell whom it trusts.
#[derive(Debug)]
pub(super) struct NoRoots(String);

impl fmt::Display for NoRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this machine's trusted certificates could not be loaded ({})", self.0)
    }
}

impl std::error::Error for NoRoots {}

type Verifier = Arc<dyn ServerCertVerifier>;

/// The platform's verifier, or why there is none. Loaded once in a process, by whoever is first: it
/// reads some hundred files.
pub(super) fn platform() -> Result<Verifier, Error> {
    static PLATFORM: OnceLock<Result<Verifier, Arc<NoRoots>>> = OnceLock::new();
    PLATFORM
        .get_or_init(|| match rustls_platform_verifier::Verifier::new(provider()) {
            Ok(verifier) => Ok(Arc::new(verifier)),
            Err(error) => Err(Arc::new(NoRoots(error.to_string()))),
        })
        .clone()
        .map_err(|none| Error::InvalidCertificate(CertificateError::Other(OtherError(none))))
}

/// Whether a server showed the certificate of a CA for its own. rustls has no variant for it.
pub(super) fn is_ca(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.0.to_string() == "CaUsedAsEndEntity")
}

/// Believes the CAs it was given, and the platform if it was told to.
#[derive(Debug)]
pub(super) struct Trust {
    /// CAs that were named.
    named: Option<Arc<WebPkiServerVerifier>>,
    /// The same certificates, byte for byte: a server's own may be among them.
    itself: Vec<CertificateDer<'static>>,
    /// The platform's are believed, too. They are loaded, and a machine without any is an error,
    /// only once a certificate needs them: plain HTTP and named CAs work without.
    platform: bool,
}

impl Trust {
    /// `cas` are believed; so is the platform unless `exclusive`.
    pub(super) fn new(cas: &[Pem], exclusive: bool) -> Result<Self, TlsConfigError> {
        let (store, itself) = roots(cas)?;
        let named = if store.is_empty() {
            None
        } else {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider()).build();
            Some(verifier.map_err(|error| TlsConfigError::new(None, error.to_string()))?)
        };
        if exclusive && named.is_none() {
            return Err(TlsConfigError::new(
                None,
                "the platform's CAs are switched off, and no others are named",
            ));
        }
        Ok(Self { named, itself, platform: !exclusive })
    }

    /// Whether all that speaks against a server's certificate is who issued it, while it is itself
    /// one that was named: the user vouches for it. What `openssl req -x509` makes calls itself a
    /// CA, which no server's certificate may be that others vouch for.
    ///
    /// The verifier looks at the time before it looks at either, so that is not left out.
    fn vouches_for(&self, end_entity: &CertificateDer<'_>, error: &Error) -> bool {
        let of_the_issuer = match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
            Error::InvalidCertificate(error) => is_ca(error),
            _ => false,
        };
        of_the_issuer && self.itself.contains(end_entity)
    }
}

impl ServerCertVerifier for Trust {
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
        // Named CAs first: they are few, and do not know a stranger at a glance.
        if let Some(named) = &self.named {
            match (ask(named.as_ref()), self.platform) {
                (Err(error), _) if self.vouches_for(end_entity, &error) => {
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
        match platform() {
            Ok(platform) => ask(platform.as_ref()),
            // With CAs named, a stranger is a stranger, roots or no roots.
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

/// Believes anybody. Signatures are not looked at either: somebody whose certificate may be
/// anything proves nothing by signing with it, and some of the certificates one wants to get past
/// this way cannot even be parsed.
#[derive(Debug)]
pub(super) struct Anybody;

impl ServerCertVerifier for Anybody {
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
