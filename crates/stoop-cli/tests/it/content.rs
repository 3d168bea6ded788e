//! What is kept of content: saved files, digests, and bodies that are cut.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::Server;
use crate::stoop::{run, stoop};

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("stoop-content-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// All files in it by their names.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let name = path.strip_prefix(&self.0).expect("inside");
                        let content = fs::read(&path).expect("a file");
                        files.insert(name.to_str().expect("text").to_owned(), content);
                    }
                }
            }
        }
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn records(options: &str, folder: Option<&Path>, input: &str) -> Vec<Value> {
    let mut command = stoop(&format!("fetch -f jsonl -c 1 {options}"));
    if let Some(folder) = folder {
        command.arg("--save").arg(folder);
    }
    let ran = run(command, input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = String::from_utf8(ran.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn field<'a>(records: &'a [Value], name: &str) -> Vec<Option<&'a str>> {
    records.iter().map(|record| record[name].as_str()).collect()
}

#[test]
fn content_is_saved_by_its_hash_once() {
    let server = Server::start();
    let folder = Folder::new("hash");
    let urls = [server.url("/ok/3"), server.url("/ok/3?again"), server.url("/ok/100000")];
    let records = records("--digest blake3,sha256", Some(&folder.0), &urls.join("\n"));
    let files = folder.files();
    assert_eq!(files.values().map(Vec::len).sum::<usize>(), 100_003);
    assert_eq!(files.len(), 2, "{:?}", files.keys());
    for record in &records {
        let (saved, blake3) = (record["saved"].as_str().expect("saved"), &record["blake3"]);
        let blake3 = blake3.as_str().expect("told");
        assert_eq!(saved, format!("{}/{}/{blake3}", &blake3[..2], &blake3[2..4]));
        assert_eq!(files[saved].len() as u64, record["body_bytes"].as_u64().expect("told"));
    }
    assert_eq!(records[0]["sha256"], records[1]["sha256"]);
    assert!(!folder.0.join(".partial").exists());
}

#[test]
fn content_is_saved_by_the_path_of_its_url_and_never_over_another() {
    let server = Server::start();
    let folder = Folder::new("url");
    let urls = [server.url("/ok/3"), server.url("/ok/3?4"), server.url("/ok/3/5"), server.url("/")];
    let first = records("--save-as url", Some(&folder.0), &urls.join("\n"));
    let host = server.address.to_string();
    let saved = field(&first, "saved");
    assert_eq!(saved[0], Some(format!("{host}/ok/3").as_str()));
    assert_eq!(saved[1], Some(format!("{host}/ok/3?4").as_str()));
    let below = saved[2].expect("saved");
    assert!(below.starts_with(&format!("{host}/~")) && below.ends_with("/5"), "{below}");
    fs::write(folder.0.join(&host).join("ok/3"), "mine").expect("writable");
    let again = records("--save-as url", Some(&folder.0), &urls[0]);
    let beside = again[0]["saved"].as_str().expect("saved");
    assert!(beside.starts_with(&format!("{host}/ok/3~")), "{beside}");
    let files = folder.files();
    assert_eq!(files[&format!("{host}/ok/3")], b"mine");
    assert_eq!(files[beside].len(), 3);
}

#[test]
fn content_is_saved_by_the_identifier_of_its_job() {
    let server = Server::start();
    let folder = Folder::new("id");
    let input = format!(
        "{{\"url\":\"{0}\",\"id\":\"a/../b\"}}\n{{\"url\":\"{0}\",\"id\":7}}\n{{\"url\":\"{0}\"}}\n",
        server.url("/ok/3")
    );
    let options = "--input-format jsonl --save-as id";
    let records = records(options, Some(&folder.0), &input);
    let names: Vec<_> = field(&records, "saved")
        .into_iter()
        .map(|saved| saved.and_then(|saved| saved.rsplit('/').next()).expect("saved").to_owned())
        .collect();
    assert_eq!(names[..2], ["a%2F..%2Fb", "7"]);
    assert_eq!(names[2].len(), 64, "{}", names[2]);
    assert_eq!(folder.files().len(), 3);
}

#[test]
fn errors_are_not_saved_unless_that_is_asked_for_and_parts_never() {
    let server = Server::start();
    let folder = Folder::new("errors");
    let urls = [server.url("/status/404"), server.url("/short"), server.url("/ok/3")].join("\n");
    let first = records("", Some(&folder.0), &urls);
    assert_eq!(field(&first, "saved").iter().filter(|saved| saved.is_some()).count(), 1);
    assert_eq!(field(&first, "truncated")[1], Some("disconnect"));
    assert_eq!(folder.files().len(), 1);
    let all = records("--save-errors", Some(&folder.0), &urls);
    assert_eq!(field(&all, "saved").iter().filter(|saved| saved.is_some()).count(), 2);
}

#[test]
fn a_body_that_is_too_long_is_an_error_or_cut_as_asked() {
    let server = Server::start();
    let folder = Folder::new("cut");
    let url = server.url("/ok/1000");
    let failed = records("--max-body 100", Some(&folder.0), &url);
    assert_eq!(field(&failed, "error_kind"), [Some("body_too_large")]);
    assert_eq!(folder.files().len(), 0);
    let cut = records("--max-body 100 --truncate", Some(&folder.0), &url);
    assert_eq!((&cut[0]["status"], &cut[0]["body_bytes"]), (&200.into(), &100.into()));
    assert_eq!(field(&cut, "truncated"), [Some("length")]);
    assert_eq!(folder.files().values().map(Vec::len).collect::<Vec<_>>(), [100]);
    let whole = records("--max-body 1000 --truncate", None, &url);
    assert_eq!((field(&whole, "truncated"), &whole[0]["body_bytes"]), (vec![None], &1000.into()));
}

/// Content of any length was asked for, and ended beyond a thousand times what it came as.
#[test]
fn without_a_longest_body_content_may_be_compressed_however_well() {
    use stoop::body::ContentCoding;
    let handler = async |_: stoop::Request| {
        let zeros = stoop::Body::from(vec![0; 20 << 20]).encoded(ContentCoding::Zstd);
        let response = stoop::Response::new(zeros);
        response.with_field("content-encoding", "zstd").expect("a field")
    };
    let server = stoop::Server::listen("http://127.0.0.1:0").expect("a free port");
    let url = server.run(handler).expect("it runs").endpoint().to_string();
    let limited = records("--compressed", None, &url);
    assert_eq!(field(&limited, "error_kind"), [Some("body_too_large")]);
    let error = limited[0]["error"].as_str().expect("in words");
    assert!(error.contains("more than 1000 times as large"), "{error}");
    for option in ["--max-body none", "--max-body 20MiB --truncate"] {
        let whole = records(&format!("--compressed {option}"), None, &url);
        assert_eq!(
            (&whole[0]["status"], &whole[0]["body_bytes"]),
            (&200.into(), &(20 << 20).into())
        );
    }
}

#[test]
fn only_the_head_or_the_status_may_be_asked_for() {
    let server = crate::echo::EchoServer::start();
    let url = format!("http://{}/", server.address);
    let head = records("-I", None, &url);
    assert_eq!((&head[0]["method"], &head[0]["body_bytes"]), (&"HEAD".into(), &0.into()));
    records("-r 0-9", None, &url);
    let seen = server.take_seen();
    assert_eq!(seen[0].line, "HEAD / HTTP/1.1");
    assert_eq!(seen[1].fields.get("range").map(String::as_str), Some("bytes=0-9"));
    let server = Server::start();
    let status = records("--no-content -t 5", None, &server.url("/short"));
    assert_eq!((&status[0]["status"], &status[0]["body_bytes"]), (&200.into(), &0.into()));
}

#[test]
fn a_folder_that_cannot_be_written_ends_the_run_and_says_so() {
    let server = Server::start();
    let file = Folder::new("file");
    fs::write(&file.0, "a file").expect("writable");
    let mut command = stoop("fetch -c 1");
    command.arg("--save").arg(file.0.join("below"));
    let ran = run(command, server.url("/ok/3"));
    assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0));
    assert!(ran.stderr.contains("cannot save"), "{}", ran.stderr);
    fs::remove_file(&file.0).expect("there");
}

