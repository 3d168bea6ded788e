//! What is told of answers by `--extract`, and text that is saved as UTF-8.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use stoop::{Request, Response, Server, ServerHandle, ServerTls, StatusCode};

use crate::stoop::{run, stoop};

/// `mmh3.hash(base64.encodebytes(b"\0\0\1\0" * 1000))`, of Python.
const ICON_HASH: i64 = 1_155_029_743;

/// Pages, an icon and redirects, with or without TLS.
fn server(is_secure: bool) -> ServerHandle {
    let scheme = if is_secure { "https" } else { "http" };
    let server = Server::listen(&*format!("{scheme}://127.0.0.1:0")).expect("a free port");
    match is_secure {
        false => server.run(answer),
        true => {
            let names = ["127.0.0.1".to_owned(), "a.example".to_owned()];
            let mut params = rcgen::CertificateParams::new(names).expect("names");
            params.distinguished_name.push(rcgen::DnType::OrganizationName, "Example, Inc.");
            let key = rcgen::KeyPair::generate().expect("a key");
            let made = params.self_signed(&key).expect("a certificate");
            let tls = ServerTls::builder().certificate_pem(made.pem(), key.serialize_pem()).build();
            server.tls(tls.expect("it can be used")).run(answer)
        }
    }
    .expect("it runs")
}

fn answer(request: Request) -> Response {
    let path = request.path().to_owned();
    let with = |content: &[u8], content_type: &str| {
        let response = Response::from_bytes(content.to_vec());
        let response = response.with_field("content-type", content_type).expect("a field");
        response.with_field("server", "test/1.0").expect("a field")
    };
    match &*path {
        "/page" => with(
            b"<!doctype html><meta charset=windows-1251><title>\n \xcf\xf0\xe8\xe2\xe5\xf2 &amp; b</title>",
            "text/html",
        ),
        "/favicon.ico" => with(&b"\0\0\x01\0".repeat(1000), "application/octet-stream"),
        "/long" => {
            let page = [b"<title>long</title>".to_vec(), vec![b' '; 3 << 20]].concat();
            with(&page, "text/html")
        }
        "/tagged" => with(
            b"<!doctype html><meta name=robots content='noarchive'><meta name=ExampleBot content='noai'>\
              <meta name=otherbot content=nosnippet>",
            "text/html",
        )
        .with_field("x-robots-tag", "nofollow, otherbot: noindex")
        .expect("a field"),
        "/one" => redirect(&request, "/two?u=http://u:secret@h/"),
        "/two" => redirect(&request, "/page"),
        _ => with(b"caf\xe9", "text/plain; charset=latin1"),
    }
}

fn redirect(_: &Request, to: &str) -> Response {
    Response::from_status(StatusCode::FOUND).with_field("location", to).expect("a field")
}

fn urls(server: &ServerHandle, scheme: &str, paths: &[&str]) -> String {
    paths.iter().map(|path| format!("{scheme}://127.0.0.1:{}{path}\n", server.port())).collect()
}

