//! The commands that the README, the guide and the help show: each is checked, with the files that it names.

use std::process::Command;
use std::sync::LazyLock;

use super::Folder;
use crate::stoop::{run, stoop};

const README: &str = include_str!("../../../../../README.md");
const GUIDE: &str = include_str!("../../../../stoop/docs/command.md");
const UPGRADE: &str = include_str!("../../../../stoop-web/docs/upgrade.md");
const BALANCER: &str = include_str!("../../../../stoop-web/docs/load_balancer.md");

/// The part of the guide that is about a directory.
fn guide() -> &'static str {
    &GUIDE[GUIDE.find("# A directory").unwrap()..]
}

/// The content of the first block of that language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

fn help() -> String {
    String::from_utf8(run(stoop("serve --help"), "").stdout).unwrap()
}

/// A folder with what the commands name.
fn folder() -> Folder {
    static CERTIFICATE: LazyLock<(String, String)> = LazyLock::new(|| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    });
    let (cert, key) = &*CERTIFICATE;
    Folder::new(&[
        ("public/a.txt", "a"),
        ("dist/index.html", "<h1>home</h1>"),
        ("cert.pem", cert),
        ("key.pem", key),
        ("password.txt", "open sesame\n"),
        ("serve.toml", block(guide(), "toml")),
    ])
}

/// The commands in a text, without their comments.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("$ "));
    let lines = lines.filter(|line| line.starts_with("stoop serve "));
    let lines = lines.map(|line| line.split(" #").next().unwrap_or(line).trim());
    // In the background it would be as well.
    lines.map(|line| line.trim_end_matches(" &")).collect()
}

#[test]
fn each_command_that_is_shown_is_one_that_it_takes() {
    let (folder, help) = (folder(), help());
    for (text, least) in [(README, 4), (guide(), 8), (&*help, 7), (UPGRADE, 1), (BALANCER, 1)] {
        let commands = commands(text);
        assert!(commands.len() >= least, "{commands:?}");
        for command in commands {
            // A shell reads it, as it would for a user; and nothing is to be served.
            let line = command.replacen("stoop", env!("CARGO_BIN_EXE_stoop"), 1);
            let line = match line.split_once(" < ") {
                Some((line, input)) => format!("{line} --check < {input}"),
                None => format!("{line} --check"),
            };
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(folder.path());
            let output = shell.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.is_empty(), "{command}: {said}");
        }
    }
}

/// Each option has a row in the guide, and each row an option.
#[test]
fn the_guide_has_the_options_that_there_are() {
    let help = help();
    let is_option = |line: &&str| {
        let indent = line.len() - line.trim_start().len();
        [2, 6].contains(&indent) && line.trim_start().starts_with('-')
    };
    let name = |line: &'_ str| -> Option<String> {
        let (_, rest) = line.split_once("--")?;
        Some(rest.split([' ', '[', '=']).next()?.to_owned())
    };
    let options: Vec<String> = help.lines().filter(is_option).filter_map(name).collect();
    let options: Vec<String> = options.into_iter().filter(|name| name != "help").collect();
    assert!(options.len() > 12, "{options:?}");
    let rows: Vec<&str> = guide().lines().filter(|line| line.starts_with("| `-")).collect();
    for option in &options {
        let named = format!("--{option}");
        let has_row = |row: &&&str| {
            let (name, _) = row[2..].split_once(" | ").unwrap();
            name.split(['`', ' ', ',', '[']).any(|word| word == named)
        };
        assert_eq!(rows.iter().filter(has_row).count(), 1, "{named}");
    }
    assert_eq!(rows.len(), options.len(), "{rows:#?}");
}
