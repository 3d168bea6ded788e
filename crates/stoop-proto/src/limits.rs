//! Every bound of the protocol machines, each with what happens beyond it.

/// The most field lines any head may have, whatever [`Limits::fields_max`] says: parsing keeps its
/// index of them on the stack.
pub const FIELDS_CEILING: usize = 512;

/// Bounds on what a peer may send. Sizes are in bytes.
///
/// [`Limits::server`] suits requests, [`Limits::client`] responses, which are larger in practice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Request line, without its CRLF: 16 KiB (RFC 9112 §3 asks for 8,000 at least). Beyond it:
    /// 414.
    pub request_line_bytes_max: usize,
    /// Start line and field lines together, to the empty line: 64 KiB for requests, 256 KiB for
    /// responses and the interim responses before them. Beyond it: 431, or an error at the client.
    pub head_bytes_max: usize,
    /// Field lines in a head or trailer section: 128 for requests, 500 for responses; at most
    /// [`FIELDS_CEILING`]. Beyond it: 431, or an error at the client.
    pub fields_max: usize,
    /// A chunk-size line with its extensions, without its CRLF: 4 KiB. Beyond it: 400.
    pub chunk_line_bytes_max: usize,
    /// Chunk extensions of one body beyond the content they came with, a byte for a byte: 16 KiB.
    /// Past it: 400.
    pub chunk_extensions_bytes_max: u64,
    /// A trailer section, to the empty line: 16 KiB. Beyond it: 431.
    pub trailers_bytes_max: usize,
    /// Content of one message, after transfer coding: unlimited, because bodies are streamed.
    /// Beyond it: 413, or at the client an error when it is read.
    pub body_bytes_max: Option<u64>,
    /// Requests read and not yet answered on one HTTP/1 connection: 16, and 1 at least. At it,
    /// reading stops until one has been answered.
    pub pipelined_max: usize,
    /// Interim (1xx) responses before a final one: 16. Beyond it: an error at the client.
    pub interim_max: usize,
}

impl Limits {
    /// The defaults for reading requests.
    pub const fn server() -> Self {
        Self {
            request_line_bytes_max: 16 * 1024,
            head_bytes_max: 64 * 1024,
            fields_max: 128,
            chunk_line_bytes_max: 4 * 1024,
            chunk_extensions_bytes_max: 16 * 1024,
            trailers_bytes_max: 16 * 1024,
            body_bytes_max: None,
            pipelined_max: 16,
            interim_max: 16,
        }
    }

    /// The defaults for reading responses.
    pub const fn client() -> Self {
        Self { head_bytes_max: 256 * 1024, fields_max: 500, ..Self::server() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::server()
    }
}
