//! Tests of the JSON fields of a URL that failed after a redirect or a response's head.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use stoop_fetch::HostGroup;
use stoop_fetch::source::Shard;

use crate::server::refusing;
use crate::stoop::{run, stoop};

/// Starts a server that answers each path with the bytes that `answer` returns, one request a connection.
fn server(answer: impl Fn(&str, SocketAddr) -> String + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
            let _ = stream.write_all(answer(&path, address).as_bytes());
        }
    });
    address
}

fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

#[track_caller]
fn record(options: &str, url: &str) -> Value {
    let ran = run(stoop(&format!("fetch -t 5 -f jsonl {options}")), url);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_slice(&ran.stdout).expect("one line")
}

fn start() -> SocketAddr {
    let dead = refusing();
    server(move |path, here| match path {
        "/big" => redirect(&format!("http://{here}/body")),
        "/body" => {
            "HTTP/1.1 200 OK\r\ncontent-type: text/x\r\ncontent-length: 9999\r\n\
                    connection: close\r\n\r\n"
                .to_owned()
                + &"x".repeat(9999)
        }
        "/dead" => redirect("/dead2"),
        "/dead2" => redirect(&format!("http://{dead}/gone")),
        "/ftp" => redirect("ftp://me:s3cr3t@h/file"),
        _ => redirect("/loop"),
    })
}

#[test]
fn a_body_that_was_too_large_lost_its_status_and_url() {
    let here = start();
    let record = record("--max-body 1k", &format!("http://{here}/big"));
    assert_eq!(record["error_kind"], "body_too_large", "{record}");
    assert_eq!((&record["status"], &record["ok"]), (&200.into(), &false.into()), "{record}");
    assert_eq!(record["final_url"], format!("http://{here}/body"), "{record}");
    assert_eq!(record["redirects"], 1, "{record}");
    assert_eq!(record["content_type"], "text/x", "{record}");
    assert_eq!(record["remote_port"], here.port(), "{record}");
}

#[test]
fn a_redirect_that_was_not_followed_lost_its_location() {
    let here = start();
    let limit = record("--max-redirects 2", &format!("http://{here}/loop"));
    assert_eq!(limit["error_kind"], "redirect_limit", "{limit}");
    assert_eq!((&limit["status"], &limit["redirects"]), (&302.into(), &2.into()), "{limit}");
    assert_eq!(limit["final_url"], format!("http://{here}/loop"), "{limit}");
    assert_eq!(limit["location"], "/loop", "{limit}");
    let denied = record("", &format!("http://{here}/ftp"));
    assert_eq!(denied["error_kind"], "redirect_denied", "{denied}");
    assert_eq!((&denied["status"], &denied["redirects"]), (&302.into(), &0.into()), "{denied}");
    assert_eq!(denied["final_url"], format!("http://{here}/ftp"), "{denied}");
    assert_eq!(denied["location"], "ftp://me:***@h/file", "{denied}");
    let itself = record("--max-redirects 0", &format!("http://{here}/ftp"));
    assert_eq!((&itself["status"], &itself["error_kind"]), (&302.into(), &Value::Null));
    assert_eq!(itself["location"], "ftp://me:***@h/file", "{itself}");
}

#[test]
fn an_error_after_a_redirect_did_not_name_its_url() {
    let here = start();
    let record = record("", &format!("http://{here}/dead"));
    assert_eq!(record["error_kind"], "connect_refused", "{record}");
    assert_eq!(record["final_url"], format!("http://{}/gone", refusing()), "{record}");
    assert_eq!(record["redirects"], 2, "{record}");
    assert_eq!((&record["status"], &record["location"]), (&Value::Null, &Value::Null), "{record}");
}

#[test]
fn answers_are_passed_over_by_the_type_of_their_content() {
    let address = server(|path, _| {
        let typed = path.strip_prefix("/typed/").map(|of| format!("content-type: {of}\r\n"));
        let typed = typed.unwrap_or_default();
        format!("HTTP/1.1 200 OK\r\n{typed}content-length: 0\r\nconnection: close\r\n\r\n")
    });
    let paths = ["/typed/text/html", "/typed/image/png", "/typed/image/gif;a=b", "/none"];
    let list = paths.map(|path| format!("http://{address}{path}\n")).concat();
    let written = |options: &str| {
        let ran = run(stoop(&format!("fetch -f jsonl --summary none {options}")), &*list);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let text = String::from_utf8(ran.stdout).expect("JSON");
        paths.map(|path| text.contains(path))
    };
    for (types, matched) in [
        ("text/html", [true, false, false, false]),
        ("image/*", [false, true, true, false]),
        ("image/gif", [false, false, true, false]),
        ("*/*", [true, true, true, false]),
    ] {
        assert_eq!(written(&format!("--match-type {types}")), matched, "{types}");
        assert_eq!(written(&format!("--skip-type {types}")), matched.map(|it| !it), "{types}");
    }
}

