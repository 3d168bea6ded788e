//! Each time limit of a server, with what is answered, told and counted when it has passed, over both versions. The
//! clock is paused.

use http::Method;
use stoop::{Body, Request, Response, ServerHandle, ServerLimits, ServerTimeout, TimeoutCounts};
use stoop_test::frames::{flag, headers, settings_ack};
use stoop_test::http2::{Client, ClientEvent, preface};
use tokio::time::sleep;

use super::http2::GET as GET_HTTP2;
use super::observed::{EventLog, observed};
use super::{GET, dial, hello, seconds};

const POST: &str = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n";

/// A handler that reads the content, and then does not answer.
async fn reads(request: Request) -> Response {
    let _ = request.into_body().bytes(1 << 20).await;
    sleep(seconds(10_000)).await;
    Response::from_text("read")
}

/// The counts after one limit has passed once.
fn once(timeout: ServerTimeout) -> TimeoutCounts {
    let mut counts = TimeoutCounts::default();
    let count = match timeout {
        ServerTimeout::Handshake => &mut counts.handshake,
        ServerTimeout::Head => &mut counts.head,
        ServerTimeout::Idle => &mut counts.idle,
        ServerTimeout::BodyIdle => &mut counts.body_idle,
        ServerTimeout::BodyRate => &mut counts.body_rate,
        ServerTimeout::Send => &mut counts.send,
        ServerTimeout::Handler => &mut counts.handler,
        ServerTimeout::Drain => &mut counts.drain,
        _ => panic!("{timeout:?} is not tested"),
    };
    *count += 1;
    counts
}

/// Checks what was told and counted of one limit.
async fn expect(server: &ServerHandle, log: &EventLog, timeout: ServerTimeout, answer: u16) {
    assert_eq!(log.between(server).await, [format!("late {timeout:?} {answer}")]);
    assert_eq!(server.stats().timeouts, once(timeout));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_late_is_answered_408() {
    let (server, log) = observed(ServerLimits::default(), hello);
    let mut peer = dial(&server).await;
    peer.send("GET / HT").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (408, Some("close")));
    expect(&server, &log, ServerTimeout::Head, 408).await;

    // Over HTTP/2 a header block belongs to the whole connection.
    let (server, log) = observed(ServerLimits::default(), hello);
    let mut peer = dial(&server).await;
    peer.send([preface(), settings_ack(), headers(1, flag::END_STREAM, &GET_HTTP2)].concat()).await;
    let _ = peer.rest().await;
    expect(&server, &log, ServerTimeout::Head, 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed() {
    let (server, log) = observed(ServerLimits::default(), hello);
    let mut peer = dial(&server).await;
    assert!(peer.is_closed().await);
    expect(&server, &log, ServerTimeout::Idle, 0).await;

    let (server, log) = observed(ServerLimits::default(), hello);
    let mut peer = dial(&server).await;
    peer.send([preface(), settings_ack()].concat()).await;
    let _ = peer.rest().await;
    expect(&server, &log, ServerTimeout::Idle, 0).await;
}

#[tokio::test(start_paused = true)]
async fn content_that_stalls_is_answered_408() {
    let mut limits = ServerLimits::default();
    limits.time.body_bytes_per_second_min = 0;
    let (server, log) = observed(limits.clone(), reads);
    let mut peer = dial(&server).await;
    peer.send(POST).await;
    assert_eq!(peer.response().await.unwrap().status, 408);
    expect(&server, &log, ServerTimeout::BodyIdle, 408).await;

    let (server, log) = observed(limits, reads);
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(status(&mut client, key).await, 408);
    drop(client);
    expect(&server, &log, ServerTimeout::BodyIdle, 408).await;
}

#[tokio::test(start_paused = true)]
async fn content_that_comes_too_slowly_is_answered_408() {
    let (server, log) = observed(ServerLimits::default(), reads);
    let mut peer = dial(&server).await;
    peer.send([POST, "x"].concat()).await;
    assert_eq!(peer.response().await.unwrap().status, 408);
    expect(&server, &log, ServerTimeout::BodyRate, 408).await;

    let (server, log) = observed(ServerLimits::default(), reads);
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(status(&mut client, key).await, 408);
    drop(client);
    expect(&server, &log, ServerTimeout::BodyRate, 408).await;
}

/// The status of the response on that stream, which may be reset behind it.
async fn status(
    client: &mut Client<tokio::net::TcpStream>,
    key: stoop_proto::h2::StreamKey,
) -> u16 {
    loop {
        match client.next_event().await {
            ClientEvent::Head(of, head, _) if of == key => return head.status().as_u16(),
            ClientEvent::Reset(..) => panic!("reset"),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_late_is_answered_503() {
    let mut limits = ServerLimits::default();
    limits.time.handler = seconds(3);
    let (server, log) = observed(limits.clone(), reads);
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (503, None));
    drop(peer);
    expect(&server, &log, ServerTimeout::Handler, 503).await;
    assert_eq!((server.stats().responses.server_error, server.stats().running), (1, 0));

    let (server, log) = observed(limits, reads);
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    let key = client.get("/").await;
    assert_eq!(client.response(key).await.status, 503);
    drop(client);
    expect(&server, &log, ServerTimeout::Handler, 503).await;
    assert_eq!((server.stats().responses.server_error, server.stats().running), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_of_a_response_is_cut_off() {
    let large = |_: Request| Response::from_bytes(vec![7; 32 << 20]);
    let (server, log) = observed(ServerLimits::default(), large);
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    sleep(seconds(200)).await;
    let _ = peer.rest().await.unwrap_err();
    expect(&server, &log, ServerTimeout::Send, 0).await;

    // Over HTTP/2 the client may leave a stream's window closed.
    let (server, log) = observed(ServerLimits::default(), large);
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    client.consumes = false;
    let key = client.get("/").await;
    client.reset_reason(key).await;
    drop(client);
    expect(&server, &log, ServerTimeout::Send, 0).await;
}

#[tokio::test(start_paused = true)]
async fn content_that_no_handler_wants_is_waited_for_a_second() {
    let (server, log) = observed(ServerLimits::default(), hello);
    let mut peer = dial(&server).await;
    peer.send(POST).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
    assert!(peer.is_closed().await);
    drop(peer);
    expect(&server, &log, ServerTimeout::Drain, 0).await;

    let (server, log) =
        observed(ServerLimits::default(), |_: Request| Response::new(Body::empty()));
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(status(&mut client, key).await, 200);
    let _ = client.next_event().await;
    drop(client);
    expect(&server, &log, ServerTimeout::Drain, 0).await;
}
