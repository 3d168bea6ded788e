//! The command line: the subcommands there are, and what each is.

use clap::{CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::demo::{self, DemoArgs};
use crate::failure::Failure;
use crate::fetch::{self, FetchArgs};
use crate::report::{self, ReportArgs};
use crate::testbed::{self, TestbedArgs};
use crate::{stderr, streams};

const EXAMPLES: &str = "\
Examples:
  stoop demo
  stoop fetch https://example.com/
  stoop fetch -i urls.txt --concurrency 500 --timeout 2 > answers.csv
  stoop report answers.csv

'stoop SUBCOMMAND --help' explains columns, variables and exit codes.";

/// Fetch lists of URLs concurrently: one line for each, always, within its deadline
#[derive(Parser, Debug)]
#[command(name = "stoop", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Fetch(FetchArgs),
    Report(ReportArgs),
    Demo(DemoArgs),
    Testbed(TestbedArgs),
    /// Print completions for a shell: stoop completions bash > FILE
    Completions {
        #[arg(value_hint = ValueHint::Other)]
        shell: Shell,
    },
}

/// Does what the command line says. (clap answers `--help`, `--version` and mistakes itself, with
/// 0 and 2.)
///
/// # Errors
/// What the exit code says.
pub(crate) fn run() -> Result<(), Failure> {
    let cli = Cli::try_parse().unwrap_or_else(|said| end(&said));
    match cli.command {
        Command::Fetch(args) => fetch::fetch(args),
        Command::Report(args) => report::report(args),
        Command::Demo(args) => demo::demo(args),
        Command::Testbed(args) => testbed::testbed(args),
        Command::Completions { shell } => completions(shell),
    }
}

/// Prints what clap has to say, help or a mistake, and ends the process as it would. A mistake
/// quotes what was typed, which may be a URL with a password.
fn end(said: &clap::Error) -> ! {
    let plain = said.render().to_string();
    if !said.use_stderr() || !plain.contains('@') {
        said.exit();
    }
    stderr::print(&plain);
    std::process::exit(said.exit_code())
}

fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stoop", &mut script);
    streams::print(&script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
