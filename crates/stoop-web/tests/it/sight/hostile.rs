//! What clients make up neither grows the figures nor leaves its place in them.

use std::fmt::Write as _;

use serde_json::Value;
use stoop::{Client, Method, Request, ServerHandle, Versions};
use stoop_web::{Path, Router, Sight, StatusPage, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{BOTH, figures, serve, within};

const REQUESTS: usize = 10_000;

/// Requests of one connection.
const BATCH: usize = 500;

/// A method and a target that no other request has.
fn made_up(n: usize) -> (String, String) {
    let method = if n.is_multiple_of(3) { format!("BREW{n}") } else { "GET".to_owned() };
    let target = match n % 4 {
        0 => format!("/<script>alert({n})</script>'\"><img/src=x>"),
        1 => format!("/made-up-{n}\\\"}}%0a%00{}", "x".repeat(200)),
        2 => format!("/users/{n}?secret={n}"),
        _ => format!("/files/{n}/%e2%80%ae%22%7d%201%0aevil_total"),
    };
    (method, target)
}

/// Sends a part of the requests over HTTP/1, with bytes that a client of this library would not send.
async fn send_raw(server: &ServerHandle, batch: usize) {
    let mut bytes = String::new();
    for n in batch * BATCH..(batch + 1) * BATCH {
        let (method, target) = made_up(n);
        let last = if (n + 1).is_multiple_of(BATCH) { "connection: close\r\n" } else { "" };
        let agent = format!("\"}} 1 <script>alert({n})</script>");
        let fields = format!("host: evil-{n}.test\r\nuser-agent: {agent}\r\n{last}");
        write!(bytes, "{method} {target} HTTP/1.1\r\n{fields}\r\n").unwrap();
    }
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    let answered = answers.matches("HTTP/1.1 ").count();
    assert_eq!((answered, answers.matches("HTTP/1.1 400 ").count()), (BATCH, 0));
}

/// The same over HTTP/2.
async fn send_by(client: &Client, server: &ServerHandle, batch: usize) {
    for n in batch * BATCH..(batch + 1) * BATCH {
        let (method, target) = made_up(n);
        let target = target.replace(['<', '>', '"', '\\', '}'], "%3C");
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Request::new(method, &format!("{}{target}", server.endpoint())).unwrap();
        let agent = format!("\"}} 1 <script>alert({n})</script>");
        let request = request.with_field("user-agent", &agent).unwrap();
        client.send(request).await.unwrap().bytes().await.unwrap();
    }
}

/// What the page and its object are now.
async fn shown(sight: &Sight) -> (String, Value, usize) {
    let page = StatusPage::new(sight).endpoint();
    let html = page(Request::get("/").unwrap()).text().await.unwrap();
    let json = page(Request::get("/?json").unwrap()).text().await.unwrap();
    (html, serde_json::from_str(&json).unwrap(), json.len())
}

#[tokio::test]
async fn ten_thousand_requests_that_are_all_different_have_the_lines_of_the_first_ones() {
    for versions in BOTH {
        let sight = Sight::new();
        let any = |Path(_): Path<String>| "found";
        let router = Router::new().route("/users/{id}", get(any)).route("/files/{*path}", get(any));
        let (server, client) = serve(router, &sight, versions);
        sight.add_server(&server);
        let (mut lines, mut bytes, mut page) = (0, 0, String::new());
        for batch in 0..REQUESTS / BATCH {
            match versions {
                Versions::Http1 => within(send_raw(&server, batch)).await,
                _ => within(send_by(&client, &server, batch)).await,
            }
            if batch == 0 {
                let text = figures(&sight).await;
                (lines, bytes) = (text.lines().count(), text.len());
                page = shown(&sight).await.0;
            }
        }
        drop(client);
        within(server.close()).await;
        let text = figures(&sight).await;
        assert_eq!(text.lines().count(), lines, "{versions:?}");
        // Numbers have more digits.
        assert!(text.len() < bytes + bytes / 4 && text.len() < 64 << 10, "{}", text.len());
        for told in ["<", "alert", "made-up", "evil", "secret", "BREW"] {
            assert!(!text.contains(told), "{told}");
        }
        // Each was counted once.
        let counted = text.lines().filter_map(|line| {
            line.strip_prefix("stoop_web_requests_total{")?
                .rsplit_once(' ')?
                .1
                .parse::<usize>()
                .ok()
        });
        assert_eq!(counted.sum::<usize>(), REQUESTS, "{versions:?}");
        let (html, json, length) = shown(&sight).await;
        assert!(html == page && length < 32 << 10, "{length}");
        assert_eq!((&json["requests"], &json["in_flight"]), (&REQUESTS.into(), &0.into()));
        let slowest = json["slowest"].as_array().unwrap();
        let routes = json["routes"].as_array().unwrap();
        assert_eq!((slowest.len(), routes.len()), (16, 3));
        for slow in slowest {
            let (method, path) = (slow["method"].as_str().unwrap(), slow["path"].as_str().unwrap());
            assert!(["GET", "other"].contains(&method) && path.len() <= 96, "{slow}");
            assert!(!path.contains("secret"), "{slow}");
        }
    }
}
