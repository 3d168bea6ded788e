//! Where files can be: at the root, below prefixes, at patterns, and without a router.

use stoop::{Answer, Client, Handler, IntoHandler, Request, StatusCode};
use stoop_web::{Next, Router, any, get as at};

use super::tree::{Tree, get, send};
use crate::kit::{client, field, is_send, text};

fn tree() -> Tree {
    Tree::new(&[("index.html", b"root"), ("a/b.txt", b"b"), ("a/index.html", b"a")])
}

#[tokio::test]
async fn a_fallback_serves_what_is_behind_its_prefix() {
    let tree = tree();
    let nested = Router::new().fallback(tree.files());
    let router = Router::new()
        .route("/assets/own", at(|| "own"))
        .nest("/assets", nested)
        .nest("/{tenant}/pub", Router::new().fallback(tree.files()));
    let client = client(router);
    for (target, status, content) in [
        ("/assets/a/b.txt", 200, "b"),
        ("/assets/", 200, "root"),
        ("/assets/a/", 200, "a"),
        ("/assets/own", 200, "own"),
        ("/anyone/pub/a/b.txt", 200, "b"),
        ("/some%20one/pub/", 200, "root"),
    ] {
        assert_eq!(get(&client, target, &[]).await, (status, content.to_owned()), "{target}");
    }
    for (target, location) in
        [("/assets", "./assets/"), ("/assets/a?x", "./a/?x"), ("/anyone/pub", "./pub/")]
    {
        let response = send(&client, "GET", target, &[]).await;
        assert_eq!((response.status().as_u16(), field(&response, "location")), (308, location));
    }
    for target in ["/a/b.txt", "/assetsx/a/b.txt", "/assets/assets/a/b.txt", "/assets/../a/b.txt"] {
        assert_eq!(get(&client, target, &[]).await.0, 404, "{target}");
    }
}

#[tokio::test]
async fn a_pattern_serves_the_rest_of_the_path_or_the_whole_of_it() {
    let tree = tree();
    let router = Router::new()
        .route("/static/{*path}", any(tree.files()))
        .route("/a/{name}", at(tree.files()))
        .fallback(|| "fallback");
    let client = client(router);
    for (target, status, content) in [
        ("/static/a/b.txt", 200, "b"),
        ("/static/a/", 200, "a"),
        ("/static/%61/b.txt", 200, "b"),
        ("/a/b.txt", 200, "b"),
        ("/static/", 200, "fallback"),
        ("/static//a/b.txt", 404, "404 Not Found: nothing is at this path\n"),
    ] {
        assert_eq!(get(&client, target, &[]).await, (status, content.to_owned()), "{target}");
    }
}

#[tokio::test]
async fn files_are_a_handler_without_a_router_and_with_one_of_either_kind() {
    let tree = tree();
    let alone = Client::builder().handler(tree.files()).build().unwrap();
    assert_eq!(get(&alone, "/a/b.txt", &[]).await, (200, "b".to_owned()));
    assert_eq!(get(&alone, "/", &[]).await, (200, "root".to_owned()));
    is_send(Router::new().fallback(tree.files()).build().unwrap());
    let local = Router::local().nest("/x", Router::local().fallback(tree.files()));
    let handler = local.build().unwrap().into_handler();
    let response = match handler.call(Request::get("/x/a/b.txt").unwrap()) {
        Answer::Now(response) => response,
        Answer::Later(future) => future.await,
    };
    assert_eq!(text(response).await, (200, "b".to_owned()));
}

/// A directory whose parts are behind layers of their own, by bytes that a client may send: no way to write a path that the
/// outer files would decode to a name in there, or clean up to one, passes by the layer.
#[test]
fn the_files_of_an_outer_router_do_not_pass_by_the_layers_of_an_inner_one() {
    async fn deny(_: Request, _: Next) -> StatusCode {
        StatusCode::FORBIDDEN
    }
    let tree =
        Tree::new(&[("admin/secret.html", b"secret"), ("b \u{e4};c/secret.html", b"secret")]);
    let nested = |name: &str| {
        let files = stoop_web::Files::new(tree.path(name)).unwrap();
        Router::new().fallback(files).layer(deny)
    };
    let router = Router::new()
        .nest("/admin", nested("admin"))
        .nest("/b \u{e4};c", nested("b \u{e4};c"))
        .fallback(tree.files().listing(10));
    let server = super::wire::Server::of(router);
    for (target, status) in [
        ("/admin/secret.html", "403"),
        ("/%61dmin/secret.html", "403"),
        ("/%61%64%6D%69%6e/secret.html", "403"),
        ("/adm%69n/", "403"),
        ("/admi%6E", "403"),
        ("/%61dmin/../%61dmin/secret.html", "403"),
        ("/b%20%C3%A4;c/secret.html", "403"),
        ("/%62%20%c3%a4%3bc/secret.html", "403"),
        ("/admin%2Fsecret.html", "404"),
        ("/%61dmin%2fsecret.html", "404"),
        ("//admin/secret.html", "404"),
        ("/./admin/secret.html", "404"),
        ("/%2e/admin/secret.html", "404"),
        ("/x/../admin/secret.html", "404"),
        ("/x/%2E%2e/admin/secret.html", "404"),
        ("/%2Fadmin/secret.html", "404"),
        ("/admin%00/secret.html", "404"),
        ("/%2561dmin/secret.html", "404"),
        ("/%c1%a1dmin/secret.html", "404"),
        ("/b+%C3%A4;c/secret.html", "404"),
    ] {
        let answer = server.ask(&format!("GET {target} HTTP/1.1\r\nhost: a.test\r\n\r\n"));
        assert_eq!(answer.get(9..12), Some(status), "{target}: {answer}");
        assert!(!answer.contains("secret"), "{target}");
    }
}
