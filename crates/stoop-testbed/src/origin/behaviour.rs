//! The behaviours of scripted origins.

use std::time::Duration;

use super::http2::BadHttp2;
use crate::certificates::ShownCertificate;

/// The behaviour of an [`Origin`](super::Origin) on every connection. Each has a name: see
/// [`Behaviour::all`] and [`FromStr`](std::str::FromStr).
///
/// Unless it says otherwise a behaviour reads one whole request, answers 200 and closes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// Answers at once, with a length, and keeps the connection open for more.
    Fast {
        /// Length of the body in bytes.
        body: u64,
    },
    /// Answers at once in chunks, and keeps the connection open for more.
    Chunked {
        /// Length of the body in bytes.
        body: u64,
    },
    /// Like [`Behaviour::Chunked`], with two trailer fields: `x-length`, `x-testbed: trailer`.
    ChunkedTrailers {
        /// Length of the body in bytes.
        body: u64,
    },
    /// Answers without a length: the connection's orderly end is the body's end.
    CloseDelimited {
        /// Length of the body in bytes.
        body: u64,
    },
    /// Answers with this status and a small body, and keeps the connection open for more.
    Status(u16),

    /// Answers its first requests by 429 with a Retry-After, all connections together, and the others well.
    Busy {
        /// How many.
        requests: u64,
        /// The seconds of the Retry-After.
        retry_after: u64,
    },
    /// Has a robots.txt, and answers all other requests well.
    Robots {
        /// The file.
        text: String,
        /// Length of the other bodies in bytes.
        body: u64,
    },

    /// Waits before the first byte of an otherwise good response.
    SlowFirstByte {
        /// How long.
        delay: Duration,
        /// Length of the body in bytes.
        body: u64,
    },
    /// A good head at once, then one byte of the body at a time.
    Drip {
        /// Length of the body in bytes, so that it would end after `body` × `every`.
        body: u64,
        /// The time between two bytes.
        every: Duration,
    },
    /// The head itself comes one byte at a time; the body is empty.
    DripHead {
        /// The time between two bytes.
        every: Duration,
    },
    /// Accepts, reads everything, and never answers.
    HangAfterAccept,
    /// A good head that announces a body, and then nothing.
    HangAfterHead,
    /// A good head and half of the body, and then nothing.
    HangMidBody,

    /// Connecting never succeeds: packets to this port vanish, as behind a firewall.
    BlackHole,
    /// Connecting fails at once: nothing listens on this port.
    Refused,
    /// Closes as soon as a connection is accepted.
    CloseAfterAccept,
    /// Resets as soon as a connection is accepted.
    ResetAfterAccept,
    /// Closes once the request has been read, without a byte of a response.
    EarlyClose,
    /// Resets the connection in the middle of the body.
    ResetMidBody {
        /// Bytes of the body that are sent before.
        sent: u64,
        /// Bytes of the body that the head announces.
        announced: u64,
    },
    /// Closes, in order, before all bytes that the head announces were sent.
    TruncatedLength {
        /// Bytes of the body that are sent.
        sent: u64,
        /// Bytes of the body that the head announces.
        announced: u64,
    },
    /// Closes, in order, in the middle of a chunk.
    TruncatedChunk,
    /// Closes, in order, after a whole chunk, but without the last one.
    MissingLastChunk,

    /// The response begins with a malformed head.
    MalformedHead(MalformedHead),
    /// The response's length is ambiguous or impossible, or more follows than it says.
    BadLength(BadLength),
    /// The second chunk is malformed.
    BadChunk(BadChunk),
    /// A head of many fields that does end: a good response for clients that accept its size.
    LargeHead {
        /// Total size of the fields in bytes, at least 100.
        bytes: u64,
    },
    /// A head with ever more fields.
    EndlessHead,
    /// A head with one field whose value never ends.
    EndlessField,
    /// A body in chunks that never ends.
    EndlessBody {
        /// The pause after each 64 KiB; zero means as fast as the client takes them.
        every: Duration,
    },
    /// Interim responses (103), and a good response after them.
    InterimFlood {
        /// How many; `None` means without end.
        count: Option<u64>,
    },

    /// A chain of redirects on this origin, ending in a good response.
    RedirectChain {
        /// How many redirects.
        hops: u32,
        /// Their status.
        status: u16,
    },
    /// Two locations that redirect to each other.
    RedirectLoop,
    /// A redirect to a port where nothing listens.
    RedirectToDead,
    /// A redirect to this location, whatever it is.
    RedirectTo {
        /// Its status.
        status: u16,
        /// The field `location`, verbatim.
        location: String,
    },

    /// A good response, and the connection is closed in the instant that the client may reuse it.
    StaleKeepAlive {
        /// The time between the response and the close.
        after: Duration,
    },
    /// A good response; the next request on the connection is read, and then it is closed.
    CloseOnReuse,

    /// TLS: accepts, reads everything, and never answers the ClientHello.
    TlsHang,
    /// TLS: closes after the ClientHello.
    TlsClose,
    /// TLS: answers the ClientHello with a fatal alert (handshake_failure).
    TlsAlert,
    /// TLS: answers the ClientHello in plain HTTP, as a server without TLS on that port does.
    TlsGarbage,
    /// TLS: a good response behind a certificate from an authority that is not trusted.
    UntrustedCertificate,
    /// TLS: a good response behind a certificate for another name.
    WrongName,
    /// TLS: a good response behind a certificate that expired in 2021.
    ExpiredCertificate,

    /// TLS: a fault over HTTP/2, which is agreed to by ALPN. Over HTTP/1.1 a good response.
    BadHttp2 {
        /// The fault.
        kind: BadHttp2,
        /// Length of the body in bytes, where there is one and it ends.
        body: u64,
    },
}

