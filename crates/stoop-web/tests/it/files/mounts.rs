//! Where files can be: at the root, below prefixes, at patterns, and without a router.

use stoop::{Answer, Client, Handler, IntoHandler, Request};
use stoop_web::{Router, any, get as at};

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
