//! Fetching again only what has changed (RFC 9110 §13), by the requests that a server sees.

use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use stoop_fetch::format::{JsonLines, RecordFormat, Warc};
use stoop_fetch::source::{JobSource, JsonJobs, Lines};
use stoop_fetch::{Earlier, Fetch};

mod archives;

/// A server that answers each path as it is told, and keeps the heads of the requests.
#[derive(Clone)]
struct Site {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// `answer` gives the head of a response, and the rest of it, to the head of a request.
    fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let site = Self { address, seen: Arc::default() };
        let seen = Arc::clone(&site.seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let mut head = String::new();
                while reader.read_line(&mut head).is_ok_and(|n| n > 2) {}
                seen.lock().expect("no panic").push(head.clone());
                let _ = (&stream).write_all(answer(&head).as_bytes());
            }
        });
        site
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests since the last time, without what all have.
    fn take_seen(&self) -> Vec<String> {
        let seen = std::mem::take(&mut *self.seen.lock().expect("no panic"));
        let common = format!("host: {}\r\n", self.address);
        seen.iter().map(|head| head.replace(&common, "").replace("accept: */*\r\n", "")).collect()
    }
}

/// The memory that a run writes to.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs to the end, one job after the other, and returns what was written.
fn run(fetch: Fetch, jobs: impl JobSource + 'static, format: impl RecordFormat) -> Vec<u8> {
    let written = Written::default();
    let fetch = fetch.concurrency(1).client(|client| client.decode_content(false));
    fetch.run(jobs, format, written.clone()).expect("it runs");
    let written = written.0.lock().expect("no panic");
    written.clone()
}

fn lines(urls: &[String]) -> Lines<Cursor<String>> {
    Lines::new(Cursor::new(urls.join("\n")))
}

