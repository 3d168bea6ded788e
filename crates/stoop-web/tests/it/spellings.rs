//! Paths that are written in other ways: which route they find, and that none passes by a layer.

use std::io::{Read, Write};
use std::net::TcpStream;

use stoop::{Client, LocalServer, Request, Server, StatusCode, Versions};
use stoop_web::{FromHead, Head, Next, Path, Pattern, Rejection, Router, TrailingSlash, get, post};

use crate::kit::{ask, client, field};

/// RFC 3986 §6.2.2: what is equivalent is the same route.
#[tokio::test]
async fn a_path_finds_its_route_however_it_is_written() {
    let pattern = async |Pattern(pattern): Pattern| pattern;
    let router = ["/admin", "/users/{id}", "/img/{name}.png", "/b%20c", "/\u{e4}/{x}", "/a%2fb"]
        .into_iter()
        .fold(Router::new(), |router, path| router.route(path, get(pattern)));
    let client = client(router.fallback(|| "nothing"));
    for (path, pattern) in [
        ("/%61dmin", "/admin"),
        ("/%61%64%6D%69%6e?x=%61", "/admin"),
        ("/user%73/me", "/users/{id}"),
        ("/users/%6De", "/users/{id}"),
        ("/users/a%2Fb", "/users/{id}"),
        ("/img/a%2epng", "/img/{name}.png"),
        ("/b%20%63", "/b%20c"),
        ("/%c3%A4/1", "/\u{e4}/{x}"),
        ("/a%2Fb", "/a%2fb"),
        ("/users%2Fme", "nothing"),
        ("/a/b", "nothing"),
        ("/admin%2f", "nothing"),
        ("/admin%00", "nothing"),
        ("/%2561dmin", "nothing"),
    ] {
        assert_eq!(ask(&client, "GET", path).await, (200, pattern.to_owned()), "{path}");
    }
}