#[test]
fn records_go_to_files_of_a_length_in_a_folder() {
    let server = Server::start();
    let folder = Folder::new("files");
    let urls: String = (0..50).map(|n| server.url(&format!("/ok/{n}")) + "\n").collect();
    let mut command = stoop("fetch -f jsonl --file-size 4KiB --summary none -o");
    command.arg(folder.0.join("new").join(""));
    let ran = run(command, urls);
    assert_eq!((ran.code, ran.stdout.len()), (Some(0), 0), "{}", ran.stderr);
    let files = folder.files();
    // As a shell does it for `new/*.jsonl`.
    let lines = files.iter().filter(|(name, _)| name.ends_with(".jsonl"));
    let lines = lines.map(|(_, text)| text.iter().filter(|byte| **byte == b'\n').count());
    assert_eq!(lines.sum::<usize>(), 50);
    assert!(files.len() > 3 && files.contains_key("new/part.manifest"), "{:?}", files.keys());
    assert!(files.iter().all(|(_, text)| text.len() <= 4096));
}

#[test]
fn an_archive_is_compressed_unless_its_name_says_otherwise() {
    let server = Server::start();
    let folder = Folder::new("warc");
    fs::create_dir(&folder.0).expect("writable");
    for (name, begin) in [("a.warc.gz", &b"\x1f\x8b\x08"[..]), ("a.warc", b"WARC/1.1\r\n")] {
        let mut command = stoop("fetch -f warc --summary none -o");
        command.arg(folder.0.join(name));
        assert_eq!(run(command, server.url("/ok/3")).code, Some(0));
        let archive = fs::read(folder.0.join(name)).expect("written");
        assert!(archive.starts_with(begin), "{name}");
        let index = folder.0.join(format!("{name}.cdxj"));
        let index = fs::read_to_string(index).expect("written");
        let of_it = format!("\"filename\":\"{name}\"");
        assert!(index.lines().count() == 1 && index.contains(&of_it), "{index}");
    }
    for (options, text) in [
        ("-f pretty -o ./", "-f pretty is for people"),
        ("-f csv --file-size 1MB", "--file-size is for files in a folder"),
        ("-f csv -o ./ --file-size 0", "must be at least 1"),
        ("-f csv --revisits", "--revisits is for archives"),
        ("-f csv --tar-key id", "--tar-key is for -f tar"),
        ("-f tar --tar-key id", "--tar-key id needs a list with ids"),
        ("-f tar --tar-key id --input-format csv --no-header", "--tar-key id needs the column"),
        ("-f jsonl --csv-header", "--csv-header is for -f csv"),
        ("-f csv --digest sha256", "--digest needs --format jsonl"),
        ("-f warc --no-content", "--no-content leaves out"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "");
        assert!(ran.code == Some(2) && ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn samples_are_named_by_the_ids_of_their_jobs_where_those_are_their_own() {
    let server = Server::start();
    let folder = Folder::new("tar-key");
    fs::create_dir(&folder.0).expect("writable");
    let list = folder.0.join("list.csv");
    let rows = [("a.b", "/ok/3"), ("c", "/ok/4"), ("c", "/ok/5"), ("", "/ok/6")];
    let rows = rows.map(|(id, path)| format!("{id},{}\n", server.url(path)));
    fs::write(&list, "id,url\n".to_owned() + &rows.concat()).expect("writable");
    let mut command = stoop("fetch -f tar --tar-key id -c 1 --summary none");
    command.arg("-i").arg(&list).arg("-o").arg(folder.0.join("a.tar"));
    let ran = run(command, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let tar = fs::read(folder.0.join("a.tar")).expect("written");
    // The blocks of a tar that are heads begin with a name, and have the mark of the format.
    let heads = tar.chunks(512).filter(|block| block.get(257..262) == Some(b"ustar"));
    let names = heads.map(|head| {
        let end = head.iter().position(|byte| *byte == 0).expect("a short name");
        String::from_utf8(head[..end].to_vec()).expect("text")
    });
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    let expected = ["a%2Eb.json", "c.json", "~000000002.json", "~000000003.json"];
    assert_eq!(names, expected);
}

/// Each of its rows was an error, after the run had begun.
#[test]
fn a_list_without_the_column_of_ids_by_which_samples_are_named_is_told() {
    let fetch = |options: &str, list: &str| {
        run(stoop(&format!("fetch -f tar --tar-key id --summary none {options}")), list)
    };
    let ran = fetch("--input-format csv", "url,sku\nhttp://127.0.0.1:1/,7\n");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for text in ["there is no column \"id\"", "sku", "--id-column"] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("invalid_job"));
    let ran = fetch("--input-format jsonl --id-column sku", "{\"url\":\"http://127.0.0.1:1/\"}\n");
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(told.contains("it has no id (column \\\"sku\\\"), by which"), "{told}");
}

#[test]
fn filters_say_which_answers_are_written_and_saved() {
    let server = Server::start();
    let folder = Folder::new("filters");
    let urls =
        ["/ok/3", "/ok/2000", "/status/404", "/status/503", "/close"].map(|path| server.url(path));
    let urls = urls.join("\n");
    let count =
        |options: &str| records(&format!("--save-errors {options}"), Some(&folder.0), &urls).len();
    assert_eq!(count("--match-code 2xx"), 2);
    assert_eq!(count("--match-code 404,503"), 2);
    assert_eq!(count("--match-code error"), 1);
    assert_eq!(count("--skip-code 400-499,closed_early"), 3);
    assert_eq!(count("--match-length 1-100"), 1);
    assert_eq!(count("--match-text x{1000}"), 1);
    // What is no answer has neither length nor text.
    assert_eq!(count("--skip-length 1-100"), 4);
    assert_eq!(count("--skip-text x{1000}"), 4);
    assert_eq!(count("--match-length 1- --skip-length 1KiB- --skip-text y"), 1);
    let only = Folder::new("filters-save");
    records("--match-length 1KiB-", Some(&only.0), &urls);
    assert_eq!(only.files().values().map(Vec::len).collect::<Vec<_>>(), [2000]);
    let ran = run(stoop("fetch --summary json --match-code 404"), urls.as_str());
    assert_eq!(ran.lines().len(), 1);
    assert!(ran.stderr.contains("\"totalUrls\":5"), "{}", ran.stderr);
    for (options, text) in [
        ("--match-code 2yy", "must be a status"),
        ("--match-text (", "unclosed group"),
        ("--match-type html", "must be a media type"),
        ("--skip-type html", "must be a media type"),
        ("--skip-robots-tag max-snippet:5", "must be noindex, "),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "");
        assert!(ran.code == Some(2) && ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn memory_for_content_is_bounded() {
    let server = Server::start();
    let folder = Folder::new("memory");
    // 200 answers of 4 MiB at once would be 800 MiB.
    let urls: String = (0..200).map(|n| server.url(&format!("/ok/4194304?{n}")) + "\n").collect();
    let mut command = stoop("fetch -c 200 -t 60 --save-as url --summary none");
    command.arg("--save").arg(&folder.0);
    let mut child = command.spawn().expect("runs");
    crate::stoop::feed(&mut child, urls);
    let (ran, peak_kib) = crate::stoop::finish_watched(child);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 200), "{}", ran.stderr);
    assert!(ran.lines().iter().all(|line| line.code == "200"));
    assert_eq!(folder.files().len(), 200);
    assert!(peak_kib < 160 << 10, "{peak_kib} KiB");
}
