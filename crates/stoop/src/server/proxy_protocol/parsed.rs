//! The result of parsing the front of a connection, in both versions of the header.

use std::net::SocketAddr;

/// Bytes of a header at most: the 107 of version 1 are fewer. In version 2 addresses take up to 216, and what is left is
/// for TLVs, of which clients' certificates are the largest; the format allows for 64 KiB.
pub(super) const HEADER_BYTES_MAX: usize = 4096;

/// What the front of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The beginning of a header.
    Partial,
    Complete {
        bytes: usize,
        /// The client's address; `None` where the header names none that can be used, and the connection counts as the
        /// proxy's own.
        client: Option<SocketAddr>,
    },
    /// No header, or a broken one.
    Malformed,
}
