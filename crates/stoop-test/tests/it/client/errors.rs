//! The kinds of errors, each caused in one way at least, with its phase.
//!
//! The kernel's clock cannot be paused: where it matters here, only the order of magnitude is
//! asserted. How exactly deadlines are kept is tested in `deadlines`.

use std::io;
use std::time::Duration;

use stoop::{Body, Client, Culprit, ErrorKind, Phase, Redirects, Request, Resolver};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};

use super::kit::{
    FetchOutcome, URL, answered_once, fetch, fetch_request, kind_and_phase, limited,
    listen_scripted, scripted,
};
use crate::client::kit::counts;

async fn fetch_url(client: &Client, url: &str) -> FetchOutcome {
    match Request::get(url) {
        Ok(request) => fetch_request(client, request).await,
        Err(error) => Err(kind_and_phase(error)),
    }
}

/// A name server that answers every question with this code and no records, or not at all for `None`.
async fn name_server(code: Option<u8>) -> Resolver {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut question = [0; 512];
        while let Ok((n, from)) = socket.recv_from(&mut question).await {
            if let Some(code) = code {
                // A response with recursion available, the code, and no records.
                (question[2], question[3]) = (question[2] | 0x80, 0x80 | code);
                question[6..12].fill(0);
                let end = 12 + question[12..n].iter().position(|byte| *byte == 0).unwrap() + 5;
                socket.send_to(&question[..end], from).await.unwrap();
            }
        }
    });
    Resolver::builder().hosts(false).servers(&[address]).build().unwrap()
}

