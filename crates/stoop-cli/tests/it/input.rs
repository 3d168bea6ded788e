//! Tests of the lines that count as URLs, their sources, and their number.

use std::fs::File;
use std::process::Stdio;

use crate::server::Server;
use crate::stoop::{run, stoop};

#[test]
fn blank_lines_comments_and_crlf_add_no_lines() {
    let server = Server::start();
    let url = server.url("/ok/1");
    let input = format!("\u{feff}{url}?1\r\n\r\n# {url}?no\n  \t\n  {url}?2  \n{url}?3");
    let ran = run(stoop("fetch"), input);
    let codes = ran.codes();
    assert_eq!(codes.len(), 3, "{codes:?}");
    for (n, (seen, code)) in codes.iter().enumerate() {
        assert_eq!((seen, code.as_str()), (&format!("{url}?{}", n + 1), "200"));
    }
}

#[test]
fn a_line_that_is_no_text_or_too_long_is_an_invalid_url() {
    let mut input = b"\xfe\xfd\n".to_vec();
    input.extend(b"http://127.0.0.1/");
    input.extend(vec![b'a'; 10_000_000]);
    input.extend(b"\nhttp://127.0.0.1/\ttab\nb\0ad\n");
    let ran = run(stoop("fetch"), input);
    let lines = ran.lines();
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().all(|line| line.code == "invalid_url"), "{:?}", ran.codes());
    assert!(lines.iter().all(|line| line.url.len() <= 64 << 10));
    assert!(lines.iter().any(|line| line.url == b"\xfe\xfd"));
}

#[test]
fn a_run_without_input_is_complete() {
    let ran = run(stoop("fetch --summary json"), "");
    assert_eq!((ran.code, ran.stdout.len()), (Some(0), 0));
    assert_eq!(ran.summary()["totalUrls"], 0);
}

#[test]
fn urls_come_from_arguments_and_files() {
    let server = Server::start();
    let url = server.url("/ok/1");
    let ran = run(stoop(&format!("fetch {url}?1 {url}?2")), "http://never.read/");
    assert_eq!(ran.codes().len(), 2);
    let path = std::env::temp_dir().join(format!("stoop-it-{}.txt", std::process::id()));
    std::fs::write(&path, format!("{url}?1\n{url}?2\n{url}?3\n")).expect("writable");
    let ran = run(stoop(&format!("fetch -i {}", path.display())), "http://never.read/");
    std::fs::remove_file(&path).expect("ours");
    assert_eq!(ran.codes().len(), 3);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn the_limit_ends_the_reading_and_its_flag_overrides_its_variable() {
    let server = Server::start();
    let input: String = (0..1000).map(|n| server.url(&format!("/ok/1?{n}")) + "\n").collect();
    let mut command = stoop("fetch --limit 7");
    command.env("LIMIT", "3");
    assert_eq!(run(command, input.clone()).lines().len(), 7);
    let mut command = stoop("fetch");
    command.env("LIMIT", "3");
    assert_eq!(run(command, input).lines().len(), 3);
    assert_eq!(server.requests(), 10);
}

#[test]
fn an_invalid_variable_is_a_usage_error() {
    let mut command = stoop("fetch");
    command.env("STOOP_REQUEST_TIMEOUT", "soon");
    let ran = run(command, "http://127.0.0.1/");
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
    assert!(ran.stderr.contains("STOOP_REQUEST_TIMEOUT is \"soon\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("number of seconds"), "{}", ran.stderr);
}

#[test]
fn a_concurrency_beyond_the_limit_of_descriptors_is_refused_at_once() {
    let ran = run(stoop("fetch -c 100000"), "http://127.0.0.1/");
    // Unless this machine allows so many.
    if ran.code != Some(0) {
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
        assert!(ran.stderr.contains("open files"), "{}", ran.stderr);
    }
}

#[test]
fn input_that_cannot_be_read_is_exit_code_3() {
    let ran = run(stoop("fetch -i /nowhere/at-all"), "");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("cannot read /nowhere/at-all"), "{}", ran.stderr);
    let mut command = stoop("fetch --summary none");
    command.stdin(Stdio::from(File::open("/").expect("there is one")));
    let ran = command.output().expect("it runs");
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
}

#[test]
fn a_compressed_list_is_read_from_a_file_and_from_standard_input() {
    let server = Server::start();
    let list = server.url("/ok/1\n").repeat(300);
    let path = std::env::temp_dir().join(format!("stoop-fetch-{}-list", std::process::id()));
    std::fs::write(&path, &list).expect("writable");
    let gzip =
        std::process::Command::new("gzip").arg("-c").arg(&path).output().expect("gzip runs").stdout;
    assert!(gzip.len() < 300);
    std::fs::write(&path, &gzip).expect("writable");
    let from_file = run(stoop(&format!("fetch -i {}", path.display())), "");
    let piped = run(stoop("fetch"), gzip.clone());
    for ran in [from_file, piped] {
        assert_eq!((ran.code, ran.lines().len()), (Some(0), 300), "{}", ran.stderr);
    }
    // What breaks off is told, after the lines that were there.
    let ran = run(stoop("fetch"), &gzip[..gzip.len() - 9]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("cannot read standard input"), "{}", ran.stderr);
    assert!(ran.lines().iter().all(|line| line.code == "200" || line.code == "invalid_url"));
    // So is what follows and is no gzip, which has nothing to do with columns.
    let ran = run(stoop("fetch --summary none"), [&gzip[..], &[1; 20]].concat());
    assert_eq!((ran.code, ran.lines().len()), (Some(3), 300), "{}", ran.stderr);
    assert_eq!(
        ran.stderr,
        "stoop: cannot read standard input: bytes follow the end of what gzip compressed, and are neither gzip nor zeros; \
         all before them was read\n"
    );
    // Zeros, with which tapes are filled up, are nothing.
    let ran = run(stoop("fetch --summary none"), [&gzip[..], &[0; 512]].concat());
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 300), "{}", ran.stderr);
    std::fs::remove_file(&path).expect("it is there");
}