impl Behaviour {
    /// Whether it is about TLS, so that its origin speaks it (or does not, on purpose).
    pub fn is_tls(&self) -> bool {
        self.breaks_handshake() || self.certificate() != ShownCertificate::Good
    }

    /// Whether it happens in place of a TLS handshake, on the bare connection.
    pub(crate) fn breaks_handshake(&self) -> bool {
        matches!(self, Self::TlsHang | Self::TlsClose | Self::TlsAlert | Self::TlsGarbage)
    }

    pub(crate) fn certificate(&self) -> ShownCertificate {
        match self {
            Self::UntrustedCertificate => ShownCertificate::Untrusted,
            Self::WrongName => ShownCertificate::WrongName,
            Self::ExpiredCertificate => ShownCertificate::Expired,
            Self::BadHttp2 { .. } => ShownCertificate::Http2,
            _ => ShownCertificate::Good,
        }
    }

    /// Whether its connections end by RST. That is a property of the socket, set at accept.
    pub(crate) fn resets(&self) -> bool {
        matches!(self, Self::ResetMidBody { .. } | Self::ResetAfterAccept)
    }
}

macro_rules! bytes {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal $bytes:expr,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them, and the last part of their names.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $word),)*];

            /// What is sent, literally.
            pub fn bytes(self) -> &'static [u8] {
                match self {
                    $(Self::$variant => $bytes,)*
                }
            }
        }
    };
}

