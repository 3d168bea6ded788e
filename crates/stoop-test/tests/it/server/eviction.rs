//! At `connections_max` the connection that has been idle for longest makes room for one that waits to be accepted.

use std::time::Duration;

use stoop::{Request, Server, ServerHandle, ServerLimits};
use stoop_test::frames::{FrameReader, settings_ack};
use stoop_test::http2::preface;
use stoop_test::peer::RawPeer;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{GET, dial, hello, listen, seconds};

fn limits(max: usize) -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.connections_max = max;
    limits
}

/// A connection over which a request was answered.
async fn served(server: &ServerHandle) -> RawPeer<TcpStream> {
    let mut peer = dial(server).await;
    peer.send(GET).await;
    let answered = timeout(seconds(5), peer.response()).await.expect("it gets a place");
    assert_eq!(answered.unwrap().text(), "hello");
    peer
}

async fn is_open(peer: &mut RawPeer<TcpStream>) -> bool {
    timeout(Duration::from_millis(20), peer.is_closed()).await.is_err()
}

#[tokio::test]
async fn the_longest_idle_is_closed_for_one_that_waits() {
    let server = listen(limits(3), hello);
    let mut used = served(&server).await;
    let mut silent = dial(&server).await;
    sleep(Duration::from_millis(50)).await;
    let mut younger = dial(&server).await;
    sleep(Duration::from_millis(1_200)).await;
    // It is idle since now.
    used.send(GET).await;
    assert_eq!(used.response().await.unwrap().text(), "hello");
    assert_eq!(server.stats().evicted, 0, "no connection waits");
    let mut new = served(&server).await;
    assert_eq!(silent.rest().await.unwrap(), b"", "without an answer");
    assert_eq!(server.stats().evicted, 1);
    assert!(is_open(&mut younger).await && is_open(&mut used).await);
    let _newer = served(&server).await;
    assert!(younger.is_closed().await);
    assert!(is_open(&mut used).await && is_open(&mut new).await);
    assert_eq!((server.stats().evicted, server.stats().timeouts.idle), (2, 0));
}

#[tokio::test]
async fn what_is_not_idle_is_not_closed() {
    let server = listen(limits(3), async |request: Request| {
        if request.path() == "/slow" {
            sleep(seconds(3)).await;
        }
        "hello"
    });
    let mut slow = dial(&server).await;
    slow.send("GET /slow HTTP/1.1\r\nhost: here\r\n\r\n").await;
    let mut partial = dial(&server).await;
    partial.send("GET / HTTP/1.1\r\n").await;
    let mut sending = dial(&server).await;
    sending.send("POST /slow HTTP/1.1\r\nhost: here\r\ncontent-length: 5\r\n\r\n").await;
    sleep(Duration::from_millis(1_500)).await;
    let mut waits = dial(&server).await;
    waits.send(GET).await;
    assert!(timeout(seconds(1), waits.response()).await.is_err(), "there is no place");
    partial.send("host: here\r\n\r\n").await;
    for peer in [&mut partial, &mut slow] {
        assert_eq!(peer.response().await.unwrap().text(), "hello");
    }
    // Those two are idle now.
    assert_eq!(waits.response().await.unwrap().text(), "hello");
    sending.send("12345").await;
    assert_eq!(sending.response().await.unwrap().text(), "hello");
    assert_eq!(server.stats().evicted, 1);
}

#[tokio::test]
async fn an_http2_connection_is_told_that_it_ends() {
    let server = listen(limits(1), hello);
    let mut idle = dial(&server).await;
    idle.send([preface(), settings_ack()].concat()).await;
    sleep(Duration::from_millis(1_100)).await;
    let _new = served(&server).await;
    let mut bytes = Vec::new();
    idle.into_parts().0.read_to_end(&mut bytes).await.unwrap();
    let lines = FrameReader::default().lines(&bytes);
    assert!(lines.last().unwrap().starts_with("GOAWAY 0 NO_ERROR"), "{lines:?}");
    assert_eq!(server.stats().evicted, 1);
}

/// A full house of silent clients, and more of them behind, hold up others for a second at most, on any number of threads.
#[test]
fn silent_connections_do_not_keep_others_out() {
    for workers in [1, 3] {
        let server = Server::listen("127.0.0.1:0").unwrap().workers(workers).limits(limits(100));
        let server = server.run(hello).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut silent = Vec::new();
            for _ in 0..300 {
                silent.push(dial(&server).await);
            }
            let begin = std::time::Instant::now();
            drop(served(&server).await);
            assert!(begin.elapsed() < seconds(4), "{workers}: {:?}", begin.elapsed());
            sleep(Duration::from_millis(1_100)).await;
            for _ in 0..50 {
                let begin = std::time::Instant::now();
                drop(served(&server).await);
                assert!(begin.elapsed() < seconds(1), "{workers}: {:?}", begin.elapsed());
            }
            let stats = server.stats();
            assert!(stats.evicted >= 200 && stats.open <= 100, "{stats:?}");
            assert_eq!(server.drain(seconds(9)).await, 0);
        });
        server.join();
    }
}
