//! Handshakes with peers that are slow, broken or hostile.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use std::future::poll_fn;
use std::time::Duration;

use stoop_io::{TlsErrorKind, Transport};
use tls_support::*;

#[tokio::test]
async fn a_hello_may_come_byte_by_byte() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (ours, theirs) = tcp_pair().await;
    let mut client = client.connect(ours, "localhost").unwrap();
    let mut server = server.accept(DripTransport::over(theirs, 1)).unwrap();
    let (c, s) = tokio::join!(handshake(&mut client), handshake(&mut server));
    c.unwrap();
    s.unwrap();
}

#[tokio::test]
async fn garbage_instead_of_a_hello_is_answered_by_an_alert() {
    let ca = Ca::new("test");
    let server = ca.server().build().unwrap();
    for (garbage, said) in [
        (&b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"[..], "plain HTTP"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak TLS"),
    ] {
        let (mut ours, theirs) = tcp_pair().await;
        let mut server = server.accept(theirs).unwrap();
        send(&mut ours, garbage).await.unwrap();
        let error = handshake(&mut server).await.unwrap_err();
        assert_eq!(error.kind(), TlsErrorKind::NotTls, "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(handshake(&mut server).await.unwrap_err().kind(), TlsErrorKind::NotTls);
        drop(server);
        let (answer, end) = receive_all(&mut ours).await;
        end.unwrap();
        assert_eq!(answer[..5], [21, 3, 3, 0, 2], "an alert record: {answer:?}");
        assert_eq!(answer[5], 2, "a fatal one");
    }
}

#[tokio::test]
async fn a_plain_http_server_is_recognised() {
    let (ours, mut theirs) = tcp_pair().await;
    let mut client = Ca::new("test").client().build().unwrap().connect(ours, "localhost").unwrap();
    send(&mut theirs, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    let error = handshake(&mut client).await.unwrap_err();
    assert_eq!(error.kind(), TlsErrorKind::NotTls);
    assert_eq!(error.to_string(), "localhost speaks plain HTTP here, not TLS");
}

#[tokio::test]
async fn a_hello_without_end_is_refused_at_a_bound() {
    let ca = Ca::new("test");
    let (mut ours, theirs) = tcp_pair().await;
    let mut server = ca.server().build().unwrap().accept(theirs).unwrap();
    let flood = async {
        // A handshake message said to be 16 MiB less one byte, in records of 16 KiB.
        let mut record = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff];
        record.resize(5 + 0x4000, 0);
        while send(&mut ours, &record).await.is_ok() {}
    };
    let (error, ()) = tokio::join!(
        async {
            let error = handshake(&mut server).await.unwrap_err();
            drop(server);
            error
        },
        flood
    );
    assert_eq!(error.kind(), TlsErrorKind::Handshake, "{error}");
}

#[tokio::test]
async fn a_peer_that_closes_during_the_handshake_is_told_apart() {
    let ca = Ca::new("test");
    let (ours, theirs) = tcp_pair().await;
    drop(theirs);
    let mut client = ca.client().build().unwrap().connect(ours, "localhost").unwrap();
    let error = handshake(&mut client).await.unwrap_err();
    assert!(matches!(error.kind(), TlsErrorKind::Closed | TlsErrorKind::Io(_)), "{error:?}");
}

#[tokio::test]
async fn a_hello_with_any_byte_changed_is_answered_or_refused() {
    let ca = Ca::new("test");
    let tls = ca.server().build().unwrap();
    let hello = {
        let (ours, mut theirs) = tcp_pair().await;
        let mut client = ca.client().build().unwrap().connect(ours, "localhost").unwrap();
        poll_fn(|cx| {
            assert!(client.poll_handshake(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        fill(&mut theirs, 20_000).await.unwrap();
        theirs.received().to_vec()
    };
    let mut refused = 0;
    for at in 0..hello.len() {
        let mut changed = hello.clone();
        changed[at] ^= 0x55;
        let (mut ours, theirs) = tcp_pair().await;
        let mut server = tls.accept(theirs).unwrap();
        send(&mut ours, &changed).await.unwrap();
        shutdown(&mut ours).await.unwrap();
        // What still passes for a hello is answered, and then the peer is gone.
        let error = handshake(&mut server).await.unwrap_err();
        refused += usize::from(error.kind() != TlsErrorKind::Closed);
    }
    assert!(refused > 50, "{refused} of {}", hello.len());
}

#[tokio::test]
async fn a_hello_that_stops_anywhere_waits() {
    let ca = Ca::new("test");
    let tls = ca.server().build().unwrap();
    for bytes in [&[][..], &[22], &[22, 3, 1, 0x40, 0], &[22, 3, 1, 0, 100, 1, 0, 0, 96, 3, 3]] {
        let (mut ours, theirs) = tcp_pair().await;
        let mut server = tls.accept(theirs).unwrap();
        send(&mut ours, bytes).await.unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(20), handshake(&mut server)).await;
        assert!(waited.is_err(), "{bytes:?}: {waited:?}");
        drop(ours);
        assert_eq!(handshake(&mut server).await.unwrap_err().kind(), TlsErrorKind::Closed);
    }
}
