//! TLS 1.2 and 1.3 for both roles, as a [`Transport`](crate::Transport) over another one.
//!
//! [`ClientTls`] and [`ServerTls`] are built once (that is where files are read) and shared; each
//! turns a connected transport into a [`Tls`]. Underneath is rustls with its unbuffered interface:
//! ciphertext stays in the socket's own receive buffer and is decrypted there, plaintext waits in a pooled
//! buffer only until it is consumed, and what is sent is sealed into pooled records. An idle
//! connection owns no buffer at all.
//!
//! What is left out: early data (0-RTT; it can be replayed), renegotiation, and certificate
//! revocation lists.

mod alert;
mod by_name;
mod client;
mod config_error;
mod error;
mod key_log;
mod limits;
mod machine;
mod peer_certificate;
mod pem;
mod pin;
mod provider;
mod record;
mod server;
mod server_config;
mod stream;
mod trust;
mod x509;

pub use alert::Alert;
pub use client::{ClientTls, ClientTlsBuilder};
pub use config_error::TlsConfigError;
pub use error::{TlsError, TlsErrorKind};
pub use peer_certificate::PeerCertificate;
pub use server::{ServerTls, ServerTlsBuilder};
pub use stream::{Tls, TlsSession, TlsVersion};
