//! Runs that are killed and go on, whose lists are no lines of a file, or whose jobs need more than a request.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::Ordering::SeqCst;

use serde_json::Value;

use crate::resume::{LoggingServer, Runs, assert_each_once, times, urls_of_csv, urls_of_json};
use crate::stoop::{finish, lines};

/// An index of these sitemaps.
fn index(server: &LoggingServer, names: &[&str]) -> String {
    let entries = names.iter().map(|name| {
        let url = server.url(&format!("/{name}.xml"));
        format!("<sitemap><loc>{url}</loc></sitemap>")
    });
    format!("<sitemapindex>{}</sitemapindex>", entries.collect::<String>())
}

/// It spoke of --no-body, which was not typed.
#[test]
fn a_run_that_goes_on_with_other_options_names_the_one_that_was_typed() {
    let server = LoggingServer::start();
    let runs = Runs::new("typed", &server.urls(3), "-f jsonl -o out.jsonl");
    runs.finish("");
    for (options, expected) in
        [("--save pages", "--save"), ("--no-content", "--no-content"), ("--head", "--head")]
    {
        let ran = finish(runs.command(options).spawn().expect("it runs"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(expected) && !ran.stderr.contains("--no-body"),
            "{}",
            ran.stderr
        );
    }
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

#[test]
fn a_list_may_be_standard_input() {
    let server = LoggingServer::start();
    let urls = server.urls(300);
    let mut runs = Runs::new("stdin", &urls, "-f csv -o out.csv");
    runs.has_stdin = true;
    for time in times(21).take(4) {
        runs.start_and_kill(time);
    }
    runs.finish("");
    assert_each_once(urls_of_csv(&runs.path("out.csv")), &urls);
}

#[test]
fn a_list_may_be_a_table_or_json_lines_with_columns_of_their_own() {
    let server = LoggingServer::start();
    let urls = server.urls(300);
    let csv = urls.iter().enumerate().map(|(n, url)| format!("{n},\"a, {n}\",{url}"));
    let csv: Vec<_> = std::iter::once("name,title,link".to_owned()).chain(csv).collect();
    let json = urls
        .iter()
        .enumerate()
        .map(|(n, url)| format!(r#"{{"name":"{n}","title":"a, {n}","link":"{url}"}}"#));
    for (format, list, seed) in [("csv", csv, 31), ("jsonl", json.collect(), 32)] {
        let options = format!(
            "--input-format {format} --url-column link --id-column name --keep-columns -f jsonl -o out.jsonl"
        );
        let runs = Runs::new(&format!("columns-{format}"), &list, &options);
        for time in times(seed).take(4) {
            runs.start_and_kill(time);
        }
        runs.finish("");
        let text = fs::read(runs.path("out.jsonl")).expect("written");
        assert_each_once(urls_of_json(&text), &urls);
        for line in String::from_utf8(text).expect("text").lines() {
            let record: Value = serde_json::from_str(line).expect("JSON");
            let n = record["id"].as_str().expect("an id");
            assert_eq!(record["url"], server.url(&format!("/{n}")));
            assert_eq!(record["meta"]["title"], format!("a, {n}"));
        }
        // A value of a row that is another now is noticed as well.
        let changed: Vec<_> = list.iter().map(|line| line.replace("a, 5\"", "b, 5\"")).collect();
        runs.write_list(&changed);
        let ran = finish(runs.command("").spawn().expect("it runs"));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains("URL number 6, "), "{}", ran.stderr);
    }
}

#[test]
fn what_robots_txt_denies_is_told_once_as_what_it_allows_is_fetched_once() {
    let server = LoggingServer::start();
    let urls = server.urls(300);
    let runs = Runs::new("robots", &urls, "--robots -f csv -o out.csv");
    for time in times(41).take(4) {
        runs.start_and_kill(time);
    }
    runs.finish("");
    assert_each_once(urls_of_csv(&runs.path("out.csv")), &urls);
    for line in lines(&fs::read(runs.path("out.csv")).expect("written")) {
        let url = String::from_utf8(line.url).expect("text");
        let is_denied = url.rsplit('/').next().is_some_and(|path| path.starts_with('1'));
        assert_eq!(line.code, if is_denied { "robots_denied" } else { "200" }, "{url}");
    }
    assert!(!server.asked().iter().any(|path| path.starts_with("/1")));
}

#[test]
fn what_is_saved_is_there_for_each_url_once() {
    let server = LoggingServer::start();
    let urls = server.urls(300);
    let runs = Runs::new("save", &urls, "--save bodies -f jsonl -o out.jsonl");
    for time in times(51).take(5) {
        runs.start_and_kill(time);
    }
    runs.finish("");
    let text = fs::read_to_string(runs.path("out.jsonl")).expect("written");
    assert_each_once(urls_of_json(text.as_bytes()), &urls);
    let mut saved = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let name = record["saved"].as_str().expect("a file").to_owned();
        let path = record["url"].as_str().expect("text").replace(&server.url(""), "");
        let content = fs::read_to_string(runs.path("bodies").join(&name)).expect("written");
        assert_eq!(content, format!("page {path}\n").repeat(20));
        assert_eq!(saved.insert(name.clone(), path), None, "{name} has the content of one URL");
    }
    // There is nothing but what records name, and what a process that was killed had written half.
    let mut found = Vec::new();
    let mut folders = vec![runs.path("bodies")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path().is_dir() {
                true if entry.file_name() != ".partial" => folders.push(entry.path()),
                true => {}
                false => found.push(entry.path()),
            }
        }
    }
    assert_eq!(found.len(), saved.len(), "{found:?}");
}
