//! The example's page in a browser: Chromium, over HTTP/1.1 and over HTTP/2 with TLS.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use stoop::Server;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::application;

/// What the page says when all is well, but for the version.
const LINES: [&str; 5] = [
    "json: done: Hello, Ada!",
    "events: done: event 1, event 2, event 3",
    "websocket: done: to and fro, closed 1000",
    "upload: done: zeros.bin, 3000000 bytes",
    "media: done: at 1.5 of 2 s",
];

/// A folder of this test's own, which is gone when it ends.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The application, and what its page reports.
fn reported(media: &Folder) -> (Router, mpsc::UnboundedReceiver<String>) {
    std::fs::write(media.0.join("tone.wav"), application::tone()).unwrap();
    let (told, reports) = mpsc::unbounded_channel();
    let report = |body: String| async move { told.send(body).unwrap() };
    (application::application(&media.0).route("/report", post(report)), reports)
}

/// A browser without a window that opens `url`, if there is one.
fn browser(folder: &Folder, url: &str) -> Option<Child> {
    let started = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--mute-audio"])
        .arg("--ignore-certificate-errors")
        .arg("--autoplay-policy=no-user-gesture-required")
        .arg(format!("--user-data-dir={}", folder.0.display()))
        // Keeps it open: the results come by themselves.
        .arg("--remote-debugging-port=0")
        .arg(url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    match started {
        Ok(child) => Some(child),
        Err(error) => {
            super::skip("browser", &format!("needs chromium: {error}"));
            None
        }
    }
}

async fn check(
    port: u16,
    scheme: &str,
    version: &str,
    mut reports: mpsc::UnboundedReceiver<String>,
) {
    let profile = Folder::new(&format!("chromium-{version}"));
    let url = format!("{scheme}://localhost:{port}/?report=/report");
    let Some(mut child) = browser(&profile, &url) else { return };
    let report = timeout(Duration::from_secs(60), reports.recv()).await;
    let _ = child.kill().await;
    let report = report.expect("the page reports").unwrap();
    let version = format!("version: done: {version}");
    let expected: Vec<&str> = LINES.into_iter().chain([version.as_str()]).collect();
    assert_eq!(report.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_well_over_http1() {
    let media = Folder::new("media-http1");
    let (app, reports) = reported(&media);
    let server = super::listen(app);
    check(server.port(), "http", "http/1.1", reports).await;
}

/// Its WebSocket is a stream of the connection that the page came over (RFC 8441).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_well_over_http2() {
    let media = Folder::new("media-http2");
    let (app, reports) = reported(&media);
    let (tls, _) = super::certificate();
    let server = Server::listen("https://127.0.0.1:0").unwrap().tls(tls);
    let server = server.limits(stoop_axum::server_limits());
    let server = server.run_here(stoop_axum::handler(app)).unwrap();
    check(server.port(), "https", "h2", reports).await;
}
