//! Tests of the plan that follows from flags, variables and defaults.

use std::ffi::OsString;

use clap::{FromArgMatches, Subcommand};

use super::*;

#[derive(Subcommand)]
enum Subcommands {
    Fetch(FetchArgs),
}

fn typed(line: &str) -> Result<FetchArgs, String> {
    let command = Subcommands::augment_subcommands(clap::Command::new("stoop"));
    let words = std::iter::once("stoop").chain(line.split_whitespace());
    let matches = command.try_get_matches_from(words).map_err(|e| e.to_string())?;
    let Subcommands::Fetch(args) =
        Subcommands::from_arg_matches(&matches).map_err(|e| e.to_string())?;
    Ok(args)
}

const PIPED: Environment = Environment {
    variable: |_| None,
    stdin_is_terminal: false,
    stdout_is_terminal: false,
    stderr_columns: None,
};

fn plan(line: &str, environment: &Environment) -> FetchPlan {
    FetchPlan::new(typed(line).expect("a good line"), environment).expect("a good plan")
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let plan = plan("fetch", &PIPED);
    assert_eq!(plan.source, UrlSource::Stdin);
    assert_eq!(plan.concurrency, 100);
    assert_eq!(plan.timeout, Duration::from_secs(5));
    assert_eq!((plan.limit, plan.duration, plan.connect_timeout), (None, None, None));
    assert_eq!(plan.max_redirects, 10);
    assert_eq!(plan.user_agent, concat!("stoop/", env!("CARGO_PKG_VERSION")));
    assert_eq!((plan.format, plan.summary), (LineFormat::Csv, SummaryStyle::Table));
    assert!(
        !plan.insecure
            && !plan.allow_private
            && !plan.is_coloured
            && plan.progress == ProgressPlan::None
    );
    assert_eq!(plan.versions, Versions::All);
}

#[test]
fn a_flag_selects_one_version() {
    assert_eq!(plan("fetch --http1.1", &PIPED).versions, Versions::Http1);
    assert_eq!(plan("fetch --http2-prior-knowledge", &PIPED).versions, Versions::Http2);
}

#[test]
fn a_variable_beats_a_default_and_a_flag_beats_a_variable() {
    let environment = Environment {
        variable: |name| {
            Some(OsString::from(match name {
                "CONCURRENCY" => "7",
                "REQUEST_TIMEOUT" => "1.5",
                "USER_AGENT" => "from-variable",
                "LIMIT" => "10",
                "DURATION" => "600",
                "FORMAT" => "jsonl",
                _ => return None,
            }))
        },
        ..PIPED
    };
    let by_variable = plan("fetch", &environment);
    assert_eq!(by_variable.concurrency, 7);
    assert_eq!(by_variable.timeout, Duration::from_millis(1500));
    assert_eq!(by_variable.user_agent, "from-variable");
    assert_eq!(by_variable.limit, Some(10));
    assert_eq!(by_variable.duration, Some(Duration::from_secs(600)));
    assert_eq!(by_variable.format, LineFormat::Jsonl);
    let by_flag = plan("fetch -c 9 -t 2 -A flag -n 3 --duration 1m -f csv", &environment);
    assert_eq!(by_flag.concurrency, 9);
    assert!(by_flag.is_concurrency_given && by_variable.is_concurrency_given);
    let auto = plan("fetch -c auto", &environment);
    assert!(!auto.is_concurrency_given && auto.politeness.is_some());
    assert_eq!(by_flag.timeout, Duration::from_secs(2));
    assert_eq!(by_flag.user_agent, "flag");
    assert_eq!(by_flag.limit, Some(3));
    assert_eq!(by_flag.duration, Some(Duration::from_secs(60)));
    assert_eq!(by_flag.format, LineFormat::Csv);
}

#[test]
fn a_flag_given_twice_has_its_last_value() {
    let plan = plan("fetch -c 5 --timeout 9 --concurrency 6 -t 2 --dns ::1 --dns 9.9.9.9", &PIPED);
    assert_eq!((plan.concurrency, plan.timeout), (6, Duration::from_secs(2)));
    assert_eq!(plan.dns.len(), 2, "but there may be several name servers");
}

#[test]
fn an_empty_variable_is_none_and_a_wrong_one_says_what_is_allowed() {
    let empty = Environment { variable: |_| Some(OsString::new()), ..PIPED };
    assert_eq!(plan("fetch", &empty).concurrency, 100);
    let wrong = Environment {
        variable: |name| (name == "STOOP_CONCURRENCY").then(|| OsString::from("many")),
        ..PIPED
    };
    let error = FetchPlan::new(FetchArgs::default(), &wrong).expect_err("not a number");
    let CommandFailure::Usage(text) = error else { panic!("{error:?}") };
    assert_eq!(
        text,
        "the variable STOOP_CONCURRENCY is \"many\": must be a whole number from 1 to 100000, or 'auto'"
    );
    // A flag makes the variable irrelevant, wrong or not.
    assert_eq!(plan("fetch -c 5", &wrong).concurrency, 5);
}

