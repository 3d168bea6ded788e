//! Lines of the access log for what the server refuses by itself.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Client, Server, ServerHandle, ServerLimits, Versions};
use stoop_web::{AccessLog, LogHandle, Router, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A writer whose text can be looked at.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server whose handler reads the content of a request, with its log.
fn server(limits: ServerLimits, log: AccessLog) -> (ServerHandle, LogHandle) {
    let (handle, refused) = (log.handle(), log.handle());
    let read = async |content: bytes::Bytes| content.len().to_string();
    let app = Router::new().route("/", get(|| "hello").post(read)).layer(log).build().unwrap();
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
    let server = server.observe(move |peer, event| refused.observe(peer, event));
    (server.run_here(app).unwrap(), handle)
}

/// Sends these bytes, and returns the lines once the server has ended.
async fn lines_of(limits: ServerLimits, format: fn(Lines) -> AccessLog, request: &[u8]) -> String {
    let lines = Lines::default();
    let (server, log) = server(limits, format(lines.clone()));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let answered = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(20), answered).await.unwrap().unwrap();
    server.close().await;
    log.flush();
    String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
}

#[tokio::test]
async fn a_malformed_request_has_a_line_without_method_and_target() {
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n";
    let common = lines_of(ServerLimits::default(), AccessLog::common, request).await;
    assert!(common.starts_with("127.0.0.1 - - ["), "{common}");
    assert!(common.ends_with("+0000] \"-\" 400 -\n"), "{common}");
    let json = lines_of(ServerLimits::default(), AccessLog::json, request).await;
    let begin = r#","method":null,"target":null,"host":null,"version":"HTTP/1.1","status":400,"bytes":0,"peer":"127.0.0.1:"#;
    assert!(json.contains(begin), "{json}");
    let reason = stoop::Violation::SpaceBeforeColon.to_string();
    assert!(json.ends_with(&format!(",\"refused\":\"{reason}\"}}\n")), "{json}");
}

#[tokio::test]
async fn a_head_that_does_not_come_in_time_has_a_line() {
    let mut limits = ServerLimits::default();
    limits.time.head = Duration::from_millis(50);
    let text = lines_of(limits, AccessLog::common, b"GET / HTTP/1.1\r\n").await;
    assert!(text.ends_with("+0000] \"-\" 408 -\n"), "{text}");
}

/// The handler has read of it, and the exchange has its line: not another one.
#[tokio::test]
async fn content_that_is_malformed_has_one_line() {
    let head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    // What comes with the head is looked at before a handler is called.
    let request = [&head[..], b"x\r\n"].concat();
    let before = lines_of(ServerLimits::default(), AccessLog::common, &request).await;
    assert!(before.ends_with("+0000] \"-\" 400 -\n"));

    let lines = Lines::default();
    let (server, log) = server(ServerLimits::default(), AccessLog::common(lines.clone()));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    stream.write_all(head).await.unwrap();
    while server.stats().running == 0 {
        tokio::task::yield_now().await;
    }
    stream.write_all(b"x\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    server.close().await;
    log.flush();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("\"POST / HTTP/1.1\""), "{text}");
}

#[tokio::test]
async fn what_is_shed_has_the_line_of_its_request() {
    for (versions, version) in [(Versions::Http1, "HTTP/1.1"), (Versions::Http2, "HTTP/2.0")] {
        let mut limits = ServerLimits::default();
        limits.shedding.handlers_max = 0;
        let lines = Lines::default();
        let (server, log) = server(limits, AccessLog::combined(lines.clone()));
        let client = Client::builder().versions(versions).build().unwrap();
        let request = client.get(format!("{}/?q", server.endpoint())).header("user-agent", "t/1");
        assert_eq!(request.await.unwrap().status(), 503);
        drop(client);
        server.close().await;
        log.flush();
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let end = format!("+0000] \"GET /?q {version}\" 503 - \"-\" \"t/1\"\n");
        assert!(text.ends_with(&end), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

/// Over HTTP/1 a length that is announced is refused before a handler is called, and else once the content is read.
#[tokio::test]
async fn content_that_is_too_large_has_one_line() {
    for versions in [Versions::Http1, Versions::Http2] {
        for is_announced in [true, false] {
            let mut limits = ServerLimits::default();
            limits.wire.body_bytes_max = Some(10);
            let lines = Lines::default();
            let (server, log) = server(limits, AccessLog::common(lines.clone()));
            let client = Client::builder().versions(versions).build().unwrap();
            let request = client.post(server.endpoint().to_string());
            let content = bytes::Bytes::from_static(&[b'x'; 100]);
            let request = match is_announced {
                true => request.body(content),
                false => {
                    let (sender, body) = stoop::Body::channel(1);
                    tokio::spawn(async move {
                        // Of what is refused not all is taken.
                        let _ = sender.send(content).await;
                        let _ = sender.finish().await;
                    });
                    request.body(body)
                }
            };
            assert_eq!(request.await.unwrap().status(), 413, "{versions:?} {is_announced}");
            drop(client);
            server.close().await;
            log.flush();
            let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            assert_eq!(text.lines().count(), 1, "{versions:?} {is_announced}: {text}");
            assert!(text.contains("\" 413 "), "{versions:?} {is_announced}: {text}");
        }
    }
}
