//! Sitemaps of an index, which are fetched too.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stoop::{feed, finish, kill, run, stoop, wait_for};

/// `gzip -n` of `<urlset><url><loc>/x</loc></url></urlset>`.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xb1\xb3\x01\xd2\x76\x36\x39\
    \xf9\xc9\x76\xfa\x15\x36\xfa\x20\xda\x46\x1f\x2c\xa4\x0f\x55\x00\x00\x3d\xcc\xab\xc8\x29\x00\x00\x00";

/// Serves sitemaps by their paths, and keeps the heads of the requests with their times. `/busy.xml` is answered 503 so
/// many times before it is there.
#[derive(Clone)]
struct Sitemaps {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<(Instant, String)>>>,
    busy: Arc<AtomicU32>,
}

impl Sitemaps {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = Self { address, heads: Arc::default(), busy: Arc::default() };
        let shared = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.clone();
                thread::spawn(move || server.serve(&stream));
            }
        });
        server
    }

    /// When paths that begin so were asked for, in order.
    fn asked(&self, begin: &str) -> Vec<Instant> {
        let begin = format!("GET {begin}");
        let heads = self.heads.lock().expect("no panic");
        heads.iter().filter(|(_, head)| head.starts_with(&begin)).map(|(at, _)| *at).collect()
    }

    /// An index of these paths.
    fn index(&self, paths: &[&str]) -> String {
        let address = self.address;
        let entries = paths
            .iter()
            .map(|path| format!("<sitemap><loc>http://{address}{path}</loc></sitemap>"));
        format!("<sitemapindex>{}</sitemapindex>", entries.collect::<String>())
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                (reader.read_line(&mut head).ok()? > 0).then_some(())?;
            }
            let path = head.split(' ').nth(1)?.to_owned();
            self.heads.lock().expect("no panic").push((Instant::now(), head));
            let (status, content) = self.answer(&path)?;
            let length = content.len();
            let retry = if status == 503 { "Retry-After: 1\r\n" } else { "" };
            let head = format!("HTTP/1.1 {status} x\r\n{retry}Content-Length: {length}\r\n\r\n");
            stream.write_all(&[head.as_bytes(), &content].concat()).ok()?;
        }
    }

    fn answer(&self, path: &str) -> Option<(u16, Vec<u8>)> {
        let pages = |names: [&str; 2]| {
            let [a, b] = names.map(|name| format!("<url><loc>{}</loc></url>", self.url(name)));
            (200, format!("<urlset>{a}<url/>{b}</urlset>").into_bytes())
        };
        Some(match path {
            "/1.xml" => pages(["/page/a", "/page/b"]),
            "/2.xml.gz" => (200, COMPRESSED.to_vec()),
            "/broken.xml" => (200, b"<urlset><url>".to_vec()),
            "/busy.xml" => match self.busy.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
            {
                Ok(_) => (503, Vec::new()),
                Err(_) => pages(["/page/c", "/page/d"]),
            },
            "/large.xml" => (200, vec![b' '; 1 << 20]),
            "/robots.txt" => (200, b"User-agent: *\nDisallow: /private/\n".to_vec()),
            "/hang.xml" => {
                thread::sleep(Duration::from_secs(60));
                return None;
            }
            path if path.starts_with("/page/") => (200, b"a page".to_vec()),
            _ => (404, Vec::new()),
        })
    }
}

fn records(stdout: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_sitemap_of_an_index_is_fetched_and_one_that_cannot_be_read_has_a_record() {
    let server = Sitemaps::start();
    let paths = ["/1.xml", "/none.xml", "/2.xml.gz", "/broken.xml", "/hang.xml"];
    let options = "fetch --input-format sitemap -f jsonl -c 1 -t 1 -A me/1 -H X-Own:yes -r 0-9";
    let ran = run(stoop(options), server.index(&paths));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let seen: Vec<_> = records(&ran.stdout)
        .into_iter()
        .map(|record| {
            let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            (text("url"), text("error_kind"), text("error"))
        })
        .collect();
    let row = |url: String, kind: &str, error: &str| (url, kind.to_owned(), error.to_owned());
    let unread = "the sitemap cannot be read: ";
    assert_eq!(seen.len(), 7, "{seen:?}");
    assert_eq!(seen[0], row(server.url("/page/a"), "", ""));
    assert_eq!((seen[1].0.as_str(), seen[1].1.as_str()), ("", "invalid_job"));
    assert!(seen[1].2.ends_with("<url> without <loc>"), "{seen:?}");
    assert_eq!(seen[2], row(server.url("/page/b"), "", ""));
    assert_eq!(
        seen[3],
        row(server.url("/none.xml"), "invalid_job", &format!("{unread}status 404 Not Found"))
    );
    assert_eq!((seen[4].0.as_str(), seen[4].1.as_str()), ("/x", "invalid_url"));
    let broken = format!("{unread}byte 13: the input ends within an element");
    assert_eq!(seen[5], row(server.url("/broken.xml"), "invalid_job", &broken));
    assert_eq!(seen[6].0, server.url("/hang.xml"));
    assert!(seen[6].2.starts_with(&format!("{unread}total_timeout: ")), "{}", seen[6].2);
    let heads = server.heads.lock().expect("no panic");
    for (_, head) in heads.iter() {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("user-agent: me/1\r\n") && head.contains("x-own: yes\r\n"), "{head}");
        assert_eq!(head.contains("range:"), head.starts_with("get /page/"), "{head}");
    }
}

