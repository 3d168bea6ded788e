//! `-o`, `--csv-header`, `--quiet`, `--dedupe`: what is written, and where.

use std::path::PathBuf;

use crate::content::Folder;
use crate::server::Server;
use crate::stoop::{run, stoop, stoop_in_shell};

/// A path that no other test has, where there is nothing.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("stoop-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn lines_go_to_a_file_that_is_made_anew() {
    let server = Server::start();
    let file = path("output");
    std::fs::write(&file, "old\n".repeat(100)).expect("writable");
    // Nothing goes to standard output, which may be closed.
    let line = format!("fetch -o {} {}", file.display(), server.url("/ok/3"));
    for streams in ["", ">&-"] {
        let ran = run(stoop_in_shell("true", &line, streams), "");
        assert_eq!((ran.code, &*ran.stdout), (Some(0), &b""[..]), "{}", ran.stderr);
        let written = std::fs::read_to_string(&file).expect("it is there");
        let begin = format!("{},200,", server.url("/ok/3"));
        assert!(written.starts_with(&begin) && written.lines().count() == 1, "{written}");
    }
    let ran = run(stoop(&format!("fetch -o - {}", server.url("/ok/3"))), "");
    assert_eq!(ran.lines().len(), 1);
    std::fs::remove_file(&file).expect("it is there");
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_anything_is_fetched() {
    let server = Server::start();
    let input = path("input");
    std::fs::write(&input, server.url("/ok/1")).expect("writable");
    let shown = input.display();
    // It was told as the end of a run without all its lines.
    let next = "(os error 2); nothing was fetched: 'mkdir -p /no/such/folder' makes the folder\n";
    for (options, code, why) in [
        ("-o /no/such/folder/x".to_owned(), 3, "cannot write to /no/such/folder/x: "),
        ("-o /no/such/folder/x".to_owned(), 3, next),
        ("-o /no/such/folder/x.parquet".to_owned(), 3, next),
        ("-o /no/such/folder/x.warc.gz".to_owned(), 3, next),
        (format!("-i {shown} -o {shown}"), 2, "are the same file, which would be lost"),
        (format!("-i {shown} --cookie-jar {shown}"), 2, "are the same file, which would be lost"),
        (format!("-i {shown} --report {shown}"), 2, "are the same file, which would be lost"),
        (format!("-d @{shown} -o {shown}"), 2, "--data INPUT and --output INPUT are the same file"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), server.url("/ok/1"));
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        let why = why.replace("INPUT", &shown.to_string());
        assert!(ran.stderr.contains(&why), "{}", ran.stderr);
    }
    assert_eq!(server.requests(), 0);
    assert_eq!(std::fs::read_to_string(&input).expect("it is there"), server.url("/ok/1"));
    std::fs::remove_file(&input).expect("it is there");
}

