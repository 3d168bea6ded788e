//! What it answers.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{Folder, Served, exchange};
use crate::stoop::{run, stoop};

fn site() -> Folder {
    Folder::new(&[
        ("index.html", "<h1>home</h1>"),
        ("a.txt", "0123456789"),
        ("sub/b.txt", "b"),
        (".secret", "hidden"),
        ("long.txt", &"na ".repeat(2_000)),
    ])
}

#[test]
fn files_are_served_and_nothing_else() {
    let (site, ok) = (site(), "HTTP/1.1 200 OK");
    let served = Served::start(&site, "");
    let (head, content) = served.get("/", "");
    assert!(head.starts_with(ok) && head.contains("text/html"), "{head}");
    assert_eq!(content, "<h1>home</h1>");
    assert_eq!(served.get("/a.txt", "").1, "0123456789");
    let (head, content) = served.get("/a.txt", "range: bytes=2-4\r\n");
    assert!(head.starts_with("HTTP/1.1 206") && head.contains("bytes 2-4/10"), "{head}");
    assert_eq!(content, "234");
    for path in ["/.secret", "/none", "/sub/", "/../Cargo.toml", "/%2e%2e/etc/passwd"] {
        let (head, content) = served.get(path, "");
        assert!(head.starts_with("HTTP/1.1 4"), "{path}: {head}");
        assert!(!content.contains("hidden"), "{path}");
    }
    let (head, _) = exchange(&served.authority, "DELETE /a.txt HTTP/1.1\r\nhost: a\r\n");
    assert!(head.starts_with("HTTP/1.1 405") && head.contains("allow: "), "{head}");
}

#[test]
fn options_add_what_they_name() {
    let (site, page) = (site(), "accept: text/html\r\n");
    let plain = Served::start(&site, "");
    let (head, _) = plain.get("/long.txt", "accept-encoding: gzip\r\norigin: http://b.test\r\n");
    assert!(!head.contains("content-encoding") && !head.contains("access-control"), "{head}");
    assert!(plain.get("/route", page).0.starts_with("HTTP/1.1 404"));
    let full = Served::start(&site, "--spa --listing --cors --compress");
    let (head, _) = full.get("/long.txt", "accept-encoding: gzip\r\norigin: http://b.test\r\n");
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(head.contains("access-control-allow-origin: *"), "{head}");
    let exposed = head.lines().find(|line| line.starts_with("access-control-expose-headers: "));
    let exposed = exposed.expect("what pages may read is named");
    assert!(["accept-ranges", "content-range", "etag"].iter().all(|name| exposed.contains(name)));
    assert_eq!(full.get("/route", page).1, "<h1>home</h1>");
    let (head, listing) = full.get("/sub/", page);
    assert!(head.starts_with("HTTP/1.1 200") && listing.contains("b.txt"), "{head}\n{listing}");
}

#[test]
fn hidden_names_and_links_are_served_as_the_options_say() {
    let site = site();
    for (target, link) in [("a.txt", "link"), (".secret", "pub"), ("..", "up")] {
        std::os::unix::fs::symlink(target, site.path().join(link)).unwrap();
    }
    site.write(".well-known/known", "known");
    site.write("sub/.secret", "hidden");
    for (options, hidden, public, link) in [
        ("", "404", "404", "200"),
        ("--hidden", "200", "200", "200"),
        ("--hidden=false --symlinks within", "404", "404", "200"),
        ("--symlinks refuse", "404", "404", "404"),
        ("--hidden --symlinks refuse", "200", "404", "404"),
    ] {
        let served = Served::start(&site, &format!("{options} --listing"));
        for (path, expected) in [
            ("/.secret", hidden),
            ("/pub", public),
            ("/link", link),
            ("/.well-known/known", "200"),
            ("/up/etc/passwd", "404"),
        ] {
            let (head, _) = served.get(path, "");
            assert_eq!(&head[9..12], expected, "{options} {path}");
        }
        let (_, listing) = served.get("/sub/", "");
        assert_eq!(listing.contains(".secret"), hidden == "200", "{options}");
    }
}

