//! `stoop man`: the manual, a page for each subcommand, from what `--help` says.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::failure::CommandFailure;
use crate::streams;

/// Print a page of the manual: stoop man fetch | man -l -
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The subcommand that the page is about; without one it is about all of them
    #[arg(value_name = "SUBCOMMAND")]
    subcommand: Option<String>,
}

/// Prints the page of `args`, of the command line that `stoop` describes.
///
/// # Errors
/// [`CommandFailure::Usage`] if there is no such subcommand; the output's.
pub(crate) fn man(args: &ManArgs, mut stoop: Command) -> Result<(), CommandFailure> {
    // Gives subcommands their full names.
    stoop.build();
    let command = match &args.subcommand {
        None => stoop,
        Some(name) => {
            let found = stoop.find_subcommand(name).cloned();
            found.ok_or_else(|| no_subcommand(name, &stoop))?
        }
    };
    let mut page = Vec::new();
    write_page(command, &mut page).expect("memory takes all");
    streams::print(&page)
}

fn no_subcommand(name: &str, stoop: &Command) -> CommandFailure {
    let names: Vec<_> = stoop.get_subcommands().map(Command::get_name).collect();
    CommandFailure::Usage(format!("no subcommand {name:?}; there are: {}", names.join(", ")))
}

/// Writes the sections of a page. What stands below the options of a help is laid out in columns, and stays so.
fn write_page(command: Command, page: &mut Vec<u8>) -> io::Result<()> {
    let below = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let has_subcommands = command.has_subcommands();
    let command = command.version(env!("CARGO_PKG_VERSION"));
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let usage = command.clone().render_usage().to_string();
    let source = concat!("stoop ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).title(name).source(source);
    man.render_title(page)?;
    man.render_name_section(page)?;
    page.write_all(b".SH SYNOPSIS\n")?;
    for line in usage.lines() {
        writeln!(page, "{}", synopsis(line))?;
    }
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if has_subcommands {
        man.render_subcommands_section(page)?;
    }
    if let Some(below) = below {
        page.write_all(b".SH NOTES\n.nf\n")?;
        for line in below.lines() {
            writeln!(page, "{}", literal(line))?;
        }
        page.write_all(b".fi\n")?;
    }
    man.render_version_section(page)
}

/// A line of the usage, with the command in bold. The options have a section of their own.
fn synopsis(usage: &str) -> String {
    let usage = usage.strip_prefix("Usage:").unwrap_or(usage).trim();
    let end = usage.find(" [").or_else(|| usage.find(" <")).unwrap_or(usage.len());
    let (command, rest) = usage.split_at(end);
    format!(r"\fB{}\fR{}", literal(command), literal(rest))
}

/// A line of roff that prints as `line`.
fn literal(line: &str) -> String {
    let escaped = line.replace('\\', r"\e").replace('-', r"\-");
    match escaped.starts_with(['.', '\'']) {
        true => format!(r"\&{escaped}"),
        false => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synopsis_has_the_command_and_what_it_takes() {
        let line = synopsis("Usage: stoop fetch [OPTIONS] [URL]...");
        assert_eq!(line, r"\fBstoop fetch\fR [OPTIONS] [URL]...");
        assert_eq!(synopsis("Usage: stoop <COMMAND>"), r"\fBstoop\fR <COMMAND>");
    }

    #[test]
    fn text_is_no_request_to_roff() {
        assert_eq!(literal(".SH x"), r"\&.SH x");
        assert_eq!(literal("'a' --b \\c"), r"\&'a' \-\-b \ec");
        assert_eq!(literal("  columns   stay"), "  columns   stay");
    }
}
