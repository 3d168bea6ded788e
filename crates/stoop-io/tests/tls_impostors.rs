//! Peers that show a certificate whose key they do not have (RFC 8446 §4.4.3, RFC 5246 §7.4.8): ours would not be built so, and
//! these are rustls' own.
#![cfg(feature = "tls")]

mod tls_support;

use std::net::TcpListener;
use std::sync::Arc;
use std::{io, thread};

use rustls::client::ResolvesClientCert;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{AlertDescription, RootCertStore, SignatureScheme, SupportedProtocolVersion, version};
use stoop_io::{Tcp, TlsErrorKind};
use tls_support::*;

const VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

/// A certificate of one, with the key of another.
#[derive(Debug)]
struct Stolen(Arc<CertifiedKey>);

impl Stolen {
    fn new(ca: &Ca) -> Arc<Self> {
        let (shown, own) = (ca.issue(&["localhost"]), ca.issue(&["thief.example"]));
        let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
        let key = provider().key_provider.load_private_key(key).unwrap();
        Arc::new(Self(Arc::new(CertifiedKey::new(certificates(&shown.chain), key))))
    }
}

impl ResolvesClientCert for Stolen {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl ResolvesServerCert for Stolen {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().unwrap()
}

/// The alert that ended a session of rustls'.
fn alert(error: &io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref()? {
        rustls::Error::AlertReceived(alert) => Some(*alert),
        _ => None,
    }
}

#[tokio::test]
async fn a_client_without_the_key_of_its_certificate_is_refused() {
    let ca = Ca::new("test");
    let server = ca.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
    for version in VERSIONS {
        let mut roots = RootCertStore::empty();
        roots.add(certificates(&ca.pem).remove(0)).unwrap();
        let config = rustls::ClientConfig::builder_with_provider(provider());
        let config = config.with_protocol_versions(&[version]).unwrap();
        let config = config.with_root_certificates(roots);
        let config = config.with_client_cert_resolver(Stolen::new(&ca));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let thief = thread::spawn(move || {
            let name = "localhost".try_into().unwrap();
            let mut session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
            let mut tcp = std::net::TcpStream::connect(address).unwrap();
            // In TLS 1.3 a client has finished before it is judged.
            io::copy(&mut rustls::Stream::new(&mut session, &mut tcp), &mut io::sink())
        });
        let (accepted, from) = listener.accept().await.unwrap();
        let mut session = server.accept(Tcp::new(accepted, from)).unwrap();
        let refused = handshake(&mut session).await.unwrap_err();
        assert_eq!(refused.kind(), TlsErrorKind::CertificateInvalid, "{refused}");
        drop(session);
        let error = thief.join().unwrap().unwrap_err();
        assert_eq!(alert(&error), Some(AlertDescription::DecryptError), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_the_key_of_its_certificate_is_refused() {
    let ca = Ca::new("test");
    let client = ca.client().build().unwrap();
    for version in VERSIONS {
        let config = rustls::ServerConfig::builder_with_provider(provider());
        let config = config.with_protocol_versions(&[version]).unwrap();
        let config = config.with_no_client_auth().with_cert_resolver(Stolen::new(&ca));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thief = thread::spawn(move || {
            let mut session = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            let (mut tcp, _) = listener.accept().unwrap();
            io::copy(&mut rustls::Stream::new(&mut session, &mut tcp), &mut io::sink())
        });
        let tcp = Tcp::connect(address).await.unwrap();
        let mut session = client.connect(tcp, "localhost").unwrap();
        let refused = handshake(&mut session).await.unwrap_err();
        assert_eq!(refused.kind(), TlsErrorKind::CertificateInvalid, "{refused}");
        drop(session);
        let error = thief.join().unwrap().unwrap_err();
        assert_eq!(alert(&error), Some(AlertDescription::DecryptError), "{error}");
    }
}
