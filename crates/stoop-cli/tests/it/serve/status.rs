//! The pages that show how it does, and to whom.

use std::io::{BufRead, BufReader};

use super::{Folder, Served, command, exchange};
use crate::stoop::{run, stoop};

const PAGES: [&str; 2] = ["/_stoop/status", "/_stoop/metrics"];

fn site() -> Folder {
    Folder::new(&[("index.html", "<h1>home</h1>"), ("a.txt", "0123456789")])
}

/// The response without what differs each time.
fn timeless((head, content): (String, String)) -> String {
    let lines = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("date:"));
    format!("{}\n\n{content}", lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn without_the_option_there_is_no_status() {
    let site = site();
    let served = Served::start(&site, "");
    for path in PAGES {
        assert!(served.get(path, "").0.starts_with("HTTP/1.1 404"), "{path}");
    }
}

#[test]
fn the_status_is_shown_to_this_machine() {
    let site = site();
    for options in ["--status", "--status=local", "--status=all"] {
        let mut served = Served::start(&site, options);
        let said = served.line("http://");
        let url = format!("http://{}/_stoop/status", served.authority);
        assert!(said.contains(&format!("{url} shows how it does")), "{said}");
        served.get("/a.txt", "");
        let (head, page) = served.get(PAGES[0], "accept: text/html\r\n");
        assert!(head.starts_with("HTTP/1.1 200") && page.contains("<!doctype html>"), "{head}");
        let ask = || {
            let (head, json) = served.get(PAGES[0], "accept: application/json\r\n");
            assert!(head.contains("application/json"), "{head}");
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        };
        // The client may have its response before the server notes that it is sent.
        let json = (0..500).map(|_| ask()).find(|json| json["requests"] != 0).unwrap();
        // Looking at it is no request that is counted.
        assert_eq!((&json["requests"], &ask()["requests"]), (&1.into(), &1.into()), "{json}");
        assert!(json["memory_bytes"].as_u64().is_none_or(|bytes| bytes > 0), "{json}");
        assert!(json["server"]["open_connections"].as_u64().unwrap() > 0, "{json}");
        let (head, metrics) = served.get(PAGES[1], "");
        assert!(head.contains("text/plain; version=0.0.4"), "{head}");
        assert!(metrics.contains("# TYPE ") && metrics.contains("\nstoop_server_accepted_total "));
        let post = format!("POST {} HTTP/1.1\r\nhost: {}\r\n", PAGES[0], served.authority);
        assert!(exchange(&served.authority, &post).0.starts_with("HTTP/1.1 405"));
    }
}

/// A proxy on this machine, or a page of the web whose name leads here.
#[test]
fn what_others_ask_through_this_machine_is_answered_as_a_missing_file_is() {
    let site = site();
    for (options, shows) in [("--status", false), ("--status --spa", false), ("--status=all", true)]
    {
        let served = Served::start(&site, options);
        let ask = |path: &str, host: &str, fields: &str| {
            let head =
                format!("GET {path} HTTP/1.1\r\nhost: {host}\r\naccept: text/html\r\n{fields}");
            exchange(&served.authority, &head)
        };
        let missing = timeless(ask("/_stoop/none", "a.test", ""));
        for (host, fields) in [
            (&*served.authority, "forwarded: for=192.0.2.7\r\n"),
            (&served.authority, "x-forwarded-for: 192.0.2.7\r\n"),
            (&served.authority, "X-Forwarded-For: 127.0.0.1\r\n"),
            (&served.authority, "x-real-ip: 192.0.2.7\r\n"),
            (&served.authority, "via: 1.1 proxy\r\n"),
            ("site.example", ""),
        ] {
            let answer = ask(PAGES[0], host, fields);
            match shows {
                true => assert!(answer.0.starts_with("HTTP/1.1 200"), "{host} {fields}"),
                false => assert_eq!(timeless(answer), missing, "{host} {fields}"),
            }
        }
    }
}

#[test]
fn it_says_if_nothing_sees_the_status() {
    let site = site();
    let socket = site.path().join("socket");
    let mut command = stoop("serve --status");
    command.arg(site.path()).args(["-l", &format!("unix:{}", socket.display())]);
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.contains("--status=all"), "{said}");
}

#[test]
fn over_a_unix_socket_it_is_shown_if_it_is_for_all() {
    let site = site();
    let socket = site.path().join("socket");
    for (options, status) in [("--status", "404"), ("--status=all", "200")] {
        let places = format!("{options} -l 127.0.0.1:0 -l unix:{}", socket.display());
        let _served = Served::start(&site, &places);
        let get =
            format!("get -s -o /dev/null -w %{{http_code}} --unix-socket {}", socket.display());
        let got = run(stoop(&format!("{get} http://localhost{}", PAGES[0])), "");
        assert_eq!(String::from_utf8_lossy(&got.stdout), status, "{options}");
    }
}

#[test]
fn the_status_takes_the_password_too_and_no_page_of_another_origin_reads_it() {
    let made = run(stoop("serve --auth-new ada"), "open sesame\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let site = site();
    let served = Served::start(&site, &format!("--status --cors --auth {made}"));
    for path in PAGES {
        let (head, content) = served.get(path, "origin: http://b.test\r\n");
        assert!(head.starts_with("HTTP/1.1 401") && head.contains("www-authenticate: Basic "));
        assert!(!content.contains("stoop_web_requests_total"));
        let right = "authorization: Basic YWRhOm9wZW4gc2VzYW1l\r\norigin: http://b.test\r\n";
        let (head, _) = served.get(path, right);
        assert!(head.starts_with("HTTP/1.1 200") && !head.contains("access-control"), "{head}");
        assert!(served.get("/a.txt", right).0.contains("access-control-allow-origin: *"));
    }
}

#[test]
fn a_file_of_options_says_who_is_shown_the_status() {
    let folder = site();
    folder.write("all.toml", "status = 'all'\n");
    folder.write("wrong.toml", "status = 'everyone'\n");
    let options = |name: &str| format!("--config {}", folder.path().join(name).display());
    let served = Served::start(&folder, &format!("{} -l 127.0.0.1:0", options("all.toml")));
    let told = served.get(PAGES[0], "via: 1.1 proxy\r\n");
    assert!(told.0.starts_with("HTTP/1.1 200"), "{}", told.0);
    let wrong = run(command(&folder, &format!("--check {}", options("wrong.toml"))), "");
    assert_eq!(wrong.code, Some(2));
    for part in ["unknown variant `everyone`", "`local`", "`all`"] {
        assert!(wrong.stderr.contains(part), "{}", wrong.stderr);
    }
    let typed = run(command(&folder, "--status=everyone"), "");
    assert_eq!(typed.code, Some(2));
    assert!(typed.stderr.contains("local, all"), "{}", typed.stderr);
}

#[test]
fn completions_and_help_know_the_status() {
    let script = run(stoop("completions bash"), "");
    let script = String::from_utf8_lossy(&script.stdout).into_owned();
    assert!(script.contains("--status") && script.contains("\"local all none\""));
    let help = run(stoop("serve --help"), "");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for part in ["--status[=<WHO>]", "/_stoop/status", "/_stoop/metrics"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
