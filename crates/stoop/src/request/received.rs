//! What a received request tells of its client, its connection and its server.

use std::net::SocketAddr;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::PeerCertificate;

use super::{InterimSender, Request};
use crate::connection_info::ConnectionInfo;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::connection_info::{ServerName, TlsFacts};
use crate::drain::{DrainState, Draining};

impl Request {
    /// The client's address, if it came over TCP.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        match self.parts.peer {
            Some(peer) => peer.inet(),
            None => self.told_connection()?.remote_address(),
        }
    }

    /// The connection that it came over; `None` for one that was made here. That of an `http::Request`, which has it as an
    /// extension, is still there when it has become one of ours again.
    ///
    /// ```
    /// use stoop::Request;
    ///
    /// fn who(request: Request) -> String {
    ///     let Some(connection) = request.connection() else { return "it was made here".to_owned() };
    ///     format!("{:?} over {:?}", connection.remote_address(), connection.version())
    /// }
    /// ```
    pub fn connection(&self) -> Option<ConnectionInfo> {
        let Some(peer) = self.parts.peer else { return self.told_connection().copied() };
        let facts = self.parts.facts.as_deref();
        Some(ConnectionInfo {
            remote: peer.inet(),
            version: self.version(),
            is_reused: self.parts.is_reused,
            carried: self.parts.carried,
            proxy: facts.and_then(|facts| facts.proxy.as_deref().copied()),
            drain: facts.and_then(|facts| facts.drain.as_ref()).map(DrainState::number),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: self.tls_facts().and_then(|tls| tls.session),
        })
    }

    /// What sends interim responses, such as 103 (RFC 8297), ahead of the response to this request. `None` where none
    /// may be sent: to a client of HTTP/1.0 (RFC 9110 §15.2), by a server whose
    /// [`ServerLimits::interim_responses_max`](crate::ServerLimits::interim_responses_max) is 0, as by default, and of
    /// a request that was made here. A 100 (Continue) is sent by the server itself when the content is first read.
    ///
    /// ```
    /// use stoop::{Request, Response, Server, ServerLimits};
    ///
    /// async fn page(request: Request) -> Response {
    ///     if let Some(interim) = request.interim() {
    ///         let _ = interim.early_hints(["</style.css>; rel=preload; as=style"]);
    ///     }
    ///     tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    ///     Response::from_text("here it is")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut limits = ServerLimits::default();
    /// limits.interim_responses_max = 1;
    /// let server = Server::listen("127.0.0.1:0")?.limits(limits).run_here(page)?;
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn interim(&self) -> Option<InterimSender> {
        self.parts.interim.clone()
    }

    /// The certificate that the client has shown, if the server asks for one by
    /// [`client_ca_file`](crate::tls::ServerTlsBuilder::client_ca_file) and it has: verified, with the names in it.
    ///
    /// ```
    /// use stoop::Request;
    ///
    /// fn who(request: Request) -> String {
    ///     match request.client_certificate() {
    ///         Some(shown) => shown.common_name().unwrap_or("without a name").to_owned(),
    ///         None => "anonymous".to_owned(),
    ///     }
    /// }
    /// ```
    ///
    /// An `http::Request` has it as an extension, as which it is still there when that has become one of ours again.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn client_certificate(&self) -> Option<&PeerCertificate> {
        match self.parts.peer {
            Some(_) => self.tls_facts()?.client_certificate.as_ref(),
            None => self.parts.extensions.get(),
        }
    }

    /// The name of the server that the client has asked for in the TLS handshake, by SNI (RFC 6066 §3), in lower case.
    /// It need not be that of the [authority](Self::authority): a client may ask for several names over one connection.
    ///
    /// An `http::Request` has it as the extension [`ServerName`](crate::tls::ServerName), as which it is still there
    /// when that has become one of ours again.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn server_name(&self) -> Option<&str> {
        let name = match self.parts.peer {
            Some(_) => self.tls_facts()?.server_name.as_ref(),
            None => self.parts.extensions.get(),
        };
        name.map(ServerName::as_str)
    }

    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) fn tls_facts(&self) -> Option<&TlsFacts> {
        self.parts.facts.as_ref()?.tls.as_deref()
    }

    /// A future that is done once the server that received this drains: see [`Draining`].
    pub fn draining(&self) -> Draining {
        match self.parts.facts.as_ref().and_then(|facts| facts.drain.clone()) {
            None => self.told_connection().map(ConnectionInfo::draining).unwrap_or_default(),
            drain => Draining::new(drain),
        }
    }

    /// The connection of a request that was one of the `http` crate meanwhile.
    fn told_connection(&self) -> Option<&ConnectionInfo> {
        self.parts.extensions.get()
    }
}
