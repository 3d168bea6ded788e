//! Why, where and by whose fault an exchange failed.

/// Why an exchange failed: the limit or cause that fired.
///
/// A closed list, the same in the library, in CSV and in JSON. [`Phase`] says where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The URL cannot be made sense of, or the request has none.
    InvalidUrl,
    /// The caller's request, or the handler's response, may not be sent as it is: a
    /// [`Misuse`](crate::Misuse), such as CR LF in a field value. Nothing of it was sent. Also a call that the
    /// client was not built for, such as [`Client::addresses_of`](crate::Client::addresses_of) with a Unix socket.
    InvalidMessage,
    /// The name does not exist.
    DnsNxdomain,
    /// The name servers could not answer.
    DnsServfail,
    /// The name servers did not answer in time.
    DnsTimeout,
    /// Another failure to resolve the name, such as a name without addresses.
    DnsOther,
    /// No address of the host may be connected to, by the caller's
    /// [`address_filter`](crate::ClientBuilder::address_filter), or because the request is for
    /// [public addresses](crate::Request::public_only) alone.
    AddressDenied,
    /// Nothing listens there.
    ConnectRefused,
    /// No connection within the time for it.
    ConnectTimeout,
    /// No way to the address.
    ConnectUnreachable,
    /// The connection was reset while it was made.
    ConnectReset,
    /// The proxy wants credentials, or others: 407 (RFC 9110 §15.5.8), or what SOCKS has for it.
    ProxyAuth,
    /// The proxy did not connect to the host, or may not: a status such as 502 to CONNECT, or what SOCKS has for it.
    ProxyRefused,
    /// No connection became free within the time for it, [`ClientTime::queue`](crate::ClientTime::queue): all
    /// that there may be are in use.
    QueueTimeout,
    /// This machine has no local port left for the address.
    NoLocalPorts,
    /// This process has no file descriptor left. A client closes idle connections before it says so,
    /// and waits for one to come free as long as connecting may take.
    TooManyFiles,
    /// The TLS handshake failed.
    TlsHandshake,
    /// The server's certificate has expired or is not valid yet.
    TlsCertExpired,
    /// The server's certificate is for another name.
    TlsCertName,
    /// No authority that is trusted vouches for the server's certificate, or it is not one for a server.
    TlsCertUntrusted,
    /// The TLS handshake was not finished within the time for it.
    TlsTimeout,
    /// The peer's HTTP/1 is malformed or goes past a limit.
    H1Parse,
    /// The peer's HTTP/2 is malformed or goes past a limit.
    H2Protocol,
    /// The server ends the HTTP/2 connection, and does not answer the request:
    /// [`Error::is_unprocessed`](crate::Error::is_unprocessed) tells whether it surely did nothing of it.
    H2GoAway,
    /// The server refused the request's HTTP/2 stream before it did anything of it.
    H2Refused,
    /// The peer closed the connection before the message was complete.
    ClosedEarly,
    /// The peer reset the connection.
    Reset,
    /// No head of a final response within the time for it, [`ClientTime::head`](crate::ClientTime::head).
    FirstByteTimeout,
    /// Nothing more of the content arrived, no response began, or nothing of the request could be sent, within the time
    /// for it.
    ReadTimeout,
    /// The content came more slowly than the least that is accepted.
    SlowBody,
    /// The whole exchange took longer than its deadline.
    TotalTimeout,
    /// The content is larger than the limit.
    BodyTooLarge,
    /// The content cannot be decoded: it is not what its fields, or the caller, say that it is.
    Decode,
    /// The status is one of an error, and the caller wants an error then:
    /// [`Response::error_for_status`](crate::Response::error_for_status).
    HttpStatus,
    /// The content to be sent failed, which the caller made.
    RequestBody,
    /// A file of the caller's cannot be written.
    File,
    /// More redirects than the limit.
    RedirectLimit,
    /// A redirect that may not be followed: its scheme, or a private address behind it.
    RedirectDenied,
    /// The exchange was given up by its owner.
    Cancelled,
    /// Something of ours went wrong; please report it.
    Internal,
}

