//! Certificates that are chosen by name, what a server knows of its client, and a configuration that is replaced while
//! sessions run.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{DnType, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SanType};
use stoop_io::{ClientTls, ServerTls, ServerTlsBuilder, Tls, TlsVersion, Transport};
use tls_support::*;

/// A server's certificate for some names, and further ones.
fn server(of: &[&Identity]) -> ServerTlsBuilder {
    of[1..].iter().fold(of[0].server(), |builder, further| {
        builder.further_certificate_pem(further.chain.as_str(), further.key.as_str())
    })
}

/// Which of the certificates a client is shown that asks for `name`; none if it is refused.
async fn shown(of: &[&Identity], server: &ServerTls, name: Option<&str>) -> Option<usize> {
    let builder = ClientTls::builder().dangerous_accept_any_certificate();
    let client = builder.server_name_indication(name.is_some()).build().unwrap();
    let (client, _) = handshakes(&client, server, name.unwrap_or("localhost")).await;
    let session = client.ok()?;
    let shown = session.peer_certificate().unwrap().to_vec();
    let is_it = |of: &&Identity| rustls_der(&of.chain) == shown;
    Some(of.iter().position(is_it).expect("one of them"))
}

/// The DER of the first certificate of a PEM text.
fn rustls_der(pem: &str) -> Vec<u8> {
    use base64::Engine;
    let lines = pem.lines().skip(1).take_while(|line| !line.starts_with("-----"));
    base64::engine::general_purpose::STANDARD.decode(lines.collect::<String>()).unwrap()
}

/// RFC 9525 §6.3: exact names first, then a wildcard for the one leftmost label.
#[tokio::test]
async fn the_certificate_is_chosen_by_the_name_that_the_client_asks_for() {
    let ca = Ca::new("test");
    let first = ca.issue(&["first.test"]);
    let wild = ca.issue(&["*.example.test", "f*.first.test"]);
    let exact = ca.issue(&["WWW.Example.test", "other.test"]);
    let all = [&first, &wild, &exact];
    let lenient = server(&all).build().unwrap();
    let strict = server(&all).refuse_unknown_names(true).build().unwrap();
    for (name, expected) in [
        ("first.test", Some(0)),
        ("FIRST.test", Some(0)),
        ("a.example.test", Some(1)),
        ("www.example.test", Some(2)),
        ("other.test", Some(2)),
        ("example.test", None),
        ("a.b.example.test", None),
        ("foo.first.test", None),
        ("else.where", None),
    ] {
        assert_eq!(shown(&all, &lenient, Some(name)).await, expected.or(Some(0)), "{name}");
        assert_eq!(shown(&all, &strict, Some(name)).await, expected, "{name}");
    }
    assert_eq!(shown(&all, &lenient, None).await, Some(0));
    assert_eq!(shown(&all, &strict, None).await, None);
}

/// The common name is no name that a certificate is chosen by.
#[test]
fn a_further_certificate_without_a_dns_name_is_refused() {
    let ca = Ca::new("test");
    let first = ca.issue(&["first.test"]);
    let nameless = ca.issue_with(&["127.0.0.1"], |params| {
        params.distinguished_name.push(DnType::CommonName, "a.test");
    });
    let text = server(&[&first, &nameless]).build().unwrap_err().to_string();
    assert!(text.contains("it has no DNS name"), "{text}");
    server(&[&nameless]).build().unwrap();
    server(&[&nameless]).refuse_unknown_names(true).build().unwrap_err();
    let mismatched = first.server().further_certificate_pem(first.chain.as_str(), nameless.key);
    let text = mismatched.build().unwrap_err().to_string();
    assert!(text.contains("the key does not belong"), "{text}");
}

/// This client can verify both kinds of keys.
#[tokio::test]
async fn of_several_certificates_for_a_name_the_first_is_shown() {
    let identity = |algorithm| {
        let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let chain = params.self_signed(&key).unwrap().pem();
        Identity { chain, key: key.serialize_pem() }
    };
    let (modern, common) = (identity(&PKCS_ED25519), identity(&PKCS_ECDSA_P256_SHA256));
    let all = [&modern, &common];
    let server = server(&all).build().unwrap();
    assert_eq!(shown(&all, &server, Some("localhost")).await, Some(0));
    assert_eq!(shown(&all, &server, None).await, Some(0));
}

#[tokio::test]
async fn a_server_knows_the_name_that_was_asked_for_and_the_names_of_its_client() {
    let ca = Ca::new("test");
    let server = ca.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
    let identity = ca.issue_with(&["worker.test", "10.1.2.3"], |params| {
        params.distinguished_name.push(DnType::OrganizationName, "Test");
        params.distinguished_name.push(DnType::CommonName, "worker 7");
        let uri = "spiffe://test/worker".try_into().unwrap();
        params.subject_alt_names.push(SanType::URI(uri));
        params.subject_alt_names.push(SanType::Rfc822Name("w@test".try_into().unwrap()));
    });
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        let client = ca.client().certificate_pem(identity.chain.as_str(), identity.key.as_str());
        let client = client.max_version(version).build().unwrap();
        for resumed in [false, true] {
            let (mut ours, mut theirs) = open_pair(&client, &server).await;
            assert_eq!(theirs.server_name(), Some("localhost"));
            assert_eq!(theirs.is_resumed(), resumed, "{version:?}");
            let shown = theirs.peer_chain().unwrap();
            assert_eq!(shown.chain().len(), 1);
            assert_eq!(shown.der(), rustls_der(&identity.chain));
            assert_eq!(shown.common_name(), Some("worker 7"));
            assert_eq!(shown.dns_names(), ["worker.test"]);
            assert_eq!(shown.ip_addresses(), [IpAddr::from(Ipv4Addr::new(10, 1, 2, 3))]);
            assert_eq!(shown.uris(), ["spiffe://test/worker"]);
            assert_eq!(shown.email_addresses(), ["w@test"]);
            exchange(&mut ours, &mut theirs).await;
        }
    }
    let server = ca.server().build().unwrap();
    let (_, theirs) = open_pair(&ca.client().build().unwrap(), &server).await;
    assert!(theirs.peer_chain().is_none());
}

