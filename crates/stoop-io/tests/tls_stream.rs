//! A TLS session as a transport: bytes both ways, in pieces of every size, and the end of the stream.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use std::io;

use stoop_io::{
    AnyTransport, FillResult, Liveness, LivenessCheck, Output, PeerAddress, Tls, TlsErrorKind,
    Transport, Unix,
};
use tls_support::*;

#[test]
fn a_session_is_send_and_small() {
    fn is_send<T: Send>() {}
    is_send::<Tls>();
    is_send::<AnyTransport>();
    assert!(size_of::<Tls>() <= 2048, "{}", size_of::<Tls>());
}

#[tokio::test]
async fn a_session_carries_bytes_both_ways() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    send(&mut client, b"ping").await.unwrap();
    assert_eq!(receive(&mut server, 4).await.unwrap(), b"ping");
    send(&mut server, b"pong").await.unwrap();
    assert_eq!(receive(&mut client, 4).await.unwrap(), b"pong");
}

#[tokio::test]
async fn a_session_carries_a_mebibyte_both_ways_at_once() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (client, server) = open_pair(&client, &server).await;
    let all = pattern(1 << 20);
    let (a, b) = tokio::join!(exchange(client, &all), exchange(server, &all));
    assert!(a == all && b == all);
}

/// Sends and receives at once; the output is a head, a large shared piece, and a tail.
async fn exchange(mut tls: Tls, all: &[u8]) -> Vec<u8> {
    let mut out = Output::default();
    out.put(&all[..100]);
    out.share(bytes::Bytes::copy_from_slice(&all[100..all.len() - 10]));
    out.put(&all[all.len() - 10..]);
    let mut got = Vec::new();
    std::future::poll_fn(|cx| {
        let sent = tls.poll_flush(cx, &mut out).map(Result::unwrap).is_ready();
        assert!(tls.unsent() <= 49 * 1024, "{} bytes sealed", tls.unsent());
        while got.len() < all.len() {
            match tls.poll_fill(cx, 64 * 1024).map(Result::unwrap) {
                std::task::Poll::Pending => return std::task::Poll::Pending,
                std::task::Poll::Ready(FillResult::End) => panic!("ended early"),
                std::task::Poll::Ready(_) => {}
            }
            got.extend_from_slice(tls.received());
            tls.consume(tls.received().len());
        }
        if sent { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    got
}

#[tokio::test]
async fn a_session_carries_pieces_of_every_size_over_every_split() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let all = pattern(40_000);
    for step in [1, 2, 5, 6, 22, 1_000, 16_384, 16_385, 100_000] {
        let (ours, theirs) = tcp_pair().await;
        let mut client = client.connect(DripTransport::over(ours, step), "localhost").unwrap();
        let mut server = server.accept(DripTransport::over(theirs, step)).unwrap();
        let talk = async {
            send(&mut client, &all).await.unwrap();
            shutdown(&mut client).await.unwrap();
            receive_all(&mut client).await
        };
        let answer = async {
            let (got, end) = receive_all(&mut server).await;
            end.unwrap();
            send(&mut server, &got).await.unwrap();
            shutdown(&mut server).await.unwrap();
        };
        let ((echoed, end), ()) = tokio::join!(talk, answer);
        end.unwrap();
        assert!(echoed == all, "in steps of {step}");
    }
}

#[tokio::test]
async fn a_session_may_run_over_a_unix_socket() {
    let ca = Ca::new("test");
    let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    let client = ca.client().build().unwrap().connect(Unix::new(ours), "localhost").unwrap();
    let server = ca.server().build().unwrap().accept(Unix::new(theirs)).unwrap();
    assert_eq!(client.peer(), PeerAddress::Unix);
    let all = pattern(100_000);
    let (a, b) = tokio::join!(exchange(client, &all), exchange(server, &all));
    assert!(a == all && b == all);
}

#[tokio::test]
async fn a_session_may_run_inside_another() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (outer_client, outer_server) = open_pair(&client, &server).await;
    let inner_client = client.connect(outer_client, "localhost").unwrap();
    let inner_server = server.accept(outer_server).unwrap();
    let all = pattern(100_000);
    let (a, b) = tokio::join!(exchange(inner_client, &all), exchange(inner_server, &all));
    assert!(a == all && b == all);
}

#[tokio::test]
async fn a_session_announces_no_more_than_the_room() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    send(&mut client, b"0123456789").await.unwrap();
    assert_eq!(fill(&mut server, 4).await.unwrap(), FillResult::Bytes(4));
    assert_eq!(server.received(), b"0123");
    assert_eq!(fill(&mut server, 4).await.unwrap(), FillResult::Full);
    server.consume(1);
    assert_eq!(fill(&mut server, 4).await.unwrap(), FillResult::Bytes(1));
    assert_eq!(server.take(4), &b"1234"[..]);
    assert_eq!(fill(&mut server, 100).await.unwrap(), FillResult::Bytes(5));
    assert_eq!(server.received(), b"56789");
}

