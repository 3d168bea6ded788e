//! The remote address of an exchange, and how long each of its phases took.

use std::time::Duration;

use stoop::{Client, ErrorKind, Request, Response, Timings};
use tokio::time::sleep;

use super::kit::{OK, get, limited, listen_scripted, scripted, scripted_by};
use super::tls::{authority, certificate, client_trusting, serve_tls, server_tls};

const S: Duration = Duration::from_secs(1);

/// The seconds of each phase, `None` for a phase that did not happen.
fn seconds(timings: Timings) -> [Option<u64>; 5] {
    let all = [timings.queue(), timings.dns(), timings.connect(), timings.tls(), timings.wait()];
    all.map(|took| took.map(|took| took.as_secs()))
}

async fn read(response: Response) {
    response.into_body().bytes(1 << 20).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_reused_was_not_made_again() {
    let client = scripted(|mut peer| async move {
        for delay in 2.. {
            if peer.head().await.is_empty() {
                return;
            }
            sleep(delay * S).await;
            peer.send(OK).await;
        }
    });
    let first = get(&client).await.unwrap();
    assert_eq!(seconds(first.timings()), [None, None, Some(0), None, Some(2)]);
    read(first).await;
    let second = get(&client).await.unwrap();
    assert_eq!(seconds(second.timings()), [None, None, None, None, Some(3)]);
    assert_eq!(second.remote_address(), None, "it is in memory");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_connection_is_a_phase() {
    let builder = limited(|limits| limits.pool.per_origin_max = 1);
    let client = scripted_by(builder, |mut peer| async move {
        while !peer.head().await.is_empty() {
            sleep(2 * S).await;
            peer.send(OK).await;
        }
    });
    let fetched = async || {
        let response = get(&client).await.unwrap();
        let timings = response.timings();
        read(response).await;
        timings
    };
    let (first, second) = tokio::join!(fetched(), fetched());
    assert_eq!(seconds(first), [None, None, Some(0), None, Some(2)]);
    assert_eq!(seconds(second), [Some(2), None, None, None, Some(2)]);
    assert_eq!(second.first_byte().as_secs(), 4);
}

#[tokio::test(start_paused = true)]
async fn redirects_and_retries_are_added_up() {
    let client = scripted(|mut peer| async move {
        // The first connection leaves the second request unanswered, and the second one answers it.
        let answers: &[_] = match peer.number {
            0 => &["HTTP/1.1 302 Go\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n", ""],
            _ => &[OK],
        };
        for answer in answers {
            peer.head().await;
            sleep(2 * S).await;
            peer.send(answer).await;
        }
    });
    let response = get(&client).await.unwrap();
    assert_eq!((response.status().as_u16(), response.redirects()), (200, 1));
    assert_eq!(seconds(response.timings()), [None, None, Some(0), None, Some(6)]);
}

#[tokio::test(start_paused = true)]
async fn an_error_tells_what_the_time_went_into() {
    let client = scripted(super::kit::ScriptedServer::stall);
    let error = get(&client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FirstByteTimeout);
    assert_eq!(seconds(error.timings()), [None, None, Some(0), None, Some(60)]);
    let error = Request::get("nonsense").unwrap_err();
    assert_eq!((error.timings(), error.remote_address()), (Timings::default(), None));
}

#[tokio::test]
async fn remote_addresses_are_the_servers() {
    let authority = authority("ours");
    let tls = server_tls(certificate(&authority, &["localhost"], false));
    let port = serve_tls(tls, |peer| peer.serve(OK)).await;
    let client = client_trusting(&authority).build().unwrap();
    let url = format!("https://localhost:{port}/");
    let first = client.get(&url).await.unwrap();
    let timings = first.timings();
    let made = [timings.dns(), timings.connect(), timings.tls(), timings.wait()];
    assert!(made.iter().all(Option::is_some), "{timings:?}");
    assert!(timings.queue().is_none());
    let address = first.remote_address().unwrap();
    assert!(address.ip().is_loopback() && address.port() == port, "{address}");
    read(first).await;
    let second = client.get(&url).await.unwrap();
    let timings = second.timings();
    let made = [timings.queue(), timings.dns(), timings.connect(), timings.tls()];
    assert!(made.iter().all(Option::is_none), "{timings:?}");
    assert_eq!(second.remote_address(), Some(address));
    // An address is not looked up, and a failed handshake has a remote address.
    let error = client.get(format!("https://127.0.0.1:{port}/")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TlsCertName);
    assert_eq!(error.remote_address(), Some(([127, 0, 0, 1], port).into()));
    let timings = error.timings();
    assert!(timings.dns().is_none() && timings.tls().is_some(), "{timings:?}");
}

#[tokio::test]
async fn an_error_of_the_content_knows_the_remote_address() {
    let address = listen_scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await;
    })
    .await;
    let client = Client::new();
    let response = client.get(format!("http://{address}/")).await.unwrap();
    assert_eq!(response.remote_address(), Some(address));
    let error = response.into_body().bytes(100).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ClosedEarly);
    assert_eq!(error.remote_address(), Some(address));
    // No program listens on that port.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = client.get(format!("http://{free}/")).await.unwrap_err();
    assert_eq!((error.kind(), error.remote_address()), (ErrorKind::ConnectRefused, Some(free)));
    assert!(error.timings().connect().is_some() && error.timings().wait().is_none());
}
