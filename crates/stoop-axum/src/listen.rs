//! [`Listen`]: what [`serve`](crate::serve) accepts connections from.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix;

use stoop::{Binding, ConnectionInfo};

/// What [`serve`](crate::serve) accepts connections from: a listener of tokio's or of `std`'s, or a place that nothing
/// listens in yet.
///
/// A [`Binding`] has the options of a place, TLS among them:
///
/// ```no_run
/// # async fn example(tls: stoop::ServerTls, app: axum::Router) -> Result<(), Box<dyn std::error::Error>> {
/// stoop_axum::serve(stoop::Binding::new("[::]:443")?.tls(tls), app).await?;
/// # Ok(()) }
/// ```
pub trait Listen: Send + 'static {
    /// The address of an end of its connections.
    type Addr: Clone + fmt::Debug + Send + 'static;

    /// Makes it a place for a server to listen in.
    ///
    /// # Errors
    /// If it is no place, or the listener cannot be taken from its runtime.
    fn into_binding(self) -> Result<Binding, stoop::Error>;

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the system, and [`io::ErrorKind::NotConnected`] of a place that nothing listens in yet.
    fn local_addr(&self) -> io::Result<Self::Addr> {
        Err(not_listening())
    }

    /// The client's address on a connection; there is no connection where a
    /// [`Client`](stoop::ClientBuilder::handler) calls the application.
    fn remote_addr(connection: Option<&ConnectionInfo>) -> Self::Addr;
}

/// A place; over a Unix socket the address of a client is `0.0.0.0:0`.
impl Listen for Binding {
    type Addr = SocketAddr;
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Ok(self)
    }
    fn remote_addr(connection: Option<&ConnectionInfo>) -> SocketAddr {
        inet(connection)
    }
}

/// What names a place.
macro_rules! places {
    ($($(#[$doc:meta])* $place:ty;)*) => {$(
        $(#[$doc])*
        impl Listen for $place {
            type Addr = SocketAddr;
            fn into_binding(self) -> Result<Binding, stoop::Error> {
                Binding::new(self)
            }
            fn remote_addr(connection: Option<&ConnectionInfo>) -> SocketAddr {
                inet(connection)
            }
        }
    )*};
}

places! {
    /// The notation of a place, as [`Binding`] reads it.
    &'static str;
    /// The notation of a place, as [`Binding`] reads it.
    String;
    SocketAddr;
}

impl Listen for std::net::TcpListener {
    type Addr = SocketAddr;
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Binding::new(self)
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
    fn remote_addr(connection: Option<&ConnectionInfo>) -> SocketAddr {
        inet(connection)
    }
}

impl Listen for tokio::net::TcpListener {
    type Addr = SocketAddr;
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        self.into_std().map_err(not_taken)?.into_binding()
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }
    fn remote_addr(connection: Option<&ConnectionInfo>) -> SocketAddr {
        inet(connection)
    }
}

/// The address of a client is unnamed, whatever it has bound its socket to.
impl Listen for unix::net::UnixListener {
    type Addr = unix::net::SocketAddr;
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Binding::new(self)
    }
    fn local_addr(&self) -> io::Result<unix::net::SocketAddr> {
        self.local_addr()
    }
    fn remote_addr(_: Option<&ConnectionInfo>) -> unix::net::SocketAddr {
        unnamed()
    }
}

/// The address of a client is unnamed, whatever it has bound its socket to.
impl Listen for tokio::net::UnixListener {
    type Addr = tokio::net::unix::SocketAddr;
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        self.into_std().map_err(not_taken)?.into_binding()
    }
    fn local_addr(&self) -> io::Result<tokio::net::unix::SocketAddr> {
        self.local_addr()
    }
    fn remote_addr(_: Option<&ConnectionInfo>) -> tokio::net::unix::SocketAddr {
        unnamed().into()
    }
}

/// An address that no client has, where there is none.
fn inet(connection: Option<&ConnectionInfo>) -> SocketAddr {
    let address = connection.and_then(ConnectionInfo::remote_address);
    address.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into())
}

fn unnamed() -> unix::net::SocketAddr {
    unix::net::SocketAddr::from_pathname("").expect("no path is an address without a name")
}

fn not_listening() -> io::Error {
    let text = "nothing listens there yet: bind a listener, and serve that, to know its address";
    io::Error::new(io::ErrorKind::NotConnected, text)
}

fn not_taken(error: io::Error) -> stoop::Error {
    stoop::Error::new(stoop::ErrorKind::ConnectUnreachable, stoop::Phase::Connect)
        .with_source(error)
}
