//! `stoop man`: what a page says.

use crate::stoop::{run, stoop};

/// The long options that the help of a subcommand lists.
fn options(subcommand: &str) -> Vec<String> {
    let ran = run(stoop(&format!("{subcommand} --help")), "");
    let help = String::from_utf8(ran.stdout).expect("text");
    let listed = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let names = listed.filter_map(|line| {
        let start = line.find("--")?;
        let rest = &line[start + 2..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c)));
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn each_page_has_a_title_all_options_and_what_stands_below_them() {
    for (subcommand, below) in [
        ("get", "curl"),
        ("fetch", "duration_us; status, final_url"),
        ("report", "Examples:"),
        ("serve", "SIGHUP"),
        ("demo", ""),
        ("testbed", ""),
    ] {
        let ran = run(stoop(&format!("man {subcommand}")), "");
        assert_eq!(ran.code, Some(0), "{subcommand}: {}", ran.stderr);
        let page = String::from_utf8(ran.stdout).expect("text");
        assert!(page.contains(&format!(".TH stoop-{subcommand} 1")), "{page}");
        assert!(page.contains(below), "{subcommand} has no {below:?}");
        let names = options(subcommand);
        assert!(names.len() > 2, "{subcommand}: {names:?}");
        for name in names {
            let escaped = format!("\\-\\-{}", name.replace('-', "\\-"));
            assert!(page.contains(&escaped), "{subcommand} has no --{name}");
        }
    }
    let ran = run(stoop("man"), "");
    let page = String::from_utf8(ran.stdout).expect("text");
    assert!(page.contains(".TH stoop 1") && page.contains("stoop\\-fetch(1)"), "{page}");
}

#[test]
fn an_unknown_subcommand_is_a_mistake_that_says_which_there_are() {
    let ran = run(stoop("man fetsch"), "");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("no subcommand \"fetsch\"; there are: get, fetch,"),
        "{}",
        ran.stderr
    );
}
