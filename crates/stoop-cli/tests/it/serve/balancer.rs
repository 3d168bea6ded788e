//! Behind a load balancer: who is taken for the client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::{Folder, Served, command};
use crate::stoop::run;

/// What a server answers to these bytes on a connection of their own, to its end.
fn answer(served: &Served, sent: &str) -> String {
    let mut stream = TcpStream::connect(&served.authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may be closed at once.
    let _ = stream.write_all(sent.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// A request with that field; the connection ends behind its answer.
fn get(field: &str) -> String {
    format!("GET /f HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{field}\r\n")
}

/// The client that the access log of a server with these options names for what was sent.
fn logged(options: &str, sent: &str) -> String {
    let folder = Folder::new(&[("f", "content")]);
    let log = folder.path().join("access.log");
    let options = format!("--access-log-file {} {options}", log.display());
    let mut served = Served::start(&folder, &options);
    let answer = answer(&served, sent);
    assert!(answer.ends_with("\r\n\r\ncontent"), "{options}: {answer}");
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
    let lines = std::fs::read_to_string(&log).unwrap();
    lines.split(' ').next().unwrap().to_owned()
}

const HEADER: &str = "PROXY TCP4 192.0.2.7 192.0.2.1 40000 80\r\n";

#[test]
fn a_header_of_the_proxy_protocol_names_the_client() {
    let sent = [HEADER, &get("")].concat();
    assert_eq!(logged("--proxy-protocol 10.0.0.0/8,127.0.0.0/8", &sent), "192.0.2.7");
}

#[test]
fn without_the_header_and_from_elsewhere_a_connection_is_closed() {
    let folder = Folder::new(&[("f", "content")]);
    let with_header = [HEADER, &get("")].concat();
    for (options, sent) in [
        ("--proxy-protocol 127.0.0.1", get("")),
        ("--proxy-protocol 192.0.2.0/24", with_header),
        ("--proxy-protocol 192.0.2.0/24", get("")),
    ] {
        assert_eq!(answer(&Served::start(&folder, options), &sent), "", "{options}: {sent}");
    }
}

#[test]
fn fields_of_trusted_proxies_name_the_client() {
    let (new, old) = ("forwarded: for=192.0.2.8\r\n", "x-forwarded-for: 192.0.2.9\r\n");
    let both = get(&[new, old].concat());
    for (options, client) in [
        ("--trust-forwarded 10.0.0.0/8,127.0.0.1", "192.0.2.8"),
        ("--trust-x-forwarded 127.0.0.0/8", "192.0.2.9"),
        ("--trust-forwarded 10.0.0.0/8 --trust-forwarded unix", "127.0.0.1"),
        ("", "127.0.0.1"),
    ] {
        assert_eq!(logged(options, &both), client, "{options}");
    }
}

#[test]
fn what_is_no_network_is_wrong() {
    let folder = Folder::new(&[]);
    for (options, expected) in [
        ("--proxy-protocol 10.0.0.1/8", "10.0.0.1/8 is no network"),
        ("--proxy-protocol unix", "unix"),
        ("--trust-forwarded proxy.example", "proxy.example"),
        ("--trust-forwarded unix --trust-x-forwarded unix", "cannot be used with"),
    ] {
        let result = run(command(&folder, options), "");
        assert_eq!(result.code, Some(2), "{options}: {result:?}");
        assert!(result.stderr.contains(expected), "{options}: {}", result.stderr);
    }
}
