//! What `stoop get` tells: the story of a request, errors, and what is never shown.

use crate::echo::EchoServer;
use crate::server::refusing;
use crate::stoop::{CommandResult, run, skip, stoop};

fn get(options: &str) -> CommandResult {
    run(stoop(&format!("get {options}")), "")
}

#[test]
fn the_story_has_each_step_in_its_order_with_its_time() {
    let server = EchoServer::start();
    let url = format!("http://{}/to//there", server.address);
    let ran = get(&format!("-v -L {url}"));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), &b"GET /there\n"[..]), "{}", ran.stderr);
    let mut story = ran.stderr.lines();
    let mut before = 0.0;
    for step in [
        "* connected to 127.0.0.1:",
        "> GET /to//there HTTP/1.1",
        "> host: 127.0.0.1:",
        "< HTTP/1.1 302 Found",
        "< Location: /there",
        "* redirected to http://127.0.0.1:",
        "* over the same connection",
        "> GET /there HTTP/1.1",
        "< HTTP/1.1 200 OK",
        "* 11 bytes of content, complete",
    ] {
        let line = story.find(|line| line.contains(step));
        let line = line.unwrap_or_else(|| panic!("no {step:?}, in its place, in {}", ran.stderr));
        if let Some((time, _)) = line.split_once(" s  ") {
            let time: f64 = time.trim().parse().expect("seconds");
            assert!(time >= before, "{}", ran.stderr);
            before = time;
        }
    }
}

