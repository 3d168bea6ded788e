//! What odd servers answer, and odd options ask for, beside curl.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::thread;

use super::scripted::{Scripted, get, same};
use crate::stoop::{finish_watched, run, stoop};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// `abc` in gzip.
fn gzip(times: usize) -> Vec<u8> {
    let pipe = vec!["gzip -n"; times].join(" | ");
    Command::new("sh").args(["-c", &format!("printf abc | {pipe}")]).output().expect("gzip").stdout
}

fn coded(codings: &str, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {codings}\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), content].concat()
}

#[test]
fn content_that_cannot_be_decoded_is_no_success() {
    for (codings, content, code) in [
        ("foo", &b"abc"[..], 61),
        ("gzip, foo", b"abc", 61),
        ("identity", b"abc", 0),
        ("foo", b"", 0),
        ("gzip, gzip, gzip, gzip", &gzip(4), 0),
        ("gzip, gzip, gzip, gzip, gzip", &gzip(5), 0),
        ("gzip, gzip, gzip, gzip, gzip, gzip", &gzip(6), 61),
    ] {
        let (ran, stderr, _) = same("--compressed URL/", &[&coded(codings, content)]);
        assert_eq!(ran, code, "{codings}: {stderr}");
    }
    same("URL/", &[&coded("foo", b"abc")]);
}

/// A file of twelve bytes, removed at the end.
struct Twelve(String);

impl Twelve {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-twelve-{}-{name}", std::process::id()));
        fs::write(&path, "hello world\n").expect("room");
        Self(path.display().to_string())
    }
}

