//! No private dependency in the public interface of the library.
//!
//! A type of tokio or rustls in a signature makes their next major version ours too. The crates that
//! may appear are those that a user shares with us anyway (`PUBLIC`); the rest stays inside, but for
//! the modules that carry the dependency's name (`EXPOSED`).
//!
//! rustc looks for them, with types and traits resolved: its lint `exported_private_dependencies`,
//! which needs a nightly toolchain. No manifest says which dependencies are public, because a stable
//! cargo warns of that key. So all are private to the lint, and its reports are sorted here.

use super::step::{Context, StepOutcome};
use super::tools;
use crate::command::Command;

/// The name of the step.
pub(crate) const STEP: &str = "interface";

/// The packages whose interface users see.
const CHECKED: &[&str] = &["crates/stoop/src/", "crates/stoop-proto/src/"];

/// Dependencies that are public on purpose, and our own crates.
const PUBLIC: &[&str] = &[
    "bytes",
    "futures_core",
    "http",
    "http_body",
    "serde",
    "serde_core",
    "stoop_io",
    "stoop_proto",
    "tower_service",
];

/// Modules named for the dependency that they expose.
const EXPOSED: &[(&str, &str)] =
    &[("crates/stoop/src/rt", "tokio"), ("crates/stoop/src/rustls_0_23", "rustls")];

/// The command whose reports this step reads.
pub(crate) fn check() -> Command {
    let check = Command::new("rustup").args(["run", tools::NIGHTLY, "cargo", "check"]);
    let check = check.args(["--package", "stoop", "--lib", "--all-features"]);
    // A folder of its own: two compilers in one would each discard what the other built.
    let check = check.args(["-Zpublic-dependency", "--target-dir", "target/nightly"]);
    // What is checked already is reported as it was then, whatever format is asked for.
    check.arg("--message-format=json-diagnostic-short")
}

pub(crate) fn run(_: &Context) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::NIGHTLY_TOOLCHAIN]) {
        return StepOutcome::Skipped(why);
    }
    let check = check();
    println!("$ {check}");
    let messages = check.output();
    match messages.and_then(|messages| findings(&messages)) {
        Ok(found) if found.is_empty() => StepOutcome::Passed(String::new()),
        Ok(found) => {
            let why = format!(
                "the interface shows only our own types, std's and those of {}; wrap these in a \
                 type of ours, or move them to a module named for the dependency:\n  {}",
                PUBLIC.join(", "),
                found.join("\n  ")
            );
            StepOutcome::Failed { why, repeat: check.to_string() }
        }
        Err(why) => StepOutcome::Failed { why, repeat: check.to_string() },
    }
}

/// The lint's reports about private dependencies, among cargo's messages.
fn findings(messages: &str) -> Result<Vec<String>, String> {
    let rendered = messages.split("\"rendered\":\"").skip(1);
    let reports = rendered.filter_map(|report| report.split("\\n").next());
    let (mut sees_public, mut found) = (false, Vec::new());
    for report in reports.filter(|report| CHECKED.iter().any(|path| report.starts_with(path))) {
        let Some((_, dependency)) = report.split_once(" from private dependency '") else {
            continue;
        };
        let dependency = dependency.split('\'').next().unwrap_or_default();
        let is_exposed =
            |(path, exposed): &(&str, &str)| report.starts_with(path) && dependency == *exposed;
        sees_public |= dependency == "http";
        if !PUBLIC.contains(&dependency) && !EXPOSED.iter().any(is_exposed) {
            found.push(report.to_owned());
        }
    }
    // A check without anything to look at would always pass.
    if sees_public {
        Ok(found)
    } else {
        Err("the lint reports nothing; has its text changed?".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(place: &str, dependency: &str) -> String {
        format!(
            "{{\"message\":{{\"rendered\":\"crates/{place}:1:2: warning: type `T` from private \
             dependency '{dependency}' in public interface\\n\",\"level\":\"warning\"}}}}\n"
        )
    }

    #[test]
    fn private_dependencies_are_found_outside_the_modules_named_for_them() {
        let messages = [
            message("stoop/src/request.rs", "http"),
            message("stoop/src/request.rs", "url"),
            message("stoop/src/rt.rs", "tokio"),
            message("stoop/src/rt.rs", "slab"),
            message("stoop-proto/src/lib.rs", "httparse"),
            message("stoop-io/src/lib.rs", "tokio"),
        ];
        let found = findings(&messages.concat()).unwrap();
        let starts = ["stoop/src/request.rs:1:2", "stoop/src/rt.rs:1:2", "stoop-proto/src/lib.rs"];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        assert!(found.iter().zip(starts).all(|(report, at)| report[7..].starts_with(at)));
    }

    #[test]
    fn a_lint_that_reports_nothing_is_an_error() {
        assert!(findings("").is_err());
        assert!(findings(&message("stoop-io/src/lib.rs", "http")).is_err());
    }
}
