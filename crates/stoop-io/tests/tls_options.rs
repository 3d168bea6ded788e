//! What a client may ask of TLS beyond trust: pinned keys, versions, the server's name, a log of secrets.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use rcgen::PublicKeyData;
use stoop_io::{TlsErrorKind, TlsVersion, Transport};
use tls_support::*;

/// The pin that a refusal names.
fn pin_of(error: &stoop_io::TlsError) -> String {
    let text = error.to_string();
    let (_, pin) = text.split_once("it is ").unwrap_or_else(|| panic!("{text}"));
    pin.to_owned()
}

#[tokio::test]
async fn only_a_pinned_key_is_accepted_and_the_refusal_names_the_one_that_was_shown() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    let other = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    let client = ca.client().pinned_key(other).build().unwrap();
    let error = handshakes(&client, &server, "localhost").await.0.err().unwrap();
    assert_eq!(error.kind(), TlsErrorKind::KeyNotPinned, "{error}");
    let pin = pin_of(&error);
    let client = ca.client().pinned_key(other).pinned_key(pin.as_str()).build().unwrap();
    assert!(handshakes(&client, &server, "localhost").await.0.is_ok());
    // A pin is no trust: the rest is checked too.
    let error = handshakes(&client, &server, "elsewhere").await.0.err().unwrap();
    assert_eq!(error.kind(), TlsErrorKind::CertificateName);
    // But it is enough where any certificate would do.
    let blind = |pin: &str| {
        let builder = stoop_io::ClientTls::builder().dangerous_accept_any_certificate();
        builder.pinned_key(pin).build().unwrap()
    };
    assert!(handshakes(&blind(&pin), &server, "elsewhere").await.0.is_ok());
    assert!(handshakes(&blind(other), &server, "elsewhere").await.0.is_err());
    let error = ca.client().pinned_key("md5/x").build().unwrap_err().to_string();
    assert!(error.contains("the pin \"md5/x\" is not sha256/"), "{error}");
}

#[tokio::test]
async fn a_key_in_a_file_is_pinned_as_its_hash_is() {
    let ca = Ca::new("test");
    let identity = ca.issue(&["localhost"]);
    let server = identity.server().build().unwrap();
    let key = rcgen::KeyPair::from_pem(&identity.key).unwrap();
    let other = rcgen::KeyPair::generate().unwrap();
    let path = std::env::temp_dir().join(format!("stoop-pinned-key-{}", std::process::id()));
    for (content, is_accepted) in [
        (key.public_key_pem().into_bytes(), true),
        (key.subject_public_key_info(), true),
        (other.public_key_pem().into_bytes(), false),
        (other.subject_public_key_info(), false),
    ] {
        std::fs::write(&path, content).unwrap();
        let client = ca.client().pinned_key_file(&path).build().unwrap();
        let shaken = handshakes(&client, &server, "localhost").await.0;
        assert_eq!(shaken.is_ok(), is_accepted);
        assert!(shaken.err().is_none_or(|error| error.kind() == TlsErrorKind::KeyNotPinned));
    }
    for (content, why) in [(ca.pem.as_str(), "no public key"), ("", "no public key")] {
        std::fs::write(&path, content).unwrap();
        let error = ca.client().pinned_key_file(&path).build().unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("stoop-pinned-key"), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(ca.client().pinned_key_file(&path).build().is_err());
}

#[tokio::test]
async fn the_versions_are_those_of_the_range() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    for (oldest, newest, agreed) in [
        (TlsVersion::V1_2, TlsVersion::V1_3, TlsVersion::V1_3),
        (TlsVersion::V1_2, TlsVersion::V1_2, TlsVersion::V1_2),
        (TlsVersion::V1_3, TlsVersion::V1_3, TlsVersion::V1_3),
    ] {
        let client = ca.client().min_version(oldest).max_version(newest).build().unwrap();
        let (client, _) = open_pair(&client, &server).await;
        assert_eq!(client.version(), Some(agreed));
    }
    let none = ca.client().min_version(TlsVersion::V1_3).max_version(TlsVersion::V1_2).build();
    assert!(none.is_err());
}

#[tokio::test]
async fn the_name_and_the_protocols_are_sent_unless_the_caller_says_no() {
    let ca = Ca::new("test");
    for (builder, sent) in
        [(ca.client(), true), (ca.client().server_name_indication(false).alpn::<&str>([]), false)]
    {
        let tls = builder.build().unwrap();
        assert_eq!(tls.offers_alpn(), sent);
        let (ours, mut theirs) = tcp_pair().await;
        let mut client = tls.connect(ours, "localhost").unwrap();
        let hello = tokio::select! {
            _ = handshake(&mut client) => panic!("no server answers"),
            filled = fill(&mut theirs, 64 * 1024) => {
                filled.unwrap();
                theirs.received().to_vec()
            }
        };
        let has = |text: &[u8]| hello.windows(text.len()).any(|window| window == text);
        assert_eq!((has(b"localhost"), has(b"http/1.1")), (sent, sent));
    }
}

#[tokio::test]
async fn the_secrets_of_sessions_are_appended_to_the_log_line_by_line() {
    let path = std::env::temp_dir().join(format!("stoop-io-{}-keys", std::process::id()));
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    let client = ca.client().key_log(&path).build().unwrap();
    for _ in 0..2 {
        open_pair(&client, &server).await;
    }
    let log = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let traffic: Vec<_> =
        log.lines().filter(|line| line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")).collect();
    assert_eq!(traffic.len(), 2, "{log}");
    for line in traffic {
        let [_, random, secret] = *line.split(' ').collect::<Vec<_>>() else { panic!("{line}") };
        assert!(random.len() == 64 && secret.len() >= 64, "{line}");
        assert!([random, secret].concat().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    let error = ca.client().key_log("/no/such/folder/keys").build().unwrap_err().to_string();
    assert!(error.contains("/no/such/folder/keys"), "{error}");
}

#[cfg(feature = "webpki-roots")]
#[tokio::test]
async fn the_cas_of_mozilla_are_trusted_and_no_others() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    let builder = || stoop_io::ClientTls::builder().platform_cas(false).webpki_cas(true);
    let client = builder().build().unwrap();
    let error = handshakes(&client, &server, "localhost").await.0.err().unwrap();
    assert_eq!(error.kind(), TlsErrorKind::CertificateUntrusted);
    // Named ones are trusted beside them.
    let client = builder().ca_pem(ca.pem.as_str()).build().unwrap();
    assert!(handshakes(&client, &server, "localhost").await.0.is_ok());
}
