//! Tables that `stoop_fetch` writes, read by pyarrow and DuckDB, and lists that those write.

mod lists;

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stoop_fetch::format::{Parquet, Shards};
use stoop_fetch::source::{JsonJobs, Lines};
use stoop_fetch::{Extract, Fetch};

use crate::archives::{PATHS, TEXT, fetch, folder, serve};
use crate::corpora::skipped;
use crate::programs::{are_missing, run};

/// Where `cargo xtask test --only install` keeps the readers.
const READERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/parquet");

fn has_readers(name: &str) -> bool {
    if are_missing(name, &["python3"]) {
        return false;
    }
    let has_all =
        ["pyarrow", "duckdb"].iter().all(|reader| Path::new(READERS).join(reader).is_dir());
    if !has_all {
        skipped(name, "needs pyarrow and duckdb (cargo xtask test --only install)");
    }
    has_all
}

/// What the readers' program writes.
async fn python(what: &str, files: &[PathBuf]) -> Vec<Value> {
    let mut arguments =
        ["-c", include_str!("readers.py"), READERS, what].map(str::to_owned).to_vec();
    arguments.extend(files.iter().map(|path| path.to_str().expect("text").to_owned()));
    let output = run("python3", &arguments, b"").await.text();
    output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The rows that a reader finds, which both do alike.
fn rows(read: &Value) -> Vec<&Value> {
    let [arrow, duck] = ["pyarrow", "duckdb"].map(|reader| read[reader].as_array().expect("rows"));
    assert_eq!(arrow.len(), duck.len());
    for (one, other) in arrow.iter().zip(duck) {
        assert_eq!(one, other);
    }
    arrow.iter().collect()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("hex");
    let digits: Vec<_> = hex.chars().map(|c| c.to_digit(16).expect("hex") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The file of a run.
async fn write(parquet: Parquet, fetch: Fetch, input: String, path: &Path) {
    let (format, writer) = parquet.open(fs::File::create(path).expect("writable"));
    let run = move || fetch.run(JsonJobs::new(Cursor::new(input)), format, writer);
    tokio::task::spawn_blocking(run).await.expect("no panic").expect("ran");
}

#[tokio::test]
async fn a_table_has_what_was_received() {
    const NAME: &str = "a_table_has_what_was_received";
    if !has_readers(NAME) {
        return;
    }
    let (address, folder) = (serve(), folder("table"));
    let jobs = PATHS.iter().map(|path| {
        let url = format!("http://{address}/{path}");
        json!({ "url": url, "id": path, "meta": { "of": path } }).to_string() + "\n"
    });
    let jobs = jobs.collect::<String>() + "{\"url\": \"no URL at all\"}\n";
    let path = folder.0.join("a.parquet");
    let fetch = fetch().extract([Extract::Title, Extract::Chain]).sha256(true);
    write(Parquet::new(), fetch, jobs, &path).await;

    let read = python("read", &[path]).await.remove(0);
    let types = &read["pyarrow_types"];
    for (column, arrow, duck) in [
        ("url", "string", "VARCHAR"),
        ("status", "int32", "INTEGER"),
        ("ok", "bool", "BOOLEAN"),
        ("start_time", "timestamp[ms, tz=UTC]", "TIMESTAMP WITH TIME ZONE"),
        ("duration_us", "int64", "BIGINT"),
        ("body", "large_binary", "BLOB"),
        (
            "chain",
            "list<element: struct<status: int32 not null, url: string not null> not null>",
            "",
        ),
    ] {
        assert_eq!(types[column], arrow);
        assert!(duck.is_empty() || read["duckdb_types"][column] == duck, "{column}");
    }
    let about = &read["columns"]["body"];
    assert_eq!(about["codecs"], json!(["ZSTD"]));
    assert_eq!(about["has_statistics"], false);
    let encodings = about["encodings"].as_array().expect("a list");
    assert!(!encodings.iter().any(|encoding| encoding == "RLE_DICTIONARY"), "{encodings:?}");

    let rows = rows(&read);
    assert_eq!(rows.len(), PATHS.len() + 1);
    let row = |id: &str| *rows.iter().find(|row| row["id"] == id).expect("a row");
    let body = |id: &str| bytes(&row(id)["body"]);
    assert_eq!((body("text"), body("gzip")), (TEXT.to_vec(), TEXT.to_vec()));
    assert_eq!(body("binary"), (0..=255).collect::<Vec<u8>>());
    assert_eq!(body("chunked"), b"abcdefg");
    assert_eq!((body("empty"), body("none")), (vec![], vec![]));
    assert_eq!(body("redirect"), TEXT);
    assert_eq!((body("short"), body("long")), (b"only this".to_vec(), vec![b'x'; 4000]));
    let truncated = |id: &str| row(id)["truncated"].as_str();
    assert_eq!((truncated("short"), truncated("long")), (Some("disconnect"), Some("length")));
    assert_eq!(row("missing")["status"], 404);
    assert_eq!(row("text")["title"], "a page");
    assert_eq!(row("text")["meta"], "{\"of\":\"text\"}");
    assert_eq!(row("text")["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(row("text")["chain"], Value::Null);
    let (first, last) = (format!("http://{address}/redirect"), format!("http://{address}/text"));
    assert_eq!(
        row("redirect")["chain"],
        json!([{ "status": 302, "url": first }, { "status": 200, "url": last }])
    );
    let headers = row("binary")["headers"].as_array().expect("a list");
    assert!(headers.iter().any(|header| {
        header["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("set-cookie"))
            && header["value"] == "a=b"
    }));
    let invalid = rows.iter().find(|row| row["id"].is_null()).expect("a row");
    assert_eq!((&invalid["status"], &invalid["body"], &invalid["headers"]), Default::default());
    assert_eq!(invalid["error_kind"], "invalid_url");
}

#[tokio::test]
async fn row_groups_end_by_bytes() {
    const NAME: &str = "row_groups_end_by_bytes";
    if !has_readers(NAME) {
        return;
    }
    let (address, folder) = (serve(), folder("groups"));
    let urls: String =
        (0..200).map(|n| format!("{{\"url\":\"http://{address}/long#{n}\"}}\n")).collect();
    let path = folder.0.join("a.parquet");
    let parquet = Parquet::new().uncompressed().row_group_bytes(100_000);
    write(parquet, fetch(), urls, &path).await;
    let read = python("read", &[path]).await.remove(0);
    let groups = read["groups"].as_array().expect("a list");
    assert!((7..=10).contains(&groups.len()), "{groups:?}");
    let mut seen: Vec<_> =
        rows(&read).iter().map(|row| row["url"].as_str().expect("text").to_owned()).collect();
    assert!(rows(&read).iter().all(|row| bytes(&row["body"]) == [b'x'; 4000]));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 200);
}

#[tokio::test]
async fn tables_in_a_folder_are_whole_and_have_each_job_once() {
    const NAME: &str = "tables_in_a_folder_are_whole_and_have_each_job_once";
    if !has_readers(NAME) {
        return;
    }
    let (address, folder) = (serve(), folder("tables"));
    let urls: String = (0..300).map(|n| format!("http://{address}/long#{n}\n")).collect();
    let shards = Shards::new(&folder.0).prefix("pages").bytes_max(300_000);
    let parquet = Parquet::new().uncompressed().row_group_bytes(50_000);
    let (format, writer) = parquet.open_shards(shards).expect("writable");
    let run = move || fetch().run(Lines::new(Cursor::new(urls)), format, writer);
    tokio::task::spawn_blocking(run).await.expect("no panic").expect("ran");

    let manifest = fs::read_to_string(folder.0.join("pages.manifest")).expect("written");
    let lines: Vec<Value> =
        manifest.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!((4..=6).contains(&lines.len()), "{manifest}");
    let mut files = Vec::new();
    for line in &lines {
        let file = folder.0.join(line["file"].as_str().expect("a name"));
        let length = fs::metadata(&file).expect("there").len();
        assert_eq!(line["bytes"], length);
        let bytes = fs::read(&file).expect("there");
        let (footer, _) = bytes[bytes.len() - 8..].split_first_chunk::<4>().expect("eight bytes");
        // The directory at the end comes on top, and so do the places of pages before it.
        let directory = u64::from(u32::from_le_bytes(*footer));
        assert!(length - directory < 310_000, "{length}, of which {directory}");
        files.push(file);
    }
    let read = python("read", &files).await;
    let mut urls = Vec::new();
    for (table, line) in read.iter().zip(&lines) {
        let rows = rows(table);
        assert_eq!(line["records"], rows.len());
        urls.extend(rows.iter().map(|row| row["url"].as_str().expect("text").to_owned()));
    }
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), 300);
    assert_eq!(fs::read_dir(&folder.0).expect("there").count(), files.len() + 1);
}
