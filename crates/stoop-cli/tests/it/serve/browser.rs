//! What it serves in a browser: Chromium shows a listing, an application with routes, and a video that is sought in.

use std::fs::File;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::{Folder, Served};
use crate::stoop::skip;

/// How long a browser may take to report.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names that would be something else in a page or a URL, if they were not written as names.
const NAMES: [&str; 9] = [
    "a & b.txt",
    "\"quoted\" 'twice'",
    "<img src=x onerror=document.title='broken'>",
    "line\nbreak\u{1}",
    "100%41.txt",
    "javascript:alert(1)",
    "what?#where;",
    "äö\u{202e}txt",
    "back\\slash",
];

/// A profile of the browser's own, which is gone when the test ends.
struct Profile(PathBuf);

impl Profile {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("stoop-chromium-{}-{name}", std::process::id())))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A browser without a window, to be told what to open.
fn chromium(profile: &Profile) -> Command {
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--mute-audio"])
        .arg(format!("--user-data-dir={}", profile.0.display()))
        .stdin(Stdio::null());
    command
}

/// A browser that is ended with the test.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_listing_shows_names_as_they_are() {
    let files: Vec<_> = NAMES.iter().map(|name| (*name, "")).collect();
    let site = Folder::new(&files);
    let served = Served::start(&site, "--listing");
    let profile = Profile::new("listing");
    let shown = chromium(&profile)
        .args(["--enable-logging=stderr", "--virtual-time-budget=1000", "--timeout=60000"])
        .args(["--dump-dom", &format!("http://{}/", served.authority)])
        .output();
    let Ok(shown) = shown else { return skip("serve::browser", "needs chromium") };
    let (page, messages) =
        (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    let console: Vec<_> = messages.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    assert!(page.contains("<title>/</title>") && !page.contains("<img"), "{page}");
    assert!(page.contains(">&lt;img src=x onerror=document.title='broken'&gt;</a>"), "{page}");
    assert_eq!(page.matches("<a href=").count(), NAMES.len(), "{page}");
}

/// The application asks for what a browser asks for, and for a path that tells how that went.
const APPLICATION: &str = r#"
const told = {route: location.pathname};
const sought = (url, to) => new Promise((done, failed) => {
    const media = document.querySelector("video");
    const late = setTimeout(() => failed(new Error("it has no metadata")), 30000);
    media.onerror = () => failed(new Error(media.error.message));
    media.onloadedmetadata = () => { media.currentTime = to; };
    media.onseeked = () => { clearTimeout(late); done(media.currentTime + "s/" + media.duration + "s"); };
    media.src = url;
});
const links = async () => {
    const page = await (await fetch("/names/", {headers: {accept: "text/html"}})).text();
    const all = [...new DOMParser().parseFromString(page, "text/html").querySelectorAll("td a")];
    let right = 0;
    for (const link of all.slice(1)) {
        const url = new URL(link.getAttribute("href"), location.origin + "/names/");
        const response = await fetch(url);
        right += response.ok && await response.text() === link.textContent ? 1 : 0;
    }
    return right + "/" + (all.length - 1);
};
(async () => {
    try {
        told.script = (await fetch("/missing.js")).status;
        told.page = await (await fetch("/a/b", {headers: {accept: "text/html"}})).text() ===
            await (await fetch("/")).text();
        told.links = await links();
        told.video = await sought("/silence.wav", 160);
    } catch (error) {
        told.error = error.message;
    }
    fetch("/told?" + new URLSearchParams(told));
})();
"#;

const PAGE: &str = "<!DOCTYPE html><title>routes</title><video preload=auto></video><script src=/application.js></script>";

/// 170 s of silence: so long that a browser does not load all of it to go to its end.
fn silence(site: &Folder) {
    const BYTES_PER_SECOND: u32 = 44_100 * 2 * 2;
    let data = 170 * BYTES_PER_SECOND;
    let mut file = File::create(site.path().join("silence.wav")).unwrap();
    let mut head = Vec::new();
    head.extend(b"RIFF");
    head.extend((data + 36).to_le_bytes());
    head.extend(b"WAVEfmt ");
    head.extend([16, 0, 0, 0, 1, 0, 2, 0]);
    head.extend(44_100_u32.to_le_bytes());
    head.extend(BYTES_PER_SECOND.to_le_bytes());
    head.extend([4, 0, 16, 0]);
    head.extend(b"data");
    head.extend(data.to_le_bytes());
    file.write_all(&head).unwrap();
    file.set_len(u64::from(data) + 44).unwrap();
}

/// The lines of the log up to one with that text. A server that logs none in time is ended.
fn log_until(served: &mut Served, text: &str) -> Vec<String> {
    let (process, (done, waits)) = (served.child.id().to_string(), channel::<()>());
    let watch = std::thread::spawn(move || {
        if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &process]).status();
        }
    });
    let mut log = Vec::new();
    for line in (&mut served.output).lines().map_while(Result::ok) {
        let is_last = line.contains(text);
        log.push(line);
        if is_last {
            drop(done);
            watch.join().unwrap();
            return log;
        }
    }
    panic!("it does not report: {log:#?}");
}

#[test]
fn an_application_with_routes_links_and_a_video_works() {
    let site = Folder::new(&[("index.html", PAGE), ("application.js", APPLICATION)]);
    NAMES.iter().for_each(|name| site.write(&format!("names/{name}"), name));
    silence(&site);
    let mut served = Served::start(&site, "--spa --listing --access-log common");
    let profile = Profile::new("application");
    let browser = chromium(&profile)
        // Keeps it open.
        .arg("--remote-debugging-port=0")
        .arg(format!("http://{}/users/7", served.authority))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(browser) = browser else { return skip("serve::browser", "needs chromium") };
    let browser = Browser(browser);
    let log = log_until(&mut served, "\"GET /told?");
    drop(browser);
    let count = NAMES.len();
    let expected = format!(
        "/told?route=%2Fusers%2F7&script=404&page=true&links={count}%2F{count}&video=160s%2F170s "
    );
    let told = log.last().unwrap();
    assert!(told.contains(&expected), "{told}");
    let is_part = |line: &&String| line.contains("\"GET /silence.wav HTTP/1.1\" 206 ");
    assert!(log.iter().filter(is_part).count() > 0, "{log:#?}");
}
