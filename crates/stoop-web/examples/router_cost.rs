//! What a router costs: requests over one connection to a handler, alone or behind 200 routes. Run it under callgrind
//! for two counts; the difference of the instructions, by that of the counts, is a request's. The thread of the server is
//! the second one.
//!
//! ```text
//! cargo build --profile fast -p stoop-web --example router_cost
//! valgrind --tool=callgrind --separate-threads=yes target/fast/examples/router_cost HANDLER COUNT
//! ```
//!
//! `HANDLER` is `plain` or, behind the routes, `fixed`; `by-hand`, which takes a part out of the path and answers with it,
//! or `parameter`, to which the router gives that part.

use std::io::{Read, Write};
use std::net::TcpStream;

use stoop::{Request, Response, Server, StatusCode};
use stoop_web::{Path, Router, get};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let handler = arguments.next().unwrap_or_else(|| "plain".to_owned());
    let count = arguments.next().map_or(1000, |count| count.parse().expect("COUNT is a number"));
    let server = Server::listen("127.0.0.1:0").expect("a free port").workers(1);
    let server = match handler.as_str() {
        "plain" => server.run(hello),
        "by-hand" => server.run(by_hand),
        "fixed" => server.run(router("/api/v1/resource_100/items")),
        "parameter" => server.run(router("/api/v1/{resource}/items")),
        other => panic!("`{other}` is none of plain, fixed, by-hand and parameter"),
    };
    ask(server.expect("the server runs").port(), count);
    println!("{count} requests were answered");
}

fn hello(_: Request) -> Response {
    Response::from_text("Hello, world!")
}

/// Answers with what is a parameter of the pattern below.
fn by_hand(request: Request) -> Response {
    let rest = request.path().strip_prefix("/api/v1/");
    match rest.and_then(|rest| rest.strip_suffix("/items")) {
        Some(name) => Response::from_text(name.to_owned()),
        None => Response::from_status(StatusCode::NOT_FOUND),
    }
}

/// 200 routes, of which a third have a parameter, and the one that is asked for.
fn router(pattern: &str) -> stoop_web::App {
    let mut router = Router::new();
    for index in 0..200 {
        let path = match index % 3 {
            0 => format!("/users/{{id}}/things_{index}"),
            _ => format!("/static/things_{index}"),
        };
        router = router.route(path, get(hello));
    }
    let router = match pattern.contains('{') {
        true => router.route(pattern, get(|Path(name): Path<String>| name)),
        false => router.route(pattern, get(hello)),
    };
    router.build().expect("the routes are fine")
}

/// Asks one request after the other, and waits for each answer.
fn ask(port: u16, count: usize) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    let request = b"GET /api/v1/resource_100/items HTTP/1.1\r\nhost: a.test\r\n\r\n";
    let mut buffer = [0; 4096];
    for _ in 0..count {
        stream.write_all(request).expect("the server reads");
        let length = stream.read(&mut buffer).expect("the server answers");
        assert!(buffer[..length].starts_with(b"HTTP/1.1 200"), "an answer in one piece");
    }
}
