//! TLS handshakes: which certificates are trusted, what is agreed on, and the errors of failures.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa};
use stoop_io::{Alert, ClientTls, TlsError, TlsErrorKind, TlsVersion, Transport};
use tls_support::*;

/// The client's error and the server's, of a handshake that fails.
async fn refusal(
    client: &ClientTls,
    server: &stoop_io::ServerTls,
    name: &str,
) -> (TlsError, Option<TlsError>) {
    let (ours, theirs) = handshakes(client, server, name).await;
    (ours.err().expect("the client refuses"), theirs.err())
}

#[tokio::test]
async fn a_named_ca_is_trusted() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (client, server) = open_pair(&client, &server).await;
    assert_eq!(client.version(), Some(TlsVersion::V1_3));
    assert_eq!(client.alpn(), Some(&b"http/1.1"[..]));
    assert_eq!(server.alpn(), Some(&b"http/1.1"[..]));
    assert!(client.peer_certificate().is_some());
    assert!(server.peer_certificate().is_none());
}

#[tokio::test]
async fn a_server_may_be_named_by_its_address() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (client, server) = handshakes(&client, &server, "127.0.0.1").await;
    assert!(client.is_ok() && server.is_ok());
}

#[tokio::test]
async fn the_first_of_the_servers_protocols_that_the_client_offers_is_chosen() {
    let ca = Ca::new("test");
    let server = ca.server().alpn(["h2", "http/1.1"]).build().unwrap();
    let client = ca.client().alpn(["http/1.1", "h2"]).build().unwrap();
    let (client, server) = open_pair(&client, &server).await;
    assert_eq!(client.alpn(), Some(&b"h2"[..]));
    assert_eq!(server.alpn(), Some(&b"h2"[..]));
}

/// A ClientHello as it is sent: RFC 8446 §4.1.2.
#[tokio::test]
async fn a_client_prefers_aes_128() {
    let (ours, mut theirs) = tcp_pair().await;
    let mut client = Ca::new("test").client().build().unwrap().connect(ours, "localhost").unwrap();
    tokio::select! {
        _ = handshake(&mut client) => panic!("no server answers"),
        hello = receive(&mut theirs, 200) => {
            let hello = hello.unwrap();
            // Behind two heads, the version and the random comes the session's id, with its length.
            let suites = 5 + 4 + 2 + 32 + 1 + usize::from(hello[43]) + 2;
            assert_eq!(hello[suites..suites + 2], [0x13, 0x01], "TLS_AES_128_GCM_SHA256");
        }
    }
}

#[tokio::test]
async fn without_an_offer_no_protocol_is_chosen() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    let client = ca.client().alpn::<&[u8]>([]).build().unwrap();
    let (client, server) = open_pair(&client, &server).await;
    assert_eq!((client.alpn(), server.alpn()), (None, None));
}

#[tokio::test]
async fn a_single_connection_can_offer_other_protocols() {
    let ca = Ca::new("test");
    let server = ca.server().alpn(["h2", "http/1.1"]).build().unwrap();
    let client = ca.client().alpn(["h2"]).build().unwrap();
    let (ours, theirs) = tcp_pair().await;
    let mut client = client.connect_with_alpn(ours, "localhost", &[b"http/1.1"]).unwrap();
    let mut server = server.accept(theirs).unwrap();
    let (c, s) = tokio::join!(handshake(&mut client), handshake(&mut server));
    c.unwrap();
    s.unwrap();
    assert_eq!(client.alpn(), Some(&b"http/1.1"[..]));
}

#[tokio::test]
async fn a_handshake_without_a_protocol_in_common_is_refused() {
    let ca = Ca::new("test");
    let server = ca.server().alpn(["h2"]).build().unwrap();
    let (ours, theirs) = refusal(&ca.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::Alert(Alert(120)), "{ours}");
    assert_eq!(theirs.unwrap().kind(), TlsErrorKind::Handshake);
}

#[tokio::test]
async fn a_wrong_name_is_refused_and_the_error_has_both_names() {
    let ca = Ca::new("test");
    let server = ca.issue(&["a.example", "*.b.example"]).server().build().unwrap();
    let (ours, theirs) = refusal(&ca.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateName);
    assert_eq!(
        ours.to_string(),
        "the certificate shown is for a.example, *.b.example, not for localhost"
    );
    // The server learns of it by an alert, not by a closed connection.
    assert!(matches!(theirs.unwrap().kind(), TlsErrorKind::Alert(_)));
}

