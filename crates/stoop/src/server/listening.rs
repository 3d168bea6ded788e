//! Opens the listening sockets of a server, and [`ListenError`], why one cannot be opened.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;
use stoop_io::{ListenAddress, ListenOptions, Listener};

use crate::endpoint::{Address, Endpoint};
use crate::error::{Error, ErrorKind, Phase};
use crate::server::binding::{Binding, Place, Security};

/// Why a server could not be started. The text says what to do about it.
pub struct ListenError {
    /// The place as a person writes it.
    place: String,
    /// Its address, if it has one.
    address: Option<Address>,
    why: ListenFailure,
}

enum ListenFailure {
    /// An `https` endpoint without a certificate.
    Certificate,
    /// A certificate, and no place where TLS is spoken.
    UnusedCertificate,
    Thread(io::Error),
    Listen(io::Error),
}

/// A place where a server listens now.
pub(super) struct Bound {
    /// Those of each worker, one at least.
    pub(super) listeners: Vec<Vec<Listener>>,
    /// With the port that was chosen.
    pub(super) endpoint: Endpoint,
    /// The certificate, where TLS is spoken.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) tls: Option<ServerTls>,
}

/// A server's certificate.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub(super) type ServerCertificate = ServerTls;

/// There is none.
#[cfg(not(any(feature = "tls", feature = "tls-ring")))]
pub(super) type ServerCertificate = std::convert::Infallible;

/// Refuses an `https` place without a certificate, and a certificate that no place uses.
pub(super) fn check_certificates(
    bindings: &[Binding],
    tls: Option<&ServerCertificate>,
) -> Result<(), ListenError> {
    if tls.is_none() {
        let lacking = bindings.iter().find(|b| matches!(b.security, Security::Secure));
        let failed = |binding| ListenError::of(binding, ListenFailure::Certificate);
        return lacking.map_or(Ok(()), |binding| Err(failed(binding)));
    }
    let uses =
        |binding: &Binding| matches!(binding.security, Security::Secure | Security::ByServer);
    match bindings.first() {
        Some(first) if !bindings.iter().any(uses) => {
            Err(ListenError::of(first, ListenFailure::UnusedCertificate))
        }
        _ => Ok(()),
    }
}

/// Listens in one place with `count` listeners.
pub(super) fn listen(
    binding: Binding,
    count: usize,
    tls: Option<&ServerCertificate>,
) -> Result<Bound, ListenError> {
    let (place, address) = (binding.to_string(), binding.place.address());
    let options = binding.options;
    let each = |listeners: Vec<_>| listeners.into_iter().map(|listener| vec![listener]).collect();
    let listeners: io::Result<Vec<Vec<_>>> = match binding.place {
        Place::Inet(addresses) => listen_on_first(&addresses, count, &options).map(each),
        Place::Unix(path) => {
            Listener::per_core(&ListenAddress::Unix(path), count, &options).map(each)
        }
        Place::Sockets(sockets) => listen_by(sockets, count, &options),
    };
    let listeners = listeners.map_err(|error| ListenError {
        place,
        address,
        why: ListenFailure::Listen(error),
    })?;
    let endpoint = Endpoint::from(match listeners[0][0].address() {
        ListenAddress::Inet(address) => Address::Inet(*address),
        ListenAddress::Unix(path) => Address::Unix(path.clone()),
    });
    #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
    {
        let _ = tls;
        Ok(Bound { listeners, endpoint })
    }
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    {
        let tls = match binding.security {
            Security::Cleartext => None,
            Security::ByServer | Security::Secure => tls.cloned(),
            Security::Tls(tls) => Some(tls),
        };
        let endpoint = if tls.is_some() { endpoint.secured() } else { endpoint };
        Ok(Bound { listeners, endpoint, tls })
    }
}

