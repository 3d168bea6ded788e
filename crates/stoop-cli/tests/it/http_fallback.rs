//! What `--http-fallback` does not fetch over http, though a connection for https fails.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use stoop_testbed::Behaviour;

use crate::options::origin;
use crate::stoop::{run, stoop};

/// Https was spoken by the response whose content broke off, though the handshake of the next attempt failed.
#[test]
fn what_has_answered_over_https_is_not_fetched_over_http() {
    fails_after(Behaviour::TruncatedLength { sent: 10, announced: 100 }, "-f csv");
}

/// The same where the client repeats the request because of the status, which the error of the next attempt does not tell.
#[test]
fn a_server_that_was_busy_over_https_is_not_asked_over_http() {
    for options in ["-f csv", "-f csv --no-politeness", "-f warc --no-politeness"] {
        fails_after(Behaviour::Status(503), &format!("{options} -H connection:close"));
    }
}

/// The first connection answers so over https, and the handshake of all others fails.
#[track_caller]
fn fails_after(first: Behaviour, options: &str) {
    let (secure, _) = origin(first, true);
    let secure = secure.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let bare = listener.local_addr().expect("its address").to_string();
    let first_bytes = Arc::<Mutex<Vec<u8>>>::default();
    let seen = Arc::clone(&first_bytes);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut first = [0];
            let _ = stream.peek(&mut first);
            let is_first = {
                let mut seen = seen.lock().expect("no panic");
                seen.push(first[0]);
                seen.len() == 1
            };
            match is_first {
                true => pass_on(&stream, &secure),
                false => {
                    // Once all of it is read, closing is no reset.
                    let _ = stream.read(&mut [0; 16 << 10]);
                    let _ =
                        stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
                }
            }
        }
    });
    let options = format!("fetch {options} -t 20 --insecure --http1.1 --http-fallback --retry 1");
    let ran = run(stoop(&options), &*bare);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    if options.contains("csv") {
        assert_eq!(ran.lines()[0].code, "tls_handshake", "{options}: {}", ran.stderr);
    }
    // Two connections began with a record of TLS, and none with a request.
    assert_eq!(*first_bytes.lock().expect("no panic"), [0x16, 0x16], "{options}");
}

/// Passes on what a connection has for another address, and back, until that ends.
fn pass_on(stream: &TcpStream, to: &str) {
    let other = TcpStream::connect(to).expect("it listens");
    let (mut from, mut into) =
        (stream.try_clone().expect("open"), other.try_clone().expect("open"));
    thread::spawn(move || io::copy(&mut from, &mut into));
    let _ = io::copy(&mut &other, &mut &*stream);
    let _ = stream.shutdown(Shutdown::Both);
}
