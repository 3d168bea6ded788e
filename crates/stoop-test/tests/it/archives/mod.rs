//! Archives that `stoop_fetch` writes, read by the readers that others use.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use stoop_fetch::Fetch;
use stoop_fetch::format::{Shards, Tar, Warc};
use stoop_fetch::source::Lines;

use crate::corpora::skipped;
use crate::programs::{are_missing, run};

/// Where `cargo xtask test --only install` keeps the readers.
const READERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/warc");
/// The validator in Java.
const JWARC: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/jwarc/jwarc-0.31.1.jar");

pub(crate) const TEXT: &[u8] = b"<title>a page</title>\r\n\r\nWARC/1.1\r\nnot a record\n";

/// The bytes that a server answers a path with.
fn answer(path: &str) -> Vec<u8> {
    let with_length = |head: &str, content: &[u8]| {
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", content.len());
        [head.as_bytes(), content].concat()
    };
    match path {
        "/text" => with_length("200 OK\r\nContent-Type: text/html; charset=utf-8", TEXT),
        "/binary" => with_length("200 OK\r\nSet-Cookie: a=b", &(0..=255).collect::<Vec<u8>>()),
        "/empty" => with_length("200 OK", b""),
        "/none" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "/chunked" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n".to_vec(),
        "/gzip" => {
            let mut coder = GzEncoder::new(Vec::new(), Compression::default());
            coder.write_all(TEXT).expect("memory");
            with_length("200 OK\r\nContent-Encoding: gzip", &coder.finish().expect("memory"))
        }
        "/redirect" => with_length("302 Found\r\nLocation: /text", b"moved"),
        "/lost" => with_length("302 Found\r\nLocation: http://127.0.0.1:1/", b"moved"),
        "/short" => b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this".to_vec(),
        "/long" => with_length("200 OK", &[b'x'; 5000]),
        _ => with_length("404 Nothing here at all", b"no"),
    }
}

/// A server of one request for each connection.
pub(crate) fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    match reader.read_line(&mut line) {
                        Ok(n) if n > 2 => lines.push(line),
                        Ok(n) if n > 0 => break,
                        _ => return,
                    }
                }
                let path = lines[0].split(' ').nth(1).expect("a request line");
                let _ = (&stream).write_all(&answer(path));
            });
        }
    });
    address
}

pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("stoop-archives-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).expect("writable");
    Folder(path)
}

pub(crate) const PATHS: [&str; 10] =
    ["text", "binary", "empty", "none", "chunked", "gzip", "redirect", "short", "long", "missing"];

pub(crate) fn fetch() -> Fetch {
    Fetch::new()
        .body_bytes_max(Some(4000))
        .truncate_bodies(true)
        .field("authorization", b"Bearer secret")
        .client(|client| client.decode_content(true))
}

/// What the readers find in each file.
async fn read(files: &[PathBuf]) -> Vec<Value> {
    let mut arguments = ["-c", include_str!("readers.py"), READERS].map(str::to_owned).to_vec();
    arguments.extend(files.iter().map(|path| path.to_str().expect("text").to_owned()));
    let output = run("python3", &arguments, b"").await.text();
    let read: Vec<_> =
        output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(read.len(), files.len(), "{output}");
    read
}

/// Has jwarc judge each file: its records, their HTTP messages and their digests.
async fn validate(files: &[PathBuf]) {
    let mut arguments = ["-jar", JWARC, "validate"].map(str::to_owned).to_vec();
    arguments.extend(files.iter().map(|path| path.to_str().expect("text").to_owned()));
    run("java", &arguments, b"").await;
}

fn has_readers(name: &str) -> bool {
    if are_missing(name, &["python3", "java"]) {
        return false;
    }
    if !Path::new(JWARC).is_file() {
        skipped(name, "needs jwarc (cargo xtask test --only install)");
        return false;
    }
    let has_all = Path::new(READERS).join("warcio").is_dir();
    if !has_all {
        skipped(name, "needs warcio and fastwarc (cargo xtask test --only install)");
    }
    has_all
}

