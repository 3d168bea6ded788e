//! Runs that are killed and go on, whose lists are no lines of a file, or whose jobs need more than a request.

use std::fs;
use std::sync::atomic::Ordering::SeqCst;

use crate::resume::{LoggingServer, Runs, times};
use crate::stoop::lines;

/// An index of these sitemaps.
fn index(server: &LoggingServer, names: &[&str]) -> String {
    let entries = names.iter().map(|name| {
        let url = server.url(&format!("/{name}.xml"));
        format!("<sitemap><loc>{url}</loc></sitemap>")
    });
    format!("<sitemapindex>{}</sitemapindex>", entries.collect::<String>())
}

#[test]
fn pages_of_nested_sitemaps_are_fetched_once_and_one_that_failed_is_tried_again() {
    let server = LoggingServer::start();
    server.is_ill.store(true, SeqCst);
    let names = ["a", "ill", "b", "c"];
    let runs =
        Runs::new("nested", &[index(&server, &names)], "--input-format sitemap -f csv -o out.csv");
    for time in times(11).take(6) {
        runs.start_and_kill(time);
    }
    runs.finish("");
    let codes = || {
        let lines = lines(&fs::read(runs.path("out.csv")).expect("written"));
        let text = |url: Vec<u8>| String::from_utf8(url).expect("text");
        let mut codes: Vec<_> = lines.into_iter().map(|line| (text(line.url), line.code)).collect();
        codes.sort();
        codes
    };
    let failed = server.url("/ill.xml");
    let mut expected: Vec<_> = ["/a", "/b", "/c"]
        .iter()
        .flat_map(|name| server.pages(name))
        .map(|url| {
            let code = if url.ends_with('3') { "503" } else { "200" };
            (url, code.to_owned())
        })
        .collect();
    expected.push((failed.clone(), "invalid_job".to_owned()));
    expected.sort();
    assert_eq!(codes(), expected);
    // While it fails, nothing is new.
    runs.finish("");
    assert_eq!(codes(), expected);
    server.is_ill.store(false, SeqCst);
    for time in times(12).take(3) {
        runs.start_and_kill(time);
    }
    runs.finish("");
    expected.extend(server.pages("/ill").into_iter().map(|url| (url, "200".to_owned())));
    expected.sort();
    assert_eq!(codes(), expected);
    let asked = server.asked();
    let count = |path: &str| asked.iter().filter(|asked| *asked == path).count();
    // A process that is killed while it fetches one has no copy of it yet.
    for path in ["/a.xml", "/b.xml", "/c.xml"] {
        assert!((1..=7).contains(&count(path)), "{path}: {}", count(path));
    }
    let before = count("/ill.xml");
    runs.finish("");
    let asked = server.asked();
    assert_eq!(asked.iter().filter(|asked| *asked == "/ill.xml").count(), before);
    // What the sites say now is no matter.
    let grown = index(&server, &["a", "ill", "b", "c", "d"]);
    runs.write_list(&[grown]);
    runs.finish("");
    expected.extend(server.pages("/d").into_iter().map(|url| (url, "200".to_owned())));
    expected.sort();
    assert_eq!(codes(), expected);
}
