//! TLS in both roles: certificates and trust, and why a handshake fails.
//!
//! A [`Client`](crate::Client) trusts what [`ClientTls`] says, by default the platform's root certificates,
//! and a [`Server`](crate::Server) shows what [`ServerTls`] says. Each has a builder, which reads files or
//! PEM text and refuses what cannot work with a [`TlsConfigError`]. A handshake that fails is a
//! [`TlsError`]; of a request it becomes an [`Error`](crate::Error) of the kind
//! [`TlsHandshake`](crate::ErrorKind::TlsHandshake), `TlsCertExpired`, `TlsCertName`, `TlsCertUntrusted` or
//! `TlsTimeout`.
//!
//! A server chooses among several certificates by the name that the client asks for
//! ([`further_certificate_files`](ServerTlsBuilder::further_certificate_files)), and reads them again without a restart
//! ([`ServerTls::reload`]). A handler sees what a client has shown by
//! [`Request::client_certificate`](crate::Request::client_certificate); services of tower and applications of axum have it,
//! and the [`ServerName`] that was asked for, as extensions of their requests.
//!
//! [`ClientTls::connect`] and [`ServerTls::accept`] begin a session, [`Tls`], over a transport of the
//! caller's own, for protocols other than HTTP.
//!
//! ```no_run
//! use stoop::tls::{ClientTls, ServerTls};
//! use stoop::{Client, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let trust = ClientTls::builder().ca_file("authority.pem").build()?;
//! let client = Client::builder().tls(trust).build()?;
//!
//! let identity = ServerTls::builder().certificate_files("chain.pem", "key.pem").build()?;
//! let server = Server::listen("127.0.0.1:8443")?.tls(identity);
//! # Ok(()) }
//! ```

pub use crate::connection_info::ServerName;
pub use stoop_io::{
    Alert, AnyTransport, ClientTls, ClientTlsBuilder, PeerCertificate, ServerTls, ServerTlsBuilder,
    Tls, TlsConfigError, TlsError, TlsErrorKind, TlsSession, TlsVersion,
};
