//! What the requests of a list have in common: method, headers, data, cookies, proxies, retries.

use serde_json::Value;

use crate::echo::EchoServer;
use crate::server::{Server, refusing};
use crate::stoop::{run, stoop};

/// A server, and its URL.
fn serving() -> (EchoServer, String) {
    let server = EchoServer::start();
    let url = format!("http://{}", server.address);
    (server, url)
}

#[test]
fn method_headers_and_data_are_those_of_each_request() {
    let (server, url) = serving();
    let options = "fetch -f jsonl -X PUT -H X-Own:mine -H Accept: -d a=b -d c";
    let ran = run(stoop(options), format!("{url}/1\n{url}/2\n"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for line in String::from_utf8_lossy(&ran.stdout).lines() {
        let json: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((&json["method"], &json["status"]), (&"PUT".into(), &200.into()));
    }
    let seen = server.take_seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert!(request.line.starts_with("PUT /"), "{request:?}");
        assert_eq!(request.content, "a=b&c");
        assert_eq!(request.fields.get("x-own").map(String::as_str), Some("mine"));
        assert!(!request.fields.contains_key("accept"), "{request:?}");
        let typed = request.fields.get("content-type").map(String::as_str);
        assert_eq!(typed, Some("application/x-www-form-urlencoded"));
    }
    run(stoop("fetch --json {}"), format!("{url}/"));
    let request = &server.take_seen()[0];
    assert_eq!((&*request.line, &*request.content), ("POST / HTTP/1.1", "{}"));
}

#[test]
fn values_that_begin_with_a_hyphen_were_taken_for_options() {
    let (server, url) = serving();
    let urls = format!("{url}/p\n");
    let ran = run(stoop("fetch -r -500"), &*urls);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 1), "{}", ran.stderr);
    assert_eq!(server.take_seen()[0].fields.get("range").map(String::as_str), Some("bytes=-500"));
    for (options, lines) in [
        ("--match-length -5000", 1),
        ("--match-length -1", 0),
        ("--skip-length -5000", 0),
        ("--skip-length -1", 1),
        ("--skip-text -no-such-text", 1),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), &*urls);
        assert_eq!((ran.code, ran.lines().len()), (Some(0), lines), "{options}: {}", ran.stderr);
    }
    let ran = run(stoop("fetch --match-text -no-such-text"), &*urls);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 0), "{}", ran.stderr);
    server.take_seen();
    for option in ["-d", "--data-binary", "--data-raw", "--data-urlencode", "--json"] {
        run(stoop(&format!("fetch {option} -1")), &*urls);
        assert_eq!(server.take_seen()[0].content, "-1", "{option}");
    }
    // What is no value is told as such, and not taken for a URL.
    let ran = run(stoop("fetch -r --quiet"), &*urls);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("must be FIRST-LAST, FIRST- or -LENGTH"), "{}", ran.stderr);
}