#[test]
fn the_story_has_the_request_for_a_tunnel_and_the_proxys_answer() {
    let server = EchoServer::start();
    let here = server.address;
    let ran = get(&format!("-v -x http://me:s3cr3t@{here} https://refused.test/"));
    assert_eq!(ran.code, Some(56), "{}", ran.stderr);
    let mut story = ran.stderr.lines();
    for step in [
        &*format!("* the proxy at {here} is asked for a tunnel"),
        "> CONNECT refused.test:443 HTTP/1.1",
        "> proxy-authorization: <hidden>",
        "> host: refused.test:443",
        "> user-agent: stoop/",
        "< HTTP/1.1 403 No",
        "< X-Two: a",
        "stoop: (56) the proxy did not connect to the host",
    ] {
        let found = story.any(|line| line.contains(step));
        assert!(found, "no {step:?}, in its place, in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("s3cr3t"), "{}", ran.stderr);
}

#[test]
fn a_format_has_this_end_of_the_connection_and_the_number_of_retries() {
    let server = EchoServer::start();
    let here = server.address;
    let ran = get(&format!(
        "-o /dev/null -w %{{local_port}}_%{{num_retries}} --retry 2 http://{here}/flaky"
    ));
    let text = String::from_utf8(ran.stdout).expect("text");
    let (port, retries) = text.split_once('_').expect("both");
    assert!(port.parse::<u16>().is_ok_and(|port| port != 0 && port != here.port()), "{text}");
    assert_eq!(retries, "1");
}

/// Without a terminal it is read from standard input, and the rest of that is content.
#[test]
fn a_password_that_is_missing_is_asked_for() {
    let server = EchoServer::start();
    let here = server.address;
    let ask = |options: &str, input: &str| {
        // A session of its own has no terminal.
        let mut command = std::process::Command::new("setsid");
        let piped = std::process::Stdio::piped;
        command.stdin(piped()).stdout(piped()).stderr(piped());
        command.args(["--wait", env!("CARGO_BIN_EXE_stoop"), "get"]);
        command.args(options.split_whitespace());
        let ran = run(command, input);
        assert_eq!(ran.code, Some(0), "{options}: {}", ran.stderr);
        let seen = server.take_seen().remove(0);
        (ran.stderr, seen.fields.get("authorization").cloned(), seen.content)
    };
    if std::process::Command::new("setsid").arg("--version").output().is_err() {
        return skip("a password from standard input", "setsid is not installed");
    }
    let (stderr, sent, content) = ask(&format!("-s -u me -d @- http://{here}/"), "secret\ncontent");
    assert_eq!(stderr, "Enter host password for user 'me':");
    assert_eq!((sent.as_deref(), &*content), (Some("Basic bWU6c2VjcmV0"), "content"));
    let (_, sent, _) = ask(&format!("-s -u me http://{here}/"), "");
    assert_eq!(sent.as_deref(), Some("Basic bWU6"));
    for options in ["-u me:secret", "-u me --oauth2-bearer t", "-u me -H Authorization:x"] {
        let (stderr, ..) = ask(&format!("-s {options} http://{here}/"), "");
        assert_eq!(stderr, "", "{options}");
    }
}

#[test]
fn large_content_waits_for_a_100_over_http1() {
    let server = EchoServer::start();
    let here = server.address;
    let file = std::env::temp_dir().join(format!("stoop-get-expect-{}", std::process::id()));
    for (bytes, options, expects) in [
        (1 << 20, format!("-T {} http://{here}/", file.display()), false),
        ((1 << 20) + 1, format!("-T {} http://{here}/", file.display()), true),
        ((1 << 20) + 1, format!("-s --data-binary @{} http://{here}/", file.display()), true),
        ((1 << 20) + 1, format!("-T {} -H Expect: http://{here}/", file.display()), false),
    ] {
        std::fs::write(&file, vec![b'x'; bytes]).expect("room");
        let ran = get(&options);
        assert_eq!(ran.code, Some(0), "{options}: {}", ran.stderr);
        let seen = server.take_seen();
        let expect = seen[0].fields.get("expect").map(String::as_str);
        assert_eq!(expect, expects.then_some("100-continue"), "{options}");
        assert_eq!(seen[0].content.len(), bytes, "{options}");
    }
    let _ = std::fs::remove_file(&file);
    // How long it will be is not known.
    let ran = run(stoop(&format!("get -T - http://{here}/")), "short");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(server.take_seen()[0].fields["expect"], "100-continue");
}

#[test]
fn what_a_rate_waits_for_is_part_of_the_time_limit() {
    let server = EchoServer::start();
    let begun = std::time::Instant::now();
    let ran = get(&format!("-m 0.5 --limit-rate 1 http://{}/", server.address));
    assert_eq!(ran.code, Some(28), "{}", ran.stderr);
    assert!(begun.elapsed().as_secs() < 3, "{:?}", begun.elapsed());
}

#[test]
fn a_redirect_that_no_client_has_to_follow_is_the_response() {
    let server = EchoServer::start();
    for options in ["-L", "-L --max-redirs 0"] {
        let ran = get(&format!("{options} http://{}/choices", server.address));
        assert_eq!((ran.code, &*ran.stdout), (Some(0), &b"GET /choices\n"[..]), "{}", ran.stderr);
    }
}

#[test]
fn credentials_are_not_shown() {
    let server = EchoServer::start();
    let here = server.address;
    for options in [
        format!("-v -u me:s3cr3t -b a=s3cr3t http://{here}/"),
        format!("-v http://me:s3cr3t@{here}/"),
        format!("-v -x http://me:s3cr3t@{here} http://a.test/"),
        format!("http://me:s3cr3t@{}/", refusing()),
        format!("-x http://me:s3cr3t@{} http://a.test/", refusing()),
        "-x ftp://me:s3cr3t@a http://a.test/".to_owned(),
        "ftp://me:s3cr3t@a/".to_owned(),
    ] {
        let ran = get(&options);
        assert!(!ran.stderr.contains("s3cr3t"), "{options}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{options}");
    }
    assert!(get(&format!("-v -u a:b http://{here}/")).stderr.contains("authorization: <hidden>"));
}

#[test]
fn an_error_says_what_where_and_its_code_unless_it_is_silent() {
    let url = format!("http://{}/", refusing());
    let ran = get(&url);
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.starts_with("stoop: (7) the connection was refused: "), "{}", ran.stderr);
    assert!(get(&format!("-s {url}")).stderr.is_empty());
    // How long it took differs.
    let before_facts = |text: &str| text.split(" (os error").next().unwrap_or_default().to_owned();
    let shown = get(&format!("-s -S {url}")).stderr;
    assert_eq!(before_facts(&shown), before_facts(&ran.stderr));
    assert!(shown.ends_with("safe to repeat) [connect_refused, connect]\n"), "{shown}");
    for (options, code, says) in [
        ("-X b(d http://a/", 2, "-X \"b(d\" is no method"),
        ("-C x http://a/", 2, "-C \"x\" is no offset"),
        ("--url http://a/ http://b/", 2, "there is one URL"),
        ("--etag-compare /no/such/file http://a/", 26, "/no/such/file"),
        ("--etag-save /no/such/file http://a/", 26, "/no/such/file"),
        ("--url-query @/no/such/file http://a/", 26, "/no/such/file"),
        ("--resolve a http://a/", 2, "is not HOST:PORT:ADDRESS"),
        ("--connect-to a http://a/", 2, "is not HOST1:PORT1:HOST2:PORT2"),
        ("-x ftp://a http://a/", 2, "--proxy: "),
        ("-d @/no/such/file http://a/", 26, "/no/such/file"),
        ("-F f=@/no/such/file http://a/", 26, "/no/such/file"),
        ("-F f http://a/", 2, "is not NAME=VALUE"),
        ("-T /no/such/file http://a/", 26, "/no/such/file"),
        ("-w @/no/such/file http://a/", 26, "/no/such/file"),
        ("--cacert /no/such/file https://a/", 77, "/no/such/file"),
        ("--cert /no/such/file https://a/", 58, "/no/such/file"),
        ("ftp://a/", 1, "ftp is neither http nor https"),
        ("-H a:b\x07 http://a/", 43, "-H \"a\": the field value"),
    ] {
        let ran = get(options);
        assert_eq!(ran.code, Some(code), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{options}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_variable_of_a_format_is_named_and_the_rest_is_written() {
    let server = EchoServer::start();
    let ran = get(&format!("-o /dev/null -w %{{no}}|%{{http_code}} http://{}/", server.address));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), &b"|200"[..]));
    assert!(ran.stderr.contains("unknown variable of --write-out: \"no\""), "{}", ran.stderr);
}

#[test]
fn the_times_of_a_format_are_those_of_steps_that_follow_each_other() {
    let server = EchoServer::start();
    let format = "%{time_namelookup}_%{time_connect}_%{time_pretransfer}_%{time_starttransfer}_%{time_total}";
    let ran = get(&format!("-o /dev/null -w {format} http://localhost:{}/", server.address.port()));
    let text = String::from_utf8(ran.stdout).expect("text");
    let times: Vec<f64> = text.split('_').map(|time| time.parse().expect("seconds")).collect();
    assert!(times.is_sorted() && times.len() == 5 && times[4] < 5.0, "{text}");
}

#[test]
fn variables_name_proxies_unless_options_do() {
    let server = EchoServer::start();
    let run_with = |options: &str, variables: &[(&str, &str)]| {
        let mut command = stoop(&format!("get {options}"));
        for (name, value) in variables {
            command.env(name, value);
        }
        let ran = run(command, "");
        (ran.code, server.take_seen().first().map(|seen| seen.line.clone()))
    };
    let proxy = format!("http://{}", server.address);
    let through = (Some(0), Some("GET http://a.test/ HTTP/1.1".to_owned()));
    assert_eq!(run_with("http://a.test/", &[("http_proxy", &proxy)]), through);
    assert_eq!(run_with("http://a.test/", &[("ALL_PROXY", &proxy)]), through);
    let direct = format!("-x {proxy} --connect-to ::{} http://a.test/", server.address);
    let line = run_with(&direct, &[("NO_PROXY", "a.test")]);
    assert_eq!(line, (Some(0), Some("GET / HTTP/1.1".to_owned())));
}
