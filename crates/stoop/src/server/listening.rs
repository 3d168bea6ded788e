//! Listening, and why it may fail.

use std::fmt;
use std::io;

use stoop_io::{ListenOptions, Listener};

use crate::endpoint::{Address, Endpoint};
use crate::error::{Error, ErrorKind, Phase};

/// Why a server could not be started. The text says what to do about it.
pub struct ListenError {
    endpoint: Endpoint,
    why: ListenFailure,
}

enum ListenFailure {
    /// An `https` endpoint without a certificate.
    Certificate,
    Thread(io::Error),
    Listen(io::Error),
}

/// Listens with `count` listeners on one endpoint.
pub(super) fn listen(endpoint: &Endpoint, count: usize) -> Result<Vec<Listener>, ListenError> {
    let address = match endpoint.address() {
        Address::Inet(address) => stoop_io::ListenAddress::Inet(*address),
        Address::Unix(path) => stoop_io::ListenAddress::Unix(path.clone()),
    };
    Listener::per_core(&address, count, &ListenOptions::default()).map_err(|error| ListenError {
        endpoint: endpoint.clone(),
        why: ListenFailure::Listen(error),
    })
}

impl ListenError {
    pub(super) fn certificate(endpoint: &Endpoint) -> Self {
        Self { endpoint: endpoint.clone(), why: ListenFailure::Certificate }
    }

    pub(super) fn thread(endpoint: &Endpoint, error: io::Error) -> Self {
        Self { endpoint: endpoint.clone(), why: ListenFailure::Thread(error) }
    }

    /// What kind of I/O error it is.
    pub fn kind(&self) -> io::ErrorKind {
        match &self.why {
            ListenFailure::Certificate => io::ErrorKind::InvalidInput,
            ListenFailure::Thread(error) | ListenFailure::Listen(error) => error.kind(),
        }
    }

    /// What to do about it.
    fn advice(&self, error: &io::Error) -> String {
        match (self.endpoint.address(), error.kind()) {
            (Address::Inet(address), io::ErrorKind::AddrInUse) => format!(
                "another program listens there: stop it (`ss -ltnp 'sport = :{}'` names it) or \
                 choose another port; port 0 is one that is free",
                address.port()
            ),
            (Address::Unix(_), io::ErrorKind::AddrInUse) => {
                "another program listens there, or the path is a file that is no socket: choose \
                 another path, or remove it"
                    .into()
            }
            (Address::Inet(_), io::ErrorKind::AddrNotAvailable) => {
                "no network interface of this machine has that address: `127.0.0.1` is for this \
                 machine alone, `0.0.0.0` and `[::]` are all of its addresses"
                    .into()
            }
            (Address::Inet(_), io::ErrorKind::PermissionDenied) => {
                "ports below 1024 need the right to bind them: choose a higher port".into()
            }
            (Address::Unix(_), io::ErrorKind::NotFound) => {
                "the directory does not exist: create it first".into()
            }
            (Address::Unix(_), io::ErrorKind::PermissionDenied) => {
                "the directory may not be written to: choose another, or change its mode".into()
            }
            (Address::Unix(_), io::ErrorKind::InvalidInput) => {
                "the path is too long for a socket: about 100 bytes are allowed".into()
            }
            _ if matches!(error.raw_os_error(), Some(23 | 24)) => {
                "no file descriptor is left: raise the limit (`ulimit -n`)".into()
            }
            _ => "see the cause".into(),
        }
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = &self.endpoint;
        match &self.why {
            ListenFailure::Certificate => write!(
                f,
                "cannot listen on {endpoint}: https needs a certificate: give one by Server::tls, \
                 or listen on http"
            ),
            ListenFailure::Thread(error) => write!(
                f,
                "cannot start a thread for {endpoint}: {error}: ask for fewer workers, or raise \
                 the limits on threads (`ulimit -u`) and file descriptors (`ulimit -n`)"
            ),
            ListenFailure::Listen(error) => {
                write!(f, "cannot listen on {endpoint}: {error}: {}", self.advice(error))
            }
        }
    }
}

/// As `Display`, so that `main` can return it.
impl fmt::Debug for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListenError({self})")
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.why {
            ListenFailure::Certificate => None,
            ListenFailure::Thread(error) | ListenFailure::Listen(error) => Some(error),
        }
    }
}

/// For programs that have servers and clients; the text stays, as the details.
impl From<ListenError> for Error {
    fn from(error: ListenError) -> Self {
        let kind = match &error.why {
            ListenFailure::Certificate => ErrorKind::InvalidUrl,
            ListenFailure::Thread(cause) | ListenFailure::Listen(cause) => {
                match cause.raw_os_error() {
                    Some(23 | 24) => ErrorKind::TooManyFiles,
                    _ => ErrorKind::ConnectUnreachable,
                }
            }
        };
        Self::new(kind, Phase::Connect).with_text(error)
    }
}