#[test]
fn a_run_ends_while_a_sitemap_is_waited_for() {
    let server = Sitemaps::start();
    let begin = Instant::now();
    let options = "fetch --input-format sitemap --duration 0.5 -t 60 --summary none";
    let ran = run(stoop(options), server.index(&["/1.xml", "/hang.xml", "/1.xml"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(begin.elapsed() < Duration::from_secs(20));
    let pages = ran.codes().into_iter().filter(|(_, code)| code == "200").count();
    assert_eq!(pages, 2, "{:?}", ran.codes());
}

/// The least time between two of these.
fn least_gap(times: &[Instant]) -> Duration {
    times.windows(2).map(|pair| pair[1].duration_since(pair[0])).min().expect("two")
}

/// The kinds of error of a run, and the errors, of URLs that have no page.
fn errors(stdout: &[u8]) -> Vec<(String, String)> {
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let all = records(stdout);
    let failed = all.iter().filter(|record| text(record, "url").ends_with(".xml"));
    failed.map(|record| (text(record, "error_kind"), text(record, "error"))).collect()
}

/// A sitemap has the deadline of a job, and nothing else would end its wait for the bandwidth.
#[test]
fn a_sitemap_that_the_bandwidth_does_not_allow_fails_at_its_deadline() {
    let server = Sitemaps::start();
    let begin = Instant::now();
    let line = "fetch --input-format sitemap -f jsonl -t 1 --max-bandwidth 20KiB --summary none";
    let ran = run(stoop(line), server.index(&["/large.xml", "/1.xml"]));
    assert!(begin.elapsed() < Duration::from_secs(20));
    let errors = errors(&ran.stdout);
    assert_eq!(errors.len(), 1, "{}", ran.stderr);
    assert!(errors[0].0 == "invalid_job" && errors[0].1.contains("total_timeout"), "{errors:?}");
    let pages = records(&ran.stdout).iter().filter(|record| record["status"] == 200).count();
    assert_eq!(pages, 2, "those of the other one");
}

#[test]
fn sitemaps_and_pages_keep_the_interval_of_their_host() {
    let server = Sitemaps::start();
    let options = "fetch --input-format sitemap -f jsonl --host-interval 0.4 --summary none";
    let begun = Instant::now();
    let ran = run(stoop(options), server.index(&["/1.xml", "/none.xml", "/1.xml"]));
    assert_eq!((ran.code, records(&ran.stdout).len()), (Some(0), 7), "{}", ran.stderr);
    let asked = server.asked("/");
    assert_eq!(asked.len(), 7);
    // A request may be slow to arrive, and the next in time.
    let earliest = (0..).map(|n| begun + Duration::from_millis(400) * n);
    assert!(asked.iter().zip(earliest).all(|(at, earliest)| *at >= earliest), "{asked:?}");
}

#[test]
fn a_host_that_asks_for_less_is_asked_again_after_its_pause_and_not_for_ever() {
    let server = Sitemaps::start();
    server.busy.store(2, SeqCst);
    let options = "fetch --input-format sitemap -f jsonl --summary none";
    let ran = run(stoop(options), server.index(&["/busy.xml"]));
    assert_eq!((errors(&ran.stdout), records(&ran.stdout).len()), (vec![], 3), "{}", ran.stderr);
    let asked = server.asked("/busy.xml");
    assert_eq!(asked.len(), 3);
    assert!(least_gap(&asked) >= Duration::from_millis(990), "{asked:?}");
    // Three in turn, and each further sitemap once.
    for (more, expected) in [("--host-pause-max 0.1", 4), ("--no-politeness", 2)] {
        let server = Sitemaps::start();
        server.busy.store(100, SeqCst);
        let list = server.index(&["/busy.xml", "/busy.xml"]);
        let ran = run(stoop(&format!("{options} {more}")), list);
        let error = "the sitemap cannot be read: status 503 Service Unavailable".to_owned();
        assert_eq!(errors(&ran.stdout), vec![("invalid_job".to_owned(), error); 2], "{more}");
        assert_eq!(server.asked("/busy.xml").len(), expected, "{more}");
    }
}

#[test]
fn sitemaps_are_fetched_where_robots_txt_allows_it_and_the_file_once() {
    let server = Sitemaps::start();
    let options = "fetch --input-format sitemap -f jsonl --robots --cores 2 --summary none";
    let ran = run(stoop(options), server.index(&["/private/1.xml", "/1.xml"]));
    let denied =
        "the sitemap cannot be read: robots_denied: its robots.txt does not allow it to \"stoop\"";
    let denied = ("invalid_job".to_owned(), denied.to_owned());
    assert_eq!(errors(&ran.stdout), [denied], "{}", ran.stderr);
    let asked = ["/robots.txt", "/private/", "/1.xml", "/page/"].map(|it| server.asked(it).len());
    assert_eq!(asked, [1, 0, 1, 2]);
}

#[test]
fn a_signal_ends_the_wait_for_a_sitemap_which_has_no_record_then() {
    for (path, options) in [("/hang.xml", "-t 60"), ("/busy.xml", "-t 60 --host-interval 50")] {
        let server = Sitemaps::start();
        server.busy.store(100, SeqCst);
        let line = format!("fetch --input-format sitemap -f jsonl --summary none {options}");
        let mut child = stoop(&line).spawn().expect("it runs");
        feed(&mut child, server.index(&[path, "/1.xml"]));
        wait_for("the sitemap", || !server.asked(path).is_empty());
        let begun = Instant::now();
        kill(&child, "-INT");
        let ran = finish(child);
        assert_eq!((ran.code, records(&ran.stdout).len()), (Some(130), 0), "{}", ran.stderr);
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}");
    }
}