impl ErrorKind {
    /// Each of them.
    pub const ALL: &'static [Self] = &[
        Self::InvalidUrl,
        Self::InvalidMessage,
        Self::DnsNxdomain,
        Self::DnsServfail,
        Self::DnsTimeout,
        Self::DnsOther,
        Self::AddressDenied,
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectUnreachable,
        Self::ConnectReset,
        Self::ProxyAuth,
        Self::ProxyRefused,
        Self::QueueTimeout,
        Self::NoLocalPorts,
        Self::TooManyFiles,
        Self::TlsHandshake,
        Self::TlsCertExpired,
        Self::TlsCertName,
        Self::TlsCertUntrusted,
        Self::TlsTimeout,
        Self::H1Parse,
        Self::H2Protocol,
        Self::H2GoAway,
        Self::H2Refused,
        Self::ClosedEarly,
        Self::Reset,
        Self::FirstByteTimeout,
        Self::ReadTimeout,
        Self::SlowBody,
        Self::TotalTimeout,
        Self::BodyTooLarge,
        Self::Decode,
        Self::HttpStatus,
        Self::RequestBody,
        Self::File,
        Self::RedirectLimit,
        Self::RedirectDenied,
        Self::Cancelled,
        Self::Internal,
    ];

    /// The word machines read: `dns_nxdomain`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUrl => "invalid_url",
            Self::InvalidMessage => "invalid_message",
            Self::DnsNxdomain => "dns_nxdomain",
            Self::DnsServfail => "dns_servfail",
            Self::DnsTimeout => "dns_timeout",
            Self::DnsOther => "dns_other",
            Self::AddressDenied => "address_denied",
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::ConnectUnreachable => "connect_unreachable",
            Self::ConnectReset => "connect_reset",
            Self::ProxyAuth => "proxy_auth",
            Self::ProxyRefused => "proxy_refused",
            Self::QueueTimeout => "queue_timeout",
            Self::NoLocalPorts => "no_local_ports",
            Self::TooManyFiles => "too_many_files",
            Self::TlsHandshake => "tls_handshake",
            Self::TlsCertExpired => "tls_cert_expired",
            Self::TlsCertName => "tls_cert_name",
            Self::TlsCertUntrusted => "tls_cert_untrusted",
            Self::TlsTimeout => "tls_timeout",
            Self::H1Parse => "h1_parse",
            Self::H2Protocol => "h2_protocol",
            Self::H2GoAway => "h2_goaway",
            Self::H2Refused => "h2_refused",
            Self::ClosedEarly => "closed_early",
            Self::Reset => "reset",
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::ReadTimeout => "read_timeout",
            Self::SlowBody => "slow_body",
            Self::TotalTimeout => "total_timeout",
            Self::BodyTooLarge => "body_too_large",
            Self::Decode => "decode",
            Self::HttpStatus => "http_status",
            Self::RequestBody => "request_body",
            Self::File => "file",
            Self::RedirectLimit => "redirect_limit",
            Self::RedirectDenied => "redirect_denied",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    /// What it means, for people: short and in lower case.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::InvalidUrl => "the URL is not one that can be fetched",
            Self::InvalidMessage => "the message may not be sent as it is",
            Self::DnsNxdomain => "the name does not exist",
            Self::DnsServfail => "the name servers could not answer",
            Self::DnsTimeout => "the name servers did not answer in time",
            Self::DnsOther => "the name could not be resolved",
            Self::AddressDenied => "no address of the host may be connected to",
            Self::ConnectRefused => "the connection was refused",
            Self::ConnectTimeout => "the connection was not made in time",
            Self::ConnectUnreachable => "the address cannot be reached",
            Self::ConnectReset => "the connection was reset while it was made",
            Self::ProxyAuth => "the proxy wants credentials",
            Self::ProxyRefused => "the proxy did not connect to the host",
            Self::QueueTimeout => "no connection became free in time",
            Self::NoLocalPorts => "no local port is left for this address",
            Self::TooManyFiles => "no file descriptor is left",
            Self::TlsHandshake => "the TLS handshake failed",
            Self::TlsCertExpired => "the server's certificate is not valid at this time",
            Self::TlsCertName => "the server's certificate is for another name",
            Self::TlsCertUntrusted => "the server's certificate is not trusted",
            Self::TlsTimeout => "the TLS handshake was not finished in time",
            Self::H1Parse => "the peer's HTTP is malformed",
            Self::H2Protocol => "the peer broke the rules of HTTP/2",
            Self::H2GoAway => "the server ends the connection and does not answer",
            Self::H2Refused => "the server refused the request's stream",
            Self::ClosedEarly => "the connection was closed before the message was complete",
            Self::Reset => "the connection was reset",
            Self::FirstByteTimeout => "no response came in time",
            Self::ReadTimeout => "nothing moved for too long",
            Self::SlowBody => "the content came too slowly",
            Self::TotalTimeout => "the deadline has passed",
            Self::BodyTooLarge => "the content is larger than the limit",
            Self::Decode => "the content cannot be decoded",
            Self::HttpStatus => "the response's status is an error",
            Self::RequestBody => "the content to be sent failed",
            Self::File => "the file cannot be written",
            Self::RedirectLimit => "there are too many redirects",
            Self::RedirectDenied => "the redirect may not be followed",
            Self::Cancelled => "the exchange was cancelled",
            Self::Internal => "an internal error, please report it",
        }
    }

    /// Whose fault it is.
    pub const fn culprit(self) -> Culprit {
        match self {
            Self::InvalidUrl
            | Self::InvalidMessage
            | Self::AddressDenied
            | Self::ProxyAuth
            | Self::QueueTimeout
            | Self::RequestBody
            | Self::Cancelled => Culprit::Caller,
            Self::TlsHandshake
            | Self::TlsCertExpired
            | Self::TlsCertName
            | Self::TlsCertUntrusted
            | Self::H1Parse
            | Self::H2Protocol
            | Self::H2GoAway
            | Self::H2Refused
            | Self::ClosedEarly
            | Self::BodyTooLarge
            | Self::Decode
            | Self::HttpStatus
            | Self::RedirectLimit
            | Self::RedirectDenied => Culprit::Peer,
            Self::DnsNxdomain
            | Self::DnsServfail
            | Self::DnsTimeout
            | Self::DnsOther
            | Self::ConnectRefused
            | Self::ConnectTimeout
            | Self::ConnectUnreachable
            | Self::ConnectReset
            | Self::ProxyRefused
            | Self::TlsTimeout
            | Self::Reset
            | Self::FirstByteTimeout
            | Self::ReadTimeout
            | Self::SlowBody
            | Self::TotalTimeout => Culprit::Network,
            Self::NoLocalPorts | Self::TooManyFiles | Self::File => Culprit::Machine,
            Self::Internal => Culprit::Stoop,
        }
    }
}

/// Where in an exchange an error happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Making sense of the request.
    Request,
    /// Waiting for a connection to become free.
    Queue,
    /// Resolving the name.
    Dns,
    /// Making the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Sending the request.
    Send,
    /// Waiting for the response's head.
    Wait,
    /// Receiving the content.
    Receive,
    /// Following a redirect.
    Redirect,
}

impl Phase {
    /// The word machines read: `dns`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Queue => "queue",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Wait => "wait",
            Self::Receive => "receive",
            Self::Redirect => "redirect",
        }
    }
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Culprit {
    /// The caller.
    Caller,
    /// The other end of the connection.
    Peer,
    /// The way there, or a peer that does not answer: one cannot tell which.
    Network,
    /// This machine's limits.
    Machine,
    /// This library.
    Stoop,
}
