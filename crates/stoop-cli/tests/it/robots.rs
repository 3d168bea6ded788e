//! `--robots`: what robots.txt allows is fetched, and the file itself once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::refusing;
use crate::stoop::{run, stoop};

/// A site that answers `/robots.txt` with a status and a file after a while, `/to/PATH` with a redirect to a path,
/// `/away/HOST/PATH` with one to another host, which has 24 KB of content in `/far/HOST/PATH`, `/large` with 100 KB, and all
/// else with 200; or all with a redirect to another host.
#[derive(Clone)]
struct Site {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<(Instant, String, String)>>>,
}

impl Site {
    fn start(at: [u8; 4], status: &'static str, file: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::from(at), 0)).expect("a free port");
        let site = Self { address: listener.local_addr().expect("bound"), seen: Arc::default() };
        let seen = Arc::clone(&site.seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(stream, &seen, status, file));
            }
        });
        site
    }

    fn urls(&self, paths: &[&str]) -> String {
        paths.iter().map(|path| format!("http://{}{path}\n", self.address)).collect()
    }

    /// The paths that were asked for, sorted.
    fn paths(&self) -> Vec<String> {
        let seen = self.seen.lock().expect("no panic");
        let mut paths: Vec<_> = seen.iter().map(|(_, path, _)| path.clone()).collect();
        paths.sort();
        paths
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<(Instant, String, String)>>,
    status: &str,
    file: &str,
) {
    let mut lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    while let Some(Ok(line)) = lines.next() {
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut agent = String::new();
        for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            if let Some(value) = line.strip_prefix("user-agent: ") {
                value.clone_into(&mut agent);
            }
        }
        seen.lock().expect("no panic").push((Instant::now(), path.clone(), agent));
        let response = match path.as_str() {
            path if status == "moved" => {
                format!("HTTP/1.1 301 X\r\nlocation: http://{file}{path}\r\ncontent-length: 0\r\n\r\n")
            }
            path if path.starts_with("/to/") => {
                let to = &path[3..];
                format!("HTTP/1.1 302 X\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
            }
            path if path.starts_with("/away/") => {
                let to = &path[6..];
                format!("HTTP/1.1 302 X\r\nlocation: http://{to}\r\ncontent-length: 0\r\n\r\n")
            }
            path if path.starts_with("/far/") => {
                let (to, content) = (&path[5..], "moved ".repeat(4000));
                let length = content.len();
                format!("HTTP/1.1 302 X\r\nlocation: http://{to}\r\ncontent-length: {length}\r\n\r\n{content}")
            }
            "/large" => {
                let content = "x".repeat(100_000);
                format!("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{content}")
            }
            "/robots.txt" => {
                thread::sleep(Duration::from_millis(400));
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{file}", file.len())
            }
            "/named" => "HTTP/1.1 200 OK\r\nx-robots-tag: otherbot: noindex\r\nX-Robots-Tag: noai\r\ncontent-length: 0\r\n\r\n".into(),
            "/tagged" => "HTTP/1.1 200 OK\r\nx-robots-tag: nofollow\r\nX-Robots-Tag: noindex\r\ncontent-length: 0\r\n\r\n".into(),
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// The records of a run, by their paths.
#[track_caller]
fn records(options: &str, list: &str) -> BTreeMap<String, Value> {
    records_of(&options.split_whitespace().collect::<Vec<_>>(), list)
}

#[track_caller]
fn records_of(options: &[&str], list: &str) -> BTreeMap<String, Value> {
    let mut command = stoop("fetch -f jsonl --robots");
    command.args(options);
    let ran = run(command, list);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = String::from_utf8(ran.stdout).expect("text");
    let records = text.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let url = record["url"].as_str().expect("a text").to_owned();
        (url.splitn(4, '/').nth(3).unwrap_or_default().to_owned(), record)
    });
    records.collect()
}

#[test]
fn what_the_file_allows_is_fetched_and_the_file_once() {
    let file =
        "User-agent: other\nDisallow: /\n\nUser-agent: examplebot\nDisallow: /no\nAllow: /no/but\n";
    let site = Site::start([127, 0, 0, 1], "200 OK", file);
    let list = site.urls(&["/", "/no", "/no/but", "/no?x", "/yes?/no", "/tagged", "/robots.txt"]);
    let records = records("-A examplebot/2.0", &list);
    for path in ["", "no/but", "yes?/no", "tagged", "robots.txt"] {
        assert_eq!(records[path]["status"], 200, "{path}: {}", records[path]);
    }
    for path in ["no", "no?x"] {
        assert_eq!(records[path]["error_kind"], "robots_denied", "{path}: {}", records[path]);
        let text = "its robots.txt does not allow it to \"examplebot\"";
        assert_eq!(records[path]["error"], text);
    }
    assert_eq!(records["tagged"]["x_robots_tag"], "nofollow, noindex");
    let asked = ["/", "/no/but", "/robots.txt", "/robots.txt", "/tagged", "/yes?/no"];
    assert_eq!(site.paths(), asked, "once for all, and once as a job");
    assert!(
        site.seen.lock().expect("no panic").iter().all(|(_, _, agent)| agent == "examplebot/2.0")
    );
}

#[test]
fn many_askers_ask_once_for_each_origin_and_their_clocks_start_afterwards() {
    let sites = [2, 3].map(|n| Site::start([127, 0, 4, n], "404 Not Found", ""));
    let paths: Vec<_> = (0..50).map(|n| format!("/{n}")).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let list = sites[0].urls(&paths) + &sites[1].urls(&paths);
    let ran = run(stoop("fetch -f csv --robots -c 40 --summary none"), list);
    assert_eq!(ran.lines().len(), 100);
    assert!(ran.lines().iter().all(|line| line.code == "200" && line.duration_ms < 400));
    for site in sites {
        let asked = site.paths();
        let files = asked.iter().filter(|path| *path == "/robots.txt").count();
        assert_eq!((asked.len(), files), (51, 1));
    }
}

#[test]
fn a_site_that_cannot_say_what_it_allows_allows_nothing_and_one_that_is_gone_says_so() {
    for (status, why) in [
        ("503 Busy", "its robots.txt got the status 503, and so nothing may be fetched"),
        ("429 Busy", "its robots.txt got the status 429, and so nothing may be fetched"),
    ] {
        let site = Site::start([127, 0, 0, 1], status, "");
        let records = records("", &site.urls(&["/a", "/b"]));
        for record in records.values() {
            assert_eq!(
                (&record["error_kind"], &record["error"]),
                (&"robots_denied".into(), &why.into())
            );
        }
        assert_eq!(site.paths(), ["/robots.txt"]);
    }
    let records = records("", &format!("http://{}/a\n", refusing()));
    assert_eq!(records["a"]["error_kind"], "connect_refused");
}

#[test]
fn the_longest_body_that_is_read_is_no_limit_for_the_file() {
    let file = "User-agent: *\nDisallow: /no\n# and more\n";
    let site = Site::start([127, 0, 0, 1], "200 OK", file);
    let records = records("--max-body 10", &site.urls(&["/a", "/no"]));
    assert_eq!(records["a"]["status"], 200, "{records:?}");
    assert_eq!(records["no"]["error_kind"], "robots_denied", "{records:?}");
}

#[test]
fn a_crawl_delay_is_the_interval_of_its_host() {
    let site = Site::start([127, 0, 0, 1], "200 OK", "User-agent: *\nCrawl-delay: 0.5\n");
    let begun = Instant::now();
    let records = records("-c 8", &site.urls(&["/a", "/b", "/c", "/d"]));
    assert!(records.values().all(|record| record["status"] == 200));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let seen = site.seen.lock().expect("no panic");
    assert_eq!(seen[0].1, "/robots.txt");
    // A request may be slow to arrive, and the next in time.
    for (n, (at, ..)) in (0..).zip(&seen[1..]) {
        assert!(at.duration_since(begun) >= Duration::from_millis(500) * n, "{seen:?}");
    }
}

#[test]
fn a_program_without_a_name_is_told_to_have_one() {
    let ran = run(stoop("fetch --robots -A 5.0 http://127.0.0.1:1/"), "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--robots-agent"), "{}", ran.stderr);
}