/// What was appended to the list was read as a part of it.
#[test]
fn a_list_that_is_a_standard_stream_is_no_other_file_either() {
    let server = Server::start();
    let input = path("streams");
    let url = server.url("/ok/1\n");
    std::fs::write(&input, &url).expect("writable");
    let shown = input.display();
    for (line, streams, why) in [
        (
            "fetch".to_owned(),
            format!("< {shown} >> {shown}"),
            "standard input and standard output are",
        ),
        (
            format!("fetch -i {shown}"),
            format!(">> {shown}"),
            "and standard output are the same file",
        ),
        (format!("fetch -o {shown}"), format!("< {shown}"), "and standard input are the same file"),
        (
            format!("fetch --cookie-jar {shown}"),
            format!("< {shown}"),
            "standard input are the same file",
        ),
    ] {
        let ran = run(stoop_in_shell("true", &line, &streams), "");
        assert_eq!(ran.code, Some(2), "{line} {streams}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{line} {streams}: {}", ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(&input).expect("it is there"), url);
    assert_eq!(server.requests(), 0);
    std::fs::remove_file(&input).expect("it is there");
}

/// Lines were written as they are to a file that said it was gzip, or Parquet.
#[test]
fn a_file_whose_name_promises_something_else_is_not_made() {
    let server = Server::start();
    for (options, name, why) in [
        ("", "a.csv.gz", "| gzip > "),
        ("-f jsonl", "a.jsonl.zst", "| zstd > "),
        ("-f csv", "a.parquet", "write '-f parquet'"),
        ("-f csv", "a.jsonl", "write '-f jsonl'"),
        ("-f warc --compression none", "a.warc.gz", "leave --compression out"),
    ] {
        let file = path(name);
        let line = format!("fetch {options} -o {}", file.display());
        let ran = run(stoop(&line), server.url("/ok/1"));
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{line}: {}", ran.stderr);
        assert!(!file.exists(), "{name}");
    }
    assert_eq!(server.requests(), 0);
}

/// It was refused, though the name says what is wanted, as httpx writes it.
#[test]
fn the_name_of_the_output_tells_the_format() {
    let server = Server::start();
    for (options, name, begin) in [
        ("", "a.json", "{\"v\":1"),
        ("", "a.ndjson", "{\"v\":1"),
        ("", "a.csv", "http://"),
        ("", "a.warc", "WARC/1.1"),
        ("", "a.txt", "http://"),
        ("-f jsonl", "b.txt", "{\"v\":1"),
    ] {
        let file = path(name);
        let line = format!("fetch {options} -o {}", file.display());
        let ran = run(stoop(&line), server.url("/ok/1"));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        let written = std::fs::read_to_string(&file).expect("written");
        assert!(written.starts_with(begin), "{name}: {written}");
        std::fs::remove_file(&file).expect("ours");
    }
}

/// The folder is made by --save, and was not there when the output was opened.
#[test]
fn the_output_and_the_report_may_be_in_a_folder_that_the_run_makes() {
    let server = Server::start();
    let folder = Folder::new("own");
    let shown = folder.0.display();
    let names =
        |files: std::collections::BTreeMap<String, Vec<u8>>| files.into_keys().collect::<String>();
    for (line, expected) in [
        (format!("--save {shown} --save-as id -o {shown}/r.jsonl"), "r.jsonl"),
        (format!("--run {shown} --report {shown}/r.html"), "r.html"),
        (format!("-o {shown}/ --report {shown}/r.html"), "r.html"),
    ] {
        let ran = run(stoop(&format!("fetch {line}")), server.url("/ok/1"));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        let names = names(folder.files());
        assert!(names.contains(expected), "{line}: {names}");
        std::fs::remove_dir_all(&folder.0).expect("made");
    }
    // A folder that nothing makes is a mistake still.
    let ran = run(stoop(&format!("fetch -o {shown}/no/r.csv")), server.url("/ok/1"));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(!folder.0.exists());
}

#[test]
fn csv_begins_with_its_columns_if_asked() {
    let server = Server::start();
    let list = server.url("/ok/1\n").repeat(20);
    let ran = run(stoop("fetch --csv-header --cores 2"), list);
    let text = String::from_utf8(ran.stdout).expect("text");
    assert!(text.starts_with("url,code,start_time,duration,body_length\nhttp://"), "{text}");
    assert_eq!(text.matches("start_time").count(), 1);
    assert_eq!(text.lines().count(), 21);
    let ran = run(stoop("fetch --csv-header"), "");
    assert_eq!(ran.stdout, b"url,code,start_time,duration,body_length\n", "{}", ran.stderr);
}

#[test]
fn a_quiet_run_says_nothing_but_errors() {
    let server = Server::start();
    let mut command = stoop("fetch -q");
    command.env("CONCURRENCY", "no number");
    let ran = run(command, server.url("/ok/1"));
    assert_eq!((ran.code, ran.stderr.as_str(), ran.lines().len()), (Some(0), "", 1));
    let ran = run(stoop("fetch -q -i /no/such/file"), "");
    assert!(ran.code == Some(3) && ran.stderr.contains("/no/such/file"), "{}", ran.stderr);
}

#[test]
fn a_url_that_was_there_before_is_passed_over_if_asked() {
    let server = Server::start();
    let (first, second) = (server.url("/ok/1"), server.url("/ok/2"));
    let list = format!("{first}\n{second}\n{first}\n{second}\n{first}\n");
    let ran = run(stoop("fetch --dedupe"), list.as_str());
    assert_eq!((ran.lines().len(), server.requests()), (2, 2), "{}", ran.stderr);
    assert_eq!(run(stoop("fetch"), list.as_str()).lines().len(), 5);
    let spelt = format!(
        "{first}\n{}#top\n{}\n",
        first.replace("http:", "HTTP:"),
        first.replace("/ok", "/a/../ok")
    );
    assert_eq!(run(stoop("fetch --dedupe"), spelt.as_str()).lines().len(), 1);
    // The limit counts what is fetched.
    assert_eq!(run(stoop("fetch --dedupe -n 2"), list.as_str()).lines().len(), 2);
}

/// What csv has no place for was left out without a word.
#[test]
fn what_lines_do_not_tell_is_noted_before_the_run_or_refused() {
    let server = Server::start();
    let folder = path("untold");
    let save = format!("--save {}", folder.display());
    let list = format!("{{\"url\":\"{}\",\"id\":\"a\"}}\n", server.url("/ok/3"));
    for (options, note) in [
        (save.clone(), "lines of csv do not tell which file of --save has the content"),
        (format!("{save} --save-as hash -f pretty"), "lines of pretty do not tell which file"),
        ("--truncate".to_owned(), "lines of csv do not tell which bodies --truncate has cut"),
        ("".to_owned(), "lines of csv do not tell id and meta of the objects of the list"),
    ] {
        let line = format!("fetch --input-format jsonl {options}");
        let ran = run(stoop(&line), list.as_str());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("stoop: {note}")), "{options}: {}", ran.stderr);
        for quiet in ["-q", "-f jsonl"] {
            let ran = run(stoop(&format!("{line} {quiet}")), list.as_str());
            assert!(!ran.stderr.contains("do not tell"), "{options} {quiet}: {}", ran.stderr);
        }
    }
    // The names tell it.
    for options in ["--save-as id --id-column id", "--save-as url --save-errors"] {
        let ran = run(stoop(&format!("fetch --input-format csv {save} {options}")), "url,id\n");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stderr.contains("do not tell"), "{options}: {}", ran.stderr);
    }
    let _ = std::fs::remove_dir_all(&folder);
    let before = server.requests();
    let refused = run(stoop("fetch --input-format jsonl --id-column key"), list.as_str());
    let why = "--id-column needs --format jsonl";
    assert!(refused.code == Some(2) && refused.stderr.contains(why), "{}", refused.stderr);
    assert_eq!(server.requests(), before);
}
