//! The error of building a TLS configuration.

use std::fmt;
use std::path::{Path, PathBuf};

use rustls::Error as Rustls;

/// Why a [`ClientTls`](super::ClientTls) or [`ServerTls`](super::ServerTls) could not be built:
/// which file, and what is wrong with it.
#[derive(Clone)]
pub struct TlsConfigError {
    path: Option<PathBuf>,
    problem: Box<str>,
}

impl TlsConfigError {
    pub(super) fn new(path: Option<&Path>, problem: impl Into<Box<str>>) -> Self {
        Self { path: path.map(Path::to_owned), problem: problem.into() }
    }

    /// A certificate and a key that cannot be used together, or at all.
    pub(super) fn unusable(chain: Option<&Path>, key: Option<&Path>, error: &Rustls) -> Self {
        match error {
            Rustls::InconsistentKeys(_) => {
                Self::new(key, "the key does not belong to the certificate")
            }
            Rustls::InvalidCertificate(_) => {
                Self::new(chain, "the first certificate in it cannot be read: it is damaged")
            }
            other => {
                let problem = format!("the certificate or its key cannot be used: {other}");
                Self::new(key, problem)
            }
        }
    }

    /// The file that is to blame, if it was a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl fmt::Display for TlsConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

/// The same text, so that `main` can return it.
impl fmt::Debug for TlsConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsConfigError({self})")
    }
}

impl std::error::Error for TlsConfigError {}