/// `report` counts an error as one, even with a status.
#[test]
fn an_error_with_a_status_is_counted_as_an_error() {
    let here = start();
    let ran =
        run(stoop("fetch -f jsonl --max-body 1k --summary json"), format!("http://{here}/body"));
    let reported = run(stoop("report --format json"), ran.stdout.clone());
    let reported: Value = serde_json::from_slice(&reported.stdout).expect("one object");
    assert_eq!(reported["errors"]["body_too_large"], 1, "{reported}");
    assert_eq!((&reported["2xx"], &ran.summary()["2xx"]), (&0.into(), &0.into()));
}

#[test]
fn a_redirect_to_a_host_of_another_shard_is_told_by_a_run_that_stays_in_its_own() {
    let address = server(|path, here| match path {
        "/away" => redirect(&format!("http://localhost:{}/end", here.port())),
        "/here" => redirect("/end"),
        "/nested.xml" => redirect(&format!("http://localhost:{}/real.xml", here.port())),
        "/real.xml" => {
            let text = format!("<urlset><url><loc>http://{here}/here</loc></url></urlset>");
            format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                text.len()
            )
        }
        _ => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
    });
    let has = |shard: u32, host: &str| {
        Shard::new(shard, 97).expect("one of 97").has(host.as_bytes(), HostGroup::Host)
    };
    let shard = (1..=97).find(|shard| has(*shard, "http://127.0.0.1/")).expect("one of them");
    assert!(!has(shard, "http://localhost/"));
    let fetched = |options: &str, path: &str| {
        let record =
            record(&format!("--shard {shard}/97 {options}"), &format!("http://{address}{path}"));
        (record["status"].clone(), record["location"].clone())
    };
    let followed = (Value::from(200), Value::Null);
    assert_eq!(fetched("", "/away"), followed);
    assert_eq!(fetched("--stay-in-shard", "/here"), followed);
    let location = format!("http://localhost:{}/end", address.port());
    assert_eq!(fetched("--stay-in-shard", "/away"), (302.into(), location.into()));
    // The pages of a sitemap are found wherever it is.
    let index = format!(
        "<sitemapindex><sitemap><loc>http://{address}/nested.xml</loc></sitemap></sitemapindex>"
    );
    let options = format!("--shard {shard}/97 --stay-in-shard --input-format sitemap");
    let page = record(&options, &index);
    assert_eq!((&page["status"], &page["redirects"]), (&200.into(), &1.into()), "{page}");
}

#[test]
fn a_list_of_others_leads_to_no_address_that_is_not_public() {
    let address = start();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let record = record("--public-only", &format!("http://{host}:{}/body", address.port()));
        assert_eq!(record["error_kind"], "address_denied", "{record}");
    }
    // A proxy would connect to it.
    let through = |options: &str| {
        let mut command = stoop(&format!("fetch -f jsonl --summary none --public-only {options}"));
        command.env("http_proxy", format!("http://{address}"));
        run(command, format!("http://{address}/body"))
    };
    for options in ["", "-x http://127.0.0.1:1", "--noproxy localhost"] {
        let ran = through(options);
        assert_eq!(ran.code, Some(2), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains("--public-only: a proxy connects to any"), "{}", ran.stderr);
    }
    for options in ["--noproxy *", "--no-env"] {
        let ran = through(options);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(text.contains("address_denied"), "{options}: {text}{}", ran.stderr);
    }
}

#[test]
fn robots_txt_is_not_asked_for_where_nothing_may_be_fetched() {
    let asked = Arc::new(AtomicUsize::new(0));
    let asks = Arc::clone(&asked);
    let address = server(move |_, _| {
        asks.fetch_add(1, Ordering::Relaxed);
        "HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
    });
    let record = record("--public-only --robots", &format!("http://{address}/body"));
    assert_eq!(record["error_kind"], "address_denied", "{record}");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
