//! RFC 9113 §8.5, RFC 8441: streams that become tunnels, to our own server.

use std::time::Duration;

use stoop::{Client, ErrorKind, Phase, Request, Response, Server, ServerLimits, Versions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use super::super::kit::kind_and_phase;
use super::kit::tunnels_to;
use crate::client::kit::{accepted, counts, declined};
use crate::tunnels::shout;

/// A handler that opens a tunnel if it is asked to, and sends everything back in capitals.
fn switch(request: Request) -> Response {
    let (response, switched) = match (request.method().as_str(), request.protocol()) {
        ("CONNECT", None) => Response::tunnel(),
        (_, Some("shout")) => Response::upgrade("shout").unwrap(),
        _ => return Response::from_text(request.path().to_owned()),
    };
    tokio::spawn(shout(switched));
    response
}

fn client() -> Client {
    Client::builder().versions(Versions::Http2).handler(switch).build().unwrap()
}

/// A client of a server that allows extended CONNECT, over a socket.
fn extended() -> (Client, String, stoop::ServerHandle) {
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits).run_here(switch).unwrap();
    let url = format!("{}/chat?room=1", server.endpoint());
    (Client::builder().versions(Versions::Http2).build().unwrap(), url, server)
}

#[tokio::test(start_paused = true)]
async fn a_connect_opens_a_tunnel_beside_other_exchanges_and_without_deadlines() {
    let client = client();
    let request = Request::connect("http://proxy/", "a.test:80").unwrap();
    let upgraded = accepted(client.switch(request).await);
    let mut stream = stoop::rt::stream(upgraded);
    stream.write_all(b"hello").await.unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HELLO");
    // Longer than any limit of an exchange.
    sleep(Duration::from_secs(1_000)).await;
    let response = client.get("http://proxy/x").await.unwrap();
    assert_eq!(response.into_body().bytes(9).await.unwrap(), "/x");
    assert_eq!(counts(&client).0, 1);
    stream.write_all(b"more").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "MORE bye");
}

#[tokio::test]
async fn an_extended_connect_opens_one_to_a_path_where_the_server_allows_it() {
    let (client, url, _server) = extended();
    let request = Request::extended_connect(&url, "shout").unwrap();
    let upgraded = accepted(client.switch(request).await);
    assert_eq!(upgraded.response_head().unwrap().status(), 200);
    let mut stream = stoop::rt::stream(upgraded);
    // More than any window allows.
    let much = vec![b'x'; 5_000_000];
    let (mut reader, mut writer) = tokio::io::split(&mut stream);
    let sending = async {
        writer.write_all(&much).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let mut back = Vec::new();
    let (_, read) = tokio::join!(sending, reader.read_to_end(&mut back));
    assert_eq!(read.unwrap(), much.len() + 4);
    assert!(back.ends_with(b"XX bye"));
    // Another protocol is declined by an ordinary response.
    let request = Request::extended_connect(&url, "whisper").unwrap();
    let declined = declined(client.switch(request).await);
    assert_eq!(declined.status(), 501);
}

#[tokio::test]
async fn an_extended_connect_that_the_server_does_not_allow_is_not_sent() {
    let request = Request::extended_connect("http://a/", "shout").unwrap();
    let error = client().switch(request).await.unwrap_err();
    assert!(error.to_string().contains("no extended CONNECT"), "{error}");
    assert_eq!(kind_and_phase(error), (ErrorKind::H2Refused, Phase::Request));
}

#[tokio::test]
async fn a_tunnel_that_is_dropped_ends_at_the_other_end() {
    let (client, mut tell) = tunnels_to(|mut stream| async move {
        stream.read(&mut [0; 9]).await.map_err(|error| error.kind())
    });
    let request = Request::connect("http://proxy/", "a.test:80").unwrap();
    drop(accepted(client.switch(request).await));
    assert_eq!(tell.recv().await.unwrap(), Ok(0));
    let response = client.get("http://proxy/").await.unwrap();
    assert_eq!(response.status(), 501, "an answer to GET is no tunnel");
}

/// One half of a tunnel may end long before the other.
#[tokio::test(start_paused = true)]
async fn a_tunnel_that_the_server_has_half_closed_is_still_written() {
    let (client, mut tell) = tunnels_to(|mut stream| async move {
        stream.shutdown().await.unwrap();
        let mut all = String::new();
        (stream.read_to_string(&mut all).await.map_err(|error| error.kind()), all)
    });
    let request = Request::connect("http://proxy/", "a.test:80").unwrap();
    let mut stream = stoop::rt::stream(accepted(client.switch(request).await));
    assert_eq!(stream.read(&mut [0; 9]).await.unwrap(), 0);
    // Longer than an exchange may take.
    sleep(Duration::from_secs(100)).await;
    stream.write_all(b"late").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(tell.recv().await.unwrap(), (Ok(4), "late".to_owned()));
}