/// RFC 3986 §3.4: the question mark of a query is none of the path.
#[tokio::test]
async fn a_query_is_no_part_of_a_pattern_with_a_question_mark() {
    let router = Router::new().route("/a", get(|| "a")).route("/a%3Fb", get(|| "a?b"));
    let client = client(router.route("/c%3fd", get(|| "c?d")).fallback(|| "nothing"));
    for (path, found) in [
        ("/a?b", "a"),
        ("/a%3Fb", "a?b"),
        ("/a%3fb", "a?b"),
        ("/%61%3fb?b", "a?b"),
        ("/c%3Fd", "c?d"),
        ("/c?d", "nothing"),
    ] {
        assert_eq!(ask(&client, "GET", path).await, (200, found.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn parameters_are_decoded_once_and_handlers_see_the_path_as_it_came() {
    /// The path and its parameters as they were sent.
    struct Sent(String);
    impl FromHead for Sent {
        fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
            let parameters: Vec<_> = head.parameters().map(|(_, value)| value).collect();
            Ok(Self(format!("{} {}", head.request().path(), parameters.join(" "))))
        }
    }
    let show = |Path((one, two)): Path<(String, String)>, Sent(sent): Sent| {
        format!("{one} {two} | {sent}")
    };
    let client = client(Router::new().route("/%61/x-{one}.txt/{*two}", get(show)));
    for (path, one, two, sent) in [
        ("/a/x-1.txt/2/3", "1", "2/3", "1 2/3"),
        ("/%61/%78-%2541%2etx%74/%62/%2F", "%41", "b//", "%2541 %62/%2F"),
        ("/a/x-%zz.txt/%", "%zz", "%", "%zz %"),
        ("/a/x-%C3%A4.txt/%20", "\u{e4}", " ", "%C3%A4 %20"),
    ] {
        let expected = format!("{one} {two} | {path} {sent}");
        assert_eq!(ask(&client, "GET", path).await, (200, expected), "{path}");
    }
}

/// RFC 9112 §3.2: whatever is before and behind the path in the target, and whether that is encoded.
#[test]
fn a_parameter_is_the_same_in_each_form_of_a_target() {
    let show = |Path(name): Path<String>| name;
    let router = Router::new().route("/of/{name}", get(show)).route("/{*all}", get(show));
    let server = Server::listen("127.0.0.1:0").unwrap().workers(1).run(router.build().unwrap());
    let server = server.unwrap();
    for (path, name) in [
        ("/of/me", "me"),
        ("/of/%6d%65", "me"),
        ("/of/a%2Fb", "a/b"),
        ("/of/%2525", "%25"),
        ("/of/a/b", "of/a/b"),
        ("/o%66/100%", "100%"),
    ] {
        for before in ["", "http://a.test", "http://a.test:80"] {
            for query in ["", "?", "?x=1", "?x=%31&/of/you", "?/%"] {
                let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
                let target = format!("{before}{path}{query}");
                let request =
                    format!("GET {target} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n");
                stream.write_all(request.as_bytes()).unwrap();
                let mut response = String::new();
                stream.read_to_string(&mut response).unwrap();
                let (head, content) = response.split_once("\r\n\r\n").unwrap();
                assert!(head.starts_with("HTTP/1.1 200 "), "{target}: {head}");
                assert_eq!(content, name, "{target}");
            }
        }
    }
}

#[tokio::test]
async fn a_redirect_for_a_slash_keeps_the_path_as_it_was_written() {
    let router = Router::new().route("/a%3fb", get(|| ""));
    let router = router.route("/{x}/y", get(|| "")).trailing_slash(TrailingSlash::Redirect);
    let client = client(router);
    for (path, location) in [("/%61%3Fb/?q", "/%61%3Fb?q"), ("/%2Fevil.test/y/", "/%2Fevil.test/y")]
    {
        let response = client.get(format!("http://a.test{path}")).await.unwrap();
        assert_eq!((response.status().as_u16(), field(&response, "location")), (308, location));
    }
}

#[tokio::test]
async fn two_ways_to_write_a_pattern_are_one_pattern() {
    let router = Router::new().route("/%61/{x}", get(|| "get")).route("/a/{x}", post(|| "post"));
    let client = client(router);
    assert_eq!(ask(&client, "GET", "/a/1").await, (200, "get".to_owned()));
    assert_eq!(ask(&client, "POST", "/a/1").await, (200, "post".to_owned()));
    let twice = Router::new().route("/%61", get(|| "")).route("/a", get(|| "")).build();
    assert_eq!(twice.err().unwrap().to_string(), "`/%61` has two endpoints for GET");
    let nested = || Router::new().fallback(|| "");
    assert!(Router::new().nest("/a", nested()).nest("/%61", nested()).build().is_err());
}

async fn deny(_: Request, _: Next) -> StatusCode {
    StatusCode::FORBIDDEN
}

/// What is asked for has a layer around it, and what is left has the same files without one.
fn guarded(left: Router) -> Router {
    left.nest("/admin", Router::new().fallback(|| "guarded").layer(deny))
        .nest("/b c\u{e4}", Router::new().route("/{*any}", get(|| "guarded")).layer(deny))
}

#[tokio::test]
async fn no_way_to_write_a_path_passes_by_a_layer() {
    let router = || guarded(Router::new().fallback(|| (StatusCode::NOT_FOUND, "left")));
    for versions in [Versions::Http1, Versions::Http2] {
        let server = LocalServer::new(router().build().unwrap()).versions(versions);
        let client = Client::builder().local_server(server).versions(versions).build().unwrap();
        for path in [
            "/admin/x",
            "/%61dmin/x",
            "/%61%64%6d%69%6E/x",
            "/admi%6E",
            "/%61dmin/%2e%2e%2fx",
            "/b%20c%c3%a4/x",
            "/%62%20%63%C3%a4/%78",
        ] {
            assert_eq!(ask(&client, "GET", path).await.0, 403, "{path}");
        }
    }
}