#[test]
fn a_redirect_is_followed_only_to_what_the_file_there_allows() {
    // Both listen before either file is asked for.
    let denies = Site::start([127, 0, 5, 2], "200 OK", "User-agent: *\nDisallow: /no\n");
    let far = denies.address;
    let file = Box::leak(format!("User-agent: *\nDisallow: /here/no\n# {far}\n").into_boxed_str());
    let site = Site::start([127, 0, 5, 1], "200 OK", file);
    let list = site.urls(&["/to/here/yes", "/to/here/no"])
        + &format!("http://{0}/away/{far}/no\nhttp://{0}/away/{far}/yes\n", site.address);
    let records = records("--per-host 1", &list);
    assert_eq!(records["to/here/yes"]["status"], 200, "{records:?}");
    assert_eq!(records[&format!("away/{far}/yes")]["status"], 200, "{records:?}");
    for denied in ["to/here/no".to_owned(), format!("away/{far}/no")] {
        assert_eq!(records[&denied]["error_kind"], "robots_denied", "{denied}: {records:?}");
    }
    assert_eq!(denies.paths(), ["/robots.txt", "/yes"]);
    assert!(!site.paths().iter().any(|path| path == "/here/no"), "{:?}", site.paths());
    let files = site.paths().iter().filter(|path| *path == "/robots.txt").count();
    assert_eq!(files, 1);
}

