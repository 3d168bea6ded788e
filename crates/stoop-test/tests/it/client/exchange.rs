//! One request and its response: how content is delimited, and which bytes are no response.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use stoop::{Client, ErrorKind, Method, Phase, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::kit::{
    OK, ScriptedServer, URL, answered_once, fetch, fetch_request, get, kind_and_phase, limited,
    listen_scripted, ok, ok_with, read, scripted, scripted_by, settle,
};
use crate::client::kit::counts;

#[tokio::test(start_paused = true)]
async fn content_ends_where_its_framing_says() {
    for (answer, content) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "hello",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nhello", "hello"),
        ("HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nhello", "hello"),
        ("HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", ""),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhello", "hello"),
        ("\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello"),
    ] {
        assert_eq!(fetch(&answered_once(answer)).await, ok_with(content), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn some_responses_have_no_content_whatever_they_say() {
    let client = scripted(|peer| peer.serve("HTTP/1.1 204 No\r\n\r\n"));
    for _ in 0..3 {
        assert_eq!(fetch(&client).await, Ok((204, String::new())));
    }
    assert_eq!(counts(&client), (1, 1));
    let client = scripted(|peer| peer.serve("HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\n"));
    assert_eq!(fetch(&client).await, Ok((304, String::new())));
    assert_eq!(counts(&client), (1, 1));
    let client = scripted(|peer| peer.serve("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"));
    for _ in 0..3 {
        let head = Request::new(Method::HEAD, URL).unwrap();
        assert_eq!(fetch_request(&client, head).await, ok_with(""));
    }
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn trailers_come_after_the_content() {
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  2\r\nok\r\n0\r\nx-sum: 7\r\ncontent-length: 9\r\n\r\n";
    let mut response = get(&answered_once(answer)).await.unwrap();
    let body = response.body_mut();
    assert!(body.take_trailers().is_none());
    assert_eq!(body.chunk().await.unwrap().unwrap(), "ok");
    assert!(body.chunk().await.unwrap().is_none());
    let trailers = body.take_trailers().unwrap();
    assert_eq!((trailers.len(), trailers.first("X-Sum")), (1, Some(&b"7"[..])));
    assert!(body.chunk().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn interim_responses_are_shown_in_order() {
    let client = answered_once(
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
         HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    );
    let mut seen = Vec::new();
    let request = Request::get(URL).unwrap();
    let show = |head: &stoop::ResponseHead| {
        seen.push((head.status().as_u16(), head.fields().first("link").map(<[u8]>::to_vec)));
    };
    let response = client.send_with_interim(request, show).await.unwrap();
    assert_eq!(response.field("link"), None);
    assert_eq!(read(response).await, ok());
    assert_eq!(seen, [(103, Some(b"</a>".to_vec())), (102, None)]);
}

#[tokio::test(start_paused = true)]
async fn interim_responses_are_bounded_in_number_and_size() {
    let parse = Err((ErrorKind::H1Parse, Phase::Wait));
    let hint = "HTTP/1.1 103 Hints\r\n\r\n";
    let enough = format!("{}{OK}", hint.repeat(16));
    assert_eq!(fetch(&answered_once(enough)).await, ok());
    assert_eq!(fetch(&answered_once(format!("{}{OK}", hint.repeat(17)))).await, parse);
    let large = format!("HTTP/1.1 103 Hints\r\nx: {}\r\n\r\n", "a".repeat(100_000));
    assert_eq!(fetch(&answered_once(format!("{}{OK}", large.repeat(3)))).await, parse);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_response_are_an_error() {
    for answer in [
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nhello",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "\x16\x03\x01\x00\x05hello, this is TLS\r\n\r\n",
        "<html>\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
    ] {
        assert_eq!(
            fetch(&answered_once(answer)).await,
            Err((ErrorKind::H1Parse, Phase::Wait)),
            "{answer:?}"
        );
    }
    for chunks in [
        "5 hello",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n",
        "-1\r\n",
        "ffffffffffffffffff\r\n",
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}");
        assert_eq!(
            fetch(&answered_once(answer)).await,
            Err((ErrorKind::H1Parse, Phase::Receive)),
            "{chunks:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn heads_have_limits() {
    async fn endless(mut peer: ScriptedServer, piece: String) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\n").await;
        let mut sent = 0;
        while sent < 4 << 20 {
            peer.send(&piece).await;
            sent += piece.len();
            tokio::task::yield_now().await;
        }
        panic!("the client took 4 MiB of head");
    }
    for piece in ["a: b\r\n".to_owned(), format!("a: {}\r\n", "b".repeat(9000)), "a".repeat(9000)] {
        let client = scripted(move |peer| {
            let piece = piece.clone();
            async move { drop(tokio::spawn(endless(peer, piece)).await) }
        });
        assert_eq!(fetch(&client).await, Err((ErrorKind::H1Parse, Phase::Wait)));
        assert_eq!(counts(&client), (0, 0));
    }
    let fields = |n: usize| {
        format!("HTTP/1.1 200 OK\r\n{}content-length: 2\r\n\r\nok", "a: b\r\n".repeat(n - 1))
    };
    assert_eq!(fetch(&answered_once(fields(500))).await, ok());
    assert_eq!(fetch(&answered_once(fields(501))).await, Err((ErrorKind::H1Parse, Phase::Wait)));
}

#[tokio::test(start_paused = true)]
async fn content_that_is_cut_short_is_an_error_and_what_came_is_not_lost() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\nx: y\r\n",
    ] {
        let client = answered_once(answer);
        let mut response = get(&client).await.unwrap();
        assert_eq!(response.body_mut().chunk().await.unwrap().unwrap(), "he");
        let error = response.body_mut().chunk().await.unwrap_err();
        assert_eq!(kind_and_phase(error), (ErrorKind::ClosedEarly, Phase::Receive), "{answer:?}");
        assert!(response.body_mut().chunk().await.unwrap().is_none());
        // The pool's place is free before the response is dropped.
        assert_eq!(counts(&client), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_without_a_response_is_closed_early() {
    for answer in
        ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nx: y\r\n", "HTTP/1.1 100 Continue\r\n\r\n"]
    {
        let outcome = fetch(&answered_once(answer)).await;
        assert_eq!(outcome, Err((ErrorKind::ClosedEarly, Phase::Wait)), "{answer:?}");
    }
}

#[tokio::test]
async fn a_reset_is_told_from_an_end() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe",
        "HTTP/1.1 200 OK\r\n\r\nhe",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n",
    ] {
        let server = listen_scripted(move |mut peer| async move {
            peer.head().await;
            peer.send(answer).await;
            // The client has read the answer, which a reset could overtake.
            peer.until("!").await;
            peer.reset();
        });
        let url = format!("http://{}/", server.await);
        let client = Client::new();
        let (sender, body) = stoop::Body::channel(1);
        let response = client.send(Request::post(&url, body).unwrap()).await.unwrap();
        let mut body = response.into_body();
        assert_eq!(body.chunk().await.unwrap().unwrap(), "he");
        sender.send("!").await.unwrap();
        let error = body.chunk().await.unwrap_err();
        assert_eq!(kind_and_phase(error), (ErrorKind::Reset, Phase::Receive), "{answer:?}");
    }
    let server = listen_scripted(|mut peer| async move {
        peer.head().await;
        peer.reset();
    });
    let error = Client::new().get(format!("http://{}/", server.await)).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::Reset, Phase::Wait));
}

#[tokio::test(start_paused = true)]
async fn bytes_behind_a_response_are_never_the_next_one() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send(format!("{OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")).await;
        peer.serve("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil").await;
    });
    for _ in 0..3 {
        assert_eq!(fetch(&client).await, ok());
        assert_eq!(counts(&client), (0, 0));
    }
    // The same where the bytes come later.
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send(OK).await;
        settle().await;
        peer.serve("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil").await;
    });
    assert_eq!(fetch(&client).await, ok());
    settle().await;
    assert_eq!(counts(&client), (1, 1));
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send(OK).await;
        settle().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil").await;
        peer.stall().await;
    });
    for _ in 0..3 {
        assert_eq!(fetch(&client).await, ok());
        settle().await;
        settle().await;
    }
}

/// RFC 9112 §9.2
#[tokio::test(start_paused = true)]
async fn bytes_before_a_request_are_not_its_answer() {
    let connect = || {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let evil = theirs.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");
        assert!(pin!(evil).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        tokio::spawn(async move { theirs.read_to_end(&mut Vec::new()).await });
        ours
    };
    let client = stoop::rt::connections_from(Client::builder(), connect).build().unwrap();
    assert_eq!(fetch(&client).await, Err((ErrorKind::H1Parse, Phase::Wait)));
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn content_larger_than_its_limit_is_not_read() {
    let limit = || limited(|limits| limits.wire.body_bytes_max = Some(4));
    let too_large = ErrorKind::BodyTooLarge;
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nhello",
    ] {
        let client = scripted_by(limit(), move |peer| peer.serve(answer));
        assert_eq!(fetch(&client).await, Err((too_large, Phase::Receive)), "{answer:?}");
    }
    let client =
        scripted_by(limit(), |peer| peer.serve("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhell"));
    assert_eq!(fetch(&client).await, ok_with("hell"));
    // The limit of the call that reads.
    let response = get(&client).await.unwrap();
    let error = response.into_body().bytes(3).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (too_large, Phase::Receive));
}
