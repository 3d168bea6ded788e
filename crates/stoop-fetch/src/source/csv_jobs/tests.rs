//! Tables, and the jobs that they are.

mod bounds;

use std::collections::VecDeque;

use super::*;

/// Gives at most `step` bytes a read.
struct SmallReads(VecDeque<u8>, usize);

impl Read for SmallReads {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(into.len());
        self.0.read(&mut into[..n])
    }
}

/// A job, as the tests compare it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    url: String,
    id: Option<String>,
    meta: Option<String>,
    fault: Option<String>,
    extent: Option<Extent>,
}

type Described = CsvJobs<SmallReads>;

fn read_in_steps(
    input: &[u8],
    step: usize,
    end: Extent,
    describe: impl Fn(Described) -> Described,
) -> Result<Vec<Seen>, io::Error> {
    let mut jobs = Vec::new();
    let mut take = |job: Job<'_>| {
        let mut seen =
            Seen { url: String::from_utf8_lossy(job.url).into_owned(), ..Seen::default() };
        seen.extent = Some(job.extent).filter(|extent| *extent != Extent::Whole);
        if let Some(options) = job.options {
            seen.id = options.id.map(Into::into);
            seen.meta = options.metadata.map(|value| value.get().to_owned());
            seen.fault = options.fault.map(Into::into);
        }
        jobs.push(seen);
        ControlFlow::Continue(())
    };
    let mut source = describe(CsvJobs::new(SmallReads(input.to_vec().into(), step)));
    while source.read(&mut take)? {}
    source.finish(end, &mut take);
    assert_eq!(source.position(), input.len() as u64);
    Ok(jobs)
}

/// The jobs of a table, whatever the pieces in which it comes.
#[track_caller]
fn read(input: &[u8], describe: impl Fn(Described) -> Described) -> Vec<Seen> {
    let whole = read_in_steps(input, usize::MAX, Extent::Whole, &describe).expect("a table");
    for step in [1, 2, 3, 7] {
        let cut = read_in_steps(input, step, Extent::Whole, &describe).expect("a table");
        assert_eq!(cut, whole, "{step} bytes a read");
    }
    whole
}

#[track_caller]
fn error(input: &str, describe: impl Fn(Described) -> Described) -> String {
    let all = [1, usize::MAX].map(|step| {
        let read = read_in_steps(input.as_bytes(), step, Extent::Whole, &describe);
        read.expect_err("no such column").to_string()
    });
    assert_eq!(all[0], all[1]);
    all.into_iter().next().expect("two")
}

fn urls(jobs: &[Seen]) -> Vec<&str> {
    assert!(jobs.iter().all(|job| job.fault.is_none() && job.extent.is_none()), "{jobs:?}");
    jobs.iter().map(|job| job.url.as_str()).collect()
}

fn faults(jobs: &[Seen]) -> Vec<&str> {
    jobs.iter().map(|job| job.fault.as_deref().unwrap_or("-")).collect()
}

#[test]
fn each_row_below_the_header_is_a_job() {
    let jobs = read(b"url\nhttp://a/\nb\n", |table| table);
    assert_eq!(jobs[0], Seen { url: "http://a/".into(), ..Seen::default() });
    assert_eq!(urls(&jobs), ["http://a/", "b"]);
    assert_eq!(read(b"", |table| table), []);
    assert_eq!(read(b"url", |table| table), []);
    assert_eq!(read(b"\n\r\n", |table| table), []);
}

#[test]
fn quotes_line_ends_blank_lines_and_a_byte_order_mark_are_as_programs_write_them() {
    let table =
        b"\xef\xbb\xbf\"url\",n\r\n\r\n\"http://a/?x=\"\"1\"\",2\",\"a\nb\"\r\n http://b/ ,\n\n\"c\",d";
    assert_eq!(urls(&read(table, |table| table)), ["http://a/?x=\"1\",2", "http://b/", "c"]);
    assert_eq!(urls(&read(b"n,url\r1,a\r2,b\r", |table| table)), ["a", "b"]);
    // What only begins as a mark is a field.
    let jobs = read(b"\xef\xbb,x\na,b\n", |table| table.with_header(false));
    assert_eq!(faults(&jobs), ["row 1 of the input (line 1): column 1 is not UTF-8", "-"]);
}

#[test]
fn columns_are_found_by_name_and_number() {
    let table = b"ID;Link;URL\n1;a;x\n2;b;y\n";
    let jobs = read(table, |table| table.delimiter(Delimiter::Semicolon));
    assert_eq!(urls(&jobs), ["x", "y"]);
    assert_eq!(jobs[1].id.as_deref(), Some("2"));
    let jobs =
        read(table, |table| table.delimiter(Delimiter::Semicolon).url_column("link").id_column(3));
    assert_eq!(urls(&jobs), ["a", "b"]);
    assert_eq!(jobs[0].id.as_deref(), Some("x"));
    let tabs = b"n\turl\n1\ta,b;c\n";
    assert_eq!(urls(&read(tabs, |table| table.delimiter(Delimiter::Tab))), ["a,b;c"]);
}

#[test]
fn a_table_without_a_header_has_numbers() {
    let table = b"1,example.com\n2,example.org\n";
    let jobs = read(table, |table| table.with_header(false).url_column(2).id_column(1));
    assert_eq!(urls(&jobs), ["example.com", "example.org"]);
    assert_eq!(jobs[1].id.as_deref(), Some("2"));
    assert_eq!(urls(&read(b"a\nb\n", |table| table.with_header(false))), ["a", "b"]);
    let name = error("a,b\n", |table| table.with_header(false).url_column("link"));
    assert_eq!(name, "there is no column \"link\": without a header they have numbers");
}

