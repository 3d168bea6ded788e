//! Lines of the access log, over both versions.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Client, Server, Versions};
use stoop_web::{AccessLog, LogHandle, Router, get};

/// A writer whose text can be looked at.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Asks a server with that log over a version, and waits until the line is queued.
pub(crate) async fn ask(log: AccessLog, versions: Versions) {
    let app = Router::new().route("/", get(|| "hello")).layer(log).build().unwrap();
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
    let client = Client::builder().versions(versions).build().unwrap();
    let request = client.get(format!("{}/?q", server.endpoint()));
    let request = request.header("user-agent", "a \"b\"").header("x-request-id", "seven");
    assert_eq!(request.await.unwrap().text().await.unwrap(), "hello");
    drop(client);
    server.close().await;
}

#[tokio::test]
async fn a_line_has_what_its_format_says() {
    for (versions, version) in [(Versions::Http1, "HTTP/1.1"), (Versions::Http2, "HTTP/2.0")] {
        let lines = Lines::default();
        let log = AccessLog::combined(lines.clone());
        let handle: LogHandle = log.handle();
        ask(log, versions).await;
        handle.flush();
        let text = lines.text();
        assert!(text.starts_with("127.0.0.1 - - ["), "{text}");
        let end = format!("+0000] \"GET /?q {version}\" 200 5 \"-\" \"a \\\"b\\\"\"\n");
        assert!(text.ends_with(&end), "{text}");

        let lines = Lines::default();
        let log = AccessLog::json(lines.clone());
        let handle = log.handle();
        ask(log, versions).await;
        handle.flush();
        let text = lines.text();
        for part in [
            r#""method":"GET","target":"/?q""#,
            r#""status":200,"bytes":5"#,
            r#""user_agent":"a \"b\"","request_id":"seven""#,
            r#""complete":true}"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[tokio::test]
async fn a_line_in_the_common_format_ends_with_the_length() {
    for (versions, version) in [(Versions::Http1, "HTTP/1.1"), (Versions::Http2, "HTTP/2.0")] {
        let lines = Lines::default();
        let log = AccessLog::common(lines.clone());
        let handle = log.handle();
        ask(log, versions).await;
        handle.flush();
        let text = lines.text();
        assert!(text.starts_with("127.0.0.1 - - ["), "{text}");
        let end = format!("+0000] \"GET /?q {version}\" 200 5\n");
        assert!(text.ends_with(&end), "{text}");
    }
}

/// The server answers a panic by 500, and the router a handler that is late by 503: neither client has left.
#[tokio::test]
async fn a_handler_that_panics_or_is_late_has_the_status_that_its_client_gets() {
    fn panics() -> &'static str {
        panic!("on purpose")
    }
    for versions in [Versions::Http1, Versions::Http2] {
        let lines = Lines::default();
        let log = AccessLog::common(lines.clone());
        let handle = log.handle();
        let late = get(std::future::pending::<()>).time_limit(Duration::from_millis(1));
        let router = Router::new().route("/panics", get(panics)).route("/late", late);
        let server = Server::listen("127.0.0.1:0").unwrap();
        let server = server.run_here(router.layer(log).build().unwrap()).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        for path in ["/panics", "/late"] {
            let url = format!("{}{path}", server.endpoint());
            client.get(url).await.unwrap().text().await.unwrap();
        }
        drop(client);
        server.close().await;
        handle.flush();
        let text = lines.text();
        let statuses: Vec<_> = text.lines().filter_map(|line| line.split('"').nth(2)).collect();
        assert_eq!(statuses, [" 500 -", " 503 -"], "{text}");
    }
}

/// What a trusted proxy tells of the client, and who was let in: the lines are of them, and not of the proxy.
#[cfg(feature = "auth")]
#[tokio::test]
async fn a_line_names_the_client_behind_a_proxy_and_the_user_who_was_let_in() {
    use stoop::{LocalServer, Request};
    use stoop_web::{BasicAuth, BlockingPool, TrustedProxies};

    for (versions, hashed) in [(Versions::Http1, false), (Versions::Http2, true)] {
        let [common, json] = [Lines::default(), Lines::default()];
        let logs = [AccessLog::common(common.clone()), AccessLog::json(json.clone())];
        let handles = logs.each_ref().map(AccessLog::handle);
        let [first, second] = logs;
        let auth = match hashed {
            true => BasicAuth::new("r")
                .check_blocking(BlockingPool::new(1, 1), |_, password| password == "c d"),
            false => BasicAuth::new("r").user("a b\"", "c d"),
        };
        let proxies = TrustedProxies::forwarded(["10.0.0.0/8".parse().unwrap()]);
        let router = Router::new().route("/", get(|| "in")).layer(proxies);
        let router = router.layer(first).layer(second).layer(auth);
        let server = LocalServer::new(router.build().unwrap()).versions(versions);
        let server = server.peer("10.0.0.1:1000".parse().unwrap());
        let client = Client::builder().local_server(server).versions(versions).build().unwrap();
        // `a b":c d`, and a wrong password.
        for (credentials, status) in [("YSBiIjpjIGQ=", 200), ("YSBiIjp4", 401)] {
            let request = Request::get("http://inner.test/").unwrap();
            let request = request.with_field("authorization", format!("Basic {credentials}"));
            let forwarded = "for=\"192.0.2.7:80\";host=a.test";
            let request = request.unwrap().with_field("forwarded", forwarded).unwrap();
            let response = client.send(request).await.unwrap();
            assert_eq!(response.status(), status);
            response.text().await.unwrap();
        }
        while json.text().lines().count() < 2 || common.text().lines().count() < 2 {
            tokio::task::yield_now().await;
            handles.iter().for_each(LogHandle::flush);
        }
        let (common, json) = (common.text(), json.text());
        let (let_in, refused) = common.split_once('\n').unwrap();
        assert!(let_in.starts_with("192.0.2.7 - a\\x20b\\\" ["), "{let_in}");
        assert!(refused.starts_with("192.0.2.7 - - ["), "{refused}");
        let (let_in, refused) = json.split_once('\n').unwrap();
        for part in [r#""host":"a.test""#, r#""user":"a b\"""#, r#""peer":"192.0.2.7:80""#] {
            assert!(let_in.contains(part), "{part} in {let_in}");
        }
        assert!(!refused.contains("\"user\""), "{refused}");
    }
}
