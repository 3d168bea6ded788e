//! Tests of the time limits: those the help names, and no others.

use std::net::UdpSocket;

use stoop_testbed::Behaviour;

use crate::options::origin;
use crate::stoop::{run, stoop};

/// The line of JSON that `stoop fetch` writes for `url`.
#[track_caller]
fn record(options: &str, url: &str) -> serde_json::Value {
    let ran = run(stoop(&format!("fetch -t 5 -f jsonl {options}")), url);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_slice(&ran.stdout).expect("one line")
}

#[track_caller]
fn check(record: &serde_json::Value, phase: &str) {
    assert_eq!(record["error_kind"], "connect_timeout", "{record}");
    assert_eq!(record["error_phase"], phase, "{record}");
    let us = record["duration_us"].as_u64().expect("a number");
    assert!((400_000..=600_000).contains(&us), "{record}");
}

#[test]
fn the_connect_timeout_did_not_cover_the_handshake() {
    let (url, _) = origin(Behaviour::TlsHang, true);
    check(&record("--insecure --connect-timeout 0.4", &url), "tls");
}

#[test]
fn the_connect_timeout_did_not_cover_the_name_lookup() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let dns = silent.local_addr().expect("bound");
    let options = format!("--dns {dns} --connect-timeout 0.4");
    check(&record(&options, "http://name.example/"), "dns");
}

#[test]
fn the_connect_timeout_covers_connecting_and_nothing_after_it() {
    let (url, _) = origin(Behaviour::BlackHole, false);
    check(&record("--connect-timeout 0.4", &url), "connect");
    let (url, _) = origin(Behaviour::HangAfterHead, false);
    let waits = record("--connect-timeout 0.2 -t 0.5", &url);
    assert_eq!(waits["error_kind"], "total_timeout", "{waits}");
}
