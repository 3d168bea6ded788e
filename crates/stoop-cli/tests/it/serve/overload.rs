//! What is answered when there is too much to do, and when an answer takes too long.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use super::clients::is_missing;
use super::{Folder, Served, command};
use crate::stoop::{run, stoop, wait_for};

/// A connection that is kept.
struct Kept(BufReader<TcpStream>);

impl Kept {
    fn to(served: &Served) -> Self {
        let stream = TcpStream::connect(&served.authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, path: &str) {
        write!(self.0.get_mut(), "GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").unwrap();
    }

    /// The head and the content of the next response.
    fn response(&mut self) -> (String, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.0.read_line(&mut head).unwrap() > 0, "it is closed after {head:?}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut content = vec![0; length.expect("a length").parse().unwrap()];
        self.0.read_exact(&mut content).unwrap();
        (head, String::from_utf8(content).unwrap())
    }
}

/// A server that is stopped for longer than a thread may be late, and then goes on.
fn stop_for_a_while(served: &Served, meanwhile: impl FnOnce()) {
    served.signal("STOP");
    meanwhile();
    std::thread::sleep(Duration::from_millis(400));
    served.signal("CONT");
}

#[test]
fn a_request_that_a_thread_comes_to_late_is_answered_503_and_the_status_is_not() {
    let folder = Folder::new(&[("f", "content")]);
    let log = folder.path().join("access.log");
    let options = "--workers 1 --lag-max 100ms --status --access-log-file";
    let served = Served::start(&folder, &format!("{options} {}", log.display()));
    let (mut files, mut status) = (Kept::to(&served), Kept::to(&served));
    let mut head = String::new();
    wait_for("a request that is shed", || {
        stop_for_a_while(&served, || {
            files.ask("/f");
            status.ask("/_stoop/metrics");
        });
        let seen = status.response().0;
        assert!(seen.starts_with("HTTP/1.1 200"), "{seen}");
        head = files.response().0;
        head.starts_with("HTTP/1.1 503")
    });
    assert!(head.contains("\r\nretry-after: 1\r\n") && !head.contains("connection: close"));
    // On the same connection, once it is no longer late.
    wait_for("an answer", || {
        files.ask("/f");
        files.response().1 == "content"
    });
    status.ask("/_stoop/metrics");
    let metrics = status.response().1;
    let shed = metrics.lines().find_map(|line| line.strip_prefix("stoop_server_shed_total "));
    assert!(shed.unwrap().parse::<u32>().unwrap() > 0, "{metrics}");
    let is_logged = || std::fs::read_to_string(&log).unwrap().contains("\"GET /f HTTP/1.1\" 503 ");
    wait_for("a line of it", is_logged);
}

#[test]
fn without_that_limit_a_request_waits() {
    let folder = Folder::new(&[("f", "content")]);
    let served = Served::start(&folder, "--workers 1 --lag-max none");
    let mut kept = Kept::to(&served);
    stop_for_a_while(&served, || kept.ask("/f"));
    assert_eq!(kept.response().1, "content");
}

/// The check of a password takes long: its hash is the costliest that is taken, of some seconds.
#[test]
fn a_response_that_has_not_begun_in_its_time_is_503() {
    let made = run(stoop("serve --auth-new ada"), "x\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let costly = made.trim().replace("$2b$10$", "$2b$17$");
    let folder = Folder::new(&[("f", "content")]);
    let log = folder.path().join("access.log");
    let options = format!("--auth {costly} --access-log-file {}", log.display());
    let served = Served::start(&folder, &format!("{options} --handler-timeout 100ms"));
    let (head, content) = served.get("/f", "authorization: Basic YWRhOnk=\r\n");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert!(content.contains("503 Service Unavailable"), "{content}");
    let is_logged = || std::fs::read_to_string(&log).unwrap().contains("\"GET /f HTTP/1.1\" 503 ");
    wait_for("its line", is_logged);
}

/// It ends with the head of the response: a download lasts as long as it lasts.
#[test]
fn a_download_may_take_longer_than_that() {
    if is_missing("curl", "--version") {
        return;
    }
    let folder = Folder::new(&[("large", &"x".repeat(32 << 20))]);
    let rows =
        [("--http1.1", ""), ("--http2-prior-knowledge", ""), ("--http2", "--tls-self-signed")];
    let downloads: Vec<_> = rows
        .map(|(version, tls)| {
            let served = Served::run(command(&folder, &format!("--handler-timeout 1 {tls}")));
            let scheme = if tls.is_empty() { "http" } else { "https" };
            let url = format!("{scheme}://{}/large", served.authority);
            let mut curl = Command::new("curl");
            curl.args(["-sSk", "--noproxy", "*", "--max-time", "60", "--limit-rate", "6M"]);
            curl.args([
                version,
                "-o",
                "/dev/null",
                "-w",
                "%{http_code} %{size_download} %{time_total}",
            ]);
            curl.arg(url).stdout(std::process::Stdio::piped());
            (version, served, curl.spawn().unwrap())
        })
        .into();
    for (version, _served, curl) in downloads {
        let output = curl.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{version}: {said}");
        let (answer, seconds) = said.rsplit_once(' ').unwrap();
        assert_eq!(answer, format!("200 {}", 32 << 20), "{version}");
        assert!(seconds.parse::<f64>().unwrap() > 2.0, "{version}: it was no long one: {seconds}");
    }
}
