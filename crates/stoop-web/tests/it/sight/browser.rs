//! The page in a browser: Chromium.

use std::process::{Command, Stdio};

use stoop::{Server, StatusCode, Versions};
use stoop_web::{Path, Router, Sight, StatusPage, get};

use super::page::raw;
use super::{serve, within};
use crate::kit;

/// The page as it is after some seconds, and what the browser told of it; `None` without a browser.
fn shown(url: &str) -> Option<(String, String)> {
    let profile = std::env::temp_dir().join(format!("stoop-status-{}", std::process::id()));
    let started = Command::new("timeout")
        .args(["60", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", url])
        .stdin(Stdio::null())
        .output();
    let _ = std::fs::remove_dir_all(&profile);
    // What `timeout` answers if there is no such program.
    match started {
        Ok(output) if output.status.code() != Some(127) => Some((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
        _ => {
            kit::skip("browser", "needs chromium");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_shows_figures_and_finds_nothing_wrong() {
    let sight = Sight::new().memory(|| 3 << 20);
    // Names that would be markup if they were not text.
    let pattern = "/users/{<img src=x onerror=document.title='broken'>}";
    let missing = |Path(_): Path<String>| (StatusCode::NOT_FOUND, "none");
    let (server, client) =
        serve(Router::new().route(pattern, get(missing)), &sight, Versions::Http1);
    sight.add_server(&server);
    for _ in 0..3 {
        let url = format!("{}/users/7", server.endpoint());
        client.get(url).await.unwrap().text().await.unwrap();
    }
    let path = "/<img/src=x/onerror=document.title='broken'>";
    assert!(within(raw(server.port(), path)).await.starts_with("HTTP/1.1 404 "));
    let page = StatusPage::new(&sight).title("<i>orders</i>");
    let app = Router::new().route("/status", get(page.endpoint())).build().unwrap();
    let inside = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
    let url = format!("{}/status", inside.endpoint());
    let shown = tokio::task::spawn_blocking(move || shown(&url)).await.unwrap();
    drop(client);
    for server in [server, inside] {
        within(server.close()).await;
    }
    let Some((page, messages)) = shown else { return };
    let console: Vec<_> = messages.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    for expected in [
        "<title>&lt;i&gt;orders&lt;/i&gt;</title>",
        "role=\"status\" class=\"live\">live<",
        "<th scope=\"row\">/users/{&lt;img src=x onerror=document.title='broken'&gt;}</th><td>3</td>",
        "<th scope=\"row\">GET /users/7</th><td>404</td>",
        "<th scope=\"row\">GET /&lt;img/src=x/onerror=document.title='broken'&gt;</th><td>404</td>",
        "3.0 MiB",
        "<span id=\"connections\">1</span>",
        "<th scope=\"row\">accepted</th><td>2</td>",
    ] {
        assert!(page.contains(expected), "{expected} in {page}");
    }
    assert!(!page.contains("<img"), "{page}");
}