#[test]
fn the_format_is_pretty_on_terminals_unless_a_variable_says_plain() {
    let terminal = Environment { stdout_is_terminal: true, ..PIPED };
    assert_eq!(plan("fetch", &terminal).format, LineFormat::Pretty);
    assert!(plan("fetch", &terminal).is_coloured);
    let plain = Environment {
        variable: |name| (name == "FORMAT").then(|| OsString::from("plain")),
        ..terminal
    };
    assert_eq!(plan("fetch", &plain).format, LineFormat::Csv);
    let colourless = Environment {
        variable: |name| (name == "NO_COLOR").then(|| OsString::from("1")),
        stdout_is_terminal: true,
        ..PIPED
    };
    assert!(!plan("fetch", &colourless).is_coloured);
    let dumb = Environment {
        variable: |name| (name == "TERM").then(|| OsString::from("dumb")),
        stderr_columns: Some(80),
        ..terminal
    };
    let dumb = plan("fetch http://a/", &dumb);
    assert!(!dumb.is_coloured && dumb.progress == ProgressPlan::None && dumb.is_terminal);
    // With the flag, pretty lines are also written to a file, but never in colour.
    assert_eq!(plan("fetch -f pretty", &PIPED).format, LineFormat::Pretty);
    assert!(!plan("fetch -f pretty", &PIPED).is_coloured);
}

#[test]
fn progress_is_shown_on_a_terminal_unless_urls_are_typed_there() {
    let shown = Environment { stderr_columns: Some(80), ..PIPED };
    assert_eq!(plan("fetch", &shown).progress, ProgressPlan::Drawn);
    let typing = Environment { stdin_is_terminal: true, ..shown };
    assert_eq!(plan("fetch", &typing).progress, ProgressPlan::None);
    assert_eq!(plan("fetch -i -", &typing).progress, ProgressPlan::None);
    assert_eq!(plan("fetch -i list", &typing).progress, ProgressPlan::Drawn);
    assert_eq!(plan("fetch http://a/", &typing).progress, ProgressPlan::Drawn);
    let lines = ProgressPlan::Lines(Duration::from_secs(30));
    for environment in [&PIPED, &shown, &typing] {
        assert_eq!(plan("fetch --progress-every 30", environment).progress, lines);
    }
}

#[test]
fn a_wrong_flag_says_what_is_allowed() {
    for (line, allowed) in [
        ("fetch -c 0", "from 1 to 100000"),
        ("fetch -t 0", "number of seconds above 0"),
        ("fetch -n 0", "whole number of 1 or more"),
        ("fetch --duration never", "number of seconds above 0"),
        ("fetch --max-redirects 101", "from 0 to 100"),
        ("fetch --max-body big", "8MiB"),
        ("fetch --content-memory big", "8MiB"),
        ("fetch --content-memory 0", "at least 1"),
        ("fetch --dns here", "IP address"),
        ("fetch -f xml", "csv, jsonl, warc, tar, parquet, pretty"),
        ("fetch --summary long", "table, full, json, none"),
        ("fetch -A \u{1}", "printable ASCII"),
        ("fetch --http1.1 --http2-prior-knowledge", "cannot be used with"),
    ] {
        let error = typed(line).expect_err(line);
        assert!(error.contains(allowed), "{line}: {error}");
    }
}

/// Records were written into the journal, which no run could read then.
#[test]
fn the_output_is_no_file_that_the_run_keeps_for_itself() {
    let plan = |line: &str| {
        let args = typed(line).expect(line);
        FetchPlan::new(args, &PIPED)
    };
    for line in
        ["--run r -o r/stoop.journal", "--run . -o stoop.lock", "--run ./r/ -o r//stoop.checks"]
    {
        match plan(&format!("fetch {line}")) {
            Err(CommandFailure::Usage(text)) => {
                assert!(text.contains("keeps in its folder"), "{text}")
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    for line in ["--run r -o r/records", "--run r -o q/stoop.journal", "-o stoop.journal"] {
        assert!(plan(&format!("fetch {line}")).is_ok(), "{line}");
    }
}

/// The lines of csv had no place for it, and nothing said so.
#[test]
fn what_a_format_has_no_place_for_is_refused_with_those_that_have() {
    let plan = |line: &str| FetchPlan::new(typed(line).expect(line), &PIPED);
    for line in [
        "fetch -i a.csv --keep-columns",
        "fetch -i a.csv --keep-columns -f pretty",
        "fetch -i a.csv --extract title",
        "fetch -i a.csv --digest sha256 -f csv",
    ] {
        match plan(line) {
            Err(CommandFailure::Usage(text)) => assert!(text.contains("jsonl"), "{text}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    for format in ["jsonl", "tar -o a.tar", "warc", "parquet -o a.parquet"] {
        assert!(plan(&format!("fetch -i a.csv --keep-columns -f {format}")).is_ok(), "{format}");
    }
}

#[test]
fn the_method_is_noted_where_its_letters_are_others() {
    assert_eq!(plan("fetch -X post", &PIPED).notes.len(), 1);
    assert!(plan("fetch -X POST", &PIPED).notes.is_empty());
    assert!(plan("fetch -q -X post", &PIPED).notes.is_empty());
}

#[test]
fn urls_come_from_arguments_a_file_or_standard_input() {
    assert_eq!(plan("fetch a b", &PIPED).source, UrlSource::Text(b"a\nb".to_vec()));
    assert_eq!(plan("fetch -i list", &PIPED).source, UrlSource::File("list".into()));
    assert_eq!(plan("fetch -i -", &PIPED).source, UrlSource::Stdin);
}

#[test]
fn there_are_never_more_threads_than_slots() {
    assert_eq!(plan("fetch -c 1 --cores 8", &PIPED).cores, 1);
    assert_eq!(plan("fetch -c 100 --cores 3", &PIPED).cores, 3);
    assert_eq!(plan("fetch --max-body none", &PIPED).max_body, None);
    assert_eq!(plan("fetch --max-body 1k", &PIPED).max_body, Some(1024));
}