/// The job began again with its first URL and another deadline, which was then asked for twice.
#[test]
fn a_redirect_waits_for_the_file_of_where_it_leads_and_its_clock_stands_still() {
    let sites = [1, 2, 3].map(|n| Site::start([127, 0, 78, n], "404 X", ""));
    let [first, second, third] = sites.each_ref().map(|site| site.address);
    let path = format!("away/{second}/away/{third}/yes");
    for method in ["GET", "POST"] {
        let job = format!("{{\"url\": \"http://{first}/{path}\", \"method\": \"{method}\"}}\n");
        // Each file takes 0.4 s.
        let records = records("--input-format jsonl -t 0.7", &job);
        let record = &records[&path];
        assert_eq!((&record["status"], &record["redirects"]), (&200.into(), &2.into()), "{record}");
        assert!(record["duration_us"].as_u64().is_some_and(|took| took < 400_000), "{record}");
    }
    let asked = sites.each_ref().map(Site::paths);
    assert_eq!(asked[2], ["/robots.txt", "/robots.txt", "/yes", "/yes"], "{asked:?}");
    assert!(asked.iter().all(|paths| paths.len() == 4), "{asked:?}");
}

#[test]
fn a_run_goes_on_with_the_same_robots_txt_alone() {
    let site = Site::start([127, 0, 81, 1], "404 X", "");
    let folder = std::env::temp_dir().join(format!("stoop-robots-run-{}", std::process::id()));
    let line = format!("fetch --summary none -f csv --run {0} -o {0}.csv", folder.display());
    let list = site.urls(&["/a"]);
    for (options, code, text) in [
        ("--robots", 0, ""),
        ("--robots", 0, ""),
        ("", 2, "began with --robots stoop, and not without"),
        ("--robots --robots-agent b", 2, "began with --robots stoop, and not b"),
    ] {
        let ran = run(stoop(&format!("{line} {options}")), &*list);
        assert_eq!(ran.code, Some(code), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(text), "{options}: {}", ran.stderr);
    }
    std::fs::remove_dir_all(&folder).expect("ours");
    std::fs::remove_file(folder.with_extension("csv")).expect("ours");
}

#[test]
fn answers_with_a_rule_of_x_robots_tag_are_passed_over() {
    let site = Site::start([127, 0, 80, 1], "404 X", "");
    let list = site.urls(&["/tagged", "/other", "/named"]);
    for (rules, written) in [
        ("noai", 2),
        ("noindex", 2),
        ("noai,noindex", 1),
        ("NOFOLLOW", 2),
        ("noarchive,noimageai", 3),
        ("noindex --robots-agent otherbot", 1),
    ] {
        let records = records(&format!("--skip-robots-tag {rules}"), &list);
        assert_eq!(records.len(), written, "{rules}: {records:?}");
    }
}

#[test]
fn a_redirect_that_the_file_there_denies_is_told_by_where_it_leads() {
    let far = Site::start([127, 0, 79, 1], "200 OK", "User-agent: *\nDisallow: /\n");
    let site = Site::start([127, 0, 79, 2], "404 X", "");
    let to = format!("http://{}/no", far.address);
    let path = format!("away/{}/no", far.address);
    let record = &records("", &site.urls(&[&format!("/{path}")]))[&path];
    assert_eq!(record["error_kind"], "robots_denied", "{record}");
    assert_eq!(
        (&record["location"], &record["status"]),
        (&to.as_str().into(), &302.into()),
        "{record}"
    );
    let error = record["error"].as_str().expect("a text");
    let denied = "the redirect may not be followed: where it leads: its robots.txt does not allow";
    assert!(error.starts_with(denied), "{error}");
    // The same as of a redirect whose target was known to be denied.
    let list = site.urls(&[&format!("/{path}"), &format!("/{path}?2")]);
    let both = records("--per-host 1", &list);
    assert_eq!(both.len(), 2, "{both:?}");
    for (path, record) in &both {
        let url = format!("http://{}/{path}", site.address);
        assert_eq!(record["final_url"], url, "{record}");
        assert_eq!(record["redirects"], 0, "{record}");
        assert!(record["error"].as_str().is_some_and(|it| it.starts_with(denied)), "{record}");
    }
}

