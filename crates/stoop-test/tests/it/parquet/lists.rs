//! Lists of jobs that others wrote, and that a run of ours wrote.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stoop_fetch::Fetch;
use stoop_fetch::format::{JsonLines, Parquet};
use stoop_fetch::source::ParquetJobs;

use super::{has_readers, python, write};
use crate::archives::{folder, serve};

/// The records of the jobs of a table.
async fn records(jobs: ParquetJobs) -> Vec<Value> {
    let folder = folder("records");
    let path = folder.0.join("records.jsonl");
    let file = File::create(&path).expect("writable");
    let fetch = Fetch::new().politeness(None);
    let run = move || fetch.run(jobs, JsonLines::new(), file);
    tokio::task::spawn_blocking(run).await.expect("no panic").expect("ran");
    let text = fs::read_to_string(&path).expect("written");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn open(path: &Path) -> ParquetJobs {
    ParquetJobs::new(File::open(path).expect("there"))
}

#[tokio::test]
async fn lists_of_others_are_read_whatever_their_codec() {
    const NAME: &str = "lists_of_others_are_read_whatever_their_codec";
    if !has_readers(NAME) {
        return;
    }
    let folder = folder("lists");
    python("write", std::slice::from_ref(&folder.0)).await;
    let mut files: Vec<PathBuf> = fs::read_dir(&folder.0)
        .expect("there")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort_unstable();
    assert_eq!(files.len(), 12);
    for file in &files {
        let jobs = open(file).url_column("link").id_column("sku").keep_columns(true);
        let records = records(jobs).await;
        assert_eq!(records.len(), 3000, "{file:?}");
        let by_url = |n: usize| {
            let url = format!("http://127.0.0.1:1/{n}");
            records.iter().find(|record| record["url"] == url).expect("a record")
        };
        let others = (0..3000).filter(|n| *n != 7);
        assert!(others.map(by_url).all(|record| record["error_kind"] == "connect_refused"));
        let invalid: Vec<_> =
            records.iter().filter(|record| record["error_kind"] == "invalid_job").collect();
        assert_eq!(invalid.len(), 1);
        assert_eq!(invalid[0]["error"], "row 8 of row group 1 of the input: there is no URL",);
        assert_eq!((&by_url(4)["id"], &by_url(5)["id"]), (&"4".into(), &Value::Null));
        let mut meta = by_url(2001)["meta"].clone();
        let nano = meta["nano"].take();
        assert!(
            nano.as_str().is_some_and(|time| time == "2026-11-26T04:30:00Z"),
            "{file:?} {nano}"
        );
        let local = meta["local"].take();
        let local = local.as_str().expect("a time");
        assert_eq!(local.trim_end_matches('Z'), "2026-11-26T04:30:00");
        let mut expected = json!({
            "title": null, "kind": "k0", "price": 500.25, "count": u64::MAX, "small": -1,
            "sold": false, "day": "2026-11-26", "nano": null, "local": null, "paid": "1234.00",
        });
        if meta.get("nothing").is_some() {
            expected["nothing"] = Value::Null;
        }
        assert_eq!(meta, expected, "{file:?}");
    }
}

#[tokio::test]
async fn a_table_of_ours_is_a_list() {
    let (address, folder) = (serve(), folder("again"));
    let jobs: String = (0..500)
        .map(|n| format!("{{\"url\":\"http://{address}/text#{n}\",\"id\":{n}}}\n"))
        .collect();
    let path = folder.0.join("a.parquet");
    write(Parquet::new().row_group_bytes(20_000), Fetch::new(), jobs, &path).await;
    let mut again = records(open(&path).keep_columns(true)).await;
    again.sort_by_key(|record| record["id"].as_str().and_then(|id| id.parse::<u32>().ok()));
    assert_eq!(again.len(), 500);
    for (n, record) in again.iter().enumerate() {
        assert_eq!(record["url"], format!("http://{address}/text#{n}"));
        assert_eq!((&record["status"], &record["id"]), (&200.into(), &n.to_string().into()));
        assert_eq!(record["meta"]["status"], 200);
    }
}
