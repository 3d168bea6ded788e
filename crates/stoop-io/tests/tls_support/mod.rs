//! Helpers of the TLS tests: certificates, pairs over loopback, and a transport's methods as futures.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::future::poll_fn;
use std::io;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use stoop_io::{
    AnyTransport, ClientTls, ClientTlsBuilder, FillResult, Output, ServerTls, ServerTlsBuilder,
    Tcp, Tls, TlsError, Transport,
};
use tokio::net::{TcpListener, TcpStream};

/// A certificate authority of our own.
pub struct Ca {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate and its key, as PEM.
pub struct Identity {
    pub chain: String,
    pub key: String,
}

impl Ca {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |_| {})
    }

    pub fn issue_with(&self, names: &[&str], f: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        f(&mut params);
        let key = KeyPair::generate().unwrap();
        let chain = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity { chain, key: key.serialize_pem() }
    }

    /// A client that trusts this CA and no other.
    pub fn client(&self) -> ClientTlsBuilder {
        ClientTls::builder().platform_cas(false).ca_pem(self.pem.as_str())
    }

    /// A server with a good certificate for `localhost` and 127.0.0.1.
    pub fn server(&self) -> ServerTlsBuilder {
        self.issue(&["localhost", "127.0.0.1"]).server()
    }
}

impl Identity {
    /// A certificate that no CA issued.
    pub fn self_signed(names: &[&str], f: impl FnOnce(&mut CertificateParams)) -> Self {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        f(&mut params);
        let key = KeyPair::generate().unwrap();
        let chain = params.self_signed(&key).unwrap().pem();
        Self { chain, key: key.serialize_pem() }
    }

    pub fn server(&self) -> ServerTlsBuilder {
        ServerTls::builder().certificate_pem(self.chain.as_str(), self.key.as_str())
    }
}

/// Two ends of a TCP connection over loopback.
pub async fn tcp_pair() -> (Tcp, Tcp) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (accepted, peer) = theirs.unwrap();
    let ours = ours.unwrap();
    ours.set_nodelay(true).unwrap();
    accepted.set_nodelay(true).unwrap();
    (Tcp::new(ours, address), Tcp::new(accepted, peer))
}

/// Two ends of a session whose handshake has not begun.
pub async fn tls_pair(client: &ClientTls, server: &ServerTls) -> (Tls, Tls) {
    let (ours, theirs) = tcp_pair().await;
    (client.connect(ours, "localhost").unwrap(), server.accept(theirs).unwrap())
}

/// Two ends of an open session.
pub async fn open_pair(client: &ClientTls, server: &ServerTls) -> (Tls, Tls) {
    let (mut client, mut server) = tls_pair(client, server).await;
    let (c, s) = tokio::join!(handshake(&mut client), handshake(&mut server));
    c.unwrap();
    s.unwrap();
    (client, server)
}

/// Both ends' handshakes.
pub async fn handshakes(
    client: &ClientTls,
    server: &ServerTls,
    name: &str,
) -> (Result<Tls, TlsError>, Result<Tls, TlsError>) {
    let (ours, theirs) = tcp_pair().await;
    let client = async {
        let mut client = client.connect(ours, name)?;
        handshake(&mut client).await.map(|()| client)
    };
    let server = async {
        let mut server = server.accept(theirs)?;
        handshake(&mut server).await.map(|()| server)
    };
    tokio::join!(client, server)
}

pub async fn handshake(tls: &mut Tls) -> Result<(), TlsError> {
    poll_fn(|cx| tls.poll_handshake(cx)).await
}

pub async fn send(to: &mut impl Transport, bytes: &[u8]) -> io::Result<()> {
    let mut out = Output::default();
    out.put(bytes);
    flush(to, &mut out).await
}

pub async fn flush(to: &mut impl Transport, out: &mut Output) -> io::Result<()> {
    poll_fn(|cx| to.poll_flush(cx, out)).await
}