fn bytes(record: &Value) -> Vec<u8> {
    let hex = record["content"].as_str().expect("hex");
    let digits: Vec<_> = hex.chars().map(|c| c.to_digit(16).expect("hex") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[tokio::test]
async fn an_archive_has_what_was_sent_and_received() {
    const NAME: &str = "an_archive_has_what_was_sent_and_received";
    if !has_readers(NAME) {
        return;
    }
    let (address, folder) = (serve(), folder("exchanges"));
    let urls: String = PATHS.iter().map(|path| format!("http://{address}/{path}\n")).collect();
    // The last hop of this one fails.
    let urls = urls + &format!("http://{address}/lost\n");
    let urls = urls + "http://127.0.0.1:1/\nno URL at all\n";
    let path = folder.0.join("a.warc");
    let writer = fs::File::create(&path).expect("writable");
    let finished = tokio::task::spawn_blocking(move || {
        fetch().run(Lines::new(std::io::Cursor::new(urls)), Warc::new().uncompressed(), writer)
    });
    let finished = finished.await.expect("no panic").expect("ran");
    assert_eq!(finished.figures().total_urls, 13);

    validate(std::slice::from_ref(&path)).await;
    let read = read(&[path]).await.remove(0);
    let records = read["warcio"].as_array().expect("a list");
    let of_type = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    assert_eq!(of_type("warcinfo").count(), 1);
    assert_eq!((of_type("request").count(), of_type("response").count()), (12, 12));
    assert_eq!(of_type("metadata").count(), 13, "one for each job");
    assert!(records.iter().all(|record| !bytes(record).windows(6).any(|at| at == b"secret")));

    let responses: BTreeMap<_, _> = of_type("response")
        .map(|record| {
            let url = record["url"].as_str().expect("a URL");
            (url.rsplit('/').next().expect("a path").to_owned(), record)
        })
        .collect();
    let content = |path: &str| bytes(responses[path]);
    assert_eq!(content("text"), TEXT);
    assert_eq!(content("gzip"), TEXT, "decoded");
    assert_eq!(content("binary"), (0..=255).collect::<Vec<u8>>());
    assert_eq!(content("chunked"), b"abcdefg");
    assert_eq!((content("empty"), content("none"), content("redirect")), (vec![], vec![], vec![]));
    assert_eq!(content("short"), b"only this");
    assert_eq!(content("long"), [b'x'; 4000]);
    let truncated: BTreeMap<_, _> = responses
        .iter()
        .filter_map(|(path, record)| Some((path.as_str(), record["truncated"].as_str()?)))
        .collect();
    let expected = [
        ("long", "length"),
        ("lost", "unspecified"),
        ("redirect", "unspecified"),
        ("short", "disconnect"),
    ];
    assert_eq!(truncated, BTreeMap::from(expected));
    assert_eq!(responses["missing"]["line"], "404 Not Found");
    let field = |path: &str, name: &str| {
        let fields = responses[path]["fields"].as_array().expect("fields");
        fields.iter().find(|field| field[0] == name).map(|field| field[1].clone())
    };
    assert_eq!(field("gzip", "X-Archive-Orig-Content-Encoding"), Some("gzip".into()));
    assert_eq!(field("chunked", "X-Archive-Orig-Transfer-Encoding"), Some("chunked".into()));
    assert_eq!(field("chunked", "Content-Length"), Some("7".into()));
    // What a redirect had is not kept, and its head does not promise it.
    assert_eq!(field("redirect", "Content-Length"), Some("0".into()));
    assert_eq!(field("redirect", "X-Archive-Orig-Content-Length"), Some("5".into()));

    let fast = read["fastwarc"].as_array().expect("a list");
    assert_eq!(fast.len(), records.len());
    for (one, other) in records.iter().zip(fast) {
        assert_eq!((&one["type"], &one["url"]), (&other["type"], &other["url"]));
        assert_eq!(one["content"], other["content"]);
        assert_ne!(other["digest"], false, "{other}");
    }
}

#[tokio::test]
async fn shards_are_indexed_and_have_each_job_once() {
    const NAME: &str = "shards_are_indexed_and_have_each_job_once";
    if !has_readers(NAME) {
        return;
    }
    let (address, folder) = (serve(), folder("shards"));
    let urls: String = (0..60)
        .map(|n| format!("http://{address}/{}?{n}\n", PATHS[n % PATHS.len()]))
        .map(|url| url.replace("redirect?", "redirect#"))
        .collect();
    let shards = Shards::new(&folder.0).prefix("crawl").bytes_max(20_000);
    let (format, writer) = shards.open(Warc::new()).expect("writable");
    let finished = tokio::task::spawn_blocking(move || {
        fetch().run(Lines::new(std::io::Cursor::new(urls)), format, writer)
    });
    finished.await.expect("no panic").expect("ran");

    let manifest = fs::read_to_string(folder.0.join("crawl.manifest")).expect("written");
    let lines: Vec<Value> =
        manifest.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() >= 3, "{manifest}");
    let sum =
        |name: &str| lines.iter().map(|line| line[name].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(sum("records"), 60);
    let files: Vec<_> =
        lines.iter().map(|line| folder.0.join(line["file"].as_str().expect("a name"))).collect();
    for (line, file) in lines.iter().zip(&files) {
        let length = fs::metadata(file).expect("there").len();
        assert_eq!(line["bytes"], length);
        assert!(length <= 20_000);
    }
    validate(&files).await;
    let read = read(&files).await;
    let count = |reader: &str, kind: &str| {
        let records = read.iter().flat_map(|file| file[reader].as_array().expect("a list"));
        records.filter(|record| record["type"] == kind).count()
    };
    assert_eq!((count("warcio", "metadata"), count("fastwarc", "metadata")), (60, 60));
    assert_eq!(count("warcio", "warcinfo"), files.len());
    let indexed = read.iter().map(|file| file["index"].as_array().expect("an index").len());
    assert_eq!(indexed.sum::<usize>(), count("warcio", "response"));
    assert!(
        fs::read_dir(&folder.0)
            .expect("there")
            .flatten()
            .all(|entry| { !entry.file_name().to_str().expect("text").ends_with(".partial") })
    );
}

#[tokio::test]
async fn a_tar_of_samples_is_read_by_python() {
    if are_missing("a_tar_of_samples_is_read_by_python", &["python3"]) {
        return;
    }
    let (address, folder) = (serve(), folder("tar"));
    let urls: String = PATHS.iter().map(|path| format!("http://{address}/{path}\n")).collect();
    let path = folder.0.join("a.tar");
    let writer = fs::File::create(&path).expect("writable");
    let finished = tokio::task::spawn_blocking(move || {
        fetch().run(Lines::new(std::io::Cursor::new(urls)), Tar::new(), writer)
    });
    finished.await.expect("no panic").expect("ran");
    let program = "import sys, tarfile, json\n\
        for file in (tar := tarfile.open(sys.argv[1])):\n    \
        content = tar.extractfile(file).read()\n    \
        print(json.dumps([file.name, content.hex()]))\n";
    let arguments = ["-c", program, path.to_str().expect("text")].map(str::to_owned);
    let output = run("python3", &arguments, b"").await.text();
    let files: Vec<(String, Value)> = output
        .lines()
        .map(|line| serde_json::from_str::<(String, String)>(line).expect("JSON"))
        .map(|(name, hex)| (name, serde_json::json!({ "content": hex })))
        .collect();
    let lines = files.iter().filter(|(name, _)| name.ends_with(".json"));
    assert_eq!(lines.count(), PATHS.len(), "one for each job");
    for (name, content) in files.iter().filter(|(name, _)| !name.ends_with(".json")) {
        let key = name.split('.').next().expect("a key");
        let (_, line) =
            files.iter().find(|(of, _)| *of == format!("{key}.json")).expect("its record");
        let line: Value = serde_json::from_slice(&bytes(line)).expect("JSON");
        if line["error_kind"].is_null() {
            assert_eq!(line["body_bytes"], bytes(content).len(), "{line}");
        }
    }
    assert!(files.iter().any(|(name, content)| name.ends_with(".html") && bytes(content) == TEXT));
    let cut = files.iter().filter(|(name, _)| name.ends_with(".bin.truncated"));
    let mut cut: Vec<_> = cut.map(|(_, content)| bytes(content).len()).collect();
    cut.sort_unstable();
    assert_eq!(cut, [9, 4000], "what broke off, and what was cut");
}

#[tokio::test]
async fn content_that_an_archive_has_is_referred_to() {
    const NAME: &str = "content_that_an_archive_has_is_referred_to";
    if !has_readers(NAME) {
        return;
    }
    let (address, folder) = (serve(), folder("revisits"));
    let urls: String = (0..5).map(|n| format!("http://{address}/text?{n}\n")).collect();
    let urls = urls + &format!("http://{address}/short\nhttp://{address}/short\n");
    let (format, writer) =
        Shards::new(&folder.0).open(Warc::new().revisits(1 << 20)).expect("writable");
    let fetch = fetch().concurrency(1);
    let finished = tokio::task::spawn_blocking(move || {
        fetch.run(Lines::new(std::io::Cursor::new(urls)), format, writer)
    });
    finished.await.expect("no panic").expect("ran");
    let archive = folder.0.join("part-00000.warc.gz");
    validate(std::slice::from_ref(&archive)).await;
    let read = read(&[archive]).await.remove(0);
    for reader in ["warcio", "fastwarc"] {
        let records = read[reader].as_array().expect("a list");
        let count = |kind: &str| records.iter().filter(|record| record["type"] == kind).count();
        assert_eq!((count("response"), count("revisit")), (3, 4), "{reader}");
    }
    let revisit = read["warcio"].as_array().expect("a list");
    let revisit = revisit.iter().find(|record| record["type"] == "revisit").expect("one");
    assert_eq!(revisit["refers"], format!("http://{address}/text?0"));
    assert!(revisit["fields"].as_array().is_some_and(|fields| !fields.is_empty()));
    assert_eq!(read["index"].as_array().expect("an index").len(), 7);
}
