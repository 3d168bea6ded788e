//! RFC 9110 §14: range requests.

use super::tree::{TEN_BYTES, Tree, clients, get, send};
use crate::kit::{field, text};

/// RFC 9110 §14.1.2, §15.3.7.1.
#[tokio::test]
async fn one_range_is_sent_as_it_is() {
    let large: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
    let tree = Tree::new(&[("a.txt", b"0123456789"), ("large.bin", &large)]);
    for client in clients(&tree.files()) {
        for (range, content_range, content) in [
            ("bytes=0-0", "bytes 0-0/10", "0"),
            ("bytes=3-5", "bytes 3-5/10", "345"),
            ("bytes=8-", "bytes 8-9/10", "89"),
            ("bytes=-3", "bytes 7-9/10", "789"),
            ("bytes=-99", "bytes 0-9/10", "0123456789"),
            ("bytes=5-99", "bytes 5-9/10", "56789"),
            ("bytes=1-2,3-4", "bytes 1-4/10", "1234"),
            ("bytes=1-2, 20-30", "bytes 1-2/10", "12"),
        ] {
            let response = send(&client, "GET", "/a.txt", &[("range", range)]).await;
            assert_eq!(field(&response, "content-range"), content_range, "{range}");
            assert_eq!(field(&response, "content-length"), content.len().to_string());
            assert_eq!(field(&response, "content-type"), "text/plain; charset=utf-8");
            assert_eq!(field(&response, "etag"), TEN_BYTES);
            assert_eq!(text(response).await, (206, content.to_owned()), "{range}");
        }
        let response = send(&client, "GET", "/large.bin", &[("range", "bytes=1000-180999")]).await;
        assert_eq!(field(&response, "content-range"), "bytes 1000-180999/200000");
        assert_eq!(response.bytes().await.unwrap(), large[1000..181_000]);
    }
}

/// RFC 9110 §14.2: what is malformed, of another unit, or asked for by another method.
#[tokio::test]
async fn a_range_that_means_nothing_is_ignored() {
    let tree = Tree::new(&[("a.txt", b"0123456789")]);
    for client in clients(&tree.files()) {
        for range in ["bytes=5-3", "bytes=a", "lines=1-2", "bytes=", "bytes=1-2,x"] {
            let answer = get(&client, "/a.txt", &[("range", range)]).await;
            assert_eq!(answer, (200, "0123456789".to_owned()), "{range}");
        }
        let head = send(&client, "HEAD", "/a.txt", &[("range", "bytes=1-2")]).await;
        assert_eq!((head.status().as_u16(), field(&head, "content-length")), (200, "10"));
        assert_eq!(field(&head, "content-range"), "");
    }
}

/// RFC 9110 §15.5.17, §14.2, §17.15.
#[tokio::test]
async fn a_range_that_is_not_there_or_too_dear_is_refused_with_the_length() {
    let tree = Tree::new(&[("a.txt", b"0123456789"), ("empty", b"")]);
    let many = format!("bytes={}", vec!["0-0"; 65].join(","));
    for client in clients(&tree.files()) {
        for range in ["bytes=10-", "bytes=-0", "bytes=0-,0-,0-", &many] {
            let response = send(&client, "GET", "/a.txt", &[("range", range)]).await;
            assert_eq!(response.status(), 416, "{range}");
            assert_eq!(field(&response, "content-range"), "bytes */10");
            assert_eq!(field(&response, "accept-ranges"), "");
        }
        let response = send(&client, "GET", "/empty", &[("range", "bytes=0-")]).await;
        assert_eq!(
            (response.status().as_u16(), field(&response, "content-range")),
            (416, "bytes */0")
        );
    }
}

/// RFC 9110 §14.6, §15.3.7.2.
#[tokio::test]
async fn several_ranges_are_parts_in_the_order_in_which_they_were_asked_for() {
    let large: Vec<u8> = (0..200_000_u32).map(|at| b'a' + (at % 23) as u8).collect();
    let tree = Tree::new(&[("a.txt", b"0123456789"), ("large.txt", &large)]);
    for client in clients(&tree.files()) {
        let fields = [("range", "bytes=7-8,0-1,2-3,20-30,-1")];
        let response = send(&client, "GET", "/a.txt", &fields).await;
        let content_type = field(&response, "content-type").to_owned();
        let boundary = content_type.strip_prefix("multipart/byteranges; boundary=").unwrap();
        assert_eq!((field(&response, "content-range"), boundary.len()), ("", 32));
        let length: usize = field(&response, "content-length").parse().unwrap();
        let (status, content) = text(response).await;
        let expected = format!(
            "--{boundary}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-range: bytes 7-9/10\r\n\r\n789\r\n\
             --{boundary}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-range: bytes 0-3/10\r\n\r\n0123\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!((status, content), (206, expected.clone()));
        assert_eq!(length, expected.len());
        let again = send(&client, "GET", "/a.txt", &fields).await;
        assert_ne!(
            field(&again, "content-type"),
            content_type,
            "a boundary cannot be known before"
        );

        let fields = [("range", "bytes=0-99999,150000-")];
        let (status, content) = get(&client, "/large.txt", &fields).await;
        let parts: Vec<_> = content.split("\r\n").filter(|part| part.len() > 1000).collect();
        assert_eq!((status, parts.len()), (206, 2));
        assert!(
            parts[0].as_bytes() == &large[..100_000] && parts[1].as_bytes() == &large[150_000..]
        );
    }
}