/// All permits were held for as long as the dead site was waited for, and again for the next ones.
#[test]
fn redirects_to_a_site_that_gives_no_response_hold_up_no_others() {
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.86.1:0").expect("a free port");
    let far = silent.local_addr().expect("bound");
    let sites: Vec<_> = (2..34).map(|n| Site::start([127, 0, 86, n], "404 X", "")).collect();
    let away = format!("/away/{far}/a");
    let list: String = sites.iter().map(|site| site.urls(&[&away])).collect();
    let others: String = sites.iter().map(|site| site.urls(&["/b"])).collect();
    let mut command = stoop("fetch -f csv --robots -c 8 -t 4 --host-outage-max 1 --summary none");
    command.arg("--no-progress");
    let ran = run(command, list + &others);
    let lines = ran.lines();
    let codes: Vec<_> = lines.iter().map(|line| line.code.as_str()).collect();
    let first = codes.iter().position(|code| *code != "200").expect("some that fail");
    assert!(codes[first..].iter().all(|code| *code != "200"), "{codes:?}");
    let count = |code: &str| codes.iter().filter(|it| **it == code).count();
    let counts = [count("200"), count("robots_denied"), count("host_suspended")];
    // 20 may fail in turn.
    assert!(counts[0] == 32 && counts[1] >= 20 && counts[2] > 0, "{codes:?}");
    assert_eq!(counts.iter().sum::<usize>(), 64, "{codes:?}");
}

#[test]
fn the_file_is_asked_for_by_the_name_in_a_header_and_behind_redirects_that_are_not_followed_otherwise()
 {
    let file = "User-agent: mybot\nDisallow: /\n";
    let site = Site::start([127, 0, 0, 1], "200 OK", file);
    let records = records_of(&["-H", "User-Agent: mybot/1.0"], &site.urls(&["/a"]));
    assert_eq!(records["a"]["error_kind"], "robots_denied", "{records:?}");
    // A site that moves all to another, as http does to https.
    let moved =
        Site::start([127, 0, 0, 1], "moved", Box::leak(site.address.to_string().into_boxed_str()));
    let records = records_of(&["--max-redirects", "0", "-A", "mybot/1"], &moved.urls(&["/a"]));
    assert_eq!(records["a"]["error_kind"], "robots_denied", "{records:?}");
}

#[test]
fn a_site_that_gives_no_response_is_not_asked_for_each_url() {
    let begun = Instant::now();
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let list: String =
        (0..50).map(|n| format!("http://{}/{n}\n", silent.local_addr().expect("bound"))).collect();
    let records = records("-t 0.5 --host-outage-max 0", &list);
    assert_eq!(records.len(), 50);
    let of = |kind: &str| records.values().filter(|record| record["error_kind"] == kind).count();
    // As many as may fail in turn; the others are not tried.
    assert_eq!([of("total_timeout"), of("host_suspended")], [20, 30]);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_origin_that_all_workers_come_to_is_asked_once() {
    let far = Site::start([127, 0, 6, 1], "200 OK", "User-agent: *\nDisallow: /no\n");
    // Names of the same machine, whose hosts go to both workers, and which are asked once themselves.
    let sites: Vec<_> = (2..12).map(|n| Site::start([127, 0, 6, n], "404 X", "")).collect();
    let path = format!("/away/{}/yes", far.address);
    let list: String = sites.iter().map(|site| site.urls(&[&path, "/here"])).collect();
    let list = list + &far.urls(&["/direct", "/no"]);
    let ran = run(stoop("fetch -f csv --robots --cores 2 --summary none"), list);
    let codes = ran.codes();
    assert_eq!(codes.len(), 22, "{}", ran.stderr);
    let denied = codes.iter().filter(|(_, code)| code == "robots_denied").count();
    let fetched = codes.iter().filter(|(_, code)| code == "200").count();
    assert_eq!((denied, fetched), (1, 21), "{codes:?}");
    for site in sites.iter().chain([&far]) {
        let files = site.paths().iter().filter(|path| *path == "/robots.txt").count();
        assert_eq!(files, 1, "{:?}", site.paths());
    }
}

/// It kept that memory while robots.txt of where it leads was asked for, and with it the place of the one content that may
/// take more than there is: what came next waited for it for ever.
#[test]
fn a_redirect_gives_the_memory_of_its_content_back_before_it_waits() {
    let [from, to] = [1, 2].map(|n| Site::start([127, 0, 77, n], "404 X", ""));
    let list =
        from.urls(&[&format!("/far/{}/large", to.address), "/large"]) + &to.urls(&["/large"]);
    let options = "fetch -f warc --robots -c 1 --content-memory 4KiB --duration 30 --summary json";
    let ran = run(stoop(options), &*list);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let summary: Value = serde_json::from_str(&ran.stderr).expect("JSON");
    assert_eq!((&summary["totalUrls"], &summary["2xx"]), (&3.into(), &3.into()), "{summary}");
}