impl Drop for Twelve {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_that_is_complete_is_left_as_it_is() {
    let file = Twelve::new("complete");
    let plain = "HTTP/1.1 416 No\r\nContent-Length: 3\r\n\r\nabc";
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello world\n";
    for answer in [plain, whole] {
        for options in ["-C - URL/", "-f -C - URL/"] {
            let options = format!("-o {} {options}", file.0);
            assert_eq!(same(&options, &[answer.as_bytes()]).0, 0, "{options} {answer}");
            assert_eq!(fs::read(&file.0).expect("kept"), b"hello world\n");
        }
    }
    let longer = "HTTP/1.1 416 No\r\nContent-Range: bytes */5\r\nContent-Length: 0\r\n\r\n";
    let server = Scripted::start(&[longer.as_bytes()]);
    let did = get(&format!("-o {} -C - http://{}/", file.0, server.address));
    assert_eq!(did.code, Some(33), "{}", did.stderr);
}

#[test]
fn an_upload_goes_on_where_the_option_says() {
    let file = Twelve::new("upload");
    for (options, range, content) in [
        ("-C 5", Some("bytes 5-11/12"), " world\n"),
        ("-C -", Some("bytes 0-11/12"), "hello world\n"),
        ("-C 0", None, "hello world\n"),
    ] {
        let (code, stderr, requests) = same(&format!("{options} -T {} URL/x", file.0), &[OK]);
        let lower = requests[0].to_ascii_lowercase();
        assert_eq!(code, 0, "{stderr}");
        assert!(requests[0].ends_with(&format!("\r\n\r\n{content}")), "{requests:?}");
        assert!(!lower.contains("\r\nrange:"), "{requests:?}");
        let sent = range.map(|range| format!("\r\ncontent-range: {range}\r\n"));
        assert!(sent.is_none_or(|sent| lower.contains(&sent)), "{requests:?}");
    }
    let server = Scripted::start(&[OK]);
    let url = format!("http://{}/x", server.address);
    let did = get(&format!("-C 12 -T {} {url}", file.0));
    assert!(did.code == Some(18) && !did.stderr.contains("-C -"), "{}", did.stderr);
    assert_eq!(get(&format!("-C 5 -T - {url}")).code, Some(2));
    assert!(server.take().is_empty());
}

#[test]
fn digest_finds_its_challenge_among_others_and_in_any_text() {
    for challenge in [
        "Basic realm=\"b\", Digest realm=\"r, s\", nonce=\"n\", qop=\"auth\"",
        "Digest realm=\"r\", nonce=\"n\", algorithm=MD5, Basic realm=\"b\"",
        "Digest realm=\"zo\u{e9}\", nonce=\"n\"",
    ] {
        let who = format!(
            "HTTP/1.1 401 Who\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
        let (code, stderr, requests) =
            same("--digest -u me:pw -w %{http_code} URL/", &[who.as_bytes(), OK]);
        assert_eq!((code, requests.len()), (0, 2), "{challenge}: {stderr}");
        assert!(requests[1].contains("authorization: Digest username=\"me\""), "{requests:?}");
    }
}

#[test]
fn digest_takes_credentials_from_wherever_they_are() {
    let who: &[u8] =
        b"HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n\
        Content-Length: 0\r\nConnection: close\r\n\r\n";
    let netrc = Twelve::new("netrc");
    fs::write(&netrc.0, "machine 127.0.0.1 login me password pw\n").expect("room");
    let at = |user: &str| format!("--digest {user}");
    for options in
        [at("http://me:p%20w@HERE/"), at(&format!("--netrc-file {} http://HERE/", netrc.0))]
    {
        let server = Scripted::start(&[who, OK]);
        let did = get(&options.replace("HERE", &server.address.to_string()));
        let requests = server.take();
        assert_eq!((did.code, requests.len()), (Some(0), 2), "{}", did.stderr);
        assert!(!requests[0].contains("authorization"), "{requests:?}");
        assert!(requests[1].contains("authorization: Digest username=\"me\""), "{requests:?}");
    }
    let server = Scripted::start(&[OK]);
    let did = get(&format!("--netrc-file {} http://me@{}/", netrc.0, server.address));
    assert_eq!(did.code, Some(0), "{}", did.stderr);
    assert!(server.take()[0].contains("authorization: Basic bWU6cHc="), "the password of the file");
}

#[test]
fn what_curl_takes_is_taken() {
    let host = "--resolve a.test:PORT:127.0.0.9 --resolve -a.test:PORT";
    for options in [
        "--limit-rate 0 URL/",
        "--max-filesize 0 URL/",
        "--limit-rate 100B URL/",
        "-6 -4 URL/",
        "--http2 --http1.1 URL/",
        "--http2-prior-knowledge --http1.1 URL/",
        "--resolve -a.test:80 URL/",
    ] {
        assert_eq!(same(options, &[OK]).0, 0, "{options}");
    }
    let did = get(&format!("{} http://a.test:9/", host.replace("PORT", "9")));
    assert_eq!(did.code, Some(6), "{}", did.stderr);
    let did = get("--max-filesize x http://a.test/");
    assert!(did.code == Some(2) && did.stderr.contains("a size is"), "{}", did.stderr);
}

#[test]
fn few_bytes_in_chunks_are_sent_at_once_and_counted() {
    let (_, _, requests) = same("-H Transfer-Encoding:chunked -d abc URL/", &[OK]);
    assert!(!requests[0].to_ascii_lowercase().contains("expect:"), "{requests:?}");
    let server = Scripted::start(&[OK]);
    let did = get(&format!(
        "-w %{{size_upload}} -H Transfer-Encoding:chunked -d abc http://{}/",
        server.address
    ));
    assert_eq!(did.stdout, b"ok3", "{}", did.stderr);
}

#[test]
fn many_interim_responses_are_taken() {
    let interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(300);
    same("-i URL/", &[format!("{interim}{}", String::from_utf8_lossy(OK)).as_bytes()]);
}

#[test]
fn an_empty_location_leads_nowhere() {
    let answer: &[u8] = b"HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 2\r\n\r\nok";
    same("-L -w %{num_redirects} URL/", &[answer]);
}

#[test]
fn a_cookie_file_may_have_the_fields_of_a_server() {
    let file = Twelve::new("cookies");
    fs::write(&file.0, "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=2\r\n")
        .expect("room");
    let (_, _, requests) = same(&format!("-b {} URL/", file.0), &[OK]);
    assert!(requests[0].contains("a=1") && requests[0].contains("b=2"), "{requests:?}");
}

#[test]
fn a_file_that_is_sent_is_in_memory_once() {
    let file = Twelve::new("large");
    fs::write(&file.0, vec![b'x'; 64 << 20]).expect("room");
    let server = Scripted::start(&[OK]);
    let line = format!("get -H Expect: --data-binary @{} http://{}/", file.0, server.address);
    let (did, peak) = finish_watched(stoop(&line).spawn().expect("it runs"));
    assert!(peak < 110 * 1024, "{peak} KiB: {}", did.stderr);
}

#[test]
fn bytes_that_are_not_utf8_are_sent_as_they_are() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).expect("a request");
        stream.write_all(OK).expect("it reads");
        request.truncate(length);
        request
    });
    let etag = std::env::temp_dir().join(format!("stoop-odd-etag-{}", std::process::id()));
    fs::write(&etag, b"\"\xff\xfe\"\n").expect("room");
    let mut command = stoop("get -s -H");
    command.arg(OsStr::from_bytes(b"X-A: caf\xe9")).arg("--etag-compare").arg(&etag);
    command.arg(format!("http://{address}/"));
    let ran = run(command, "");
    fs::remove_file(&etag).expect("it is there");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = server.join().expect("it answers");
    for sent in [&b": caf\xe9\r\n"[..], b": \"\xff\xfe\"\r\n"] {
        assert!(request.windows(sent.len()).any(|part| part == sent), "{request:?}");
    }
}
