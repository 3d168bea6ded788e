//! The page, and the object that it asks for.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use stoop::{Response, StatusCode};
use stoop_web::{Path, Router, Sight, StatusPage, get};

use crate::kit::{self, field};

/// A path that would be markup if it were not text.
const MARKUP: &str = "/users/%3Cscript%3Ealert(1)%3C/script%3E'\"><img/src=x>";

/// What is at an address of the page, after some requests.
async fn page(target: &str, accept: &str) -> Response {
    let sight = Sight::new().memory(|| 1 << 20);
    let missing = |Path(_): Path<String>| (StatusCode::NOT_FOUND, "none");
    let router = Router::new()
        .route("/users/{*id}", get(missing))
        .route("/broken", get(|| StatusCode::INTERNAL_SERVER_ERROR))
        .layer(sight.clone());
    let page = StatusPage::new(&sight).title("<b>\"orders\"</b>");
    let client = kit::client(router.route("/status", get(page.endpoint())));
    kit::ask(&client, "GET", "/users/7?secret").await;
    kit::ask(&client, "GET", "/broken").await;
    client.get(format!("http://a.test{target}")).header("accept", accept).await.unwrap()
}

#[tokio::test]
async fn the_page_is_one_document_whose_policy_allows_its_own_script_and_style_alone() {
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let response = page("/status", browser).await;
    assert_eq!(field(&response, "content-type"), "text/html; charset=utf-8");
    assert_eq!(field(&response, "x-content-type-options"), "nosniff");
    assert_eq!(
        (field(&response, "vary"), field(&response, "cache-control")),
        ("accept", "no-store")
    );
    let policy = field(&response, "content-security-policy").to_owned();
    assert!(policy.starts_with("default-src 'none'; connect-src 'self'; "), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let html = response.text().await.unwrap();
    for name in ["script", "style"] {
        let begin = format!("<{name}>");
        let (_, rest) = html.split_once(&begin).unwrap();
        let (text, after) = rest.split_once(&format!("</{name}>")).unwrap();
        let hash = STANDARD.encode(Sha256::digest(text));
        assert!(policy.contains(&format!("{name}-src 'sha256-{hash}'")), "{policy}");
        assert!(!after.contains(&format!("<{name}")));
    }
    // Neither addresses elsewhere nor handlers nor styles in the markup, which the policy would not allow.
    let namespace = "\"http://www.w3.org/2000/svg\"";
    assert_eq!(html.replace(namespace, "").matches("://").count(), 0);
    for forbidden in [" onclick=", " onload=", " style=", " src=", "@import", "url("] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

/// The document is the same whatever clients have sent: names come by JSON, and the script makes text of them.
#[tokio::test]
async fn no_name_is_ever_markup() {
    let html = page("/status", "text/html").await.text().await.unwrap();
    assert!(!html.contains("orders") && !html.contains("/users/"), "{html}");
    for way in
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
    {
        assert!(!html.contains(way), "{way}");
    }
}

#[tokio::test]
async fn a_path_with_markup_in_it_stays_a_string_of_json() {
    let sight = Sight::new();
    let app = Router::new().layer(sight.clone()).build().unwrap();
    let server = stoop::Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
    // A client of this library would not send all of it.
    let answer = super::within(raw(server.port(), MARKUP)).await;
    super::within(server.close()).await;
    let figures = StatusPage::new(&sight).endpoint()(stoop::Request::get("/?json").unwrap());
    assert_eq!(field(&figures, "content-type"), "application/json");
    assert_eq!(field(&figures, "x-content-type-options"), "nosniff");
    let text = figures.text().await.unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert_eq!(all["slowest"][0]["path"], MARKUP);
}

/// What comes in answer to a request for a path, whatever is in it.
pub(super) async fn raw(port: u16, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn the_same_figures_are_an_object_for_who_accepts_json() {
    let response = page("/status", "application/json").await;
    assert_eq!(field(&response, "content-type"), "application/json");
    assert_eq!(field(&response, "vary"), "accept");
    let all: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!(all["title"], "<b>\"orders\"</b>");
    assert_eq!((&all["memory_bytes"], &all["server"]), (&(1 << 20).into(), &Value::Null));
    // The request for them is in flight.
    assert_eq!((&all["requests"], &all["in_flight"]), (&2.into(), &1.into()));
    for name in ["uptime_seconds", "last_second", "clients_left"] {
        assert!(all[name].is_u64(), "{name} in {all}");
    }
    assert!(all["per_second"].is_f64() && all["start_time_seconds"].is_number(), "{all}");
    assert!(all["seconds"].is_array() && all["cut_short"].is_object(), "{all}");
    assert_eq!((&all["statuses"]["4xx"], &all["statuses"]["5xx"]), (&1.into(), &1.into()));
    let routes = all["routes"].as_array().unwrap();
    let named = |name: &str| routes.iter().find(|route| route["route"] == name).unwrap();
    let (users, broken) = (named("/users/{*id}"), named("/broken"));
    assert_eq!((&users["requests"], &users["errors"]), (&1.into(), &0.into()));
    assert_eq!((&users["sent_bytes"], &broken["errors"]), (&4.into(), &1.into()));
    let series = &users["series"][0];
    assert_eq!((&series["method"], &series["status"]), (&"GET".into(), &"4xx".into()));
    for name in ["p50_ms", "p90_ms", "p99_ms", "max_ms"] {
        assert!(broken[name].is_f64() && all["latency"][name].is_f64(), "{name} in {all}");
    }
    let slowest = all["slowest"].as_array().unwrap();
    assert_eq!(slowest.len(), 2);
    assert!(slowest.iter().any(|slow| slow["path"] == "/users/7" && slow["status"] == 404));
    assert!(!all.to_string().contains("secret"));
}

#[tokio::test]
async fn a_server_s_figures_are_in_the_object() {
    let sight = Sight::new();
    let (server, client) = super::serve(Router::new(), &sight, stoop::Versions::Http2);
    sight.add_server(&server);
    client.get(server.endpoint().to_string()).await.unwrap().text().await.unwrap();
    let figures = StatusPage::new(&sight).endpoint()(stoop::Request::get("/?json").unwrap());
    let all: Value = serde_json::from_str(&figures.text().await.unwrap()).unwrap();
    let server_figures = &all["server"];
    assert_eq!(server_figures["open_connections"], 1);
    assert_eq!(server_figures["responses"]["4xx"], 1);
    assert_eq!(server_figures["timeouts"]["handler"], 0);
    drop(client);
    super::within(server.close()).await;
}
