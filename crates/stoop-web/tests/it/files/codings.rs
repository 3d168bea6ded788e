//! RFC 9110 §8.4 and §12.5.3: files that are there in a content coding already.

use stoop_web::FileCoding::{Brotli, Gzip, Zstd};

use super::tree::{TEN_BYTES, Tree, clients, send};
use crate::kit::{field, text};

fn tree() -> Tree {
    Tree::new(&[
        ("a.js", b"0123456789"),
        ("a.js.br", b"brotli"),
        ("a.js.gz", b"gzipped"),
        ("b.js", b"plain"),
        ("only.js.gz", b"gzipped"),
    ])
}

/// RFC 9110 §12.5.3, §12.5.5, §8.8.3.3: another coding is another representation.
#[tokio::test]
async fn the_coding_that_a_client_weighs_most_is_sent_if_it_is_there() {
    let tree = tree();
    let offered = [Zstd, Brotli, Gzip];
    let remembered = tree.files().precompressed(offered);
    for client in clients(&remembered).into_iter().chain(clients(&remembered.without_cache())) {
        let mut tags = std::collections::BTreeSet::new();
        for (accepted, coding, content) in [
            ("gzip, deflate, br, zstd", "br", "brotli"),
            ("br;q=0.5, gzip", "gzip", "gzipped"),
            ("zstd", "", "0123456789"),
            ("", "", "0123456789"),
            ("gzip;q=0.5, identity", "", "0123456789"),
        ] {
            let asked = [("accept-encoding", accepted)];
            let response = send(&client, "GET", "/a.js", &asked).await;
            assert_eq!(field(&response, "content-encoding"), coding, "{accepted}");
            assert_eq!(field(&response, "vary"), "accept-encoding");
            assert_eq!(field(&response, "content-type"), "text/javascript; charset=utf-8");
            tags.insert(field(&response, "etag").to_owned());
            assert_eq!(text(response).await, (200, content.to_owned()), "{accepted}");
        }
        assert_eq!(tags.len(), 3, "{tags:?}");
        let plain = send(&client, "GET", "/b.js", &[("accept-encoding", "br")]).await;
        assert_eq!(
            (field(&plain, "vary"), field(&plain, "content-encoding")),
            ("accept-encoding", "")
        );
        let none = send(&client, "GET", "/b.js", &[("accept-encoding", "br, identity;q=0")]).await;
        assert_eq!((none.status().as_u16(), field(&none, "vary")), (406, "accept-encoding"));
        let only = send(&client, "GET", "/only.js", &[("accept-encoding", "gzip")]).await;
        assert_eq!(only.status(), 404, "a coding is beside a file");
    }
}

/// RFC 9110 §14.2: a range is of the representation that is selected.
#[tokio::test]
async fn a_range_and_a_condition_are_of_the_coding_that_is_sent() {
    let tree = tree();
    for client in clients(&tree.files().precompressed([Brotli])) {
        let range = [("accept-encoding", "br"), ("range", "bytes=2-3")];
        let response = send(&client, "GET", "/a.js", &range).await;
        assert_eq!(field(&response, "content-range"), "bytes 2-3/6");
        assert_eq!(field(&response, "content-encoding"), "br");
        let tag = field(&response, "etag").to_owned();
        assert_eq!(text(response).await, (206, "ot".to_owned()));
        for (accepted, if_none_match, status) in [
            ("br", tag.as_str(), 304),
            ("br", TEN_BYTES, 200),
            ("identity", TEN_BYTES, 304),
            ("identity", &tag, 200),
        ] {
            let asked = [("accept-encoding", accepted), ("if-none-match", if_none_match)];
            let response = send(&client, "GET", "/a.js", &asked).await;
            assert_eq!(response.status(), status, "{accepted} {if_none_match}");
            assert_eq!(field(&response, "vary"), "accept-encoding");
        }
    }
}

#[tokio::test]
async fn no_coding_is_looked_for_unless_it_is_asked_for() {
    let tree = tree();
    for client in clients(&tree.files()) {
        let response =
            send(&client, "GET", "/a.js", &[("accept-encoding", "br, identity;q=0")]).await;
        assert_eq!((field(&response, "vary"), field(&response, "content-encoding")), ("", ""));
        assert_eq!(text(response).await, (200, "0123456789".to_owned()));
    }
}
