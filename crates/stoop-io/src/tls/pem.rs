//! Reads certificates and keys from PEM, with errors that name the file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};

use super::config_error::TlsConfigError;
use super::limits::PEM_FILE_BYTES_MAX;

/// The source of a PEM text. Read when the configuration is built, never later.
#[derive(Clone, Debug)]
pub(super) enum Pem {
    File(PathBuf),
    Bytes(Vec<u8>),
}

impl Pem {
    /// The file, for errors.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Bytes(_) => None,
        }
    }

    fn problem(&self, problem: impl Into<Box<str>>) -> TlsConfigError {
        TlsConfigError::new(self.path(), problem)
    }

    fn read(&self) -> Result<Vec<u8>, TlsConfigError> {
        match self {
            Self::File(path) => {
                let mut bytes = Vec::new();
                File::open(path)
                    .and_then(|file| file.take(PEM_FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
                    .map_err(|error| self.problem(format!("cannot read it: {error}")))?;
                match bytes.len() as u64 {
                    ..=PEM_FILE_BYTES_MAX => Ok(bytes),
                    _ => Err(self.problem("longer than 16 MiB: not certificates")),
                }
            }
            Self::Bytes(bytes) => Ok(bytes.clone()),
        }
    }

    /// Every certificate, in order; at least one.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
        let certificates = CertificateDer::pem_slice_iter(&self.read()?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.broken(error))?;
        if certificates.is_empty() {
            return Err(self.problem("no certificate in it (-----BEGIN CERTIFICATE-----)"));
        }
        Ok(certificates)
    }

    /// The first private key.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, TlsConfigError> {
        PrivateKeyDer::from_pem_slice(&self.read()?).map_err(|error| match error {
            PemError::NoItemsFound => self.problem(
                "no private key in it that can be used without a passphrase \
                 (-----BEGIN PRIVATE KEY-----)",
            ),
            error => self.broken(error),
        })
    }

    /// The public key in the file, as the SubjectPublicKeyInfo of its certificates: in PEM, or in DER (RFC 5280 §4.1).
    pub(super) fn public_key(&self) -> Result<Vec<u8>, TlsConfigError> {
        /// The first byte of a SEQUENCE in DER.
        const SEQUENCE: u8 = 0x30;
        let bytes = self.read()?;
        match SubjectPublicKeyInfoDer::from_pem_slice(&bytes) {
            Ok(key) => Ok(key.to_vec()),
            Err(PemError::NoItemsFound) if bytes.first() == Some(&SEQUENCE) => Ok(bytes),
            Err(PemError::NoItemsFound) => {
                Err(self.problem("no public key in it (-----BEGIN PUBLIC KEY-----)"))
            }
            Err(error) => Err(self.broken(error)),
        }
    }

    fn broken(&self, error: PemError) -> TlsConfigError {
        self.problem(match error {
            PemError::MissingSectionEnd { .. } => {
                "broken PEM: a section that begins does not end".into()
            }
            PemError::IllegalSectionStart { .. } => "broken PEM: a malformed BEGIN line".into(),
            PemError::Base64Decode(why) => format!("broken PEM: not base64: {why}"),
            other => format!("broken PEM: {other}"),
        })
    }
}
