//! The bounds and defaults of TLS sessions and of their configuration, in one place.

/// The protocol that is offered and accepted by ALPN unless the caller names others.
pub(super) const ALPN_DEFAULT: &[u8] = b"http/1.1";

/// Sessions that a client remembers for resumption, unless it is configured otherwise. rustls keeps
/// up to 8 of one server, so this many are of 32 servers at least.
pub(super) const SESSIONS_MAX: usize = 256;

/// Session tickets that a server sends on each connection (TLS 1.3). One is enough: a client that
/// opens many connections gets one with each.
pub(super) const TICKETS_PER_CONNECTION: usize = 1;

/// Bytes of a PEM file that are read at most: more than fifty times what all authorities that
/// platforms trust come to.
pub(super) const PEM_FILE_BYTES_MAX: u64 = 16 << 20;

/// Names of a certificate that an error lists; it counts the others.
pub(super) const NAMES_SHOWN_MAX: usize = 4;

/// Plaintext bytes in one record at most, RFC 8446 §5.1.
pub(super) const PLAINTEXT_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a buffer for one sealed record: a full one, whatever the version and cipher, and a key
/// update or two before it.
pub(super) const RECORD_BYTES: usize = PLAINTEXT_BYTES_MAX + 1024;

/// Record buffers that a thread keeps for later, 272 KiB together; others go back to the allocator.
pub(super) const RECORDS_KEPT_MAX: usize = 16;

/// From this many bytes on a sealed record is handed over with its buffer. A smaller one is copied
/// behind what already waits: a copy costs less than holding a buffer of 17 KiB for it.
pub(super) const SHARED_RECORD_BYTES_MIN: usize = 4 * 1024;

/// From this many sealed bytes on nothing more is sealed before they are sent: two full records
/// leave in one call (one at a time cost 20 % more processor time in bulk, four no less).
pub(super) const SEALED_BYTES_MAX: usize = 32 * 1024;

/// Ciphertext bytes that may wait during the handshake with a peer that shows a certificate: the
/// largest message TLS allows for (64 KiB), and what is around it. A buffer grows to it only as
/// bytes come.
pub(super) const HANDSHAKE_BYTES_MAX: usize = 80 * 1024;

/// Ciphertext bytes that may wait during the handshake with a client that is not asked for a
/// certificate, and so sends little more than a ClientHello: a full record, and some.
pub(super) const HELLO_BYTES_MAX: usize = 20 * 1024;

/// Ciphertext bytes that may wait in an open session: a full record and most of the next.
pub(super) const OPEN_SESSION_BYTES_MAX: usize = 32 * 1024;

/// Buffers of ciphertext that are read and thrown away after a failure, so that closing does not
/// send RST: 64 KiB, after which a peer that still sends gets its RST.
pub(super) const DRAINED_FILLS_MAX: usize = 4;

/// Reads of what came to an idle session until it is taken for unusable: more than this is rather
/// too much to be tickets.
pub(super) const IDLE_READS_MAX: usize = 8;

/// Bytes of one such read, on the stack: a ticket has some hundred.
pub(super) const IDLE_READ_BYTES: usize = 4096;
