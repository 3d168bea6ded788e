//! curl, nghttp and slowhttptest, as a new user would try it. A client that is not installed is skipped.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use super::{Folder, Served};
use crate::stoop::{peak_kib, run, skip, stoop};

fn site() -> Folder {
    Folder::new(&[
        ("index.html", "<h1>home</h1>"),
        ("a.txt", "0123456789"),
        ("long.txt", &"na ".repeat(2_000)),
    ])
}

/// Whether a program is missing, which is reported.
pub(super) fn is_missing(program: &str, probe: &str) -> bool {
    let mut found = Command::new(program);
    found.arg(probe).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let missing = found.status().is_err();
    if missing {
        skip(&format!("serve::clients::{program}"), &format!("needs {program}"));
    }
    missing
}

/// Runs a program with these arguments, in which `@` is the server. Returns its output.
pub(super) fn output(program: &str, arguments: &[&str], url: &str) -> String {
    let mut command = Command::new(program);
    if program == "curl" {
        command.args(["-sS", "-k", "--noproxy", "*", "--max-time", "30"]);
    }
    command.args(arguments.iter().map(|argument| match argument.strip_prefix('@') {
        Some(path) => format!("{url}{path}"),
        None => argument.to_string(),
    }));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn curl_gets_files_whole_in_parts_and_only_if_they_changed() {
    if is_missing("curl", "--version") {
        return;
    }
    let site = site();
    let file = site.path().join("a.txt").display().to_string();
    let (etag, nothing) = (site.path().join("etag").display().to_string(), "/dev/null");
    let old = "Mon, 01 Jan 2001 00:00:00 GMT";
    let unless_newer = format!("-{old}");
    let rows: &[(&[&str], &str)] = &[
        (&["@/a.txt"], "0123456789"),
        (&["-r", "2-4", "-w", " %{http_code}", "@/a.txt"], "234 206"),
        (&["-r", "-3", "@/a.txt"], "789"),
        (&["-r", "20-", "-o", nothing, "-w", "%{http_code}", "@/a.txt"], "416"),
        (&["-z", old, "-w", " %{http_code}", "@/a.txt"], "0123456789 200"),
        (&["-z", &file, "-w", "%{http_code}", "@/a.txt"], "304"),
        (&["-z", &unless_newer, "-o", nothing, "-w", "%{http_code}", "@/a.txt"], "412"),
        (&["--etag-save", &etag, "@/a.txt"], "0123456789"),
        (&["--etag-compare", &etag, "-w", "%{http_code}", "@/a.txt"], "304"),
        (&["-I", "-o", nothing, "-w", "%{http_code} %{size_download}", "@/a.txt"], "200 0"),
        (&["-X", "PUT", "-o", nothing, "-w", "%{http_code}", "@/a.txt"], "405"),
        (&["--path-as-is", "-o", nothing, "-w", "%{http_code}", "@/../a.txt"], "404"),
    ];
    for (tls, versions) in [
        ("", &[("--http1.1", "1.1"), ("--http1.0", "1.1"), ("--http2-prior-knowledge", "2")]),
        ("--tls-self-signed", &[("--http1.1", "1.1"), ("--http1.0", "1.1"), ("--http2", "2")]),
    ] {
        let served = Served::start(&site, tls);
        let scheme = if tls.is_empty() { "http" } else { "https" };
        let url = format!("{scheme}://{}", served.authority);
        for (option, version) in versions {
            let spoken = ["-o", nothing, "-w", "%{http_version}", option, "@/a.txt"];
            assert_eq!(output("curl", &spoken, &url), *version, "{tls} {option}");
            for (arguments, expected) in rows {
                let all = [&[*option], *arguments].concat();
                assert_eq!(output("curl", &all, &url), *expected, "{tls} {all:?}");
            }
        }
    }
}

#[test]
fn curl_sees_the_head_and_the_parts_of_a_response() {
    if is_missing("curl", "--version") {
        return;
    }
    let site = site();
    let served = Served::start(&site, "--compress");
    let url = format!("http://{}", served.authority);
    let head = output("curl", &["-I", "@/a.txt"], &url);
    for line in ["HTTP/1.1 200 OK", "content-length: 10", "accept-ranges: bytes"] {
        assert!(head.lines().any(|one| one == line), "{line}: {head}");
    }
    assert!(head.contains("etag: ") && head.contains("last-modified: "), "{head}");
    assert!(head.ends_with("\r\n\r\n"), "{head}");

    let parts = output("curl", &["-i", "-r", "0-1,5-6", "@/a.txt"], &url);
    assert!(parts.starts_with("HTTP/1.1 206 ") && parts.contains("multipart/byteranges"));
    let (first, second) =
        (parts.find("bytes 0-1/10").unwrap(), parts.find("bytes 5-6/10").unwrap());
    assert!(parts[first..second].contains("\r\n\r\n01\r\n--"), "{parts}");
    assert!(parts[second..].contains("\r\n\r\n56\r\n--"), "{parts}");

    // More parts than a response may have, and one that overlaps two others.
    for ranges in
        [(0..65).map(|n| format!("{n}-{n}")).collect::<Vec<_>>().join(","), "0-9,5-14,8-19".into()]
    {
        let refused = ["-r", &ranges, "-o", "/dev/null", "-w", "%{http_code}", "@/long.txt"];
        assert_eq!(output("curl", &refused, &url), "416", "{ranges}");
    }

    // What is transferred is smaller, and what is printed is not.
    let long = output("curl", &["--compressed", "@/long.txt"], &url);
    assert_eq!(long, "na ".repeat(2_000));
    let size = ["--compressed", "-o", "/dev/null", "-w", "%{size_download}", "@/long.txt"];
    assert!(output("curl", &size, &url).parse::<usize>().unwrap() < 600);
}

#[test]
fn curl_goes_on_with_a_download_that_was_cut_off() {
    if is_missing("curl", "--version") {
        return;
    }
    let site = Folder::new(&[("large", &"0123456789".repeat(100_000)), ("begun", "0123456")]);
    let begun = site.path().join("begun");
    let served = Served::start(&site, "");
    let url = format!("http://{}", served.authority);
    let path = begun.display().to_string();
    let rest = ["-C", "-", "-o", &path, "-w", "%{http_code} %{size_download}", "@/large"];
    assert_eq!(output("curl", &rest, &url), format!("206 {}", 1_000_000 - 7));
    assert_eq!(std::fs::read(&begun).unwrap(), "0123456789".repeat(100_000).as_bytes());
}

#[test]
fn curl_is_let_in_with_the_password() {
    if is_missing("curl", "--version") {
        return;
    }
    let made = run(stoop("serve --auth-new ada"), "sesame\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let site = site();
    let served = Served::start(&site, &format!("--auth {made}"));
    let url = format!("http://{}", served.authority);
    assert_eq!(output("curl", &["-u", "ada:sesame", "@/a.txt"], &url), "0123456789");
    let wrong = ["-u", "ada:open", "-o", "/dev/null", "-w", "%{http_code}", "@/a.txt"];
    assert_eq!(output("curl", &wrong, &url), "401");
}

#[test]
fn nghttp_gets_files_over_http2() {
    if is_missing("nghttp", "--version") {
        return;
    }
    let site = site();
    for (tls, scheme) in [("", "http"), ("--tls-self-signed", "https")] {
        let served = Served::start(&site, tls);
        let url = format!("{scheme}://{}", served.authority);
        assert_eq!(output("nghttp", &["-y", "@/a.txt"], &url), "0123456789");
        assert_eq!(output("nghttp", &["-y", "-H", "range: bytes=2-4", "@/a.txt"], &url), "234");
        let log = output("nghttp", &["-nv", "@/long.txt", "@/none"], &url);
        assert!(log.contains(":status: 200") && log.contains(":status: 404"), "{log}");
    }
}

/// The attack that Apache was once brought down with: a Range of thousands of parts. As some of them run backwards, it is none
/// (RFC 9110 §14.2): the file is answered as a whole, others are served meanwhile, and the process stays small.
#[test]
fn slowhttptest_asks_for_thousands_of_ranges_and_gets_none() {
    if is_missing("slowhttptest", "-h") {
        return;
    }
    let site = Folder::new(&[("large", &"x".repeat(16 << 20)), ("a.txt", "0123456789")]);
    let log = site.path().join("access.log");
    let options = format!("--access-log common --access-log-file {}", log.display());
    let mut served = Served::start(&site, &options);
    assert_eq!(served.get("/a.txt", "").1, "0123456789");
    let before = peak_kib(served.child.id());
    let ended = AtomicBool::new(false);
    let (answered, attacked) = thread::scope(|scope| {
        let bystander = scope.spawn(|| {
            let mut answered = 0_u32;
            while !ended.load(Relaxed) {
                assert_eq!(served.get("/a.txt", "").1, "0123456789");
                answered += 1;
            }
            answered
        });
        let url = format!("http://{}", served.authority);
        let ranges = ["-R", "-a", "10", "-b", "3000", "-t", "HEAD"];
        let many = ["-c", "100", "-r", "100", "-l", "20", "-p", "10", "-u", "@/large"];
        let attacked = output("slowhttptest", &[&ranges[..], &many].concat(), &url);
        ended.store(true, Relaxed);
        (bystander.join().unwrap(), attacked)
    });
    assert!(answered > 0 && attacked.contains("No open connections left"), "{attacked}");
    let cost = peak_kib(served.child.id()).saturating_sub(before);
    assert!(cost < 16 * 1024, "{cost} KiB");
    served.signal("TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    let attacks = log.lines().filter(|line| line.contains("\"HEAD /large "));
    let answered = attacks.clone().filter(|line| line.contains("\" 200 ")).count();
    assert_eq!(answered, attacks.count());
    assert!(answered > 50, "{answered}");
}