#[test]
fn fields_are_sent_with_each_answer_that_has_none_of_that_name() {
    let (site, made) = (site(), run(stoop("serve --auth-new ada"), "open sesame\n"));
    let auth = String::from_utf8(made.stdout).unwrap();
    let mut command = super::command(&site, &format!("--listing --auth {}", auth.trim()));
    for field in
        ["X-Frame-Options: DENY", "content-security-policy:default-src 'self'", "Link: <a>"]
    {
        command.args(["--header", field]);
    }
    command.args(["--header", "Link: <b>"]);
    let served = Served::run(command);
    let ada = "authorization: Basic YWRhOm9wZW4gc2VzYW1l\r\naccept: text/html\r\n";
    for (path, fields, status) in [
        ("/a.txt", ada, "200"),
        ("/none", ada, "404"),
        ("/sub/", ada, "200"),
        ("/a.txt", "", "401"),
    ] {
        let (head, _) = served.get(path, fields);
        assert_eq!(&head[9..12], status, "{head}");
        let all = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines
                .filter(|line| line.0.eq_ignore_ascii_case(name))
                .map(|line| line.1)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (all("x-frame-options"), all("link")),
            (vec!["DENY"], vec!["<a>", "<b>"]),
            "{head}"
        );
        let policy = all("content-security-policy");
        assert_eq!(policy.len(), 1, "{head}");
        // A listing has its own.
        assert_eq!(policy[0] == "default-src 'self'", path != "/sub/", "{head}");
    }
    for (field, why) in [
        ("x", "write 'NAME: VALUE'"),
        ("x:", "write 'NAME: VALUE'"),
        ("Content-Length: 3", "the server writes that field itself"),
        ("x y: z", "no field has that name"),
        ("x: a\nb: c", "no field has that name, or that value"),
    ] {
        for check in ["--check", ""] {
            let mut command = super::command(&site, check);
            command.args(["--header", field]);
            let result = run(command, "");
            assert_eq!(result.code, Some(2), "{field}: {result:?}");
            assert!(result.stderr.contains(why), "{field}: {}", result.stderr);
        }
    }
}

#[test]
fn caches_are_told_what_the_options_say_of_each_file() {
    let site = site();
    let served = Served::run({
        let mut command = super::command(&site, "--listing --cache-control *.txt:no-cache");
        command.args(["--cache-control", "/sub/*: no-store", "--cache-control", "max-age=60"]);
        command
    });
    let says = |path: &str, fields: &str| -> Option<String> {
        let (head, _) = served.get(path, fields);
        let found = head.lines().find_map(|line| line.strip_prefix("cache-control: "));
        found.map(str::to_owned)
    };
    for (path, expected) in [
        ("/", Some("max-age=60")),
        ("/a.txt", Some("no-cache")),
        ("/sub/b.txt", Some("no-cache")),
        ("/none", None),
        ("/sub/", None),
    ] {
        assert_eq!(says(path, "").as_deref(), expected, "{path}");
    }
    assert_eq!(says("/a.txt", "range: bytes=0-1\r\n").as_deref(), Some("no-cache"));
    for options in ["--cache-control=", "--cache-control=*.js:"] {
        let refused = run(super::command(&site, options), "");
        assert_eq!(refused.code, Some(2), "{options}: {refused:?}");
        assert!(refused.stderr.contains("write VALUE, or PATTERN:VALUE"), "{}", refused.stderr);
    }
}

#[test]
fn a_page_is_sent_where_nothing_is_found() {
    let (site, page) = (site(), "accept: text/html\r\n");
    site.write("errors/404.html", "<h1>lost</h1>");
    for file in ["errors/404.html", "/errors/404.html"] {
        let served = Served::start(&site, &format!("--not-found {file}"));
        for path in ["/none", "/sub/", "/.secret"] {
            let (head, content) = served.get(path, "");
            assert!(
                head.starts_with("HTTP/1.1 404") && head.contains("text/html"),
                "{path}: {head}"
            );
            assert_eq!(content, "<h1>lost</h1>", "{path}");
        }
        assert_eq!(served.get("/a.txt", "").1, "0123456789");
    }
    let served = Served::start(&site, "--not-found errors/404.html --spa");
    assert_eq!(served.get("/route", page).1, "<h1>home</h1>");
    assert_eq!(served.get("/app.js", page).1, "<h1>lost</h1>");
    // One that is missing is told by a check; a server sends its line until it is there.
    let served = Served::start(&site, "--not-found later.html");
    assert!(served.get("/none", "").1.starts_with("404 Not Found"));
    let checked = run(super::command(&site, "--check --not-found later.html"), "");
    assert_eq!(checked.code, Some(3), "{checked:?}");
    assert!(checked.stderr.contains("--not-found has no later.html to answer by in /"));
    site.write("later.html", "later");
    served.until("/none", "later");
}

