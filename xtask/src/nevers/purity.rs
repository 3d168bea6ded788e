//! What whole crates do without: `unsafe`, I/O and clocks in the machines, output in libraries.

use super::source::{Named, Source};
use super::{Finding, Tree};

/// The crate that talks to the kernel, and the only one that may say `unsafe`.
const UNSAFE_HOME: &str = "crates/stoop-io/src/";

const LIBRARIES: &[&str] = &[
    "crates/stoop-proto/src/",
    "crates/stoop-io/src/",
    "crates/stoop/src/",
    "crates/stoop-testbed/src/",
];

/// `unsafe` anywhere else, tests and examples included: they are read as models.
pub(crate) fn no_unsafe(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.is_in(UNSAFE_HOME)) {
        let said = source.tokens.iter().filter(|token| token.is_word("unsafe"));
        findings.extend(said.map(|token| {
            Finding {
                path: source.path.clone(),
                line: token.line,
                message:
                    "`unsafe` outside stoop-io: wrap it there in a safe function and call that"
                        .to_owned(),
            }
        }));
        if is_crate_root(source) && !forbids_unsafe(source) {
            findings.push(Finding {
                path: source.path.clone(),
                line: 1,
                message:
                    "a crate root without `#![forbid(unsafe_code)]`: add it below the crate's \
                          docs"
                        .to_owned(),
            });
        }
    }
    findings
}

fn is_crate_root(source: &Source) -> bool {
    matches!(source.path.split_once("/src/"), Some((_, "lib.rs" | "main.rs")))
        || source.path.contains("/src/bin/")
}

fn forbids_unsafe(source: &Source) -> bool {
    let tokens = &source.tokens;
    tokens.windows(3).enumerate().any(|(at, window)| {
        window[0].is_mark('!')
            && window[1].is_mark('[')
            && window[2].is_word("forbid")
            && tokens[at..]
                .iter()
                .take_while(|token| !token.is_mark(']'))
                .any(|token| token.is_word("unsafe_code"))
    })
}

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
    use super::super::testing::{lines, tree};
    use super::*;

    const FORBID: &str = "//! Docs.\n#![forbid(unsafe_code)]\n";

    #[test]
    fn unsafe_stays_in_io() {
        let tree = tree(&[
            ("crates/stoop-io/src/ring.rs", "unsafe fn f() {}"),
            ("crates/stoop/src/body.rs", "// unsafe\nconst A: &str = \"unsafe\";\nunsafe {}"),
            ("crates/stoop-io/tests/ring.rs", "#[unsafe(no_mangle)] fn f() {}"),
            ("crates/stoop-proto/src/lib.rs", FORBID),
        ]);
        let expected = ["crates/stoop/src/body.rs:3", "crates/stoop-io/tests/ring.rs:1"];
        let mut found = lines(&no_unsafe(&tree));
        found.sort_by_key(|line| !line.starts_with(expected[0]));
        assert_eq!(found, expected);
    }

    #[test]
    fn roots_forbid_unsafe() {
        let roots = [
            ("crates/stoop-io/src/lib.rs", ""),
            ("crates/stoop/src/lib.rs", "#![allow(unsafe_code)] // #![forbid(unsafe_code)]"),
            ("crates/stoop-cli/src/main.rs", "#![forbid(missing_docs, unsafe_code)]"),
            ("crates/stoop/src/client/mod.rs", ""),
        ];
        assert_eq!(lines(&no_unsafe(&tree(&roots))), ["crates/stoop/src/lib.rs:1"]);
    }

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
