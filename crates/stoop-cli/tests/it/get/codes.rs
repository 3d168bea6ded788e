//! The exit codes of what goes wrong on the way, beside curl.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::scripted::{Scripted, get, same};
use crate::stoop::stoop_in_shell;

const SETTINGS: &[u8] = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00";
const HEAD: &[u8] = b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88";
const DATA: &[u8] = b"\x00\x00\x02\x00\x00\x00\x00\x00\x01ok";
/// By INTERNAL_ERROR.
const RESET: &[u8] = b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x02";
/// A field whose name has a capital letter.
const BAD_HEAD: &[u8] = b"\x00\x00\x06\x01\x04\x00\x00\x00\x01\x88\x00\x01X\x01a";

#[test]
fn a_stream_of_http2_that_fails_has_a_code_of_its_own() {
    for frames in [&[RESET][..], &[HEAD, RESET], &[HEAD, DATA, RESET], &[BAD_HEAD]] {
        let answer = [&[SETTINGS], frames].concat().concat();
        let server = Scripted::start(&[&answer]);
        let did = get(&format!("--http2-prior-knowledge http://{}/", server.address));
        assert_eq!(did.code, Some(92), "{frames:?}: {}", did.stderr);
    }
}

#[test]
fn a_server_that_refuses_each_stream_is_asked_five_times() {
    let refused = b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07";
    let server = Scripted::start(&[&[SETTINGS, refused].concat()]);
    let did = get(&format!("--http2-prior-knowledge http://{}/", server.address));
    assert_eq!((did.code, server.take().len()), (Some(92), 5), "{}", did.stderr);
}

#[test]
fn a_reset_within_the_content_is_no_end_of_it() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok").expect("sent");
        thread::sleep(Duration::from_millis(200));
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("TCP");
    });
    let did = get(&format!("http://{address}/"));
    server.join().expect("no panic");
    assert_eq!(did.code, Some(56), "{}", did.stderr);
}

#[test]
fn a_scheme_that_is_not_known_is_not_supported() {
    let (code, stderr, _) = same("foo://127.0.0.1/x", &[b""]);
    assert_eq!(code, 1);
    assert!(stderr.contains("foo is neither http nor https"), "{stderr}");
}

/// The runtime would panic, or there would be none for a connection.
#[test]
fn too_few_descriptors_are_an_error() {
    for most in 4..10 {
        let before = format!("ulimit -n {most}");
        let output = stoop_in_shell(&before, "get http://127.0.0.1:9/", "").output();
        let output = output.expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{most}: {stderr}");
        assert!(stderr.lines().count() == 1 && stderr.contains("open files"), "{most}: {stderr}");
    }
}
