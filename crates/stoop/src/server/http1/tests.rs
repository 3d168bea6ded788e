//! Each reason for which the driver closes a connection, as the machine has noted it.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use stoop_io::{Memory, Stream, Timer};
use stoop_proto::CloseReason;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::body::Body;
use crate::conn::wire::Wire;
use crate::handler::IntoHandler;
use crate::limits::ServerLimits;
use crate::request::Request;
use crate::response::Response;
use crate::server::control::{Control, Lifecycle, Registration};
use crate::server::core::{ConnectionParts, Core};
use crate::server::http1::Http1Driver;
use crate::versions::Versions;

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const SECOND: Duration = Duration::from_secs(1);

/// Reads nothing of the request, but for `/read`, and closes the connection after `/close`.
async fn answer(request: Request) -> Result<Response<Body>, crate::Error> {
    let is_last = request.path() == "/close";
    if request.path() == "/read" {
        request.into_body().discard().await?;
    }
    let response = Response::from_status(http::StatusCode::NO_CONTENT);
    Ok(if is_last { response.with_close() } else { response })
}

/// Why a connection was closed on which a client sends `wire` and then, one minute and a half later, goes
/// away, or as soon as `ends` says so. The server may be stopped meanwhile.
async fn reason(
    change: impl FnOnce(&mut ServerLimits),
    wire: &str,
    (ends, drains): (bool, bool),
) -> CloseReason {
    let mut limits = ServerLimits::default();
    change(&mut limits);
    let control = Arc::new(Control::default());
    let handler = answer.into_handler();
    let core = Core::new(handler, Arc::new(limits), Arc::clone(&control), Versions::Http1);
    let (ours, theirs) = Memory::pair(1 << 20);
    let registration = Registration::extra(Arc::clone(&control));
    let (wire_end, timer) = (Wire::new(theirs.into()), Timer::precise());
    let (facts, balance) = (Arc::default(), None);
    let parts = ConnectionParts { wire: wire_end, core, timer, registration, facts, balance };
    let mut driver = Http1Driver::new(parts);
    let client = async move {
        let mut stream = Stream::new(ours);
        stream.write_all(wire.as_bytes()).await.unwrap();
        if ends {
            stream.shutdown().await.unwrap();
        }
        tokio::time::sleep(SECOND).await;
        if drains {
            control.advance_to(Lifecycle::Draining);
        }
        let _ = tokio::time::timeout(90 * SECOND, stream.read_to_end(&mut Vec::new())).await;
    };
    let (_, ()) = tokio::join!(poll_fn(|cx| driver.poll(cx)), client);
    driver.machine.close_reason().expect("it is closed for a reason")
}

#[tokio::test(start_paused = true)]
async fn each_end_of_a_connection_has_its_reason() {
    let stays = (false, false);
    let large = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 600000\r\n\r\n{GET}");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(8);
    let chunks = format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunk}");
    let stalls = "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhello";
    let bad = "POST /read HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nx";
    let unwanted = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhellox";
    for (what, wire, then, expected) in [
        ("nothing follows", GET, stays, CloseReason::Idle),
        ("a head stays incomplete", "GET / HT", stays, CloseReason::RequestTimeout),
        ("content stalls", stalls, stays, CloseReason::RequestTimeout),
        ("a head is malformed", "GET /\r\n\r\n", stays, CloseReason::Violation),
        ("content is malformed", bad, stays, CloseReason::Violation),
        ("unwanted content is malformed", unwanted, stays, CloseReason::Violation),
        ("the client leaves", GET, (true, false), CloseReason::PeerClosed),
        ("the server stops", GET, (false, true), CloseReason::Draining),
        ("too much is unread", &large, stays, CloseReason::UnreadContent),
        ("too many chunks are unread", &chunks, stays, CloseReason::UnreadContent),
    ] {
        assert_eq!(reason(|_| {}, wire, then).await, expected, "{what}");
    }
    for (line, expected) in [
        ("GET / HTTP/1.1\r\nconnection: close", CloseReason::PeerCloses),
        ("GET / HTTP/1.0", CloseReason::OldVersion),
        ("GET /close HTTP/1.1", CloseReason::CallerCloses),
    ] {
        let wire = format!("{line}\r\nhost: a\r\n\r\n");
        assert_eq!(reason(|_| {}, &wire, stays).await, expected, "{line}");
    }
    let one = |limits: &mut ServerLimits| limits.requests_per_connection_max = 1;
    assert_eq!(reason(one, GET, stays).await, CloseReason::RequestsMax);
}