#[test]
fn other_columns_are_kept_if_asked_for() {
    let table = "url,title,,title,id,n\na,\"T \"\"x\"\"\",u,v,7,\u{e4}\nb,,,,,\n".as_bytes();
    let jobs = read(table, |table| table.keep_columns(true));
    let meta = r#"{"title":"T \"x\"","3":"u","4":"v","n":"ä"}"#;
    assert_eq!((jobs[0].id.as_deref(), jobs[0].meta.as_deref()), (Some("7"), Some(meta)));
    assert_eq!(jobs[1].meta.as_deref(), Some(r#"{"title":"","3":"","4":"","n":""}"#));
    let jobs = read(b"a,b\n", |table| table.with_header(false).keep_columns(true));
    assert_eq!(jobs[0].meta.as_deref(), Some(r#"{"2":"b"}"#));
}

#[test]
fn a_column_that_is_not_there_is_an_error_that_lists_those_that_are() {
    for (header, column, expected) in [
        ("link,title\nx,y\n", None, "there is no column \"url\": they are \"link\", \"title\""),
        (
            "urls,n",
            None,
            "there is no column \"url\": they are \"urls\", \"n\"; did you mean \"urls\"?",
        ),
        (
            "url,title",
            Some(Column::from("titel_")),
            "there is no column \"titel_\": they are \"url\", \"title\"; did you mean \"title\"?",
        ),
        ("url,title", Some(Column::from(3)), "there is no column 3: they are 1 to 2"),
        ("url,title", Some(Column::from(0)), "there is no column 0: they are 1 to 2"),
        ("url,URL,url", None, "columns 1 and 3 are both named \"url\": give a number"),
        ("Url,URL", None, "columns 1 and 2 are both named \"url\": give a number"),
        (
            "http://me:secret@a/,1",
            None,
            "there is no column \"url\": they are \"http://me:***@a/\", \"1\"",
        ),
        (
            "\"url\nx\n",
            None,
            "the header of the table (line 1): a quote is not closed, to the end of the input",
        ),
    ] {
        let found = error(header, |table| match &column {
            Some(column) => table.url_column(column.clone()),
            None => table,
        });
        assert_eq!(found, expected);
    }
    let wide: Vec<_> = (0..30).map(|n| format!("column number {n} {}", "x".repeat(99))).collect();
    let text = error(&wide.join(","), |table| table);
    assert!(text.contains("\u{2026}\" and 10 more") && text.len() < 1500, "{text}");
    let text = error("url\n", |table| table.id_column("key"));
    assert!(text.starts_with("there is no column \"key\""), "{text}");
}

#[test]
fn a_broken_row_says_where_and_why_and_has_no_field_of_it() {
    let table = b"id,url\n1,http://a/\n2\n\n3,\"x\ny\",secret\n\xff,b\n4,\xff\n5,c\n";
    let jobs = read(table, |table| table);
    assert_eq!(
        faults(&jobs),
        [
            "-",
            "row 3 of the input (line 3): 1 field, where the header has 2",
            "row 4 of the input (line 5): 3 fields, where the header has 2",
            "row 5 of the input (line 7): column 1 is not UTF-8",
            "row 6 of the input (line 8): column 2 is not UTF-8",
            "-",
        ]
    );
    assert!(jobs.iter().filter(|job| job.fault.is_some()).all(|job| job.url.is_empty()));
    // What is not needed may be in any encoding; two halves of a character in two fields are none.
    let jobs = read(b"url,n\na,\xff\n", |table| table);
    assert_eq!(urls(&jobs), ["a"]);
    let jobs = read(b"url,n\n\xc3,\xa4\n", |table| table.keep_columns(true));
    assert_eq!(faults(&jobs), ["row 2 of the input (line 2): column 1 is not UTF-8"]);
}

#[test]
fn nothing_of_a_table_without_the_column_is_a_job() {
    let table = "Report 2026\nurl,id\nhttp://a/,1\nhttp://b/,2\nhttp://c/";
    let mut jobs = CsvJobs::new(table.as_bytes());
    let mut taken = 0;
    let mut take = |_: Job<'_>| {
        taken += 1;
        ControlFlow::Continue(())
    };
    assert!(jobs.read(&mut take).is_err());
    jobs.finish(Extent::InputFailed, &mut take);
    assert_eq!(taken, 0);
}

#[test]
fn a_row_that_is_not_utf_8_keeps_its_id() {
    let table = b"id,url,x\n7,http://a/\xff,\n\xff,http://a/,\n8,http://a/\n";
    let jobs = read(table, |table| table);
    let ids: Vec<_> = jobs.iter().map(|job| job.id.as_deref()).collect();
    assert_eq!(ids, [Some("7"), None, None]);
    let faults: Vec<_> = jobs.iter().map(|job| job.fault.as_deref().unwrap_or("none")).collect();
    let expected = [
        "row 2 of the input (line 2): column 2 is not UTF-8",
        "row 3 of the input (line 3): column 1 is not UTF-8",
        "row 4 of the input (line 4): 2 fields, where the header has 3",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn any_character_separates_columns() {
    let jobs =
        read(b"id|url\n7|http://a/?b,c;d\n", |table| table.delimiter(Delimiter::Character(b'|')));
    assert_eq!(urls(&jobs), ["http://a/?b,c;d"]);
    let jobs = read(b"id,url\n7,http://a/\n", |table| table.delimiter(Delimiter::Character(b'"')));
    assert_eq!(urls(&jobs), ["http://a/"]);
}
