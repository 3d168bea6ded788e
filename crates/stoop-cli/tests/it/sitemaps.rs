//! Sitemaps of an index, which are fetched too.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stoop::{run, stoop};

/// `gzip -n` of `<urlset><url><loc>/x</loc></url></urlset>`.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xb1\xb3\x01\xd2\x76\x36\x39\
    \xf9\xc9\x76\xfa\x15\x36\xfa\x20\xda\x46\x1f\x2c\xa4\x0f\x55\x00\x00\x3d\xcc\xab\xc8\x29\x00\x00\x00";

/// Serves sitemaps by their paths, and keeps the heads of the requests.
struct Sitemaps {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Sitemaps {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                thread::spawn(move || serve(&stream, address, &kept));
            }
        });
        Self { address, heads }
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
}

fn serve(mut stream: &TcpStream, address: SocketAddr, heads: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (reader.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let path = head.split(' ').nth(1)?.to_owned();
        heads.lock().expect("no panic").push(head);
        let (status, content) = match path.as_str() {
            "/1.xml" => {
                let page = |name| format!("<url><loc>http://{address}/page/{name}</loc></url>");
                (200, format!("<urlset>{}<url/>{}</urlset>", page("a"), page("b")).into_bytes())
            }
            "/2.xml.gz" => (200, COMPRESSED.to_vec()),
            "/broken.xml" => (200, b"<urlset><url>".to_vec()),
            "/hang.xml" => {
                thread::sleep(Duration::from_secs(60));
                return None;
            }
            path if path.starts_with("/page/") => (200, b"a page".to_vec()),
            _ => (404, Vec::new()),
        };
        let length = content.len();
        let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(&[head.as_bytes(), &content].concat()).ok()?;
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
    for head in heads.iter() {
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
