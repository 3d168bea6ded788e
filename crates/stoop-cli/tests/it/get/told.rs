//! What is told of a request that went wrong, and what to try then.

use super::scripted::{Scripted, get};
use crate::server::refusing;

#[test]
fn the_story_has_the_content_of_the_request_and_why_it_failed() {
    let server = Scripted::start(&[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    let did = get(&format!("-v -d abc http://{}/", server.address));
    for line in ["> content-length: 3", "* and 3 bytes of content"] {
        assert!(did.stderr.contains(line), "{}", did.stderr);
    }
    let did = get(&format!("-v -d abc -H Transfer-Encoding:chunked http://{}/", server.address));
    for line in ["> transfer-encoding: chunked", "* 3 bytes of content were sent"] {
        assert!(did.stderr.contains(line), "{}", did.stderr);
    }
    let dead = refusing();
    let did = get(&format!("-v http://{dead}/"));
    let failed = did.stderr.lines().find(|line| line.contains("* failed: "));
    assert!(failed.is_some_and(|line| line.contains(&dead.to_string())), "{}", did.stderr);
}

#[test]
fn mistakes_say_what_is_wrong_and_what_to_use() {
    for (options, code, words) in [
        ("--unix-socket /no/such/socket http://a.test/", 7, "/no/such/socket: No such file"),
        ("-H X-A http://a.test/", 2, "stoop: (2) -H \"X-A\" is not 'Name: value'"),
        ("-H Authorization=s3cret http://a.test/", 2, "-H \"Authoriz…\" is not 'Name: value'"),
        ("--interface lo http://a.test/", 2, "by its address"),
        (
            "--socks5 h:1 http://a.test/",
            2,
            "stoop: there is no --socks5: use -x socks5://HOST:PORT.",
        ),
        (
            "-K x http://a.test/",
            2,
            "there is no -K: type the options, as no file of settings is read.",
        ),
    ] {
        let did = get(options);
        assert_eq!(did.code, Some(code), "{options}: {}", did.stderr);
        assert!(did.stderr.contains(words), "{options}: {}", did.stderr);
        assert!(!did.stderr.contains("tip:"), "{options}: {}", did.stderr);
    }
    let did = get("--version");
    assert_eq!(did.code, Some(0), "{}", did.stderr);
    let text = String::from_utf8(did.stdout).expect("text");
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}

#[test]
fn an_error_ends_with_the_next_step() {
    let answer: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n";
    let server = Scripted::start(&[answer]);
    let did = get(&format!("-w %{{redirect_url}} -L --max-redirs 1 http://{}/", server.address));
    assert!(did.stderr.contains("--max-redirs N"), "{}", did.stderr);
    let url = format!("http://{}/x", server.address);
    assert_eq!((did.code, String::from_utf8_lossy(&did.stdout)), (Some(47), url.into()));
    let server = Scripted::start(&[b"HTTP/1.1 200 OK\r\n\r\n"]);
    let did = get(&format!("https://{}/", server.address));
    assert!(did.code == Some(35) && did.stderr.contains("http://"), "{}", did.stderr);
}

#[test]
fn a_full_disk_is_named_and_text_cannot_turn_the_line() {
    if std::path::Path::new("/dev/full").exists() {
        let server = Scripted::start(&[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]);
        for option in ["-o", "-D", "-c"] {
            let did = get(&format!("{option} /dev/full http://{}/", server.address));
            assert_eq!(did.code, Some(23), "{option}: {}", did.stderr);
            assert!(did.stderr.contains("/dev/full: "), "{option}: {}", did.stderr);
        }
    }
    let server =
        Scripted::start(&["HTTP/1.1 200 a\u{202e}b\r\nContent-Length: 0\r\n\r\n".as_bytes()]);
    let did = get(&format!("-v http://{}/", server.address));
    assert!(!did.stderr.contains('\u{202e}') && did.stderr.contains("\\u{202e}"), "{}", did.stderr);
}

/// clap breaks what is wider, so the text is looked at before that.
#[test]
fn no_line_of_the_help_is_wider_than_its_page() {
    let source = include_str!("../../../src/get/help.rs");
    let text = source.split("Examples:").nth(1).expect("what is behind the options");
    assert!(text.lines().count() > 30, "{text}");
    for line in text.lines() {
        // A backslash is two characters of the source.
        let width = line.replace("\\\\", "\\").chars().count();
        assert!(width <= 100, "{width}: {line}");
    }
}
