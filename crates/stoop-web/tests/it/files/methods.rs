//! RFC 9110 §8 and §9: what is said of a file, and the methods that it has.

use super::tree::{MODIFIED, TEN_BYTES, Tree, clients, send};
use crate::kit::{field, text};

/// RFC 9110 §8.3, §8.6, §8.8.
#[tokio::test]
async fn a_file_is_sent_with_its_type_length_and_validators() {
    let large = vec![b'x'; 100_000];
    let tree = Tree::new(&[("a.txt", b"0123456789"), ("large", &large), ("empty.css", b"")]);
    for client in clients(&tree.files()) {
        for _ in 0..2 {
            let response = send(&client, "GET", "/a.txt?query", &[]).await;
            for (name, value) in [
                ("content-type", "text/plain; charset=utf-8"),
                ("content-length", "10"),
                ("etag", TEN_BYTES),
                ("last-modified", MODIFIED),
                ("accept-ranges", "bytes"),
                ("x-content-type-options", "nosniff"),
                ("cache-control", ""),
                ("vary", ""),
            ] {
                assert_eq!(field(&response, name), value, "{name}");
            }
            assert_eq!(response.fields().all("content-type").count(), 1);
            assert_eq!(text(response).await, (200, "0123456789".to_owned()));
        }
        let response = send(&client, "GET", "/large", &[]).await;
        assert_eq!(field(&response, "content-type"), "application/octet-stream");
        assert_eq!(response.bytes().await.unwrap(), large);
        let response = send(&client, "GET", "/empty.css", &[]).await;
        assert_eq!(field(&response, "content-length"), "0");
        assert_eq!(text(response).await, (200, String::new()));
    }
}

/// RFC 9110 §8.3: the caller knows better than the list.
#[tokio::test]
async fn a_type_and_cache_control_are_as_they_were_given() {
    let tree = Tree::new(&[("a.txt", b"a"), ("hashed/b.TXT", b"b"), ("c", b"c")]);
    let files = tree.files().content_type("txt", "text/x-own").unwrap();
    let files = files.cache_control_by(|path| match path.to_str()? {
        "c" => Some("bad\nvalue".to_owned()),
        path if path.starts_with("hashed/") => Some("max-age=31536000, immutable".to_owned()),
        _ => Some("no-cache".to_owned()),
    });
    for client in clients(&files) {
        for (target, content_type, cache_control) in [
            ("/a.txt", "text/x-own", "no-cache"),
            ("/hashed/b.TXT", "text/x-own", "max-age=31536000, immutable"),
            ("/c", "application/octet-stream", ""),
        ] {
            let response = send(&client, "GET", target, &[]).await;
            assert_eq!(response.status(), 200);
            assert_eq!(field(&response, "content-type"), content_type);
            assert_eq!(field(&response, "cache-control"), cache_control);
        }
    }
    for value in ["a\nb", "a\rb", "a\0"] {
        assert!(tree.files().cache_control(value).is_err());
        assert!(tree.files().content_type("txt", value).is_err());
    }
    let always = tree.files().cache_control("max-age=60").unwrap();
    let response = send(&clients(&always)[0], "GET", "/c", &[]).await;
    assert_eq!(field(&response, "cache-control"), "max-age=60");
}

/// RFC 9110 §9.3.2, §9.3.7, §15.5.6.
#[tokio::test]
async fn head_has_the_fields_of_get_and_other_methods_are_told_what_there_is() {
    let tree = Tree::new(&[("a.txt", b"0123456789")]);
    for client in clients(&tree.files()) {
        let get = send(&client, "GET", "/a.txt", &[]).await;
        let head = send(&client, "HEAD", "/a.txt", &[]).await;
        for name in ["content-type", "content-length", "etag", "last-modified", "accept-ranges"] {
            assert_eq!(field(&head, name), field(&get, name), "{name}");
        }
        assert_eq!(text(head).await, (200, String::new()));
        let options = send(&client, "OPTIONS", "/a.txt", &[]).await;
        assert_eq!(
            (options.status().as_u16(), field(&options, "allow")),
            (204, "GET, HEAD, OPTIONS")
        );
        for method in ["POST", "PUT", "DELETE", "PROPFIND"] {
            let response = send(&client, method, "/a.txt", &[]).await;
            assert_eq!(field(&response, "allow"), "GET, HEAD, OPTIONS");
            let expected = format!("405 Method Not Allowed: files have no {method}\n");
            assert_eq!(text(response).await, (405, expected));
        }
    }
}
