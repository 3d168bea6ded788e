//! `--report`: the page, as it is written and as Chromium shows it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::server::{Server, refusing};
use crate::stoop::{CommandResult, feed, finish, kill, run, skip, stoop, wait_for};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-page-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("writable");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let all = fs::read_dir(&self.0).expect("readable").flatten();
        let mut names: Vec<_> =
            all.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What would be markup, if it were not text.
const MARKUP: &str = "<img/src=x/onerror=document.title='broken'>";

fn list(server: &Server) -> String {
    let mut list: String = (0..60).map(|n| server.url(&format!("/ok/{n}?{n}")) + "\n").collect();
    for path in ["/status/404", "/status/503", "/close", "/delay/30", &format!("/short?{MARKUP}")] {
        list += &(server.url(path) + "\n");
    }
    list + &format!("http://{}/{MARKUP}\n{MARKUP}\nhttp://{MARKUP}/\n", refusing())
}

#[track_caller]
fn report(folder: &Folder, options: &str, list: String) -> (CommandResult, String) {
    let path = folder.0.join("report.html");
    let ran = run(stoop(&format!("fetch -c 4 --report {} {options}", path.display())), list);
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (ran, page)
}

/// The page as Chromium has it after a second, and what it said of it; none where there is no Chromium.
fn shown(page: &Path, profile: &Path) -> Option<(String, String)> {
    let started = Command::new("timeout")
        .args(["60", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--enable-logging=stderr", "--virtual-time-budget=1000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output();
    match started {
        // What `timeout` answers if there is no such program.
        Ok(output) if output.status.code() != Some(127) => Some((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
        _ => {
            skip("page", "needs chromium");
            None
        }
    }
}

const TITLES: [&str; 7] = [
    "Time of each phase",
    "Statuses over time",
    "Rate over time",
    "Answers by status",
    "Errors by kind",
    "Hosts with most failures",
    "Slowest hosts",
];

#[test]
fn the_page_is_one_file_that_has_all_it_shows() {
    let (server, folder) = (Server::start(), Folder::new("whole"));
    let (ran, page) = report(&folder, "--summary none", list(&server));
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 68), "{}", ran.stderr);
    assert_eq!(folder.names(), ["report.html"]);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("default-src 'none'"), "nothing may be fetched");
    for fetched in ["<script", " src=", "<link rel=\"stylesheet", "url(", "@import", "xlink"] {
        assert!(!page.contains(fetched), "{fetched} in {page}");
    }
    assert_eq!(page.matches(" href=").count(), 1);
    assert!(page.contains("href=\"data:,\""));
    for title in TITLES {
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    assert!(page.contains("<th scope=\"row\">URLs</th><td>68</td>"), "{page}");
    assert!(page.contains("<th scope=\"row\">404</th><td>1</td>"), "{page}");
    assert!(page.contains("<th scope=\"row\">connect_refused</th><td>1</td>"), "{page}");
    let row = "<th scope=\"row\">127.0.0.1</th><td>65</td><td>1</td><td>1</td><td>2</td>\
               <td>closed_early</td>";
    assert!(page.contains(row), "{page}");
    let row = "<td>1</td><td>0</td><td>0</td><td>1</td><td>connect_refused</td>";
    assert!(page.contains(row), "{page}");
    assert!(!page.contains("<img") && page.contains("&lt;img"), "{page}");
    assert!(!page.contains("The run ended early"), "{page}");
}

#[test]
fn chromium_shows_the_plots_and_finds_nothing_wrong() {
    let (server, folder) = (Server::start(), Folder::new("shown"));
    let (_, written) = report(&folder, "--summary none", list(&server));
    let Some((page, messages)) = shown(&folder.0.join("report.html"), &folder.0.join("profile"))
    else {
        return;
    };
    // What the policy of the page keeps from being fetched or run would be told there.
    let console: Vec<_> = messages.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    assert_eq!(page.matches("<svg ").count(), TITLES.len(), "{page}");
    for title in TITLES {
        assert!(page.contains(&format!("-title\">{title}</title>")), "{title} in {page}");
    }
    assert_eq!(page.matches("role=\"img\"").count(), TITLES.len());
    assert_eq!(page.matches("<caption>").count(), TITLES.len() + 1, "a table beside each plot");
    assert!(page.matches("<rect ").count() > 20 && page.contains("<polyline "), "{page}");
    assert!(!page.contains("<img") && !page.contains("broken</title>"), "{page}");
    assert!(page.contains("<title>stoop fetch: report of 2"), "{page}");
    assert_eq!(page.matches("<rect ").count(), written.matches("<rect ").count());
}

#[test]
fn a_run_that_a_signal_ends_has_a_page_that_says_so() {
    let (server, folder) = (Server::start(), Folder::new("signal"));
    let path = folder.0.join("report.html");
    fs::write(&path, "before").expect("writable");
    let options = format!("fetch -c 32 -t 30 --summary none --report {}", path.display());
    let mut child = stoop(&options).spawn().expect("it runs");
    let list = (0..3000).map(|n| {
        let kind = if n % 2 == 0 { "/hang" } else { "/delay/20" };
        server.url(&format!("{kind}?{n}")) + "\n"
    });
    feed(&mut child, list.collect::<String>());
    wait_for("requests", || server.requests() > 60);
    assert_eq!(fs::read_to_string(&path).expect("there"), "before", "until all is known");
    kill(&child, "-INT");
    let ran = finish(child);
    assert_eq!(ran.code, Some(130));
    let page = fs::read_to_string(&path).expect("there");
    let told = "<strong>The run ended early</strong>: by a signal, SIGINT.";
    assert!(page.contains(told), "{page}");
    assert!(page.contains("<th scope=\"row\">cancelled</th>"), "{page}");
    assert_eq!(folder.names(), ["report.html"]);
}

#[test]
fn a_run_that_duration_ends_has_a_page_that_says_so() {
    let (server, folder) = (Server::start(), Folder::new("duration"));
    let list = server.url("/hang") + "\n";
    let (ran, page) = report(&folder, "-t 30 --duration 0.2 --summary none", list);
    assert_eq!(ran.code, Some(0));
    assert!(page.contains(": the time of --duration was over."), "{page}");
}

#[test]
fn a_page_that_cannot_be_written_is_known_before_anything_is_fetched() {
    let (server, folder) = (Server::start(), Folder::new("nowhere"));
    let list = folder.0.join("list");
    fs::write(&list, server.url("/ok/1")).expect("writable");
    let (list, answers) = (list.display(), folder.0.join("answers.csv"));
    let missing = folder.0.join("no/report.html");
    for (path, code, told) in [
        (missing.display().to_string(), 3, "cannot write the report"),
        (folder.0.display().to_string(), 3, "cannot write the report"),
        (list.to_string(), 2, "are the same file"),
        (answers.display().to_string(), 2, "are the same file"),
    ] {
        let options = format!("fetch -i {list} -o {} --report {path}", answers.display());
        let ran = run(stoop(&options), "");
        assert_eq!(ran.code, Some(code), "{path}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{path}: {}", ran.stderr);
    }
    assert_eq!(server.requests(), 0);
    assert_eq!(folder.names(), ["list"]);
}

/// A full disk is known at the end.
#[test]
fn a_page_that_has_no_room_is_told_by_its_path() {
    let server = Server::start();
    let ran = run(stoop(&format!("fetch {} --report /dev/full", server.url("/ok/1"))), "");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("cannot write the report /dev/full: "), "{}", ran.stderr);
}

#[test]
fn the_long_summary_tells_it_as_text() {
    let (server, folder) = (Server::start(), Folder::new("text"));
    let (ran, _) = report(&folder, "--summary full", list(&server));
    for told in [
        "│ totalUrls │",
        "waiting for the answer ",
        "      61  with status 200",
        "hosts with most failures:\n       4  127.0.0.1: of 65 URLs, 1 4xx, 1 5xx, 2 without an answer; \
         mostly closed_early\n",
        "slowest hosts, mean time:\n",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}