/// Sends a byte from the server to the client, and its tickets with it.
async fn exchange(ours: &mut Tls, theirs: &mut Tls) {
    send(theirs, b"x").await.unwrap();
    receive(ours, 1).await.unwrap();
}

#[tokio::test]
async fn what_is_replaced_holds_for_new_sessions_and_running_ones_go_on() {
    let ca = Ca::new("test");
    let (one, other) = (ca.issue(&["localhost"]), ca.issue(&["localhost"]));
    let all = [&one, &other];
    let server = one.server().build().unwrap();
    let clone = server.clone().with_alpn_default(&[b"h2", b"http/1.1"]);
    let client = ca.client().alpn(["h2", "http/1.1"]).build().unwrap();
    let (mut ours, mut theirs) = open_pair(&client, &clone).await;
    assert_eq!(theirs.alpn(), Some(&b"h2"[..]));
    server.replace(other.server()).unwrap();
    for server in [&server, &clone] {
        assert_eq!(shown(&all, server, Some("localhost")).await, Some(1));
    }
    exchange(&mut ours, &mut theirs).await;
    let (_, theirs) = open_pair(&client, &clone).await;
    assert_eq!(theirs.alpn(), Some(&b"h2"[..]), "the default of the clone");
    // What cannot be used changes nothing.
    server.replace(ServerTls::builder().certificate_pem("nonsense", "")).unwrap_err();
    server.replace(ServerTls::builder()).unwrap_err();
    assert_eq!(shown(&all, &clone, Some("localhost")).await, Some(1));
    server.reload().unwrap();
    assert_eq!(shown(&all, &clone, Some("localhost")).await, Some(1));
    server.replace(one.server().alpn(["x"])).unwrap();
    let client = ca.client().alpn(["x", "h2"]).build().unwrap();
    let (_, theirs) = open_pair(&client, &clone).await;
    assert_eq!(theirs.alpn(), Some(&b"x"[..]), "what is configured");
}

#[tokio::test]
async fn files_are_read_again() {
    let ca = Ca::new("test");
    let (one, other) = (ca.issue(&["localhost"]), ca.issue(&["localhost"]));
    let all = [&one, &other];
    let folder = std::env::temp_dir().join(format!("stoop-reload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (chain, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    let write = |identity: &Identity| {
        std::fs::write(&chain, &identity.chain).unwrap();
        std::fs::write(&key, &identity.key).unwrap();
    };
    write(&one);
    let server = ServerTls::builder().certificate_files(&chain, &key).build().unwrap();
    write(&other);
    assert_eq!(shown(&all, &server, Some("localhost")).await, Some(0));
    server.reload().unwrap();
    assert_eq!(shown(&all, &server, Some("localhost")).await, Some(1));
    // Half of a renewal: the key of one and the certificate of the other.
    std::fs::write(&chain, &one.chain).unwrap();
    let text = server.reload().unwrap_err().to_string();
    assert!(text.contains("key.pem: the key does not belong"), "{text}");
    assert_eq!(shown(&all, &server, Some("localhost")).await, Some(1));
    // PEM, around what is no certificate.
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(&chain, damaged).unwrap();
    let text = server.reload().unwrap_err().to_string();
    assert!(text.contains("chain.pem: the first certificate in it cannot be read"), "{text}");
    assert_eq!(shown(&all, &server, Some("localhost")).await, Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A ticket would let a client in that the new CA has not issued a certificate for.
#[tokio::test]
async fn no_session_from_before_is_resumed_once_the_clients_ca_has_changed() {
    let (ca, other) = (Ca::new("test"), Ca::new("other"));
    let identity = ca.issue(&["client.test"]);
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        let own = ca.issue(&["localhost"]);
        let server = own.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
        let client = ca.client().certificate_pem(identity.chain.as_str(), identity.key.as_str());
        let client = client.max_version(version).build().unwrap();
        for resumed in [false, true] {
            let (mut ours, mut theirs) = open_pair(&client, &server).await;
            assert_eq!(theirs.is_resumed(), resumed);
            exchange(&mut ours, &mut theirs).await;
        }
        server.replace(own.server().client_ca_pem(other.pem.as_str())).unwrap();
        let (_, refused) = handshakes(&client, &server, "localhost").await;
        assert!(refused.is_err(), "{version:?}");
        server.replace(own.server().client_ca_pem(ca.pem.as_str())).unwrap();
        let (_, theirs) = open_pair(&client, &server).await;
        assert!(!theirs.is_resumed(), "{version:?}");
    }
}
