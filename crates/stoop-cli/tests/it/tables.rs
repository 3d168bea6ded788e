//! Lists that are tables, sitemaps, and JSON lines with names of their own; lists in parts for several runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::{Value, json};

use crate::echo::EchoServer;
use crate::stoop::{CommandResult, run, stoop};

/// A file that is removed with the value.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Relaxed);
        let name = format!("stoop-tables-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("writable");
        Self(path)
    }

    /// A run that reads it.
    fn fetch(&self, options: &str) -> CommandResult {
        let path = self.0.display();
        run(stoop(&format!("fetch -i {path} -c 1 --summary none {options}")), "")
    }

    /// The records of such a run, which succeeds.
    #[track_caller]
    fn records(&self, options: &str) -> Vec<Value> {
        let ran = self.fetch(&format!("-f jsonl {options}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        records(&ran)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn records(ran: &CommandResult) -> Vec<Value> {
    let text = std::str::from_utf8(&ran.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn of(records: &[Value], name: &str) -> Vec<Value> {
    records.iter().map(|record| record[name].clone()).collect()
}

#[test]
fn a_table_is_fetched_by_its_columns() {
    let server = EchoServer::start();
    let url = format!("http://{}", server.address);
    let table = format!("id,link,title\n7,{url}/a,\"A, \"\"a\"\"\"\n8,{url}/b,\n9\n");
    let file = TestFile::new("pages.csv", &table);
    let seen = file.records("--url-column link --keep-columns");
    assert_eq!(of(&seen, "id"), ["7".into(), "8".into(), Value::Null]);
    assert_eq!(
        of(&seen, "meta"),
        [json!({"title": "A, \"a\""}), json!({"title": ""}), Value::Null]
    );
    assert_eq!(of(&seen, "status"), [json!(200), json!(200), Value::Null]);
    assert_eq!(seen[2]["error_kind"], "invalid_job");
    assert_eq!(seen[2]["error"], "row 4 of the input (line 4): 1 field, where the header has 3");
    let lines: Vec<_> = server.take_seen().into_iter().map(|request| request.line).collect();
    assert_eq!(lines, ["GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
    // The same with tabs, semicolons, and without a header.
    let file = TestFile::new("pages.tsv", format!("link\tid\n{url}/c\t1\n"));
    assert_eq!(of(&file.records("--url-column link"), "id"), ["1"]);
    let file = TestFile::new("pages", format!("1;{url}/d\n2;{url}/e\n"));
    let options =
        "--input-format csv --delimiter semicolon --no-header --url-column 2 --id-column 1";
    assert_eq!(of(&file.records(options), "id"), ["1", "2"]);
}

#[test]
fn a_column_that_is_not_there_is_a_mistake_and_nothing_is_fetched() {
    let file = TestFile::new("pages.csv", "links,title\nhttp://127.0.0.1:1/,x\n");
    let ran = file.fetch("--url-column link");
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
    let expected = ": there is no column \"link\": they are \"links\", \"title\"; did you mean \"links\"? \
        (--url-column and --id-column name others; --no-header if the first row is none; \
        --input-format lines for a list of one URL a line)";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let ran = run(stoop("fetch --input-format csv --summary json"), "a,b\n1,2\n");
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
    assert!(
        ran.stderr.starts_with("stoop: standard input: there is no column \"url\"")
            && !ran.stderr.contains("totalUrls")
            && !ran.stderr.contains("--input-format lines"),
        "{}",
        ran.stderr
    );
}

/// The output was emptied before the columns were looked for.
#[test]
fn a_mistake_in_the_columns_leaves_the_output_as_it_was() {
    let table = TestFile::new("pages.csv", "links,title\nhttp://127.0.0.1:1/,x\n");
    for options in ["-f jsonl", "-f csv --csv-header", "-f warc"] {
        let output = TestFile::new("output", "of an earlier run\n");
        let path = output.0.display();
        let ran = table.fetch(&format!("--url-column link {options} -o {path}"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("there is no column \"link\""), "{}", ran.stderr);
        let left = std::fs::read_to_string(&output.0).expect("it is there");
        assert_eq!(left, "of an earlier run\n", "{options}");
    }
}

#[test]
fn an_option_for_another_input_is_a_mistake() {
    for (options, expected) in [
        ("--url-column x", "--url-column is for an --input-format of csv, tsv, jsonl or parquet"),
        ("--input-format sitemap --keep-columns", "and this is sitemap"),
        ("--input-format jsonl --no-header", "--no-header is for an --input-format of csv or tsv"),
        ("--shard 5/4", "1/4 is the first of four"),
        ("--shard half", "1/4 is the first of four"),
        ("--delimiter xx", "must be comma, tab, semicolon, or one character of ASCII"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "http://127.0.0.1:1/\n");
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{options}");
        assert!(ran.stderr.contains(expected), "{options}: {}", ran.stderr);
    }
}

#[test]
fn json_lines_may_have_names_of_their_own() {
    let server = EchoServer::start();
    let url = format!("http://{}/a", server.address);
    let line = format!("{{\"link\":\"{url}\",\"key\":5,\"body\":\"They ...\",\"url\":null}}\n");
    let file = TestFile::new("pages.jsonl", &line);
    let seen = file.records("--url-column link --id-column key --keep-columns");
    assert_eq!((&seen[0]["id"], &seen[0]["status"]), (&json!("5"), &json!(200)));
    assert_eq!(seen[0]["meta"], json!({"body": "They ...", "url": null}));
    let seen = file.records("--url-column link --id-column key");
    assert_eq!(seen[0]["error_kind"], "invalid_job");
    assert_eq!(server.take_seen()[0].line, "GET /a HTTP/1.1");
}

#[test]
fn the_pages_of_a_sitemap_are_fetched_and_those_of_an_index_too() {
    let server = EchoServer::start();
    let url = format!("http://{}", server.address);
    let sitemap = format!(
        "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
         <url><loc>{url}/a?b=1&amp;c</loc></url><url/></urlset>"
    );
    let file = TestFile::new("sitemap.xml", &sitemap);
    let seen = file.records("");
    assert_eq!(of(&seen, "url"), [format!("{url}/a?b=1&c"), String::new()]);
    assert_eq!(of(&seen, "error_kind"), [Value::Null, "invalid_job".into()]);
    let text = TestFile::new("sitemap.xml", "http://127.0.0.1:1/\n");
    let ran = text.fetch("");
    assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0));
    assert!(ran.stderr.contains("sitemap.xml: byte 0: it is no XML"), "{}", ran.stderr);
}

#[test]
fn the_parts_of_a_list_are_disjoint_and_complete() {
    let server = EchoServer::start();
    let port = server.address.port();
    let list: String =
        (0..40).map(|n| format!("http://127.0.0.{}:{port}/{n}\n", 1 + n % 10)).collect();
    let list = list + "/no-url\n";
    let (mut urls, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for part in 1..=3 {
        let ran = run(stoop(&format!("fetch --shard {part}/3 --summary none -t 1")), list.as_str());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let mut own = BTreeSet::new();
        for (url, _) in ran.codes() {
            if let Some(host) = url.split('/').nth(2).filter(|host| !host.is_empty()) {
                own.insert(host.to_owned());
            }
            assert!(urls.insert(url), "part {part}");
        }
        assert_eq!(ran.codes().iter().any(|(url, _)| url == "/no-url"), part == 1);
        assert!(!own.is_empty() && own.is_disjoint(&hosts), "part {part}: {own:?}");
        hosts.extend(own);
    }
    assert_eq!((urls.len(), hosts.len()), (41, 10));
}

#[test]
fn what_the_runs_of_all_shards_wrote_fits_into_one_folder() {
    let server = EchoServer::start();
    let port = server.address.port();
    let list: String =
        (0..40).map(|n| format!("http://127.0.0.{}:{port}/{n}\n", 1 + n % 10)).collect();
    let folder = std::env::temp_dir().join(format!("stoop-shards-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let all = folder.join("all");
    std::fs::create_dir_all(&all).expect("writable");
    for part in 1..=3 {
        let own = folder.join(part.to_string());
        let mut command = stoop(&format!("fetch --shard {part}/3 -f jsonl --summary none -t 1 -o"));
        command.arg(own.join(""));
        let ran = run(command, list.as_str());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for entry in std::fs::read_dir(&own).expect("a folder").flatten() {
            let (name, to) = (entry.file_name(), all.join(entry.file_name()));
            assert!(!to.exists(), "{name:?}");
            std::fs::copy(entry.path(), to).expect("writable");
        }
    }
    assert!(all.join("part-1of3-00000.jsonl").exists());
    let mut command = stoop("report --format json");
    command.arg(&all);
    let reported = run(command, "");
    std::fs::remove_dir_all(&folder).expect("ours");
    assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    let report: Value = serde_json::from_slice(&reported.stdout).expect("one object");
    assert_eq!(report["totalUrls"], 40);
}
