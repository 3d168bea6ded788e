//! Settings from the environment: the comparison's bare names, and ours.

use crate::server::Server;
use crate::stoop::{Ran, run, stoop};

fn with(line: &str, variables: &[(&str, &str)], input: &str) -> Ran {
    let mut command = stoop(line);
    command.envs(variables.iter().copied());
    run(command, input)
}

#[test]
fn an_invalid_bare_variable_ended_runs_that_never_meant_it() {
    let server = Server::start();
    let variables = [("FORMAT", "qcow2"), ("LIMIT", "none"), ("DURATION", "")];
    let ran = with("fetch --summary none", &variables, &server.url("/ok/1"));
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 1), "{}", ran.stderr);
    let said: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 2, "{}", ran.stderr);
    for (line, name) in said.iter().zip(["LIMIT", "FORMAT"]) {
        assert!(line.starts_with("stoop: ") && line.contains(name), "{line}");
        assert!(line.contains("ignored"), "{line}");
    }
}

#[test]
fn a_bare_variable_changed_a_run_without_a_word() {
    let server = Server::start();
    let url = server.url("/ok/1") + "\n";
    let variables = [("LIMIT", "2"), ("CONCURRENCY", "100"), ("FORMAT", "plain")];
    let ran = with("fetch --summary none", &variables, &url.repeat(3));
    assert_eq!(ran.lines().len(), 2);
    // What is as it would be anyway is not named.
    assert_eq!(
        ran.stderr,
        "stoop: set by the environment: LIMIT=2 (--no-env ignores such variables)\n"
    );
    let ran = with("fetch --summary none -n 1", &variables, &url.repeat(3));
    assert_eq!((ran.lines().len(), ran.stderr.as_str()), (1, ""), "a flag beats it");
}

#[test]
fn our_own_variables_beat_bare_ones_and_must_be_right() {
    let server = Server::start();
    let url = server.url("/ok/1") + "\n";
    let variables = [("LIMIT", "2"), ("STOOP_LIMIT", "1"), ("STOOP_FORMAT", "jsonl")];
    let ran = with("fetch --summary none", &variables, &url.repeat(3));
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.starts_with('{') && text.lines().count() == 1, "{text}");
    assert_eq!(ran.stderr, "");
    let ran = with("fetch", &[("STOOP_LIMIT", "no"), ("LIMIT", "3")], &url);
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
    assert!(ran.stderr.contains("STOOP_LIMIT is \"no\""), "{}", ran.stderr);
}

#[test]
fn no_env_ignores_them_all() {
    let server = Server::start();
    let url = server.url("/ok/1") + "\n";
    let variables = [("LIMIT", "2"), ("STOOP_LIMIT", "none"), ("FORMAT", "qcow2")];
    let ran = with("fetch --no-env --summary none", &variables, &url.repeat(3));
    assert_eq!((ran.code, ran.lines().len(), ran.stderr.as_str()), (Some(0), 3, ""));
}
