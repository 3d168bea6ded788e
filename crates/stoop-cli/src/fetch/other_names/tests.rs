//! Tests of the options of other programs.

use clap::{Args, Command};

use super::*;
use crate::fetch::FetchArgs;
use crate::fetch::mistyped::explain;

fn command() -> Command {
    FetchArgs::augment_args(Command::new("fetch"))
}

/// All options as they are typed.
fn options() -> Vec<String> {
    let mut all = Vec::new();
    for arg in command().get_arguments() {
        all.extend(
            arg.get_short_and_visible_aliases().into_iter().flatten().map(|c| format!("-{c}")),
        );
        all.extend(
            arg.get_long_and_visible_aliases().into_iter().flatten().map(|s| format!("--{s}")),
        );
    }
    all
}

#[test]
fn every_option_that_is_suggested_exists_and_none_that_is_absent() {
    let options = options();
    let advice = ABSENT.iter().map(|(_, advice)| *advice).chain(MISREAD.iter().map(|it| it.2));
    let mut suggested = 0;
    for advice in advice {
        let words = advice.split([' ', '\'', '"', ',', ';', ':']);
        for word in words.filter(|word| word.starts_with('-')) {
            assert!(options.iter().any(|option| option == word), "{word} in {advice:?}");
            suggested += 1;
        }
    }
    assert!(suggested > 80, "{suggested}");
    for (names, _) in ABSENT {
        for name in *names {
            assert!(!options.iter().any(|option| option == name), "{name} exists");
        }
    }
    for (short, long, _) in MISREAD {
        let command = command();
        let arg = command.get_arguments().find(|arg| arg.get_long() == long.strip_prefix("--"));
        assert_eq!(arg.and_then(clap::Arg::get_short), short.chars().nth(1), "{short} {long}");
    }
}

#[test]
fn no_option_has_two_answers() {
    let mut names: Vec<_> = ABSENT.iter().flat_map(|(names, _)| names.iter()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None);
}

fn said(line: &str) -> Option<String> {
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    let typed = std::iter::once("fetch").chain(line.split(' '));
    explain(&command().try_get_matches_from(typed).expect_err(line), &words)
}

#[test]
fn options_of_other_programs_get_what_to_write_here() {
    for (line, expected) in [
        ("-l urls.txt", "fetch has no -l: write '-i FILE'"),
        ("-rl 150 -i urls", "fetch has no -rl: write '--total-rate N'"),
        ("-i urls -sc -title", "fetch has no -sc: leave it out"),
        ("-i urls -title -sc", "fetch has no -title: write '-f jsonl --extract"),
        ("--title", "fetch has no --title: write '-f jsonl --extract"),
        ("-threads 50", "fetch has no -threads: write '-c N'"),
        ("-silent", "fetch has no -silent: write '-q'"),
        ("-json", "fetch has no -json: leave it out: '-f jsonl'"),
        ("-fr", "fetch has no -fr: leave it out"),
        ("--limit-rate 200k https://a/", "fetch has no --limit-rate: write '--max-bandwidth SIZE'"),
        ("--limit-rate=200k", "fetch has no --limit-rate: write '--max-bandwidth SIZE'"),
        (
            "--max-overall-download-limit=1M -i urls",
            "fetch has no --max-overall-download-limit: write '--max-bandwidth SIZE'",
        ),
        ("--max-download-limit=1M", "fetch has no --max-download-limit: write '--max-bandwidth"),
        ("-mc 200", "fetch has no -mc: write '--match-code CODES'"),
        ("-fc 404", "fetch has no -fc: write '--skip-code CODES'"),
        ("-random-agent", "fetch has no -random-agent: write '-A TEXT'"),
        ("-nc -i urls", "fetch has no -nc: leave it out"),
        ("--tries=3", "fetch has no --tries: write '--retry N'"),
        ("-qs -i urls", "fetch has no -s: write '-q'"),
        ("-s16", "fetch has no -s: write '-q'"),
        ("-P pages", "fetch has no -P: write '--save DIR'"),
        ("-k https://a/", "fetch has no -k: write '--insecure'"),
        ("-Z https://a/", "fetch has no -Z: write '-c N'"),
        ("-c", "-c is --concurrency <N|auto> here; to go on"),
        ("-r https://a/", "-r is --range <RANGE> here; links are not followed"),
        ("-f https://a/", "-f is --format <FORMAT> here; to end with"),
    ] {
        let said = said(line);
        assert!(said.as_deref().is_some_and(|said| said.starts_with(expected)), "{line}: {said:?}");
    }
    // Mistakes of another kind are clap's.
    for line in ["-c many", "-f xml", "-t 0", "--concurency 5", "-i", "-c many -- -nc", "-tx"] {
        assert_eq!(said(line), None, "{line}");
    }
}
