//! Tests of the files that options name.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;

use clap::{Args, Command, FromArgMatches};

use super::*;

/// A folder with a list, and links to it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-files-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("d")).expect("writable");
        let path = fs::canonicalize(path).expect("it is there");
        fs::write(path.join("list"), "http://a/\n").expect("writable");
        fs::hard_link(path.join("list"), path.join("hard")).expect("writable");
        symlink("list", path.join("soft")).expect("writable");
        symlink("../later", path.join("d/dangling")).expect("writable");
        symlink(&path, path.join("d/up")).expect("writable");
        Self(path)
    }

    /// What is said of a line, in which ~ stands for the folder.
    fn said(&self, line: &str) -> Result<(), String> {
        let shown = self.0.display().to_string();
        let words = line.split(' ').map(|word| OsString::from(word.replace('~', &shown)));
        let words = std::iter::once(OsString::from("fetch")).chain(words);
        let matches = FetchArgs::augment_args(Command::new("fetch")).try_get_matches_from(words);
        let args = FetchArgs::from_arg_matches(&matches.expect(line)).expect(line);
        let output = match &args.output.output {
            Some(path) if path.as_os_str().as_bytes().ends_with(b"/") => {
                RecordOutput::Folder(path.clone())
            }
            Some(path) => RecordOutput::File(path.clone()),
            None => RecordOutput::Nowhere,
        };
        let format = args.output.format.unwrap_or(LineFormat::Csv);
        match check(&args, &output, format) {
            Ok(()) => Ok(()),
            Err(CommandFailure::Usage(text)) => Err(text.replace(&shown, "~")),
            Err(other) => panic!("{other:?}"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_that_is_written_has_one_option() {
    let folder = Folder::new("one");
    for (line, expected) in [
        (
            "-i ~/list --cookie-jar ~/list",
            "--input ~/list and --cookie-jar ~/list are the same file",
        ),
        ("-i ~/list -o ~/d/../list", "--input ~/list and --output ~/d/../list are the same file"),
        ("-i ~/list -o ~/hard", "--input ~/list and --output ~/hard are"),
        ("-i ~/soft --report ~/list", "--input ~/soft and --report ~/list are"),
        ("-i ~/list --report ~/d/up/soft", "--input ~/list and --report ~/d/up/soft are"),
        (
            "u -o ~/new --report ~/./new",
            "--report ~/./new and --output ~/new are the same file, and each",
        ),
        ("u -o ~/later --report ~/d/dangling", "--report ~/d/dangling and --output ~/later are"),
        ("u --cookie-jar ~/no/a --report ~/no/a", "--cookie-jar ~/no/a and --report ~/no/a are"),
        (
            "u --if-changed-since ~/list -o ~/list",
            "--if-changed-since ~/list and --output ~/list are",
        ),
        ("u -d @~/list -o ~/list", "--data ~/list and --output ~/list are"),
        ("u -H @~/list -o ~/list", "--header ~/list and --output ~/list are"),
        ("u --cacert ~/list --report ~/list", "--cacert ~/list and --report ~/list are"),
        ("u --cert ~/list --cookie-jar ~/list", "--cert ~/list and --cookie-jar ~/list are"),
        ("u --run ~/r -o ~/r", "--run ~/r and --output ~/r are the same path, and only one"),
        ("-i ~/list --save ~/list", "--save ~/list are the same path"),
        ("u -o ~/a --report ~/a --summary full", "--report ~/a and --output ~/a"),
        // Under this name it is written until it is whole.
        ("-i ~/a.partial --report ~/a", "--input ~/a.partial and --report ~/a.partial are"),
        (
            "u -f parquet -o ~/a --report ~/a.partial",
            "--report ~/a.partial and --output ~/a.partial are",
        ),
        (
            "-i ~/a.cdxj -f warc -o ~/a",
            "--input ~/a.cdxj and the index of --output ~/a.cdxj are the same file, which",
        ),
        (
            "u -f warc -o ~/a --report ~/a.cdxj.lines.partial",
            "--report ~/a.cdxj.lines.partial and the index of --output ~/a.cdxj.lines.partial are",
        ),
        // Those of a run, and of a folder of records.
        (
            "u --run ~/r -o ~/r/stoop.journal",
            "--output ~/r/stoop.journal is a file that the run keeps in its folder",
        ),
        (
            "u --run ~/r/ -o ~/s/ --report ~/r/stoop.checks",
            "--report ~/r/stoop.checks is a file that the run keeps",
        ),
        (
            "-i ~/d/stoop.lock --run ~/d/up/d -o ~/s/",
            "--input ~/d/stoop.lock is a file that the run keeps",
        ),
        (
            "u -o ~/d/ --report ~/d/part-00000.csv",
            "--report ~/d/part-00000.csv is in the folder of the output, ~/d/",
        ),
    ] {
        let said = folder.said(line).expect_err(line);
        assert!(said.contains(expected), "{line}: {said}");
        assert!(said.ends_with("needs another name"), "{said}");
    }
    let names = fs::read_dir(&folder.0).expect("there").count();
    assert_eq!(names, 4, "nothing was made");
    assert_eq!(fs::read(folder.0.join("list")).expect("there"), b"http://a/\n");
}

/// Its records were read, and it was made anew: a run that was ended early left fewer than there were.
#[test]
fn a_file_of_the_earlier_run_is_not_written() {
    let folder = Folder::new("earlier");
    fs::write(folder.0.join("d/a.jsonl"), "").expect("writable");
    fs::hard_link(folder.0.join("d/a.jsonl"), folder.0.join("a")).expect("writable");
    for file in ["~/d/a.jsonl", "~/a", "~/d/up/d/a.jsonl"] {
        let said = folder.said(&format!("u --if-changed-since ~/d -o {file}")).expect_err(file);
        let expected = format!(
            "--output {file} is a file of --if-changed-since ~/d, which is read, and would be lost"
        );
        assert!(said.starts_with(&expected), "{said}");
    }
    for line in ["-o ~/d/b.jsonl", "-o ~/d/", "-o ~/list"] {
        assert_eq!(folder.said(&format!("u --if-changed-since ~/d {line}")), Ok(()), "{line}");
    }
    // It goes on with a file that it has begun itself.
    let line = "u --if-changed-since ~/d --run ~/r -o ~/d/a.jsonl";
    assert!(folder.said(line).is_err());
    fs::create_dir(folder.0.join("r")).expect("writable");
    fs::write(folder.0.join("r/stoop.journal"), "").expect("writable");
    assert_eq!(folder.said(line), Ok(()));
    // What is not there is told as that when it is read.
    assert_eq!(folder.said("u --if-changed-since ~/no/ -o ~/no/"), Ok(()));
    assert_eq!(folder.said("u --if-changed-since ~/no -o ~/no"), Ok(()));
}

#[test]
fn what_is_only_read_and_what_is_no_file_may_be_shared() {
    let folder = Folder::new("shared");
    for line in [
        "-i ~/list --if-changed-since ~/list",
        "u --cert ~/list --key ~/list --cacert ~/soft",
        "u -o /dev/null --report /dev/null --cookie-jar /dev/null",
        "-i /dev/null -o /dev/null",
        "u -d @- -o -",
        "u -d list -o list --data-raw @a --report a",
        "-i ~/list --cookie-jar ~/d/list",
        "u -o ~/new --report ~/d/new",
        "u --run ~/d -o ~/d/ --save ~/d",
        "u --run ~/d -o ~/d/lines --report ~/d/report.html --cookie-jar ~/d/jar",
        "u --run ~/d -o ~/stoop.journal",
        "u -o stoop.journal",
        "u --run ~/d --report ~/d/stoop.html -d @-",
        "u -o ~/d/ --if-changed-since ~/d",
        "-i ~/d/part-00000.csv -o ~/d/",
    ] {
        assert_eq!(folder.said(line), Ok(()), "{line}");
    }
}

/// The list was empty, or the content.
#[test]
fn standard_input_has_one_reader() {
    let folder = Folder::new("stdin");
    for (line, expected) in [
        ("-d @-", "the list of URLs and --data both read standard input"),
        ("-i - -H @-", "the list of URLs and --header @- both read standard input"),
        ("u --json @- -H @-", "--header @- and --json both read standard input"),
    ] {
        let said = folder.said(line).expect_err(line);
        assert!(said.starts_with(expected), "{line}: {said}");
    }
}

#[test]
fn a_link_of_a_run_is_known_by_any_name() {
    let folder = Folder::new("link");
    fs::write(folder.0.join("d/stoop.journal"), "").expect("writable");
    fs::hard_link(folder.0.join("d/stoop.journal"), folder.0.join("j")).expect("writable");
    let said = folder.said("u --run ~/d -o ~/j").expect_err("the journal");
    assert!(said.starts_with("--output ~/j is a file that the run keeps"), "{said}");
}

/// Options that take a file are known by the names of their values: each of them has to be among those that are checked.
#[test]
fn every_option_that_names_a_file_is_checked() {
    let command = FetchArgs::augment_args(Command::new("fetch"));
    let mut named = Vec::new();
    for arg in command.get_arguments() {
        let values = arg.get_value_names().unwrap_or_default();
        if values.iter().any(|value| ["FILE", "DIR", "FOLDER"].contains(&value.as_str())) {
            named.push(arg.get_long().expect("a long name"));
        }
    }
    named.sort_unstable();
    let expected = [
        "cacert",
        "cert",
        "cookie-jar",
        "if-changed-since",
        "input",
        "key",
        "output",
        "report",
        "run",
        "save",
    ];
    assert_eq!(named, expected, "add it to the list of named_files");
}