/// As `openssl req -x509` makes them: marked as a CA.
fn a_ca(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

#[tokio::test]
async fn a_certificate_that_is_named_itself_is_trusted() {
    let leaf = Ca::new("test").issue(&["localhost"]);
    let plain = Identity::self_signed(&["localhost"], |_| {});
    let ca = Identity::self_signed(&["localhost"], a_ca);
    for own in [leaf, plain, ca] {
        let server = own.server().build().unwrap();
        for platform in [true, false] {
            let client = ClientTls::builder().platform_cas(platform).ca_pem(own.chain.as_str());
            let (ours, _) = handshakes(&client.build().unwrap(), &server, "localhost").await;
            assert!(ours.is_ok(), "{:?}", ours.err());
        }
    }
}

/// A certificate that is trusted itself is neither valid for ever nor for every name.
#[tokio::test]
async fn a_certificate_that_is_named_itself_is_still_checked_for_name_and_time() {
    let long_ago = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    };
    let issuer = Ca::new("test");
    for (own, kind) in [
        (Identity::self_signed(&["a.example"], a_ca), TlsErrorKind::CertificateName),
        (issuer.issue(&["a.example"]), TlsErrorKind::CertificateName),
        (
            Identity::self_signed(&["localhost"], |params| {
                a_ca(params);
                long_ago(params);
            }),
            TlsErrorKind::CertificateExpired,
        ),
        (issuer.issue_with(&["localhost"], long_ago), TlsErrorKind::CertificateExpired),
    ] {
        let client = ClientTls::builder().platform_cas(false).ca_pem(own.chain.as_str());
        let server = own.server().build().unwrap();
        let (ours, _) = refusal(&client.build().unwrap(), &server, "localhost").await;
        assert_eq!(ours.kind(), kind, "{ours}");
    }
}

#[tokio::test]
async fn a_ca_is_not_a_server_unless_it_is_named_itself() {
    // The same name, and another key: it is the bytes that count.
    let (own, other) = (Identity::self_signed(&["localhost"], a_ca), Ca::new("test"));
    let server = own.server().build().unwrap();
    let (ours, _) = refusal(&other.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateInvalid);
    let text = ours.to_string();
    assert!(text.contains("is a CA's") && text.contains("not itself among"), "{text}");
    // Nor does a CA that is named vouch for another that shows itself as a server.
    let server = other.issue_with(&["localhost"], a_ca).server().build().unwrap();
    let (ours, _) = refusal(&other.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateInvalid, "{ours}");
}