#[tokio::test]
async fn names_that_do_not_resolve_are_dns_errors() {
    for (code, kind) in [
        (Some(3), ErrorKind::DnsNxdomain),
        (Some(2), ErrorKind::DnsServfail),
        (None, ErrorKind::DnsTimeout),
        (Some(0), ErrorKind::DnsOther),
    ] {
        let builder = limited(|limits| limits.time.dns = Some(Duration::from_millis(300)));
        let client = builder.resolver(name_server(code).await).build().unwrap();
        assert_eq!(fetch_url(&client, "http://no.test/").await, Err((kind, Phase::Dns)));
        assert_eq!(counts(&client), (0, 0));
    }
    // The total deadline holds for the lookup too.
    let builder = Client::builder().timeout(Duration::from_millis(200));
    let client = builder.resolver(name_server(None).await).build().unwrap();
    let begun = std::time::Instant::now();
    let outcome = fetch_url(&client, "http://no.test/").await;
    assert_eq!(outcome, Err((ErrorKind::TotalTimeout, Phase::Dns)));
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn addresses_that_do_not_answer_are_connect_errors() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let client = Client::new();
    let refused = fetch_url(&client, &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(refused, Err((ErrorKind::ConnectRefused, Phase::Connect)));
    // A listener with a queue of one, which is filled: the next connection is not answered.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let filling = (0..4).map(|_| tokio::spawn(tokio::net::TcpStream::connect(address)));
    let filling: Vec<_> = filling.collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let url = format!("http://{address}/");
    let begun = std::time::Instant::now();
    let client = Client::builder().connect_timeout(Duration::from_millis(300)).build().unwrap();
    let outcome = fetch_url(&client, &url).await;
    assert_eq!(outcome, Err((ErrorKind::ConnectTimeout, Phase::Connect)));
    assert!((300..2000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    let begun = std::time::Instant::now();
    let client = Client::builder().timeout(Duration::from_millis(300)).build().unwrap();
    let outcome = fetch_url(&client, &url).await;
    assert_eq!(outcome, Err((ErrorKind::TotalTimeout, Phase::Connect)));
    assert!((300..2000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    filling.into_iter().for_each(|task| task.abort());
    // A Unix socket that does not exist.
    let client = Client::builder().unix_socket("/nowhere/at/all").build().unwrap();
    let outcome = fetch_url(&client, "http://a/").await;
    assert_eq!(outcome, Err((ErrorKind::ConnectRefused, Phase::Connect)));
    // Addresses that cannot be connected to.
    let outcome = fetch_url(&Client::new(), "http://255.255.255.255/").await;
    assert!(matches!(
        outcome,
        Err((ErrorKind::ConnectUnreachable | ErrorKind::ConnectTimeout, Phase::Connect))
    ));
}

#[tokio::test]
async fn handshakes_that_fail_are_tls_errors() {
    let client = Client::builder().timeout(Duration::from_millis(400)).build().unwrap();
    let server = listen_scripted(|mut peer| async move {
        peer.bytes(5).await;
        peer.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let url = format!("https://{}/", server.await);
    assert_eq!(fetch_url(&client, &url).await, Err((ErrorKind::TlsHandshake, Phase::Tls)));
    let server = listen_scripted(|mut peer| async move {
        peer.bytes(5).await;
    });
    let url = format!("https://{}/", server.await);
    let (kind, phase) = fetch_url(&client, &url).await.unwrap_err();
    assert!(matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset) && phase == Phase::Tls);
    // A handshake that hangs.
    let hanging = listen_scripted(super::kit::ScriptedServer::stall).await;
    let url = format!("https://{hanging}/");
    assert_eq!(fetch_url(&client, &url).await, Err((ErrorKind::TotalTimeout, Phase::Tls)));
    let builder = limited(|limits| limits.time.tls = Some(Duration::from_millis(100)));
    let outcome = fetch_url(&builder.build().unwrap(), &url).await;
    assert_eq!(outcome, Err((ErrorKind::TlsTimeout, Phase::Tls)));
}

#[tokio::test(start_paused = true)]
async fn exchanges_that_fail_name_their_kind_and_phase() {
    for (answer, kind, phase) in [
        ("nonsense\r\n\r\n", ErrorKind::H1Parse, Phase::Wait),
        ("", ErrorKind::ClosedEarly, Phase::Wait),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n", ErrorKind::ClosedEarly, Phase::Receive),
        (
            "HTTP/1.1 302 Go\r\nlocation: ftp://a/\r\n\r\n",
            ErrorKind::RedirectDenied,
            Phase::Redirect,
        ),
        ("HTTP/1.1 302 Go\r\nlocation: /\r\n\r\n", ErrorKind::RedirectLimit, Phase::Redirect),
    ] {
        assert_eq!(fetch(&answered_once(answer)).await, Err((kind, phase)), "{answer:?}");
    }
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.reset();
    });
    assert_eq!(fetch(&client).await, Err((ErrorKind::Reset, Phase::Wait)));
    let client = scripted(super::kit::ScriptedServer::stall);
    assert_eq!(fetch(&client).await, Err((ErrorKind::FirstByteTimeout, Phase::Wait)));
    let (sender, body) = Body::channel(1);
    sender.fail(io::Error::other("no")).await;
    let outcome = fetch_request(&client, Request::post("http://a/", body).unwrap()).await;
    assert_eq!(outcome, Err((ErrorKind::RequestBody, Phase::Send)));
    let client = answered_once("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    let body = client.get("http://a/").await.unwrap().into_body();
    assert_eq!(
        kind_and_phase(body.bytes(4).await.unwrap_err()),
        (ErrorKind::BodyTooLarge, Phase::Receive)
    );
    // A switch of protocols that the caller does not wait for.
    let client =
        answered_once("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
    let request = Request::get("http://a/").unwrap().with_field("upgrade", "x").unwrap();
    assert_eq!(fetch_request(&client, request).await, Err((ErrorKind::InvalidUrl, Phase::Request)));
}

#[tokio::test(start_paused = true)]
async fn requests_that_make_no_sense_are_the_callers_fault_and_use_no_connection() {
    let client = scripted(super::kit::ScriptedServer::stall);
    for url in ["", "a", "http://", "ftp://a/", "http://a:99999/", "http://[::1", "http://a b/"] {
        let error = Request::get(url).map(drop).unwrap_err();
        assert_eq!(kind_and_phase(error), (ErrorKind::InvalidUrl, Phase::Request), "{url:?}");
    }
    let path = Request::get("/path").unwrap();
    assert_eq!(fetch_request(&client, path).await, Err((ErrorKind::InvalidUrl, Phase::Request)));
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn messages_that_may_not_be_sent_are_the_callers_fault() {
    let client = scripted(super::kit::ScriptedServer::stall);
    let twice = Request::get("http://a/").unwrap();
    let twice = twice.with_field("host", "a").unwrap().with_field("host", "b").unwrap();
    let error = client.send(twice).await.unwrap_err();
    assert_eq!((error.culprit(), error.is_unprocessed()), (Culprit::Caller, true));
    assert!(!error.to_string().contains("URL"), "{error}");
    assert_eq!(kind_and_phase(error), (ErrorKind::InvalidMessage, Phase::Request));
    let (open, idle) = counts(&client);
    assert_eq!(open, idle);
}

#[tokio::test]
async fn an_error_names_its_cause_its_address_and_its_phase() {
    let client = Client::builder().redirects(Redirects::follow(1)).build().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let error = client.get(format!("http://{address}/")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("the connection was refused: {address}")), "{text}");
    assert!(text.ends_with("[connect_refused, connect]"), "{text}");
    assert!(error.is_unprocessed());
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.downcast_ref::<io::Error>().is_some());
}

/// Redirects are a part of the call, and content is a part of the exchange.
#[tokio::test(start_paused = true)]
async fn an_error_in_content_says_how_long_after_the_call_it_came() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        peer.send("HTTP/1.1 302 Found\r\nlocation: /next\r\ncontent-length: 0\r\n\r\n").await;
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await;
        tokio::time::sleep(Duration::from_secs(2)).await;
    });
    let error = client.get(URL).await.unwrap().bytes().await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ClosedEarly, Phase::Receive));
    assert_eq!(error.elapsed().unwrap().as_secs(), 3);
    assert_eq!((error.attempts(), error.is_repeatable()), (1, true));
    let text = error.to_string();
    assert!(text.ends_with("(after 3.0 s, safe to repeat) [closed_early, receive]"), "{text}");
}
