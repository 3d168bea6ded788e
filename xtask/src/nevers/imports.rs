//! Modules that never import each other.

use super::source::{Named, Source};
use super::{Finding, Tree};

/// A folder, what its code may not name, and what to do instead.
struct Border {
    folder: &'static str,
    /// Modules of the same crate, from its root.
    never: &'static [&'static str],
    instead: &'static str,
}

const BORDERS: &[Border] = &[
    Border {
        folder: "crates/stoop-proto/src/h1",
        never: &["h2"],
        instead: "what both versions need belongs to message, error or limits",
    },
    Border {
        folder: "crates/stoop-proto/src/h2",
        never: &["h1"],
        instead: "what both versions need belongs to message, error or limits",
    },
    Border {
        folder: "crates/stoop/src/client",
        never: &["server"],
        instead: "they meet in conn, handler and body",
    },
    Border {
        folder: "crates/stoop/src/server",
        never: &["client"],
        instead: "they meet in conn, handler and body",
    },
];

const HPACK: &str = "crates/stoop-proto/src/hpack";

pub(crate) fn modules(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.shipped() {
        for border in BORDERS.iter().filter(|border| is_module(source, border.folder)) {
            findings
                .extend(crossings(source, border.instead, |first| border.never.contains(&first)));
        }
        if is_module(source, HPACK) {
            let instead = "hpack imports nothing of ours; pass the value in, or move it into hpack";
            findings.extend(crossings(source, instead, |first| first != "hpack"));
        }
    }
    findings
}

/// `folder/…` and the file `folder.rs` beside it are one module.
fn is_module(source: &Source, folder: &str) -> bool {
    source.is_in(&format!("{folder}/")) || source.path == format!("{folder}.rs")
}

fn crossings(source: &Source, instead: &str, never: impl Fn(&str) -> bool) -> Vec<Finding> {
    let crossed = |name: &Named| {
        name.resolved().is_some_and(|path| path.first().is_some_and(|first| never(first)))
    };
    let names = source.names().into_iter().filter(crossed);
    names
        .map(|name| {
            let message = format!("`{}` crosses a border: {instead}", name.text());
            Finding { path: source.path.clone(), line: name.line, message }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{lines, tree};
    use super::*;

    #[test]
    fn versions_never_import_each_other() {
        let tree = tree(&[
            (
                "crates/stoop-proto/src/h1/head.rs",
                "use crate::message::Head;\nuse crate::h2::Frame;",
            ),
            ("crates/stoop-proto/src/h2/mod.rs", "use crate::{error, h1::{state, head}};"),
            (
                "crates/stoop-proto/src/h2/stream.rs",
                "use super::super::h1::Framing; use super::h1;",
            ),
            ("crates/stoop-proto/src/lib.rs", "pub use crate::h1::A; pub use crate::h2::B;"),
        ]);
        assert_eq!(
            lines(&modules(&tree)),
            [
                "crates/stoop-proto/src/h1/head.rs:2",
                "crates/stoop-proto/src/h2/mod.rs:1",
                "crates/stoop-proto/src/h2/mod.rs:1",
                "crates/stoop-proto/src/h2/stream.rs:1",
            ]
        );
    }

    #[test]
    fn hpack_stands_alone() {
        let tree = tree(&[
            (
                "crates/stoop-proto/src/hpack/encoder.rs",
                "use super::table::T;\nuse crate::limits::L;",
            ),
            (
                "crates/stoop-proto/src/hpack/mod.rs",
                "use crate::hpack::table; fn f() { super::g() }",
            ),
        ]);
        assert_eq!(
            lines(&modules(&tree)),
            ["crates/stoop-proto/src/hpack/encoder.rs:2", "crates/stoop-proto/src/hpack/mod.rs:1",]
        );
    }

    #[test]
    fn client_and_server_never_import_each_other() {
        let tree = tree(&[
            (
                "crates/stoop/src/client/pool.rs",
                "// crate::server is far\nuse crate::server::Server;",
            ),
            ("crates/stoop/src/server.rs", "use crate::client::Client;"),
            ("crates/stoop/src/conn/mod.rs", "use crate::{client, server};"),
        ]);
        assert_eq!(
            lines(&modules(&tree)),
            ["crates/stoop/src/client/pool.rs:2", "crates/stoop/src/server.rs:1",]
        );
    }

    #[test]
    fn tests_may_cross() {
        let text = "#[cfg(test)] mod tests { use crate::h2::Frame; }";
        assert!(modules(&tree(&[("crates/stoop-proto/src/h1/head.rs", text)])).is_empty());
    }
}
