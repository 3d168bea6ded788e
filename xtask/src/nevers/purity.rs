//! What whole crates do without: I/O and clocks in the machines, output in libraries.

use super::source::Named;
use super::{Finding, Tree};

const LIBRARIES: &[&str] = &[
    "crates/stoop-proto/src/",
    "crates/stoop-io/src/",
    "crates/stoop/src/",
    "crates/stoop-testbed/src/",
];

/// What would make a machine depend on when and where it runs, and what it does instead.
const IMPURE: &[(&[&str], &str)] = &[
    (&["std", "net"], "sockets are stoop-io's; take bytes"),
    (&["std", "os"], "the system is stoop-io's; take bytes"),
    (&["std", "fs"], "files are stoop-io's; take bytes"),
    (&["std", "process"], "a machine reports, it does not act; return an event"),
    (&["std", "thread"], "a machine has one owner; let that one decide where it runs"),
    (&["std", "future"], "a machine is asked, it does not wait; return what it needs next"),
    (&["std", "task"], "a machine is asked, it does not wait; wake from stoop"),
    (&["std", "time", "SystemTime"], "no clock: take the date as an argument"),
];

pub(crate) fn sans_io(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.shipped().filter(|source| source.is_in("crates/stoop-proto/src/")) {
        for name in source.names() {
            let impure = IMPURE.iter().find(|(path, _)| name.starts_with(path));
            let instead = match impure {
                Some((_, instead)) => instead,
                None if name.ends_with(&["Instant", "now"]) => {
                    "no clock: take `now` as an argument"
                }
                None if name.segments == ["async"] => {
                    "nothing waits here: return what is needed next"
                }
                None if name.segments == ["await"] => {
                    "nothing waits here: return what is needed next"
                }
                None => continue,
            };
            findings.push(Finding {
                path: source.path.clone(),
                line: name.line,
                message: format!("`{}` in stoop-proto, which is sans-IO: {instead}", name.text()),
            });
        }
    }
    findings
}

pub(crate) fn quiet_libraries(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.shipped() {
        if !LIBRARIES.iter().any(|folder| source.is_in(folder)) {
            continue;
        }
        for name in source.names() {
            if let Some(instead) = loud(&name) {
                findings.push(Finding {
                    path: source.path.clone(),
                    line: name.line,
                    message: format!("`{}` in a library crate: {instead}", name.text()),
                });
            }
        }
    }
    findings
}

fn loud(name: &Named) -> Option<&'static str> {
    const PRINTS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];
    let last = name.segments.last().map(String::as_str).unwrap_or_default();
    if name.is_macro {
        return PRINTS.contains(&last).then_some("return an error or an event; stoop-cli prints");
    }
    if name.starts_with(&["std", "env"]) {
        return Some("take it as an argument; stoop-cli reads the environment");
    }
    if name.ends_with(&["process", "exit"]) || name.ends_with(&["process", "abort"]) {
        return Some("return an error; stoop-cli exits");
    }
    if name.ends_with(&["io", "stdout"]) || name.ends_with(&["io", "stderr"]) {
        return Some("take a writer; stoop-cli prints");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::tree;
    use super::*;

    #[test]
    fn machines_are_sans_io() {
        for snippet in [
            "use std::net::SocketAddr;",
            "use std::{io, net};",
            "use core::future::Future;",
            "use std::time::{Duration, SystemTime};",
            "fn f() { std::thread::yield_now() }",
            "fn f() { Instant::now() }",
            "fn f() { std::time::Instant::now() }",
            "async fn f() {}",
            "fn f() { g().await }",
            "use std::task::Waker;",
        ] {
            let found = sans_io(&tree(&[("crates/stoop-proto/src/h1/mod.rs", snippet)]));
            assert_eq!(found.len(), 1, "{snippet}: {found:?}");
        }
        for fine in [
            "use std::time::{Duration, Instant};",
            "/// Not async.\nfn f(now: Instant) {}",
            "#[cfg(test)] mod tests { fn f() { Instant::now() } }",
        ] {
            let found = sans_io(&tree(&[("crates/stoop-proto/src/h1/mod.rs", fine)]));
            assert!(found.is_empty(), "{fine}: {found:?}");
        }
    }

    #[test]
    fn libraries_are_quiet() {
        for snippet in [
            "fn f() { println!(\"x\") }",
            "fn f() { std::eprintln!(\"x\") }",
            "fn f() { dbg!(1); }",
            "use std::env;",
            "fn f() { std::env::var(\"X\") }",
            "fn f() { process::exit(1) }",
            "fn f() { writeln!(std::io::stderr(), \"x\") }",
        ] {
            let found = quiet_libraries(&tree(&[("crates/stoop-testbed/src/dns.rs", snippet)]));
            assert_eq!(found.len(), 1, "{snippet}: {found:?}");
        }
        for (path, fine) in [
            ("crates/stoop/src/lib.rs", "const V: &str = env!(\"CARGO_PKG_VERSION\");"),
            ("crates/stoop/src/lib.rs", "/// println!(\"x\")\nfn print(println: u8) {}"),
            ("crates/stoop/examples/hello.rs", "fn main() { println!(\"x\") }"),
            ("crates/stoop/tests/api.rs", "fn f() { println!(\"x\") }"),
            ("crates/stoop-cli/src/main.rs", "fn main() { println!(\"x\") }"),
            ("crates/stoop/src/lib.rs", "#[cfg(test)] mod tests { fn f() { println!(\"x\") } }"),
        ] {
            let found = quiet_libraries(&tree(&[(path, fine)]));
            assert!(found.is_empty(), "{fine}: {found:?}");
        }
    }
}
