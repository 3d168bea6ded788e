//! The log of connections over HTTP/2, where most of what a client sends is no request.

use std::sync::Mutex;

use stoop::{Client, Versions};

use super::*;

/// The preface, SETTINGS that say nothing, and the acknowledgement of the server's, which may come
/// at any time (RFC 9113 §3.4, §6.5.3).
const OPENING: &[u8] =
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0";

/// A client that has this connection and no other.
fn client_on(connection: DuplexStream) -> Client {
    let connection = Mutex::new(Some(connection));
    let connect = move || connection.lock().unwrap().take().expect("one connection is enough");
    let builder = Client::builder().versions(Versions::Http2);
    stoop::rt::connections_from(builder, connect).build().unwrap()
}

impl TestConnection {
    /// A client on this connection, with the log and the server's task.
    fn over_http2(self) -> (Client, Log, JoinHandle<()>) {
        (client_on(self.client), self.log, self.server)
    }
}

/// The body of a response, and its status.
async fn fetch(client: &Client, url: &str) -> (u16, u64) {
    let mut response = client.get(url).await.unwrap();
    let status = response.status().as_u16();
    (status, response.body_mut().discard().await.unwrap())
}

/// The logged result of each exchange.
fn found(entries: &[LogEntry]) -> Vec<(EntryKind, Option<u16>, EntryEnd, &str)> {
    entries.iter().map(|e| (e.kind, e.status, e.ended, e.target.as_str())).collect()
}

#[tokio::test]
async fn each_exchange_has_a_line_and_other_frames_have_none() {
    let scene = TestConnection::new(1 << 20, 0.0);
    let (host, body, _) = scene.page(600_000);
    let (client, log, server) = scene.over_http2();
    assert_eq!(fetch(&client, &format!("http://{host}/")).await, (200, body));
    assert_eq!(fetch(&client, &format!("http://{host}/none")).await, (404, 0));
    drop(client);
    server.await.unwrap();
    let entries = log.entries();
    let (kind, complete) = (EntryKind::Exchange, EntryEnd::Complete);
    let expected = [(kind, Some(200), complete, "/"), (kind, Some(404), complete, "/none")];
    assert_eq!(found(&entries), expected);
    assert!(entries[0].sent > body && entries[1].sent < 500, "{entries:?}");
    assert!(entries[0].end <= entries[1].begin && entries[0].host == host);
}

#[tokio::test]
async fn a_request_for_another_host_is_refused_by_the_handler() {
    let (client, log, server) = TestConnection::new(1 << 20, 0.0).over_http2();
    assert_eq!(fetch(&client, "http://nowhere.test/").await, (421, 0));
    drop(client);
    server.await.unwrap();
    assert_eq!(
        found(&log.entries()),
        [(EntryKind::Exchange, Some(421), EntryEnd::BadRequest, "/")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_is_unused() {
    let mut scene = TestConnection::new(4_096, 0.0);
    scene.client.write_all(OPENING).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let entries = scene.entries().await;
    assert_eq!(found(&entries), [(EntryKind::Unused, None, EntryEnd::ClientClosed, "")]);

    let mut scene = TestConnection::new(4_096, 0.0);
    for piece in OPENING.chunks(5) {
        scene.client.write_all(piece).await.unwrap();
        sleep(Duration::from_millis(1)).await;
    }
    let begin = Instant::now();
    scene.server.await.unwrap();
    assert!(begin.elapsed() >= IDLE_MAX);
    assert_eq!(found(&scene.log.entries()), [(EntryKind::Unused, None, EntryEnd::TimedOut, "")]);
}

#[tokio::test(start_paused = true)]
async fn a_reset_stream_ends_its_line_and_not_the_connection() {
    let scene = TestConnection::new(4_096, 1.0);
    let (host, ..) = scene.page(600_000);
    let (client, log, server) = scene.over_http2();
    let url = format!("http://{host}/");
    // Once while it is waited for, and once in the response.
    let waited = tokio::time::timeout(Duration::from_millis(1), client.get(&url)).await;
    assert!(waited.is_err());
    // The connection's task is to give the only stream back.
    sleep(Duration::from_millis(1)).await;
    drop(client.get(&url).await.unwrap());
    sleep(Duration::from_millis(1)).await;
    assert_eq!(fetch(&client, &format!("{url}none")).await, (404, 0));
    drop(client);
    server.await.unwrap();
    let entries = log.entries();
    let reset = |status| (EntryKind::Exchange, status, EntryEnd::ClientReset, "/");
    let complete = (EntryKind::Exchange, Some(404), EntryEnd::Complete, "/none");
    assert_eq!(found(&entries), [reset(None), reset(Some(200)), complete]);
    assert!(entries[0].end - entries[0].begin < Duration::from_secs(1), "{entries:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_no_window_is_given_up() {
    let mut scene = TestConnection::new(1 << 20, 0.0);
    let (host, ..) = scene.page(200_000);
    scene.client.write_all(OPENING).await.unwrap();
    // GET / over http, all by the static table but the host (RFC 7541, appendix A).
    let mut block = vec![0x82, 0x84, 0x86, 0x41, u8::try_from(host.len()).unwrap()];
    block.extend_from_slice(host.as_bytes());
    let length = u8::try_from(block.len()).unwrap();
    scene.client.write_all(&[0, 0, length, 1, 5, 0, 0, 0, 1]).await.unwrap();
    scene.client.write_all(&block).await.unwrap();
    let TestConnection { client, server, log, .. } = scene;
    server.await.unwrap();
    drop(client);
    let [entry] = log.entries().try_into().unwrap();
    assert_eq!((entry.status, entry.ended), (Some(200), EntryEnd::TimedOut));
    assert!((65_535..70_000).contains(&entry.sent), "{entry:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_logs_that_it_was_stopped() {
    let scene = TestConnection::new(4_096, 100.0);
    let (host, ..) = scene.page(1);
    let (client, log, server) = scene.over_http2();
    let url = format!("http://{host}/");
    let waited = tokio::time::timeout(Duration::from_secs(1), client.get(&url));
    let (server, waited) = tokio::join!(
        async {
            sleep(Duration::from_millis(500)).await;
            server.abort();
            server.await
        },
        waited
    );
    assert!(server.unwrap_err().is_cancelled() && matches!(waited, Ok(Err(_))));
    let [entry] = log.entries().try_into().unwrap();
    assert_eq!((entry.kind, entry.ended), (EntryKind::Exchange, EntryEnd::Stopped));
}
