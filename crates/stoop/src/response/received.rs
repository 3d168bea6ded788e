//! What a received response tells of its exchange: where it came from, over which connection, and how long that took.

use std::net::SocketAddr;

use http::StatusCode;
use url::Url;

use super::Response;
use crate::connection_info::ConnectionInfo;
use crate::request::PastRedirect;
use crate::timings::Timings;

impl<B> Response<B> {
    /// Where it came from after all redirects; `None` for one that was made here.
    pub fn url(&self) -> Option<&str> {
        self.sent.as_ref()?.url.as_ref().map(Url::as_str)
    }

    /// The address that it came from after all redirects, if it came over TCP; `None` for one that
    /// was made here. Through a tunnel or a proxy it is theirs.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.sent.as_ref()?.peer?.inet()
    }

    /// The connection that it came over; `None` for one that was made here.
    ///
    /// ```
    /// # async fn example(client: stoop::Client) -> Result<(), stoop::Error> {
    /// let response = client.get("https://example.com/").await?;
    /// if let Some(connection) = response.connection() {
    ///     println!("{:?} {:?}", connection.version(), connection.remote_address());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn connection(&self) -> Option<ConnectionInfo> {
        let sent = self.sent.as_ref()?;
        Some(ConnectionInfo {
            proxy: None,
            remote: self.remote_address(),
            version: self.version(),
            is_reused: sent.is_reused,
            carried: sent.carried,
            drain: None,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: sent.tls,
        })
    }

    /// The certificate that the server has shown, over TLS, if the client
    /// [keeps it](crate::ClientBuilder::keep_certificates).
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn server_certificate(&self) -> Option<&crate::tls::PeerCertificate> {
        self.sent.as_ref()?.certificate.as_ref()
    }

    /// How long each phase took to get it; of one that was made here, there was none.
    pub fn timings(&self) -> Timings {
        self.sent.as_ref().map_or_else(Timings::default, |parts| parts.timings)
    }

    /// How often the request was sent to get it, redirects not counted: 1 unless it was
    /// [retried](crate::Retries); 0 for one that was made here.
    pub fn attempts(&self) -> u32 {
        self.sent.as_ref().map_or(0, |parts| parts.attempts)
    }

    /// The redirects that were followed to get it, the first one first; empty for one that was made here.
    pub fn history(&self) -> &[PastRedirect] {
        self.sent.as_ref().map_or(&[], |parts| &parts.history)
    }

    /// Whether it says that the content has not changed that the client [asked by](crate::ClientBuilder::validators): it is
    /// a 304 to the validators that the client has added, and not to conditions of the request's own.
    pub fn is_unchanged(&self) -> bool {
        self.status() == StatusCode::NOT_MODIFIED
            && self.sent.as_ref().is_some_and(|parts| parts.has_validators)
    }

    /// The content codings that its content is decoded from, in the order in which they were applied; empty if it
    /// is as it came: see [`ClientBuilder::decode_content`](crate::ClientBuilder::decode_content).
    #[cfg(feature = "compression")]
    pub fn decoded_from(&self) -> &[crate::body::ContentCoding] {
        self.sent.as_ref().map_or(&[], |parts| &parts.codings)
    }

    /// How many redirects were followed to get it.
    pub fn redirects(&self) -> u16 {
        self.redirects
    }
}