/// Listens by sockets that were handed over, with all of them, and with one at least for each of `count` workers.
fn listen_by(
    sockets: Vec<OwnedFd>,
    count: usize,
    options: &ListenOptions,
) -> io::Result<Vec<Vec<Listener>>> {
    let taken = sockets.into_iter().map(|socket| Listener::from_fd(socket, options));
    let taken = taken.collect::<io::Result<Vec<_>>>()?;
    if taken.iter().any(|listener| listener.address() != taken[0].address()) {
        let text = "the descriptors listen on different addresses";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut workers: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
    for worker in taken.len()..count {
        workers[worker].push(taken[worker % taken.len()].try_clone()?);
    }
    for (index, listener) in taken.into_iter().enumerate() {
        workers[index % count].push(listener);
    }
    Ok(workers)
}

/// Listens on the first address where that is possible. The last error is told.
fn listen_on_first(
    addresses: &[SocketAddr],
    count: usize,
    options: &ListenOptions,
) -> io::Result<Vec<Listener>> {
    let mut failed = Err(io::ErrorKind::InvalidInput.into());
    for &address in addresses {
        failed = Listener::per_core(&ListenAddress::Inet(address), count, options);
        if failed.is_ok() {
            break;
        }
    }
    failed
}

impl ListenError {
    fn of(binding: &Binding, why: ListenFailure) -> Self {
        Self { place: binding.to_string(), address: binding.place.address(), why }
    }

    pub(super) fn thread(endpoint: &Endpoint, error: io::Error) -> Self {
        let address = Some(endpoint.address().clone());
        Self { place: endpoint.to_string(), address, why: ListenFailure::Thread(error) }
    }

    /// What kind of I/O error it is.
    pub fn kind(&self) -> io::ErrorKind {
        match &self.why {
            ListenFailure::Certificate | ListenFailure::UnusedCertificate => {
                io::ErrorKind::InvalidInput
            }
            ListenFailure::Thread(error) | ListenFailure::Listen(error) => error.kind(),
        }
    }

    /// What to do about it.
    fn advice(&self, error: &io::Error) -> String {
        match (&self.address, error.kind()) {
            (Some(Address::Inet(address)), io::ErrorKind::AddrInUse) => format!(
                "another program listens there: stop it (`ss -ltnp 'sport = :{}'` names it) or \
                 choose another port; port 0 is one that is free",
                address.port()
            ),
            (Some(Address::Unix(_)), io::ErrorKind::AddrInUse) => {
                "another program listens there, or the path is a file that is no socket: choose \
                 another path, or remove it"
                    .into()
            }
            (Some(Address::Inet(_)), io::ErrorKind::AddrNotAvailable) => {
                "no network interface of this machine has that address: `127.0.0.1` is for this \
                 machine alone, `0.0.0.0` and `[::]` are all of its addresses"
                    .into()
            }
            (Some(Address::Inet(_)), io::ErrorKind::PermissionDenied) => {
                "ports below 1024 need the right to bind them: choose a higher port".into()
            }
            (Some(Address::Unix(_)), io::ErrorKind::NotFound) => {
                "the directory does not exist: create it first".into()
            }
            (Some(Address::Unix(_)), io::ErrorKind::PermissionDenied) => {
                "the directory may not be written to: choose another, or change its mode".into()
            }
            (Some(Address::Unix(_)), io::ErrorKind::InvalidInput) => {
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
        let place = &self.place;
        match &self.why {
            ListenFailure::Certificate => write!(
                f,
                "cannot listen on {place}: https needs a certificate: give one by Server::tls, \
                 or listen on http"
            ),
            ListenFailure::UnusedCertificate => write!(
                f,
                "cannot listen on {place}: the server has a certificate, and TLS is spoken in no \
                 place: write https, or leave the scheme out"
            ),
            ListenFailure::Thread(error) => write!(
                f,
                "cannot start a thread for {place}: {error}: ask for fewer workers, or raise \
                 the limits on threads (`ulimit -u`) and file descriptors (`ulimit -n`)"
            ),
            ListenFailure::Listen(error) => {
                write!(f, "cannot listen on {place}: {error}: {}", self.advice(error))
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
            ListenFailure::Certificate | ListenFailure::UnusedCertificate => None,
            ListenFailure::Thread(error) | ListenFailure::Listen(error) => Some(error),
        }
    }
}

/// For programs that have servers and clients; the text stays, as the details.
impl From<ListenError> for Error {
    fn from(error: ListenError) -> Self {
        let kind = match &error.why {
            ListenFailure::Certificate | ListenFailure::UnusedCertificate => ErrorKind::InvalidUrl,
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
