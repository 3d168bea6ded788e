//! Servers that are known by their keys: RFC 7469 §2.4, without its header field.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::hash::{Hash, HashAlgorithm};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::config_error::TlsConfigError;
use super::pem::Pem;
use super::provider::provider;
use super::trust::Verifier;

/// The SHA-256 of a SubjectPublicKeyInfo.
pub(super) type Pin = [u8; 32];

/// Reads a pin: `sha256/BASE64`, or `sha256//BASE64`.
fn read_pin(text: &str) -> Result<Pin, TlsConfigError> {
    let coded = text.strip_prefix("sha256/").map(|rest| rest.strip_prefix('/').unwrap_or(rest));
    let hash = coded.and_then(|coded| BASE64_STANDARD.decode(coded).ok());
    hash.and_then(|hash| hash.try_into().ok()).ok_or_else(|| {
        TlsConfigError::new(None, format!("the pin {text:?} is not sha256/ and 32 bytes in base64"))
    })
}

/// Where a pin comes from. Read when the configuration is built.
#[derive(Clone, Debug)]
pub(super) enum PinSource {
    /// A hash, as it is typed.
    Hash(Box<str>),
    /// A file with a public key.
    File(PathBuf),
}

impl PinSource {
    pub(super) fn read(&self) -> Result<Pin, TlsConfigError> {
        match self {
            Self::Hash(text) => read_pin(text),
            Self::File(path) => {
                let key = Pem::File(path.clone()).public_key()?;
                let hash = sha256().map(|sha256| sha256.hash(&key));
                let pin = hash.and_then(|hash| hash.as_ref().try_into().ok());
                pin.ok_or_else(|| TlsConfigError::new(Some(path), NO_SHA256))
            }
        }
    }
}

/// What is wrong with a provider that has no hash for pins.
const NO_SHA256: &str = "no cipher suite with SHA-256";

/// Accepts what another verifier does, if the server's key is one of those that were pinned.
#[derive(Debug)]
pub(super) struct PinnedVerifier {
    inner: Verifier,
    pins: Vec<Pin>,
}

impl PinnedVerifier {
    pub(super) fn new(inner: Verifier, pins: Vec<Pin>) -> Self {
        Self { inner, pins }
    }
}

/// The key of a server is none of those that were pinned, but this.
#[derive(Debug)]
pub(super) struct NotPinned(String);

impl fmt::Display for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its key is not among the pinned ones: it is sha256/{}", self.0)
    }
}

impl std::error::Error for NotPinned {}

/// The hash that the cipher suites bring along.
fn sha256() -> Option<&'static dyn Hash> {
    let suites = &provider().cipher_suites;
    let mut hashes = suites.iter().filter_map(|suite| Some(suite.tls13()?.common.hash_provider));
    hashes.find(|hash| hash.algorithm() == HashAlgorithm::SHA256)
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(end_entity, intermediates, name, ocsp, now)?;
        let key = ParsedCertificate::try_from(end_entity)?.subject_public_key_info();
        let Some(sha256) = sha256() else {
            return Err(Error::General(NO_SHA256.to_owned()));
        };
        let hash = sha256.hash(&key);
        if self.pins.iter().any(|pin| pin == hash.as_ref()) {
            return Ok(verified);
        }
        let not = NotPinned(BASE64_STANDARD.encode(hash.as_ref()));
        Err(Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(not)))))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_a_hash_in_base64() {
        // The SHA-256 of nothing.
        let coded = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        for text in [format!("sha256/{coded}"), format!("sha256//{coded}")] {
            assert_eq!(read_pin(&text).unwrap()[..4], [0xe3, 0xb0, 0xc4, 0x42]);
        }
        assert_eq!(sha256().unwrap().hash(b"").as_ref()[..4], [0xe3, 0xb0, 0xc4, 0x42]);
        for bad in ["", "sha256/", coded, "sha256/AAAA", "sha512/AAAA", "sha256/no base64"] {
            assert!(read_pin(bad).is_err(), "{bad}");
        }
    }
}
