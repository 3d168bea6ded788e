//! Sockets, buffers, timers, TLS, name resolution and workers for `stoop`. Knows no HTTP: it never
//! sees a method, a status or a field name.
//!
//! All streams implement the trait [`Transport`]: a byte stream that owns its receive buffer, lends it
//! as one contiguous slice, and sends what one turn produced in one call. TCP,
//! Unix sockets, TLS, the in-memory pair and the simulated transport implement it.
//!
//! This is the only crate of the workspace with `unsafe`; each use states its invariant.

#![allow(unsafe_code, reason = "this crate talks to the kernel")]
// What ships never prints, exits or reads the environment; crates/clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

#[cfg(windows)]
compile_error!(
    "stoop runs on Linux and macOS. On Windows, build it inside WSL: its per-core listeners and \
     Unix sockets have no counterpart there yet."
);

mod any_transport;
mod balance;
mod beneath;
mod buffer;
mod descriptors;
mod direct;
mod dns;
mod file;
mod listener;
mod local_end;
mod memory;
mod output;
#[cfg(feature = "process")]
mod process;
mod readiness;
#[cfg(any(test, feature = "test-util"))]
pub mod sim;
mod socket;
mod stream;
mod timer;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
mod tls;
mod transport;
mod worker;

pub use any_transport::AnyTransport;
pub use balance::{Balance, ConnectionSlot, PlacedConnection, WorkerHandle};
pub use beneath::{
    DirectoryEntry, DirectoryListing, OpenError, Symlinks, list_directory, open_beneath,
    open_beneath_cached,
};
pub use buffer::{CHUNK, ReceiveBuffer};
pub use descriptors::descriptors_max;
pub use dns::{
    Addresses, DnsError, DnsErrorKind, Families, Resolver, ResolverBuilder, ResolverStats,
    is_public,
};
#[cfg(feature = "dns")]
pub use dns::{HttpsRecord, HttpsService};
pub use file::{
    CachedRead, FILE_READ_BYTES_MAX, FileError, FilePiece, is_cached, read_blocking, read_cached,
};
pub use listener::{
    Accepted, ListenAddress, ListenOptions, Listener, ListenerCopier, descriptors_freed,
};
pub use local_end::LocalEnd;
pub use memory::{MEMORY_BYTES, Memory};
pub use output::{OUTPUT_BYTES_MAX, Output};
#[cfg(feature = "process")]
pub use process::{
    INHERITED_DESCRIPTORS_MAX, hand_descriptor, is_signal_ignored, take_inherited_descriptor,
    was_closed_at_start,
};
pub use socket::{Socket, Tcp, Unix};
pub use stream::{Stream, from_io, from_io_with_peer};
pub use timer::{Timer, Wheel, now, wall_seconds};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub use tls::{
    Alert, ClientTls, ClientTlsBuilder, PeerCertificate, ServerTls, ServerTlsBuilder, Tls,
    TlsConfigError, TlsError, TlsErrorKind, TlsSession, TlsVersion,
};
pub use transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};
pub use worker::{Panicked, RunError, Stopper, Worker, WorkerOptions, Workers};