/// Each of its lines was an invalid_url, or an invalid_job.
#[test]
fn a_list_in_utf_16_is_told_once_and_how_it_is_converted() {
    let server = Server::start();
    let list = server.url("/ok/1\n").repeat(3);
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        for format in ["lines", "jsonl", "csv", "sitemap"] {
            let line = format!("fetch --summary none --input-format {format}");
            let ran = run(stoop(&line), utf16(&list, bytes));
            assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0), "{format}: {}", ran.stderr);
            assert!(ran.stderr.contains("'iconv -f utf-16 -t utf-8'"), "{}", ran.stderr);
        }
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn utf_16_without_a_mark_was_a_line_that_is_no_url_for_each_of_its_lines() {
    let server = Server::start();
    let list = server.url("/ok/1\n").repeat(3);
    for format in ["lines", "jsonl", "csv", "sitemap"] {
        let unmarked = utf16(&list, u16::to_le_bytes).split_off(2);
        let ran = run(stoop(&format!("fetch --summary none --input-format {format}")), unmarked);
        assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0), "{format}: {}", ran.stderr);
        assert!(ran.stderr.contains("'iconv -f utf-16le -t utf-8'"), "{format}: {}", ran.stderr);
    }
    assert_eq!(server.requests(), 0);
}

/// Each of its lines was an invalid_url, and the output was made before.
#[test]
fn what_is_compressed_by_others_is_refused_before_the_output_is_made() {
    let path = std::env::temp_dir().join(format!("stoop-packed-{}", std::process::id()));
    let output = path.with_extension("lines");
    std::fs::write(&path, b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\n\n\n").expect("writable");
    for format in ["lines", "jsonl", "csv", "sitemap"] {
        let line = format!("fetch --input-format {format} -i {}", path.display());
        let ran = run(stoop(&format!("{line} -o {}", output.display())), "");
        assert_eq!((ran.code, output.exists()), (Some(3), false), "{format}: {}", ran.stderr);
        let text = format!("cannot read {}: it is compressed by xz;", path.display());
        assert!(ran.stderr.contains(&text), "{}", ran.stderr);
        assert!(ran.stderr.contains("'xz -dc FILE |'"), "{}", ran.stderr);
        let piped = run(
            stoop(&format!("fetch --summary none --input-format {format}")),
            std::fs::read(&path).expect("there"),
        );
        assert_eq!((piped.code, piped.stdout.len()), (Some(3), 0), "{}", piped.stderr);
    }
    std::fs::remove_file(&path).expect("ours");
}

/// After `-o a.json` each line of `-i a.json` was an invalid_url, and each of an array an invalid_job.
#[test]
fn a_list_named_json_is_lines_of_json_and_an_array_is_refused_with_how_it_is_read() {
    let server = Server::start();
    let path = std::env::temp_dir().join(format!("stoop-list-{}.json", std::process::id()));
    let object = format!("{{\"url\": \"{}\"}}", server.url("/ok/1"));
    let command = || stoop(&format!("fetch -f csv --summary none -i {}", path.display()));
    std::fs::write(&path, format!("{object}\n{object}\n")).expect("writable");
    let ran = run(command(), "");
    assert_eq!(ran.lines().len(), 2, "{}", ran.stderr);
    for array in [
        format!("[{object},\n{object}]\n"),
        format!("\n [\n{object}\n]"),
        format!("# all\n\n  # of them\n[\n{object}\n]"),
        format!("[{object},{object}]"),
    ] {
        std::fs::write(&path, array).expect("writable");
        let ran = run(command(), "");
        assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("it is a JSON array; \"jq -c '.[]' FILE |\""),
            "{}",
            ran.stderr
        );
    }
    std::fs::remove_file(&path).expect("ours");
}

#[test]
fn a_folder_and_several_tables_are_refused_with_how_they_become_one_list() {
    let folder = std::env::temp_dir().join(format!("stoop-lists-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    for (name, says) in
        [("a.txt", "txt | stoop fetch'"), ("a.parquet", "/*.parquet'])) to 'all.parquet'\"")]
    {
        let path = folder.join(name);
        std::fs::write(&path, "").expect("writable");
        let ran = run(stoop(&format!("fetch -i {}", folder.display())), "");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("is a folder"), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
        std::fs::remove_file(&path).expect("ours");
    }
    std::fs::remove_dir(&folder).expect("ours");
}

/// Text in UTF-16, with its byte order mark.
fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

/// They were looked up as names of hosts.
#[test]
fn options_below_urls_as_aria2_has_them_are_told_as_such() {
    let server = Server::start();
    let url = server.url("/ok/1");
    let ran = run(stoop("fetch -f jsonl"), format!("{url}?1\n  out=a.bin\n\tdir=/x\n{url}?2\n"));
    let text = String::from_utf8(ran.stdout).expect("text");
    let records = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let records: Vec<serde_json::Value> = records.collect();
    assert_eq!(records.len(), 4);
    for (line, place) in [("out=a.bin", "line 2: out= "), ("dir=/x", "line 3: dir= ")] {
        let record = records.iter().find(|record| record["url"] == line).expect("its record");
        assert_eq!(record["error_kind"], "invalid_job");
        let error = record["error"].as_str().expect("text");
        assert!(error.starts_with(place) && error.contains("JSON lines have id,"), "{error}");
    }
    assert_eq!(server.requests(), 2);
    assert!(ran.stderr.contains("an option of aria2"), "{}", ran.stderr);
}
