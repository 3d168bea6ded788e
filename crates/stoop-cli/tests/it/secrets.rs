//! Tests that passwords in URLs are never printed, and that the line stays recognisable.

use serde_json::Value;

use crate::server::{Server, refusing};
use crate::stoop::{CommandResult, finish, kill, run, stoop, wait_for};

const SECRET: &str = "s3cr3t";

#[track_caller]
fn check_no_secret(what: &str, ran: &CommandResult) {
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(!stdout.contains(SECRET), "{what}: {stdout}");
    assert!(!ran.stderr.contains(SECRET), "{what}: {}", ran.stderr);
}

#[test]
fn passwords_of_urls_were_printed_in_lines() {
    let server = Server::start();
    let (here, dead) = (server.address, refusing());
    let input = [
        format!("http://me:{SECRET}@{here}/ok/1"),
        format!("http://{SECRET}@{here}/ok/2"),
        format!("http://me:{SECRET}@{dead}/"),
        format!("http://me:{SECRET}/x@{here}/ok/3"),
        format!("me:{SECRET}@h"),
        format!("m_e:{SECRET}@h/x"),
        format!("ftp://me:{SECRET}@h/"),
        format!("see http://me:{SECRET}@h/ for more"),
        format!("http://{here}/ok/4?next=http://me:{SECRET}@h/"),
        format!("http://{here}/@me:visible@x"),
    ];
    let shown = [
        format!("http://me:***@{here}/ok/1"),
        format!("http://***@{here}/ok/2"),
        format!("http://me:***@{dead}/"),
        format!("http://me:***@{here}/ok/3"),
        "me:***@h".to_owned(),
        "m_e:***@h/x".to_owned(),
        "ftp://me:***@h/".to_owned(),
        "see http://me:***@h/ for more".to_owned(),
        format!("http://{here}/ok/4?next=http://me:***@h/"),
        format!("http://{here}/@me:visible@x"),
    ];
    for format in ["csv", "jsonl", "pretty"] {
        let ran = run(stoop(&format!("fetch -f {format}")), input.join("\n"));
        check_no_secret(format, &ran);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        for url in &shown {
            assert!(text.contains(url), "{format}: no {url} in {text}");
        }
    }
    assert_eq!(run(stoop("fetch"), input[0].clone()).lines()[0].code, "200");
}

#[test]
fn a_password_in_a_line_that_is_no_text_was_printed() {
    let input =
        [b"http://me:s3cr3t\xff@h/".to_vec(), b"\nhttp://me:s3cr3t@h/\xff".to_vec()].concat();
    for format in ["csv", "jsonl", "pretty"] {
        let ran = run(stoop(&format!("fetch -f {format}")), input.clone());
        check_no_secret(format, &ran);
        assert_eq!(ran.stdout.iter().filter(|&&byte| byte == b'\n').count(), 2);
    }
    let ran = run(stoop("fetch -f jsonl"), input);
    let first: Value =
        serde_json::from_slice(ran.stdout.split(|&b| b == b'\n').next().expect("two"))
            .expect("json");
    assert!(first["url"] == "http://me:***@h/" || first["url_bytes"] == "http://me:***@h/%FF");
}

/// Only the rest of the line would show that it is a password.
#[test]
fn the_beginning_of_a_password_in_an_interrupted_line_was_printed() {
    let server = Server::start();
    let mut child = stoop("fetch").spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    let lines = format!("{}\nhttp://me:{SECRET}", server.url("/ok/1"));
    std::io::Write::write_all(&mut stdin, lines.as_bytes()).expect("open");
    wait_for("the answer", || server.requests() == 1);
    kill(&child, "-TERM");
    let ran = finish(child);
    drop(stdin);
    check_no_secret("torn", &ran);
    assert!(ran.codes().contains(&("http://me:***".to_owned(), "cancelled".to_owned())));
    let long = format!("http://me:{}", SECRET.repeat(20_000));
    let ran = run(stoop("fetch"), long);
    check_no_secret("overlong", &ran);
}

#[test]
fn passwords_of_urls_were_printed_in_messages() {
    let url = format!("http://me:{SECRET}@h/");
    for line in [
        format!("fetch -i {url}"),
        format!("fetch --cacert {url} x"),
        format!("fetch --dns {url}"),
        format!("fetch --dns={url}"),
        format!("fetch -t {url}"),
        url.clone(),
        format!("report {url}"),
        format!("report --format {url}"),
        format!("testbed --urls 1 --list {url}"),
    ] {
        let ran = run(stoop(&line), "");
        check_no_secret(&line, &ran);
        assert!(matches!(ran.code, Some(2 | 3)), "{line}: {ran:?}");
        assert!(ran.stderr.contains("http://me:***@h/"), "{line}: {}", ran.stderr);
    }
    for name in ["STOOP_CONCURRENCY", "CONCURRENCY", "USER_AGENT"] {
        let mut command = stoop("fetch");
        command.env(name, format!("http://me:{SECRET}@h/"));
        check_no_secret(name, &run(command, ""));
    }
}

#[test]
fn passwords_in_the_error_texts_of_other_programs_were_printed_by_report() {
    let lines = format!(
        "http://a/,no answer of http://me:{SECRET}@h/,2026-11-21T20:54:55.000Z,10,0\n\
         http://me:{SECRET}@b/,torn\n"
    );
    for format in ["summary", "table", "json"] {
        let ran = run(stoop(&format!("report --format {format}")), lines.clone());
        check_no_secret(format, &ran);
    }
}