bytes! {
    /// Malformed heads.
    MalformedHead {
        /// Another protocol's greeting.
        NotHttp = "not-http" b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        /// Bytes that mean nothing.
        Binary = "binary" b"\x00\x01\xfe\xff\x16\x03\x80\x07\x00\r\n\r\n",
        /// A document without a head, as in HTTP/0.9.
        NoHead = "no-head" b"<!doctype html>\n<title>no head</title>\n\r\n\r\n",
        /// A status line without a status.
        NoStatus = "no-status" b"HTTP/1.1 \r\ncontent-length: 0\r\n\r\n",
        /// A status that is not a number.
        BadStatus = "bad-status" b"HTTP/1.1 2x0 OK\r\ncontent-length: 0\r\n\r\n",
        /// A status of four digits.
        LongStatus = "long-status" b"HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n",
        /// A version of HTTP that is not spoken in text.
        BadVersion = "bad-version" b"HTTP/7.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        /// A field line without a colon.
        NoColon = "no-colon" b"HTTP/1.1 200 OK\r\nno colon here\r\ncontent-length: 0\r\n\r\n",
        /// A field line without a name.
        EmptyName = "empty-name" b"HTTP/1.1 200 OK\r\n: nameless\r\ncontent-length: 0\r\n\r\n",
        /// A space between a field's name and the colon. Some clients take it.
        SpaceBeforeColon = "space-before-colon" b"HTTP/1.1 200 OK\r\ncontent-length : 0\r\n\r\n",
        /// A NUL in a field's value.
        Nul = "nul" b"HTTP/1.1 200 OK\r\nx-a: b\0c\r\ncontent-length: 0\r\n\r\n",
        /// A bare CR in a field's value.
        BareCr = "bare-cr" b"HTTP/1.1 200 OK\r\nx-a: b\rx-c: d\r\ncontent-length: 0\r\n\r\n",
        /// A change of protocols that the client did not ask for.
        Switching = "switching"
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n",
    }
}

bytes! {
    /// Lengths that cannot be relied on. All of them are framed over the 13 bytes `Hello, world!`.
    BadLength {
        /// Two lengths that differ.
        Conflict = "conflict"
            b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\ncontent-length: 5\r\n\r\nHello, world!",
        /// The same length twice: clients should collapse them and accept the response.
        Repeated = "repeated"
            b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\ncontent-length: 13\r\n\r\nHello, world!",
        /// The same length twice in one field: clients should collapse them likewise.
        List = "list" b"HTTP/1.1 200 OK\r\ncontent-length: 13, 13\r\n\r\nHello, world!",
        /// A negative length.
        Negative = "negative" b"HTTP/1.1 200 OK\r\ncontent-length: -13\r\n\r\nHello, world!",
        /// A length with a sign.
        Signed = "signed" b"HTTP/1.1 200 OK\r\ncontent-length: +13\r\n\r\nHello, world!",
        /// A length that is not decimal.
        Hex = "hex" b"HTTP/1.1 200 OK\r\ncontent-length: 0xd\r\n\r\nHello, world!",
        /// A length that does not fit into 64 bits.
        Overflow = "overflow"
            b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551629\r\n\r\nHello, world!",
        /// A length beside chunks: the chunks count, and the connection is not to be reused.
        WithChunked = "with-chunked"
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n\
              d\r\nHello, world!\r\n0\r\n\r\n",
        /// More bytes than the length says: they are no part of this response, nor another one.
        TooShort = "too-short"
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nHelloHTTP/1.1 200 OK\r\n\
              content-length: 6\r\n\r\npoison",
    }
}

bytes! {
    /// Chunks that break the framing, each after a good chunk of 5 bytes.
    BadChunk {
        /// A size with `0x`.
        HexPrefix = "hex-prefix" b"0x5\r\nHello\r\n0\r\n\r\n",
        /// A size with a sign.
        Signed = "signed" b"+5\r\nHello\r\n0\r\n\r\n",
        /// A size that is no number.
        NoNumber = "no-number" b"five\r\nHello\r\n0\r\n\r\n",
        /// No size at all.
        NoSize = "no-size" b"\r\nHello\r\n0\r\n\r\n",
        /// A size that does not fit into 64 bits.
        Overflow = "overflow" b"10000000000000005\r\nHello\r\n0\r\n\r\n",
        /// More data than the size says, so that no CRLF follows.
        NoCrlf = "no-crlf" b"5\r\nHello, world\r\n0\r\n\r\n",
    }
}