pub async fn shutdown(it: &mut impl Transport) -> io::Result<()> {
    poll_fn(|cx| it.poll_shutdown(cx)).await
}

pub async fn fill(from: &mut impl Transport, room: usize) -> io::Result<FillResult> {
    poll_fn(|cx| from.poll_fill(cx, room)).await
}

/// The next `n` bytes.
pub async fn receive(from: &mut impl Transport, n: usize) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while all.len() < n {
        match fill(from, 64 * 1024).await? {
            FillResult::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            FillResult::Bytes(_) | FillResult::Full => {}
        }
        let step = from.received().len().min(n - all.len());
        all.extend_from_slice(&from.received()[..step]);
        from.consume(step);
    }
    Ok(all)
}

/// Everything up to the end, and how it ended.
pub async fn receive_all(from: &mut impl Transport) -> (Vec<u8>, io::Result<()>) {
    let mut all = Vec::new();
    loop {
        let filled = fill(from, 64 * 1024).await;
        all.extend_from_slice(from.received());
        from.consume(from.received().len());
        match filled {
            Ok(FillResult::End) => return (all, Ok(())),
            Ok(_) => {}
            Err(error) => return (all, Err(error)),
        }
    }
}

/// The [`TlsError`] in an error of a transport.
pub fn cause(error: &io::Error) -> Option<&TlsError> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

/// Bytes that differ from their neighbours.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n ^ (n >> 8) ^ (n >> 16)) as u8).collect()
}

/// A transport that lets only so many bytes through at a time, in both directions.
pub struct DripTransport {
    inner: AnyTransport,
    step: usize,
    visible: usize,
    one: Output,
}

impl DripTransport {
    pub fn over(inner: impl Into<AnyTransport>, step: usize) -> AnyTransport {
        let (inner, one) = (inner.into(), Output::default());
        AnyTransport::Custom(Box::new(Self { inner, step, visible: 0, one }))
    }
}

impl Transport for DripTransport {
    fn poll_fill(
        &mut self,
        cx: &mut std::task::Context<'_>,
        room: usize,
    ) -> std::task::Poll<io::Result<FillResult>> {
        if self.visible >= room {
            return std::task::Poll::Ready(Ok(FillResult::Full));
        }
        if self.inner.received().len() == self.visible {
            match std::task::ready!(self.inner.poll_fill(cx, usize::MAX))? {
                FillResult::Bytes(_) => {}
                other => return std::task::Poll::Ready(Ok(other)),
            }
        }
        let hidden = self.inner.received().len() - self.visible;
        let more = hidden.min(self.step).min(room - self.visible);
        self.visible += more;
        std::task::Poll::Ready(Ok(FillResult::Bytes(more)))
    }
    fn received(&self) -> &[u8] {
        &self.inner.received()[..self.visible]
    }
    fn consume(&mut self, n: usize) {
        self.visible -= n;
        self.inner.consume(n);
    }
    fn take(&mut self, n: usize) -> bytes::Bytes {
        self.visible -= n;
        self.inner.take(n)
    }
    fn poll_flush(
        &mut self,
        cx: &mut std::task::Context<'_>,
        out: &mut Output,
    ) -> std::task::Poll<io::Result<()>> {
        if self.one.is_empty() {
            let n = out.front().len().min(self.step);
            if n == 0 {
                return std::task::Poll::Ready(Ok(()));
            }
            self.one.put(&out.front()[..n]);
            out.advance(n);
        }
        std::task::ready!(self.inner.poll_flush(cx, &mut self.one))?;
        if out.is_empty() {
            return std::task::Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    }
    fn unsent(&self) -> usize {
        self.one.len()
    }
    fn poll_shutdown(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        self.inner.poll_shutdown(cx)
    }
    fn liveness(&mut self, look: stoop_io::LivenessCheck) -> stoop_io::Liveness {
        self.inner.liveness(look)
    }
    fn peer(&self) -> stoop_io::PeerAddress {
        self.inner.peer()
    }
}
