//! Tests of settings from the environment: the comparison's bare names, and those that begin with STOOP_.

use crate::server::Server;
use crate::stoop::{CommandResult, run, stoop};

fn run_with(line: &str, variables: &[(&str, &str)], input: &str) -> CommandResult {
    let mut command = stoop(line);
    command.envs(variables.iter().copied());
    run(command, input)
}

#[test]
fn an_invalid_bare_variable_ended_runs_that_it_was_not_meant_for() {
    let server = Server::start();
    let variables = [("FORMAT", "qcow2"), ("LIMIT", "none"), ("DURATION", "")];
    let ran = run_with("fetch --summary none", &variables, &server.url("/ok/1"));
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 1), "{}", ran.stderr);
    let said: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 2, "{}", ran.stderr);
    for (line, name) in said.iter().zip(["LIMIT", "FORMAT"]) {
        assert!(line.starts_with("stoop: ") && line.contains(name), "{line}");
        assert!(line.contains("ignored"), "{line}");
    }
}

#[test]
fn a_bare_variable_changed_a_run_silently() {
    let server = Server::start();
    let url = server.url("/ok/1") + "\n";
    let variables = [("LIMIT", "2"), ("CONCURRENCY", "auto"), ("FORMAT", "plain")];
    let ran = run_with("fetch --summary none", &variables, &url.repeat(3));
    assert_eq!(ran.lines().len(), 2);
    // A variable that changes no default is not named.
    assert_eq!(
        ran.stderr,
        "stoop: set by the environment: LIMIT=2 (--no-env ignores such variables)\n"
    );
    let ran = run_with("fetch --summary none -n 1", &variables, &url.repeat(3));
    assert_eq!((ran.lines().len(), ran.stderr.as_str()), (1, ""), "a flag beats it");
}

#[test]
fn variables_with_the_prefix_override_bare_ones_and_must_be_valid() {
    let server = Server::start();
    let url = server.url("/ok/1") + "\n";
    let variables = [("LIMIT", "2"), ("STOOP_LIMIT", "1"), ("STOOP_FORMAT", "jsonl")];
    let ran = run_with("fetch --summary none", &variables, &url.repeat(3));
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.starts_with('{') && text.lines().count() == 1, "{text}");
    assert_eq!(ran.stderr, "");
    let ran = run_with("fetch", &[("STOOP_LIMIT", "no"), ("LIMIT", "3")], &url);
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
    assert!(ran.stderr.contains("STOOP_LIMIT is \"no\""), "{}", ran.stderr);
}

#[test]
fn the_option_no_env_ignores_all_variables() {
    let server = Server::start();
    let url = server.url("/ok/1") + "\n";
    let variables = [("LIMIT", "2"), ("STOOP_LIMIT", "none"), ("FORMAT", "qcow2")];
    let ran = run_with("fetch --no-env --summary none", &variables, &url.repeat(3));
    assert_eq!((ran.code, ran.lines().len(), ran.stderr.as_str()), (Some(0), 3, ""));
}
