//! RFC 9110 §13: conditional requests.

use super::tree::{BEFORE, MODIFIED, TEN_BYTES, Tree, clients, send};
use crate::kit::{field, text};

/// RFC 9110 §15.4.5: what a 304 has, and no more.
#[tokio::test]
async fn a_304_has_what_a_cache_needs_and_no_content() {
    let tree = Tree::new(&[("a.txt", b"0123456789")]);
    let files = tree.files().cache_control("max-age=60").unwrap().precompressed([]);
    for client in clients(&files) {
        for method in ["GET", "HEAD"] {
            let response = send(&client, method, "/a.txt", &[("if-none-match", TEN_BYTES)]).await;
            assert_eq!(response.status(), 304);
            let mut names: Vec<_> =
                response.fields().iter().map(|field| field.name().to_lowercase()).collect();
            names.sort();
            assert_eq!(names, ["cache-control", "date", "etag"]);
            assert_eq!(field(&response, "etag"), TEN_BYTES);
            assert_eq!(response.text().await.unwrap(), "");
        }
    }
}

/// RFC 9110 §13.1.1 to §13.1.4, and §13.2.2 for the order.
#[tokio::test]
async fn preconditions_are_evaluated_in_their_order() {
    let tree = Tree::new(&[("a.txt", b"0123456789")]);
    let weak = format!("W/{TEN_BYTES}");
    let listed = format!("\"x\", {weak}");
    for client in clients(&tree.files()) {
        for (fields, status) in [
            (&[("if-match", TEN_BYTES)][..], 200),
            (&[("if-match", "*")], 200),
            (&[("if-match", &weak)], 412),
            (&[("if-match", "\"x\"")], 412),
            (&[("if-none-match", TEN_BYTES)], 304),
            (&[("if-none-match", &listed)], 304),
            (&[("if-none-match", "*")], 304),
            (&[("if-none-match", "\"x\"")], 200),
            (&[("if-modified-since", MODIFIED)], 304),
            (&[("if-modified-since", BEFORE)], 200),
            (&[("if-modified-since", "never")], 200),
            (&[("if-unmodified-since", MODIFIED)], 200),
            (&[("if-unmodified-since", BEFORE)], 412),
            (&[("if-match", TEN_BYTES), ("if-unmodified-since", BEFORE)], 200),
            (&[("if-none-match", "\"x\""), ("if-modified-since", MODIFIED)], 200),
            (&[("if-match", "\"x\""), ("if-none-match", TEN_BYTES)], 412),
            (&[("if-none-match", TEN_BYTES), ("range", "bytes=0-1")], 304),
            (&[("if-match", "\"x\""), ("range", "bytes=0-1")], 412),
        ] {
            for method in ["GET", "HEAD"] {
                let response = send(&client, method, "/a.txt", fields).await;
                let ranged = method == "GET" && fields.iter().any(|(name, _)| *name == "range");
                let status = if ranged && status == 200 { 206 } else { status };
                assert_eq!(response.status(), status, "{method} {fields:?}");
            }
        }
    }
}

/// RFC 9110 §13.2.1: a condition counts for what would be a 2xx without it.
#[tokio::test]
async fn a_condition_does_not_hide_that_nothing_is_there() {
    let tree = Tree::new(&[("a.txt", b"0123456789"), ("dir/x", b"")]);
    for client in clients(&tree.files()) {
        for (target, status) in [("/nothing", 404), ("/dir", 308), ("/dir/", 404)] {
            for fields in [("if-match", "\"x\""), ("if-none-match", "*")] {
                assert_eq!(send(&client, "GET", target, &[fields]).await.status(), status);
            }
        }
        let put = send(&client, "PUT", "/a.txt", &[("if-match", "\"x\"")]).await;
        assert_eq!(put.status(), 405);
    }
}

/// RFC 9110 §13.1.5.
#[tokio::test]
async fn if_range_asks_for_all_of_what_has_changed() {
    let tree = Tree::new(&[("a.txt", b"0123456789")]);
    let weak = format!("W/{TEN_BYTES}");
    for client in clients(&tree.files()) {
        for (if_range, status, content) in [
            (TEN_BYTES, 206, "23"),
            (MODIFIED, 206, "23"),
            (&weak, 200, "0123456789"),
            ("\"x\"", 200, "0123456789"),
            (BEFORE, 200, "0123456789"),
        ] {
            let fields = [("range", "bytes=2-3"), ("if-range", if_range)];
            let response = send(&client, "GET", "/a.txt", &fields).await;
            assert_eq!(text(response).await, (status, content.to_owned()), "{if_range}");
        }
        let alone = send(&client, "GET", "/a.txt", &[("if-range", "\"x\"")]).await;
        assert_eq!(alone.status(), 200, "without Range it means nothing");
    }
}