#[tokio::test]
async fn close_notify_ends_the_stream() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    send(&mut server, b"all of it").await.unwrap();
    shutdown(&mut server).await.unwrap();
    let (all, end) = receive_all(&mut client).await;
    assert_eq!(all, b"all of it");
    end.unwrap();
    assert_eq!(fill(&mut client, 100).await.unwrap(), FillResult::End, "and stays one");
    assert_eq!(client.liveness(LivenessCheck::Kernel), Liveness::Dead);
    // The other direction is still open.
    send(&mut client, b"thanks").await.unwrap();
    assert_eq!(receive(&mut server, 6).await.unwrap(), b"thanks");
    let error = send(&mut server, b"too late").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn the_last_bytes_and_the_end_leave_together() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    let mut out = Output::default();
    out.put(b"goodbye");
    std::future::poll_fn(|cx| server.poll_flush_last(cx, &mut out)).await.unwrap();
    let (all, end) = receive_all(&mut client).await;
    assert_eq!(all, b"goodbye");
    end.unwrap();
    // There is no second one, and nothing can follow.
    assert_eq!(send(&mut server, b"more").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    shutdown(&mut server).await.unwrap();
}

#[tokio::test]
async fn an_end_without_close_notify_is_an_error_after_the_bytes_before_it() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    send(&mut server, b"half of").await.unwrap();
    drop(server);
    let (all, end) = receive_all(&mut client).await;
    assert_eq!(all, b"half of");
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_half_written_record_is_not_delivered() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (ours, theirs) = tcp_pair().await;
    // Lets one byte a turn through, so that dropping it in between leaves half a record.
    let mut client = client.connect(DripTransport::over(ours, 1), "localhost").unwrap();
    let mut server = server.accept(theirs).unwrap();
    let (c, s) = tokio::join!(handshake(&mut client), handshake(&mut server));
    c.unwrap();
    s.unwrap();
    // Closing with the server's tickets unread would send RST.
    send(&mut server, b"hello").await.unwrap();
    receive(&mut client, 5).await.unwrap();
    let mut out = Output::default();
    out.put(b"0123456789");
    let mut turns = 0;
    std::future::poll_fn(|cx| {
        turns += 1;
        assert!(client.poll_flush(cx, &mut out).is_pending());
        if turns == 20 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert!(client.unsent() > 0);
    drop(client);
    let (all, end) = receive_all(&mut server).await;
    assert!(all.is_empty());
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_record_that_was_tampered_with_ends_the_session() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (ours, theirs) = tcp_pair().await;
    let raw = second_handle(&ours);
    let mut client = client.connect(ours, "localhost").unwrap();
    let mut server = server.accept(theirs).unwrap();
    let (c, s) = tokio::join!(handshake(&mut client), handshake(&mut server));
    c.unwrap();
    s.unwrap();
    send(&mut client, b"good").await.unwrap();
    io::Write::write_all(&mut &raw, &[0x17, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).unwrap();
    io::Write::write_all(&mut &raw, &[0; 20]).unwrap();
    assert_eq!(receive(&mut server, 4).await.unwrap(), b"good");
    let error = fill(&mut server, 100).await.unwrap_err();
    assert_eq!(cause(&error).unwrap().kind(), TlsErrorKind::Handshake, "{error}");
    let error = fill(&mut client, 100).await.unwrap_err();
    assert!(
        matches!(cause(&error).unwrap().kind(), TlsErrorKind::Alert(a) if a.0 == 20),
        "{error}"
    );
}

/// A second handle on the same socket.
fn second_handle(tcp: &stoop_io::Tcp) -> std::net::TcpStream {
    std::os::fd::AsFd::as_fd(tcp).try_clone_to_owned().unwrap().into()
}

#[tokio::test]
async fn tickets_do_not_make_an_idle_session_look_used() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    assert_eq!(client.liveness(LivenessCheck::Kernel), Liveness::Quiet);
    // Waiting for a request, the server sends its tickets.
    tokio::select! {
        _ = fill(&mut server, 100) => panic!("nothing was sent"),
        () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
    }
    assert_eq!(client.liveness(LivenessCheck::Kernel), Liveness::Quiet);
    assert_eq!(client.liveness(LivenessCheck::Cached), Liveness::Quiet);
    send(&mut server, b"unasked").await.unwrap();
    assert_eq!(client.liveness(LivenessCheck::Kernel), Liveness::Readable);
    assert_eq!(receive(&mut client, 7).await.unwrap(), b"unasked");
    assert_eq!(client.liveness(LivenessCheck::Kernel), Liveness::Quiet);
    shutdown(&mut server).await.unwrap();
    assert_eq!(client.liveness(LivenessCheck::Kernel), Liveness::Dead);
}

/// The error of a handshake tells a peer that closed from one that does not speak TLS, for any transport.
#[tokio::test]
async fn a_failed_handshake_has_the_error_kind_of_its_cause() {
    let ca = Ca::new("test");
    for (said, kind, cause_kind) in [
        (&b""[..], io::ErrorKind::UnexpectedEof, TlsErrorKind::Closed),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", io::ErrorKind::InvalidData, TlsErrorKind::NotTls),
    ] {
        let (ours, mut theirs) = tcp_pair().await;
        let session = ca.client().build().unwrap().connect(ours, "localhost").unwrap();
        let mut any = AnyTransport::from(session);
        send(&mut theirs, said).await.unwrap();
        shutdown(&mut theirs).await.unwrap();
        let error = std::future::poll_fn(|cx| any.poll_handshake(cx)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(cause(&error).unwrap().kind(), cause_kind, "{error}");
    }
}

#[tokio::test]
async fn a_session_that_is_broken_off_is_reset() {
    let ca = Ca::new("test");
    let (client, server) = (ca.client().build().unwrap(), ca.server().build().unwrap());
    let (mut client, mut server) = open_pair(&client, &server).await;
    send(&mut server, b"half of").await.unwrap();
    assert_eq!(receive(&mut client, 7).await.unwrap(), b"half of");
    let server = AnyTransport::from(server);
    server.reset_on_close();
    drop(server);
    let error = fill(&mut client, 100).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
}
