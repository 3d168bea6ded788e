//! The request that a load sends again and again, whichever generator sends it.

use std::net::SocketAddr;
use std::path::Path;

/// How many requests the pipelined work sends at once.
pub(super) const DEPTH: usize = 16;

/// The fields of a pipelined request: five, as a browser sends them.
pub(super) const FIELDS: &str = "\
Host: 127.0.0.1
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8
Accept-Language: en-US,en;q=0.5
Accept-Encoding: gzip, deflate, br, zstd
";

/// A request, and how it is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadRequest {
    pub(crate) path: &'static str,
    /// The bytes of a POST's content; none is a GET.
    pub(crate) post: Option<usize>,
    /// The content is sent in chunks, without a Content-Length.
    pub(crate) is_chunked: bool,
    /// Each request is sent on a new connection.
    pub(crate) is_fresh: bool,
    /// Sixteen requests are sent in one write, and the next sixteen when all are answered.
    pub(crate) is_pipelined: bool,
    pub(crate) is_tls: bool,
    /// How many requests are in flight at once on each connection of HTTP/2; none is HTTP/1.1.
    pub(crate) streams: Option<u32>,
    /// The bytes of the messages that are sent over WebSocket instead of requests.
    pub(crate) message: Option<usize>,
}

impl LoadRequest {
    pub(crate) const HELLO: Self = Self {
        path: "/",
        post: None,
        is_chunked: false,
        is_fresh: false,
        is_pipelined: false,
        is_tls: false,
        streams: None,
        message: None,
    };

    /// Its name in [`crate::paths::PATHS`].
    pub(crate) fn name(&self) -> String {
        let Self { path, post, is_chunked, .. } = self;
        let method = if post.is_some() { "POST" } else { "GET" };
        format!("{method} {path}{}", if *is_chunked { " chunked" } else { "" })
    }

    /// The URL at `address`.
    pub(super) fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{address}{}", self.path)
    }
}

/// One run of a load generator.
pub(super) struct LoadRun<'a> {
    pub(super) request: &'a LoadRequest,
    /// The file that the generator reads.
    pub(super) file: &'a Path,
    pub(super) address: SocketAddr,
    pub(super) connections: u32,
    pub(super) seconds: u32,
}

impl LoadRun<'_> {
    pub(super) fn url(&self) -> String {
        self.request.url(self.address)
    }
}
