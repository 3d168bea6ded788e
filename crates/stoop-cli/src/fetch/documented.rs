//! The commands and options of `stoop fetch` that documentation names: each is one that there is, and the other way round.
//! Commands are read as they are typed and planned; nothing is fetched.

use clap::FromArgMatches;

use super::help::AFTER_OPTIONS;
use super::{Environment, FetchArgs, FetchPlan};
use crate::cli;

const README: &str = include_str!("../../../../README.md");
const GUIDE: &str = include_str!("../../../stoop/docs/command.md");
const FETCHING: &str = include_str!("../../../stoop/docs/fetching.md");

const PIPED: Environment = Environment {
    variable: |_| None,
    stdin_is_terminal: false,
    stdout_is_terminal: false,
    stderr_columns: None,
};

/// The words of the command at the beginning of `line`, as a shell reads them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '<' | '>' | ';' | '&') => {
                // The number of a stream, as in `2> FILE`, is no argument.
                word = word.filter(|word| word.parse::<u8>().is_err());
                break;
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The lines of code blocks, and the spans of code in the other lines.
fn code(page: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut is_block = false;
    for line in page.lines() {
        match (line.starts_with("```"), is_block) {
            (true, _) => is_block = !is_block,
            (false, true) => code.push(line.to_owned()),
            (false, false) => {
                let spans = line.split('`').skip(1).step_by(2);
                code.extend(spans.map(|span| span.replace("\\|", "|")));
            }
        }
    }
    code
}

/// The commands of `stoop fetch` in code, each with what follows it.
fn commands(code: &[String]) -> Vec<&str> {
    let starts = |line: &str| {
        let places = line.match_indices("stoop fetch ").map(|(at, _)| at);
        places.filter(|at| *at == 0 || line[..*at].ends_with(' ')).collect::<Vec<_>>()
    };
    code.iter().flat_map(|line| starts(line).into_iter().map(|at| &line[at..])).collect()
}

/// Reads and plans a command as `stoop fetch` does.
fn plan(command: &str) -> Result<(), String> {
    let matches = cli::command().try_get_matches_from(words(command));
    let matches = matches.map_err(|error| error.to_string())?;
    let (_, of_fetch) = matches.subcommand().expect("it names one");
    let args = FetchArgs::from_arg_matches(of_fetch).map_err(|error| error.to_string())?;
    FetchPlan::new(args, &PIPED).map(|_| ()).map_err(|failure| format!("{failure:?}"))
}

#[test]
fn each_command_that_is_shown_can_be_typed() {
    let help: Vec<String> = AFTER_OPTIONS.lines().map(|line| line.trim().to_owned()).collect();
    for (name, code, least) in [
        ("README", code(README), 6),
        ("command.md", code(GUIDE), 8),
        ("fetching.md", code(FETCHING), 25),
        ("help", help, 13),
    ] {
        let commands = commands(&code);
        let shown = commands.iter().filter(|command| !command.contains("--help"));
        let shown: Vec<_> = shown.collect();
        assert!(shown.len() >= least, "{name} has {} commands", shown.len());
        for command in shown {
            assert_eq!(plan(command), Ok(()), "{name}: {command}");
        }
    }
    assert!(
        plan("stoop fetch --no-such-option").is_err() && plan("stoop fetch -f warc -c x").is_err()
    );
}

/// The options, by their long and short names.
fn options() -> Vec<(String, Option<char>)> {
    let mut command = cli::command();
    let fetch = command.find_subcommand_mut("fetch").expect("it is one");
    let named = fetch.get_arguments().filter(|arg| !arg.is_hide_set());
    let names = named.filter_map(|arg| Some((arg.get_long()?.to_owned(), arg.get_short())));
    names.filter(|(name, _)| name != "help").collect()
}

/// The names of options in a piece of code: `--name` and `-n`.
fn names(code: &str) -> Vec<&str> {
    let words = code.split([' ', '=', ',', '[']);
    words.filter(|word| word.starts_with('-') && word.len() > 1 && !is_number(&word[1..])).collect()
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.len() > 1
}

#[test]
fn each_option_has_one_row_in_the_page_and_each_option_of_the_page_is_there() {
    let options = options();
    assert!(options.len() > 80, "{}", options.len());
    let (_, all) = FETCHING.split_once("# All options").expect("a section");
    let rows: Vec<&str> =
        all.lines().filter_map(|row| row.strip_prefix("| `")?.split(" | ").next()).collect();
    for (long, short) in &options {
        let is_named = |row: &&&str| {
            let code = code(&format!("`{row}"));
            code.iter().any(|code| names(code).contains(&format!("--{long}").as_str()))
        };
        let named: Vec<_> = rows.iter().filter(is_named).collect();
        assert_eq!(named.len(), 1, "--{long} has {} rows in fetching.md", named.len());
        if let Some(short) = short {
            assert!(named[0].contains(&format!("-{short}`")), "-{short} of --{long}");
        }
    }
    for code in code(FETCHING).iter().filter(|code| code.starts_with('-')) {
        for name in names(code) {
            let is_there = options.iter().any(|(long, short)| {
                name.strip_prefix("--") == Some(long)
                    || short.is_some_and(|short| name == format!("-{short}"))
            });
            assert!(is_there, "fetching.md has {name}, which is no option: {code}");
        }
    }
}

#[test]
fn a_command_ends_where_the_shell_says() {
    let of = |line: &str| words(line).join("|");
    assert_eq!(of("stoop fetch -i 'a b' \"c\" > d"), "stoop|fetch|-i|a b|c");
    assert_eq!(of("stoop fetch --summary json 2> x > y"), "stoop|fetch|--summary|json");
    assert_eq!(of("stoop fetch -n 2 | sort # more"), "stoop|fetch|-n|2");
    assert_eq!(of("stoop fetch a#b ''  # more"), "stoop|fetch|a#b|");
}

/// `-h` is read at a glance; `--help` explains.
#[test]
fn the_short_help_has_two_lines_at_most_for_each_option() {
    let mut command = cli::command();
    command.build();
    let fetch = command.find_subcommand("fetch").expect("it is one").clone();
    let help = fetch.term_width(100).render_help().to_string();
    let (mut option, mut lines, mut options) = ("", 0, 0);
    for line in help.lines() {
        let text = line.trim_start();
        match line.len() - text.len() {
            2 | 6 if text.starts_with('-') => (option, lines, options) = (text, 1, options + 1),
            20.. => lines += 1,
            _ => {}
        }
        assert!(lines <= 2, "{option}");
    }
    assert!(options > 80, "{options}");
}
