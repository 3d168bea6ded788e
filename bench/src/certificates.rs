//! A CA certificate for one run, and a certificate for 127.0.0.1 that it signed, in files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// The PEM files of a run.
pub(crate) struct CertificateFiles {
    pub(crate) ca: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl CertificateFiles {
    /// Creates the certificates, and writes them into `directory`.
    pub(crate) fn create(directory: &Path) -> Result<Self> {
        let certificates = Self {
            ca: directory.join("authority.pem"),
            certificate: directory.join("certificate.pem"),
            key: directory.join("key.pem"),
        };
        let mut params = CertificateParams::default();
        // Otherwise both have the same name, and OpenSSL takes the server's certificate for a self-signed one.
        params.distinguished_name.push(DnType::CommonName, "stoop-bench authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().context("a key")?;
        let authority = CertifiedIssuer::self_signed(params, authority_key).context("a CA")?;

        let key = KeyPair::generate().context("a key")?;
        let names = vec![String::from("127.0.0.1"), String::from("localhost")];
        let certificate = CertificateParams::new(names)
            .and_then(|params| params.signed_by(&key, &authority))
            .context("a certificate")?;

        for (path, text) in [
            (&certificates.ca, authority.pem()),
            (&certificates.certificate, certificate.pem()),
            (&certificates.key, key.serialize_pem()),
        ] {
            std::fs::write(path, text).with_context(|| path.display().to_string())?;
        }
        Ok(certificates)
    }
}