fn records(written: &[u8]) -> Vec<Value> {
    let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

/// What a run has written, as it is known to the next.
fn earlier(written: &[u8]) -> Earlier {
    let mut earlier = Earlier::new();
    let read = earlier.read(written).expect("memory");
    assert_eq!(read.malformed, 0);
    earlier
}

fn known(url: &str, more: &str) -> Vec<u8> {
    format!(r#"{{"v":1,"url":"{url}","method":"GET","status":200,{more}}}"#).into_bytes()
}

const NONE: &str = "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n";

/// A response of 200 with fields and content.
fn ok(fields: &str, content: &str) -> String {
    let length = content.len();
    format!(
        "HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
}

/// RFC 9110 §13.1.2, §13.1.3: what a response had as ETag and Last-Modified is sent as it came.
#[test]
fn a_request_has_the_validators_of_the_earlier_response_as_they_came() {
    let site = Site::start(|_| NONE.to_owned());
    for (fields, sent) in [
        (r#""etag":"\"strong\"""#, "if-none-match: \"strong\"\r\n"),
        (r#""etag":"W/\"weak, and odd\"""#, "if-none-match: W/\"weak, and odd\"\r\n"),
        (r#""etag":"unquoted""#, "if-none-match: unquoted\r\n"),
        (
            r#""last_modified":"Thu, 26 Nov 2026 01:02:03 GMT""#,
            "if-modified-since: Thu, 26 Nov 2026 01:02:03 GMT\r\n",
        ),
        (
            r#""etag":"\"\u00e4\"","last_modified":"yesterday""#,
            "if-none-match: \"\u{e4}\"\r\nif-modified-since: yesterday\r\n",
        ),
        (r#""content_type":"a/b""#, ""),
    ] {
        let url = site.url("/a?b");
        let fetch = Fetch::new().if_changed_since(earlier(&known(&url, fields)));
        let written = run(fetch, lines(&[url + "#part"]), JsonLines::new());
        assert_eq!(site.take_seen(), [format!("GET /a?b HTTP/1.1\r\n{sent}\r\n")]);
        assert_eq!(records(&written)[0]["status"], 304);
    }
}

/// RFC 9110 §15.4.5: a 304 has the fields that a 200 would have had, or not.
#[test]
fn what_has_not_changed_is_a_record_that_the_next_run_can_follow_on() {
    let site = Site::start(|head| match head.contains("if-none-match: \"v1\"\r\n") {
        true => NONE.to_owned(),
        false => ok("ETag: \"v1\"\r\nLast-Modified: then\r\n", "ab"),
    });
    let urls = [site.url("/")];
    let mut written = run(Fetch::new(), lines(&urls), JsonLines::new());
    let first = records(&written).remove(0);
    assert_eq!((&first["status"], &first["body_bytes"]), (&json!(200), &json!(2)));
    assert_eq!((&first["etag"], &first["last_modified"]), (&json!("\"v1\""), &json!("then")));
    assert_eq!(site.take_seen(), ["GET / HTTP/1.1\r\n\r\n"]);
    for _ in 0..2 {
        let fetch = Fetch::new().if_changed_since(earlier(&written));
        written = run(fetch, lines(&urls), JsonLines::new());
        let again = records(&written).remove(0);
        assert_eq!((&again["status"], &again["body_bytes"]), (&json!(304), &json!(0)));
        assert!(again.get("error_kind").is_none(), "{again}");
        assert_eq!((&again["etag"], &again["last_modified"]), (&json!("\"v1\""), &json!("then")));
        assert_eq!(
            site.take_seen(),
            ["GET / HTTP/1.1\r\nif-none-match: \"v1\"\r\nif-modified-since: then\r\n\r\n"]
        );
    }
}

/// RFC 9110 §15.4: what validates the content of one URL is not sent to another.
#[test]
fn validators_go_to_the_url_that_gave_them_and_to_no_other() {
    let site = Site::start(|head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        match path.strip_prefix("/to") {
            Some(to) => format!(
                "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ),
            None => ok("ETag: \"x\"\r\n", ""),
        }
    });
    let get = |path: &str, etag: &str| {
        let condition = match etag {
            "" => String::new(),
            etag => format!("if-none-match: {etag}\r\n"),
        };
        format!("GET {path} HTTP/1.1\r\n{condition}\r\n")
    };
    // One that was no redirect before, one that leads to what is known, and one that leads to what is not.
    let followed = format!(r#""final_url":"{}","etag":"\"k2\"""#, site.url("/known"));
    let before = [
        known(&site.url("/to/new"), r#""etag":"\"old\"""#),
        known(&site.url("/known"), r#""etag":"\"k\"""#),
        known(&site.url("/to/known"), &followed),
    ];
    let urls = ["/to/new", "/to/known", "/to/to/known"].map(|path| site.url(path));
    let fetch = Fetch::new().if_changed_since(earlier(&before.join(&b'\n')));
    let written = run(fetch, lines(&urls), JsonLines::new());
    assert_eq!(records(&written).len(), 3);
    let expected = [
        get("/to/new", "\"old\""),
        get("/new", ""),
        get("/to/known", ""),
        get("/known", "\"k2\""),
        get("/to/to/known", ""),
        get("/to/known", ""),
        get("/known", "\"k2\""),
    ];
    assert_eq!(site.take_seen(), expected);
}

#[test]
fn jobs_with_conditions_ranges_or_other_methods_are_sent_as_they_are() {
    let site = Site::start(|_| NONE.to_owned());
    let url = site.url("/");
    let know = || earlier(&known(&url, r#""etag":"\"e\"","last_modified":"then""#));
    let job = |more: &str| format!("{{\"url\":\"{url}\"{more}}}\n");
    let jobs = [
        job(r#","method":"POST""#),
        job(r#","headers":{"range":"bytes=0-1"}"#),
        job(r#","headers":{"if-none-match":"\"mine\""}"#),
        job(r#","headers":{"if-unmodified-since":"now"}"#),
        job(r#","method":"HEAD""#),
    ];
    let jobs = JsonJobs::new(Cursor::new(jobs.concat()));
    let written = run(Fetch::new().if_changed_since(know()), jobs, JsonLines::new());
    let expected = [
        "POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nrange: bytes=0-1\r\n\r\n",
        "GET / HTTP/1.1\r\nif-none-match: \"mine\"\r\n\r\n",
        "GET / HTTP/1.1\r\nif-unmodified-since: now\r\n\r\n",
        "HEAD / HTTP/1.1\r\nif-none-match: \"e\"\r\nif-modified-since: then\r\n\r\n",
    ];
    assert_eq!(site.take_seen(), expected);
    // A 304 to the caller's own condition says nothing of what is known here.
    let etags: Vec<_> = records(&written).iter().map(|record| record["etag"].clone()).collect();
    assert_eq!(etags[..4], [Value::Null, Value::Null, Value::Null, Value::Null]);
    assert_eq!(etags[4], "\"e\"");
    // The same for what all requests of the run have.
    let fetch = Fetch::new().field("range", b"bytes=0-1").if_changed_since(know());
    run(fetch, lines(std::slice::from_ref(&url)), JsonLines::new());
    assert_eq!(site.take_seen(), ["GET / HTTP/1.1\r\nrange: bytes=0-1\r\n\r\n"]);
}

/// WARC 1.1 §6.7.3: what has not changed refers to the earlier response, also where an archive follows on one that does.
#[test]
fn an_archive_refers_to_the_earlier_response() {
    let site = Site::start(|head| match head.contains("if-none-match: W/\"v1\"\r\n") {
        true => NONE.to_owned(),
        false => ok("ETag: W/\"v1\"\r\n", "ab"),
    });
    let urls = [site.url("/page")];
    let mut written = run(Fetch::new(), lines(&urls), Warc::new());
    let original = archives::of_type(&archives::unpacked(&written), "response").clone();
    for _ in 0..2 {
        let fetch = Fetch::new().if_changed_since(earlier(&written));
        written = run(fetch, lines(&urls), Warc::new());
        let records = archives::unpacked(&written);
        let revisit = archives::of_type(&records, "revisit");
        assert_eq!(
            revisit.field("WARC-Profile"),
            "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
        );
        assert_eq!(revisit.field("WARC-Refers-To"), original.field("WARC-Record-ID"));
        assert_eq!(revisit.field("WARC-Refers-To-Date"), original.field("WARC-Date"));
        assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), urls[0]);
        assert_eq!(revisit.field("WARC-Payload-Digest"), "");
        assert!(revisit.block.starts_with("HTTP/1.1 304 Not Modified\r\n"), "{revisit:?}");
        assert!(revisit.block.ends_with("\r\n\r\n"), "no content");
        let request = archives::of_type(&records, "request");
        assert!(request.block.contains("if-none-match: W/\"v1\"\r\n"), "{request:?}");
    }
    // From lines of JSON the date is known, and no record.
    let first = run(Fetch::new(), lines(&urls), JsonLines::new());
    let fetch = Fetch::new().if_changed_since(earlier(&first));
    let records = archives::records(&run(fetch, lines(&urls), Warc::new().uncompressed()));
    let revisit = archives::of_type(&records, "revisit");
    assert_eq!(revisit.field("WARC-Refers-To"), "");
    let start = self::records(&first)[0]["start_time"].as_str().expect("text").to_owned();
    assert_eq!(revisit.field("WARC-Refers-To-Date"), start);
}