#[test]
fn what_may_not_be_sent_is_told_before_the_first_url() {
    for (options, says) in [
        ("-X a(b", "-X \"a(b\" is no method"),
        ("-H nothing", "is not 'Name: value'"),
        ("-H a(b:c", "field name"),
        ("-d @/no/such/file", "stoop: --data: /no/such/file: "),
        ("-H @/no/such/file", "stoop: --header: /no/such/file: "),
        ("-x ftp://a", "--proxy: "),
        ("--resolve a", "it is not HOST:PORT:ADDRESS"),
        ("--cert /no/such/file", "stoop: --cert: /no/such/file: "),
        ("--cacert /no/such/file", "stoop: --cacert: /no/such/file: "),
    ] {
        let ran = run(stoop(&format!("fetch {options} http://127.0.0.1:1/")), "");
        assert_eq!(ran.code, Some(2), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{options}: {}", ran.stderr);
    }
}

#[test]
fn compressed_bodies_are_asked_for_and_counted_decoded_and_as_they_came() {
    let (server, url) = serving();
    let ran = run(stoop(&format!("fetch -f jsonl --compressed {url}/gzip")), "");
    let json: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!((&json["body_bytes"], &json["wire_bytes"]), (&10.into(), &30.into()));
    assert!(server.take_seen()[0].fields.contains_key("accept-encoding"));
    // Without it nothing is asked for, and nothing decoded.
    let ran = run(stoop(&format!("fetch -f jsonl {url}/gzip")), "");
    let json: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!((&json["body_bytes"], &json["wire_bytes"]), (&30.into(), &Value::Null));
    assert!(!server.take_seen()[0].fields.contains_key("accept-encoding"));
}

#[test]
fn cookies_are_read_from_a_file_and_written_back() {
    let (server, url) = serving();
    let path = std::env::temp_dir().join(format!("stoop-fetch-{}-cookies", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let fetch = |path_of_url: &str| {
        let line = format!("fetch --cookie-jar {} {url}{path_of_url}", path.display());
        let ran = run(stoop(&line), "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        server.take_seen()[0].fields.get("cookie").cloned()
    };
    assert_eq!(fetch("/cookie"), None);
    assert_eq!(fetch("/"), Some("s=1".to_owned()));
    let written = std::fs::read_to_string(&path).expect("it was written");
    assert!(written.contains("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\ts\t1"), "{written}");
    std::fs::remove_file(&path).expect("it is there");
    let ran = run(stoop(&format!("fetch --cookie-jar /no/such/folder/x {url}/")), "");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}

#[test]
fn a_status_that_may_pass_is_tried_again() {
    let (server, url) = serving();
    let ran = run(stoop(&format!("fetch --retry 2 {url}/flaky")), "");
    assert_eq!(ran.lines()[0].code, "200", "{}", ran.stderr);
    assert_eq!(server.take_seen().len(), 2);
}

#[test]
fn what_is_tried_again_and_how_often_may_be_said_and_is_told() {
    for (options, path, status, attempts) in [
        ("--retry 2", "/flaky", 200, Some(2)),
        ("--retry 2 --retry-on connect_refused,404", "/flaky", 503, None),
        ("--retry 2 --retry-on connect_refused,404", "/status/404", 404, Some(3)),
        ("--retry 1 --retry-on 5xx", "/status/501", 501, Some(2)),
        ("--retry 1 --retry-on 5xx -d x", "/status/501", 501, None),
        ("--retry 0", "/flaky", 503, None),
    ] {
        let (server, url) = serving();
        let ran = run(stoop(&format!("fetch -f jsonl {options} {url}{path}")), "");
        let json: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        assert_eq!(json["status"], status, "{options} {path}: {json}");
        let expected = attempts.map_or(Value::Null, Value::from);
        assert_eq!(json["attempts"], expected, "{options} {path}: {json}");
        assert_eq!(server.take_seen().len(), attempts.unwrap_or(1), "{options} {path}");
    }
    let dead = format!("http://{}/", refusing());
    let ran =
        run(stoop(&format!("fetch -f jsonl --retry 1 --retry-on connect_refused {dead}")), "");
    let json: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!((&json["error_kind"], &json["attempts"]), (&"connect_refused".into(), &2.into()));
}

#[test]
fn all_cores_of_a_run_have_one_budget_of_retries() {
    // Their hosts go to both cores.
    let servers: Vec<_> = (1..=8).map(|n| Server::on([127, 0, 8, n].into())).collect();
    let list: String = (0..20)
        .flat_map(|n| servers.iter().map(move |server| server.url(&format!("/close?{n}\n"))))
        .collect();
    let options = "--cores 2 --no-politeness --retry 1 --retry-on closed_early --retry-budget 0";
    let ran = run(stoop(&format!("fetch -f csv --summary none {options}")), list);
    assert_eq!(ran.lines().len(), 160);
    let requests: usize = servers.iter().map(Server::requests).sum();
    assert_eq!(requests, 160 + 10);
}

#[test]
fn a_budget_bounds_the_retries_of_a_run() {
    let (server, url) = serving();
    let list = format!("{url}/status/503\n").repeat(100);
    let line = "fetch -c 4 --no-politeness --cores 1 --summary none --retry 5 --retry-budget 0";
    let ran = run(stoop(line), list);
    assert_eq!(ran.lines().len(), 100);
    assert_eq!(server.take_seen().len(), 110, "ten beside the budget");
}

#[test]
fn a_failed_url_is_a_failure_only_if_that_is_wanted() {
    let (_server, url) = serving();
    for (path, code) in [("/status/404", 22), ("/status/500", 22), ("/status/304", 0), ("/", 0)] {
        let ran = run(stoop(&format!("fetch --fail {url}{path}")), "");
        assert_eq!((ran.code, ran.lines().len()), (Some(code), 1), "{path}");
    }
    let dead = format!("http://{}/", refusing());
    assert_eq!(run(stoop(&format!("fetch --fail {dead}")), "").code, Some(22));
    assert_eq!(run(stoop(&format!("fetch {dead}")), "").code, Some(0));
}

#[test]
fn urls_go_through_the_proxy_of_an_option_or_a_variable() {
    let (server, url) = serving();
    let line = |ran: crate::stoop::CommandResult| ran.lines()[0].code.clone();
    assert_eq!(line(run(stoop(&format!("fetch -x {url} http://a.test/")), "")), "200");
    assert_eq!(server.take_seen()[0].line, "GET http://a.test/ HTTP/1.1");
    let with = |options: &str| {
        let mut command = stoop(&format!("fetch {options} http://a.test/"));
        command.env("HTTP_PROXY", &url);
        line(run(command, ""))
    };
    assert_eq!(with(""), "200");
    for direct in ["--no-env", "--noproxy a.test", "--noproxy *"] {
        assert_ne!(with(direct), "200", "{direct}");
    }
    let refused = run(stoop(&format!("fetch -f csv -x http://{} http://a.test/", refusing())), "");
    assert_eq!(line(refused), "connect_refused");
    // The echo server is no proxy for tunnels: what it answers to CONNECT is taken for one.
    let resolve =
        format!("fetch --resolve a.test:{0}:127.0.0.1 http://a.test:{0}/", server.address.port());
    assert_eq!(line(run(stoop(&resolve), "")), "200");
    assert_eq!(line(run(stoop(&format!("fetch -6 {url}/")), "")), "connect_unreachable");
    assert_eq!(line(run(stoop(&format!("fetch -4 {url}/")), "")), "200");
}
