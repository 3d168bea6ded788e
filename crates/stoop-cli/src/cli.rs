//! The command line: parses it, and runs its subcommand.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::demo::{self, DemoArgs};
use crate::failure::CommandFailure;
use crate::fetch::{self, FetchArgs};
use crate::get::{self, GetArgs};
use crate::man::{self, ManArgs};
use crate::report::{self, ReportArgs};
use crate::serve::{self, ServeArgs};
use crate::testbed::{self, TestbedArgs};
use crate::{stderr, streams};

const EXAMPLES: &str = "\
Examples:
  stoop demo
  stoop get -v https://example.com/
  stoop fetch https://example.com/
  stoop fetch -i urls.txt --concurrency 500 --timeout 2 > answers.csv
  stoop report answers.csv
  stoop serve public --listing

'stoop SUBCOMMAND --help' explains columns, variables and exit codes.";

/// Fetch a URL as curl does, or lists of them concurrently: one line for each, always, within its deadline. Serve files
#[derive(Parser, Debug)]
#[command(name = "stoop", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Subcommand, Debug)]
enum Subcommands {
    Get(Box<GetArgs>),
    Fetch(Box<FetchArgs>),
    Report(ReportArgs),
    Serve(Box<ServeArgs>),
    Demo(DemoArgs),
    Testbed(TestbedArgs),
    Man(ManArgs),
    /// Print completions for a shell: stoop completions bash > FILE
    Completions {
        #[arg(value_hint = ValueHint::Other)]
        shell: Shell,
    },
}

/// Runs the subcommand that the command line names. (clap answers `--help`, `--version` and mistakes
/// itself, with 0 and 2.)
///
/// # Errors
/// The subcommand's.
pub(crate) fn run() -> Result<(), CommandFailure> {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|error| exit_with(&error));
    match cli.command {
        Subcommands::Get(args) => get::get(*args),
        Subcommands::Fetch(args) => fetch::fetch(*args),
        Subcommands::Report(args) => report::report(args),
        Subcommands::Serve(args) => serve::serve(*args),
        Subcommands::Demo(args) => demo::demo(args),
        Subcommands::Testbed(args) => testbed::testbed(args),
        Subcommands::Man(args) => man::man(&args, Cli::command()),
        Subcommands::Completions { shell } => completions(shell),
    }
}

/// What clap is told. Options of `get` take whatever follows as their value, as curl's do: `-r -500`, `-d -1`. Those of
/// `fetch` do where a value may begin with a hyphen.
pub(crate) fn command() -> Command {
    let takes_any = |arg: Arg| match arg.is_positional() || !arg.get_action().takes_values() {
        true => arg,
        false => arg.allow_hyphen_values(true),
    };
    let takes_hyphens = |arg: Arg| match fetch::HYPHEN_VALUES.contains(&arg.get_id().as_str()) {
        true => arg.allow_hyphen_values(true),
        false => arg,
    };
    Cli::command()
        .mut_subcommand("get", |get| get.mut_args(takes_any))
        .mut_subcommand("fetch", |fetch| fetch.mut_args(takes_hyphens))
}

/// Prints the help or the mistake that clap reports, and ends the process as clap does. The message of a
/// mistake quotes the arguments, which may contain a URL with a password.
fn exit_with(error: &clap::Error) -> ! {
    let subcommand = std::env::args_os().nth(1);
    let subcommand = subcommand.as_ref().and_then(|name| name.to_str());
    let instead = match (subcommand, error.get(ContextKind::InvalidArg)) {
        (Some("get"), Some(ContextValue::String(option))) => get::instead_of(option),
        (Some("serve"), Some(ContextValue::String(option))) => serve::instead_of(option),
        _ => None,
    };
    if subcommand == Some("fetch")
        && let Some(said) = fetch::explain_mistake(error, &fetch::words())
    {
        stderr::message(format_args!("{said}\n\nFor more information, try '--help'."));
        std::process::exit(2);
    }
    if let Some(instead) = instead {
        let option = error.get(ContextKind::InvalidArg).map(ToString::to_string);
        stderr::message(format_args!(
            "there is no {}: {instead}.\n\nFor more information, try '--help'.",
            option.unwrap_or_default()
        ));
        std::process::exit(error.exit_code());
    }
    let text = error.render().to_string();
    if !error.use_stderr() || !text.contains('@') {
        error.exit();
    }
    stderr::print(&text);
    std::process::exit(error.exit_code())
}

fn completions(shell: Shell) -> Result<(), CommandFailure> {
    streams::print(&completion_script(shell))
}

fn completion_script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    let mut command = Cli::command().mut_subcommand("serve", |serve| without_hidden(&serve));
    clap_complete::generate(shell, &mut command, "stoop", &mut script);
    match shell {
        Shell::Fish => quoted_for_fish(script),
        _ => script,
    }
}

/// `serve` without the options that are refused by what to write in their place: completions show hidden ones, too.
fn without_hidden(serve: &Command) -> Command {
    let shown = serve.get_arguments().filter(|arg| !arg.is_hide_set()).cloned();
    Command::new("serve").about(serve.get_about().cloned().unwrap_or_default()).args(shown)
}

/// The script with curl's option `-#` in quotes: there fish would begin a comment.
fn quoted_for_fish(script: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(script) {
        Ok(text) => text.replace(" -s # ", " -s '#' ").into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_always_refused_is_not_completed() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(completion_script(shell)).unwrap();
            assert!(script.contains("-unix-mode") || script.contains("-l unix-mode"));
            assert!(!script.contains("-bind") && !script.contains("-l bind"), "{shell}");
        }
    }

    /// A longer one is broken within, and its last words stand alone. The paragraphs of serve are one line each.
    #[test]
    fn lines_below_the_options_have_100_columns_at_most() {
        for command in Cli::command().get_subcommands().filter(|it| it.get_name() != "serve") {
            let below = command.get_after_long_help().or(command.get_after_help());
            let below = below.map(ToString::to_string).unwrap_or_default();
            let long = below.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None, "{}", command.get_name());
        }
    }

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
