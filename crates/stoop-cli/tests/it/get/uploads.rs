//! Content that is sent again, or not to its end, beside curl.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::scripted::{HANG, Scripted, get, get_with, same, same_with};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// They say that the connection closes: a POST that is sent on it while it does is not repeated.
const ELSEWHERE: &[u8] =
    b"HTTP/1.1 308 Elsewhere\r\nLocation: /there\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const LATER: &[u8] = b"HTTP/1.1 503 Later\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const WHO: &[u8] =
    b"HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n\
    Connection: close\r\nContent-Length: 0\r\n\r\n";

/// A file, removed at the end.
struct Content(PathBuf);

impl Content {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-upload-{}-{name}", std::process::id()));
        fs::write(&path, content).expect("room");
        Self(path)
    }

    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn an_expectation_that_a_server_refuses_is_taken_back() {
    let refused = b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n";
    let file = Content::new("refused", &vec![b'x'; 2 * 1024 * 1024]);
    let (code, stderr, requests) = same(&format!("-T {} URL/x", file.name()), &[refused, OK]);
    assert_eq!((code, requests.len()), (0, 2), "{stderr}");
    assert!(requests[0].contains("100-continue") && !requests[1].contains("100-continue"));
}

#[test]
fn a_file_and_data_are_sent_again_however_they_are_sent() {
    let file = Content::new("again", b"some content");
    let (by_file, by_data) = (format!("-T {} URL/x", file.name()), "-d some_content URL/x");
    let (rate, chunks) = ("--limit-rate 1M", "-H Transfer-Encoding:chunked");
    for (first, options) in [
        (ELSEWHERE, format!("-f -L {rate} {by_file}")),
        (ELSEWHERE, format!("-f -L {chunks} {by_file}")),
        (ELSEWHERE, format!("-L -w %{{size_upload}}|%{{method}} {by_file}")),
        (ELSEWHERE, format!("-L {rate} {by_data}")),
        (ELSEWHERE, format!("-L {chunks} {by_data}")),
        (ELSEWHERE, format!("-L {rate} {chunks} {by_data}")),
        (LATER, format!("--retry 1 --retry-delay 1 {rate} {by_file}")),
        (LATER, format!("--retry 1 --retry-delay 1 -X PUT {chunks} {by_data}")),
        (WHO, format!("--digest -u me:pw {rate} {by_file}")),
        (WHO, format!("--digest -u me:pw {chunks} {by_data}")),
    ] {
        let (code, stderr, requests) = same(&format!("-H Expect: {options}"), &[first, OK]);
        assert_eq!((code, requests.len()), (0, 2), "{options}: {stderr}");
        let is_sent =
            |request: &String| request.contains("some content") || request.contains("some_content");
        assert!(requests.iter().all(is_sent), "{options}: {requests:?}");
    }
}

#[test]
fn standard_input_is_sent_once() {
    let options = "-H Expect: -T - URL/x";
    let redirected = format!("-i -L -w %{{http_code}}|%{{size_upload}} {options}");
    let (code, stderr, requests) = same_with(&redirected, "from stdin", &[ELSEWHERE, OK]);
    // Of the second there is a connection at most.
    assert_eq!((code, requests.concat().matches("PUT /").count()), (65, 1), "{stderr}");
    assert!(stderr.contains("can be read only once"), "{stderr}");
    // With another method it goes without.
    let see_other: &[u8] = b"HTTP/1.1 303 See\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let (code, stderr, requests) =
        same_with(&format!("-L {options}"), "from stdin", &[see_other, OK]);
    assert_eq!((code, requests.len()), (0, 2), "{stderr}");
    // curl sends the second request without content, which would replace what is there by nothing.
    let server = Scripted::start(&[LATER, OK]);
    let options = options.replace("URL", &format!("http://{}", server.address));
    let did = get_with(&format!("-f --retry 1 {options}"), "from stdin");
    assert_eq!((did.code, server.take().len()), (Some(22), 1), "{}", did.stderr);
    let server = Scripted::start(&[WHO, OK]);
    let options = format!("--digest -u me:pw -H Expect: -T - http://{}/x", server.address);
    let did = get_with(&options, "from stdin");
    let requests = server.take().iter().filter(|request| !request.is_empty()).count();
    assert_eq!((did.code, requests), (Some(65), 1), "{}", did.stderr);
}

#[test]
fn standard_input_that_a_server_did_not_want_yet_is_sent_to_the_next() {
    for (first, options) in [(ELSEWHERE, "-L"), (WHO, "--digest -u me:pw")] {
        let options = format!("{options} -T - URL/x");
        let (code, stderr, requests) = same_with(&options, "from stdin", &[first, OK]);
        assert_eq!((code, requests.len()), (0, 2), "{options}: {stderr}");
    }
}

#[test]
fn what_counts_as_sent_is_what_was_sent() {
    let file = Content::new("counted", &vec![b'x'; 2 << 20]);
    let large: &[u8] = b"HTTP/1.1 413 Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let options = format!("-w %{{size_upload}} -T {} URL/x", file.name());
    same(&options, &[large]);
    let options = format!("-w %{{json}} -T {} URL/x", file.name());
    let server = Scripted::start(&[large]);
    let did = get(&options.replace("URL", &format!("http://{}", server.address)));
    let told = String::from_utf8_lossy(&did.stdout).into_owned();
    assert!(told.contains("\"size_upload\":0,\"speed_download\""), "{told}");
    // A server that reads a part of it, and no more.
    let server = Scripted::start(&[HANG]);
    let url = format!("http://{}/x", server.address);
    fs::write(&file.0, vec![b'x'; 32 << 20]).expect("room");
    let did = get(&format!("-m 1 -H Expect: -w %{{size_upload}} -T {} {url}", file.name()));
    let sent: u64 = String::from_utf8_lossy(&did.stdout).parse().expect("a number");
    assert_eq!(did.code, Some(28), "{}", did.stderr);
    assert!((1..32 << 20).contains(&sent), "{sent}");
}

#[test]
fn a_file_that_becomes_shorter_counts_as_far_as_it_was_sent() {
    let file = Content::new("shorter", &vec![b'x'; 4 << 20]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let path = file.0.clone();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut head = [0; 1024];
        let _ = std::io::Read::read(&mut stream, &mut head);
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .expect("there")
            .set_len(100)
            .expect("shorter");
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("sent");
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        thread::sleep(Duration::from_millis(10));
    });
    let did = get(&format!("-w %{{size_upload}} -T {} http://{address}/x", file.name()));
    server.join().expect("no panic");
    assert_ne!(did.code, Some(0));
    assert!(matches!(&*did.stdout, b"0" | b"100"), "{}", String::from_utf8_lossy(&did.stdout));
}