/// Errors that rustls has no text for are still put in words.
#[tokio::test]
async fn a_certificate_for_clients_is_refused_in_words() {
    let ca = Ca::new("test");
    let server = ca.issue_with(&["localhost"], |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let server = server.server().build().unwrap();
    let (ours, _) = refusal(&ca.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(
        ours.to_string(),
        "localhost's certificate is not acceptable: it is not meant for this purpose"
    );
}

#[tokio::test]
async fn an_unknown_issuer_is_refused() {
    let ca = Ca::new("test");
    let client = Ca::new("another").client().build().unwrap();
    let (ours, theirs) = refusal(&client, &ca.server().build().unwrap(), "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateUntrusted);
    assert_eq!(ours.to_string(), "localhost's certificate was not issued by a trusted CA");
    assert_eq!(theirs.unwrap().kind(), TlsErrorKind::Alert(Alert(48)));
}

#[tokio::test]
async fn the_platform_does_not_trust_our_ca_unless_it_is_named_too() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    let client = ClientTls::builder().build().unwrap();
    let (ours, _) = refusal(&client, &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateUntrusted, "{ours}");
    let client = ClientTls::builder().ca_pem(ca.pem.as_str()).build().unwrap();
    assert!(handshakes(&client, &server, "localhost").await.0.is_ok());
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let ca = Ca::new("test");
    let expired = ca.issue_with(&["localhost"], |params| {
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    });
    let server = expired.server().build().unwrap();
    let (ours, theirs) = refusal(&ca.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateExpired);
    assert!(ours.to_string().contains("days ago"), "{ours}");
    assert_eq!(theirs.unwrap().kind(), TlsErrorKind::Alert(Alert(45)));
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_yet_is_refused() {
    let ca = Ca::new("test");
    let future = ca.issue_with(&["localhost"], |params| {
        params.not_before = rcgen::date_time_ymd(2090, 1, 1);
        params.not_after = rcgen::date_time_ymd(2091, 1, 1);
    });
    let server = future.server().build().unwrap();
    let (ours, _) = refusal(&ca.client().build().unwrap(), &server, "localhost").await;
    assert_eq!(ours.kind(), TlsErrorKind::CertificateExpired);
    assert!(ours.to_string().contains("clock"), "{ours}");
}

#[tokio::test]
async fn the_dangerous_setting_accepts_any_certificate() {
    let expired = Ca::new("test").issue_with(&["other.example"], |params| {
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    });
    let server = expired.server().build().unwrap();
    let client = ClientTls::builder().dangerous_accept_any_certificate().build().unwrap();
    let (client, server) = handshakes(&client, &server, "localhost").await;
    assert!(client.is_ok() && server.is_ok());
}

#[tokio::test]
async fn client_certificates_are_asked_for_and_checked() {
    let (ca, users) = (Ca::new("servers"), Ca::new("users"));
    let required = ca.server().client_ca_pem(users.pem.as_str()).build().unwrap();
    let with = |user: Identity| ca.client().certificate_pem(user.chain, user.key).build().unwrap();

    let good = with(users.issue(&["user.example"]));
    let (client, server) = handshakes(&good, &required, "localhost").await;
    assert!(client.is_ok() && server.unwrap().peer_certificate().is_some());

    let stranger = with(Ca::new("strangers").issue(&["user.example"]));
    let (_, server) = handshakes(&stranger, &required, "localhost").await;
    assert_eq!(server.err().unwrap().kind(), TlsErrorKind::CertificateUntrusted);

    let anonymous = ca.client().build().unwrap();
    let (client, server) = handshakes(&anonymous, &required, "localhost").await;
    assert_eq!(server.err().unwrap().kind(), TlsErrorKind::CertificateMissing);
    // In TLS 1.3 a client has finished before it is judged: it learns at its first read.
    let error = fill(&mut client.unwrap(), 100).await.unwrap_err();
    let refused = cause(&error).unwrap();
    assert_eq!(refused.kind(), TlsErrorKind::Alert(Alert(116)), "{refused}");

    let optional = ca.server().client_ca_pem(users.pem.as_str()).allow_anonymous_clients(true);
    let (client, server) = handshakes(&anonymous, &optional.build().unwrap(), "localhost").await;
    assert!(client.is_ok() && server.unwrap().peer_certificate().is_none());
}

#[tokio::test]
async fn a_second_session_is_resumed_unless_nothing_is_remembered() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    for (remembered, expected) in [(8, true), (0, false)] {
        let client = ca.client().sessions_max(remembered).build().unwrap();
        for resumed in [false, expected] {
            let (mut ours, mut theirs) = open_pair(&client, &server).await;
            assert_eq!((ours.is_resumed(), theirs.is_resumed()), (resumed, resumed));
            // The ticket comes with the answer.
            send(&mut theirs, b"hi").await.unwrap();
            receive(&mut ours, 2).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_session_of_one_configuration_is_not_resumed_by_another() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    let (one, other) = (ca.client().build().unwrap(), ca.client().build().unwrap());
    let (mut ours, mut theirs) = open_pair(&one, &server).await;
    send(&mut theirs, b"hi").await.unwrap();
    receive(&mut ours, 2).await.unwrap();
    assert!(!open_pair(&other, &server).await.0.is_resumed());
    assert!(open_pair(&one.clone(), &server).await.0.is_resumed());
}

#[tokio::test]
async fn an_invalid_name_is_refused_before_a_byte_is_sent() {
    let (ours, _theirs) = tcp_pair().await;
    let error = Ca::new("test").client().build().unwrap().connect(ours, "no such name");
    assert_eq!(error.err().unwrap().kind(), TlsErrorKind::InvalidName);
}