#[track_caller]
fn records(options: &str, input: &str) -> Vec<Value> {
    let ran = run(stoop(&format!("fetch -f jsonl -c 1 {options}")), input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = String::from_utf8(ran.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_is_asked_for_is_told_and_nothing_else() {
    let server = server(false);
    let input = urls(&server, "http", &["/page", "/favicon.ico", "/long", "/text"]);
    let told = records("--extract title,server,length,favicon,type,charset", &input);
    let of = |name: &str| told.iter().map(|record| record[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("title"), [json!("Привет & b"), Value::Null, json!("long"), Value::Null]);
    assert_eq!(of("server"), vec![json!("test/1.0"); 4]);
    assert_eq!(of("content_length"), of("body_bytes"));
    assert_eq!(of("favicon_hash"), [Value::Null, json!(ICON_HASH), Value::Null, Value::Null]);
    let types = ["text/html", "image/x-icon", "text/html", "text/plain"];
    assert_eq!(of("sniffed_type"), types.map(|name| json!(name)));
    let charsets = [json!("windows-1251"), Value::Null, Value::Null, json!("windows-1252")];
    assert_eq!(of("charset"), charsets);
    assert_eq!(told[2]["body_bytes"], (3 << 20) + 19);
    for record in records("--extract server", &input).iter().chain(&records("", &input)) {
        for name in ["title", "content_length", "favicon_hash", "sniffed_type", "charset", "chain"]
        {
            assert!(record.get(name).is_none(), "{record}");
        }
    }
    let head = records("-I --extract length,all", &input);
    assert_eq!((&head[1]["content_length"], &head[1]["body_bytes"]), (&json!(4000), &json!(0)));
    assert!(head[1].get("favicon_hash").is_none());
}

#[test]
fn what_a_page_says_to_robots_is_told_together_with_its_head() {
    let server = server(false);
    let input = urls(&server, "http", &["/tagged", "/page"]);
    let told = |options: &str| {
        let told = records(&format!("--extract robots {options}"), &input);
        assert!(told[1].get("robots").is_none() && told[1].get("meta_robots").is_none());
        let of = |name: &str| told[0][name].as_str().unwrap_or_default().to_owned();
        (of("robots"), of("meta_robots"), of("x_robots_tag"))
    };
    let text = |texts: [&str; 3]| {
        let [robots, metas, field] = texts.map(str::to_owned);
        (robots, metas, field)
    };
    let field = "nofollow, otherbot: noindex";
    assert_eq!(told(""), text(["nofollow, noarchive", "noarchive", field]));
    let named = "nofollow, noarchive, noai";
    let expected = text([named, "noarchive, examplebot: noai", field]);
    assert_eq!(told("--robots -A examplebot/1.0"), expected);
    assert_eq!(told("-I"), text(["nofollow", "", field]));
}

#[test]
fn the_redirects_on_the_way_are_told_without_passwords() {
    let server = server(false);
    let told = records("--extract chain", &urls(&server, "http", &["/one", "/page"]));
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", server.port());
    let chain = json!([
        {"status": 302, "url": at("/one")},
        {"status": 302, "url": at("/two?u=http://u:***@h/")},
        {"status": 200, "url": at("/page")},
    ]);
    assert_eq!(told[0]["chain"], chain);
    assert!(told[1].get("chain").is_none());
}

#[test]
fn the_certificate_of_a_server_is_told() {
    let server = server(true);
    let input = urls(&server, "https", &["/page", "/page"]);
    for (options, alpn) in [("", "h2"), ("--http1.1", "http/1.1")] {
        let told = records(&format!("--insecure --extract tls {options}"), &input);
        for record in &told {
            let tls = &record["tls"];
            assert_eq!((&tls["version"], &tls["alpn"]), (&json!("1.3"), &json!(alpn)));
            assert!(tls["cipher"].as_str().is_some_and(|name| name.starts_with("TLS13_")));
            assert_eq!(tls["subject_an"], json!(["a.example", "127.0.0.1"]));
            assert_eq!(
                (&tls["subject_cn"], &tls["issuer_cn"]),
                (&tls["issuer_cn"], &tls["subject_cn"])
            );
            assert_eq!(tls["subject_cn"], "rcgen self signed cert");
            let whole = json!("O=Example\\, Inc.,CN=rcgen self signed cert");
            assert_eq!((&tls["subject_dn"], &tls["issuer_dn"]), (&whole, &whole));
            assert_eq!(tls["sha256"].as_str().map(str::len), Some(64));
            assert_eq!(tls["not_before"], "1975-01-01T00:00:00Z");
            assert_eq!(tls["not_after"], "4096-01-01T00:00:00Z");
        }
        assert_eq!(told[0]["tls"], told[1]["tls"]);
    }
    assert!(records("--insecure --extract title", &input)[0].get("tls").is_none());
}

#[test]
fn text_is_saved_as_utf_8_and_its_digest_is_of_what_came() {
    let server = server(false);
    let folder = std::env::temp_dir().join(format!("stoop-extract-{}", std::process::id()));
    let folder = Folder(folder);
    let input = urls(&server, "http", &["/text", "/page", "/favicon.ico"]);
    let options =
        format!("--text-as-utf8 --digest sha256 --save-as url --save {}", folder.0.display());
    let told = records(&options, &input);
    let file = |index: usize| {
        fs::read(folder.0.join(told[index]["saved"].as_str().expect("saved"))).expect("a file")
    };
    assert_eq!(file(0), "café".as_bytes());
    assert!(String::from_utf8(file(1)).expect("UTF-8").contains("Привет"));
    assert_eq!(file(2).len(), 4000);
    let as_received = records("--digest sha256", &input);
    assert_eq!(told[0]["sha256"], as_received[0]["sha256"]);
    assert_eq!(told[0]["body_bytes"], 4);
}

/// It could be asked for with --save alone, which leaves content out of a table.
#[test]
fn text_is_utf_8_in_tables_and_samples() {
    let server = server(false);
    let input = urls(&server, "http", &["/text"]);
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    for format in ["parquet --compression none", "tar"] {
        for (option, is_utf_8) in [("--text-as-utf8", true), ("", false)] {
            let ran = run(stoop(&format!("fetch -f {format} {option}")), input.as_str());
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            let found = (has(&ran.stdout, "café".as_bytes()), has(&ran.stdout, b"caf\xe9"));
            assert_eq!(found, (is_utf_8, !is_utf_8), "{format} {option}");
        }
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_could_not_be_told_is_refused() {
    for (options, words) in [
        ("--extract title", "--extract needs --format jsonl"),
        ("--extract server -f pretty", "--extract needs --format jsonl"),
        (
            "-f jsonl --extract server,favicon --no-content",
            "--extract favicon is read from the content",
        ),
        ("-f jsonl --extract title -I", "--extract title is read from the content"),
        ("-f jsonl --extract titel", "possible values: title, server"),
        ("-f jsonl --text-as-utf8", "add --save DIR, -f parquet or -f tar"),
        ("-f parquet --text-as-utf8 --no-body", "add --save DIR, -f parquet or -f tar"),
        ("-f tar --text-as-utf8 -I", "add --save DIR, -f parquet or -f tar"),
        (
            "-f warc --text-as-utf8",
            "--text-as-utf8 is not for -f warc, which keeps content as it was",
        ),
        ("-f warc --text-as-utf8 --save no-such", "--text-as-utf8 is not for -f warc"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "http://127.0.0.1:1/\n");
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{options}");
        assert!(ran.stderr.contains(words), "{options}: {}", ran.stderr);
    }
}