#[test]
fn only_users_with_their_passwords_are_let_in() {
    let made = run(stoop("serve --auth-new ada"), "open sesame\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let (site, options) = (site(), format!("--auth {made}"));
    let served = Served::start(&site, &options);
    for path in ["/a.txt", "/none"] {
        let (head, content) = served.get(path, "");
        assert!(head.starts_with("HTTP/1.1 401") && head.contains("www-authenticate: Basic "));
        assert!(!content.contains("0123"));
        let wrong = "authorization: Basic YWRhOnNlc2FtZQ==\r\n";
        assert!(served.get(path, wrong).0.starts_with("HTTP/1.1 401"));
        let right = "authorization: Basic YWRhOm9wZW4gc2VzYW1l\r\n";
        assert!(!served.get(path, right).0.starts_with("HTTP/1.1 401"));
    }
}

#[test]
fn requests_are_logged_in_the_format_that_is_asked_for() {
    let site = site();
    for (format, begin, within) in [
        ("common", "127.0.0.1 - - [", "\"GET /a.txt HTTP/1.1\" 200 10\n"),
        ("combined", "127.0.0.1 - - [", "\"GET /a.txt HTTP/1.1\" 200 10 \"-\" \"t/1\"\n"),
        ("json", "{", "\"status\":200"),
    ] {
        let mut served = Served::start(&site, &format!("--access-log {format}"));
        served.get("/a.txt", "user-agent: t/1\r\n");
        let line = served.line(begin);
        assert!(line.contains(within) && line.ends_with('\n'), "{format}: {line}");
    }
}

#[test]
fn tls_is_spoken_with_a_certificate_that_is_made_for_it() {
    let site = site();
    let served = Served::start(&site, "--tls-self-signed");
    let get = |extra: &str| {
        run(stoop(&format!("get -s -S {extra} https://{}/a.txt", served.authority)), "")
    };
    let trusted = get("-k -w %{http_version}");
    assert_eq!(String::from_utf8_lossy(&trusted.stdout), "01234567892", "{}", trusted.stderr);
    assert_eq!(get("").code, Some(60), "it is not signed by a CA");
}

#[test]
fn it_listens_in_several_places() {
    let site = site();
    let socket = site.path().join("socket");
    let served = Served::start(&site, &format!("-l 127.0.0.1:0 -l unix:{}", socket.display()));
    let get = stoop(&format!("get -s --unix-socket {} http://a/a.txt", socket.display()));
    assert_eq!(run(get, "").stdout, b"0123456789");
    assert_eq!(served.get("/a.txt", "").1, "0123456789");
}

#[test]
fn it_says_if_there_is_nothing_to_be_seen_at_its_root() {
    let (empty, site) = (Folder::new(&[("a.txt", "a")]), site());
    let mut served = Served::start(&empty, "");
    assert_eq!(
        served.line("there is"),
        "there is no index.html in it: / is 404 without --listing\n"
    );
    let mut served = Served::start(&empty, "--spa");
    assert!(served.line("there is").contains("--spa"));
    for (folder, options) in [(&empty, "--listing"), (&site, ""), (&site, "--spa")] {
        // The next line is that of a request.
        let mut served = Served::start(folder, &format!("{options} --access-log common"));
        served.get("/a.txt", "");
        assert!(served.line("").starts_with("127.0.0.1 - - ["), "{options}");
    }
}

#[test]
fn one_address_has_no_more_connections_than_it_may_have() {
    let folder = Folder::new(&[("a", "x")]);
    let served = Served::start(&folder, "--connections-per-address 1");
    let held = TcpStream::connect(&served.authority).unwrap();
    (&held).write_all(b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut first = [0; 12];
    (&held).read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let mut second = TcpStream::connect(&served.authority).unwrap();
    let mut response = [0; 12];
    second.read_exact(&mut response).unwrap();
    assert_eq!(&response, b"HTTP/1.1 429");
}

/// A Unix socket, which is for proxies of this machine, may be cleartext beside it.
#[cfg(feature = "tls")]
#[test]
fn no_password_is_asked_for_in_clear_where_there_is_tls() {
    use std::io::BufRead;
    use std::os::unix::net::UnixStream;

    let folder = Folder::new(&[("a", "x")]);
    let hash = bcrypt_user();
    let socket = folder.path().join("socket");
    let mut command = super::command(&folder, "-l http://127.0.0.1:0 -l 127.0.0.1:0");
    command.arg("-l").arg(format!("http://unix:{}", socket.display()));
    command.args(["--tls-self-signed", "--auth", &hash]);
    let mut served = Served::run(command);
    let mut secure = String::new();
    served.output.read_line(&mut secure).unwrap();
    let secure = secure.trim().trim_end_matches('/');
    assert!(secure.starts_with("https://127.0.0.1:"), "{secure}");
    let (head, _) = served.get("/a?b", "authorization: Basic YWRhOng=\r\n");
    assert!(head.starts_with("HTTP/1.1 308"), "{head}");
    assert!(head.contains(&format!("\r\nlocation: {secure}/a?b")), "{head}");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut response = [0; 12];
    stream.read_exact(&mut response).unwrap();
    assert_eq!(&response, b"HTTP/1.1 401");
}

#[cfg(feature = "tls")]
fn bcrypt_user() -> String {
    let made = run(stoop("serve --auth-new ada"), "x\n");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}
