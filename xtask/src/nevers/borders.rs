//! Modules that never import each other, and drivers that import no machine of another version.

use super::routes::Package;
use super::tree::{Finding, Tree};

/// A module, the module of the same package that it may not import, and what to do instead. Each is
/// a file or a folder under `crates/`, without `.rs`.
type Border = (&'static str, &'static str, &'static str);

const VERSIONS: &str = "what both versions need belongs to message, error or limits";
const ROLES: &str = "client and server meet in conn, handler and body";
const DRIVERS: &str = "what the drivers of both versions need belongs in a module beside them";
const DRIVEN: &str = "conn is what client and server drive; it knows neither";
const PLACE: &str = "what a driver needs of its connection belongs in a module below both";

const BORDERS: &[Border] = &[
    ("stoop-proto/src/h1", "stoop-proto/src/h2", VERSIONS),
    ("stoop-proto/src/h2", "stoop-proto/src/h1", VERSIONS),
    (
        "stoop-proto/src/hpack",
        "stoop-proto/src",
        "hpack imports nothing of ours; pass the value in, or move it into hpack",
    ),
    ("stoop/src/client", "stoop/src/server", ROLES),
    ("stoop/src/server", "stoop/src/client", ROLES),
    ("stoop/src/server/http1", "stoop/src/server/http2", DRIVERS),
    ("stoop/src/server/http1", "stoop/src/conn/http2", DRIVERS),
    ("stoop/src/server/http2", "stoop/src/server/http1", DRIVERS),
    ("stoop/src/client/http1", "stoop/src/client/http2", DRIVERS),
    ("stoop/src/client/http1", "stoop/src/conn/http2", DRIVERS),
    ("stoop/src/client/http2", "stoop/src/client/http1", DRIVERS),
    ("stoop/src/conn", "stoop/src/client", DRIVEN),
    ("stoop/src/conn", "stoop/src/server", DRIVEN),
    ("stoop/src/server/http1", "stoop/src/server/connection", PLACE),
    ("stoop/src/server/http2", "stoop/src/server/connection", PLACE),
    (
        "stoop/src/body",
        "stoop/src/client",
        "it stands on body; body has a trait that it implements",
    ),
    ("stoop/src/body", "stoop/src/conn", "conn drives what body holds"),
    (
        "stoop/src/request",
        "stoop/src/client",
        "client stands on request; move what both need to a module below them",
    ),
];

/// A driver of one version, and the machines of the other, by their module of `stoop_proto`.
const MACHINES: &[(&str, &str)] = &[
    ("stoop/src/client/http1", "h2"),
    ("stoop/src/client/http2", "h1"),
    ("stoop/src/server/http1", "h2"),
    ("stoop/src/server/http2", "h1"),
    ("stoop/src/conn/http2", "h1"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let borders = BORDERS.iter().flat_map(|border| check_border(tree, border));
    borders.chain(MACHINES.iter().flat_map(|driver| check_driver(tree, driver))).collect()
}

/// Finds the names of machines that a driver is not for.
fn check_driver(tree: &Tree, (driver, machines): &(&str, &str)) -> Vec<Finding> {
    let place = format!("crates/{driver}");
    let files = tree.files.iter().filter(|file| file.is_in(&place));
    let findings = files.flat_map(|file| {
        let foreign = file.names.iter().filter(|name| {
            name.segments.first().is_some_and(|first| first == "stoop_proto")
                && name.segments.get(1).is_some_and(|second| second == machines)
        });
        foreign.map(|name| {
            let message =
                format!("`{}` is of another version: {DRIVERS}", name.segments.join("::"));
            Finding::new(&file.path, name.line, message)
        })
    });
    findings.collect()
}

fn check_border(tree: &Tree, (inside, never, instead): &Border) -> Vec<Finding> {
    let package = inside.split_once("/src").map_or("", |(package, _)| package);
    let package = Package::new(tree, &format!("crates/{package}"));
    let [inside, never] = [inside, never].map(|place| format!("crates/{place}"));
    let mut findings = Vec::new();
    for place in [&inside, &never] {
        if !package.files().any(|file| file.is_in(place)) {
            let message = format!("no file in {place}: correct the row in BORDERS");
            findings.push(Finding::new("xtask/src/nevers/borders.rs", 1, message));
        }
    }
    for file in package.files().filter(|file| file.is_in(&inside)) {
        for name in &file.names {
            let mut route = package.route(file, name).into_iter();
            if route.any(|through| through.is_in(&never) && !through.is_in(&inside)) {
                let message = format!("`{}` crosses a border: {instead}", name.segments.join("::"));
                findings.push(Finding::new(&file.path, name.line, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::{lines, tree};
    use super::*;

    /// The findings in these files of one package, with an empty file on each side of each border.
    fn found(package: &str, files: &[(&str, &str)]) -> Vec<String> {
        let sides = BORDERS.iter().flat_map(|(inside, never, _)| [inside, never]);
        let empty = sides.map(|place| (format!("crates/{place}/empty.rs"), ""));
        let files = files.iter().map(|(at, text)| (format!("crates/{package}/src/{at}.rs"), *text));
        lines(&check(&tree(&files.chain(empty).collect::<Vec<_>>())))
    }

    #[test]
    fn versions_never_import_each_other() {
        let files = [
            ("lib", "pub use crate::h1::A;\npub use crate::h2::B;"),
            ("h1/mod", ""),
            ("h1/head", "use crate::message::Head;\nuse crate::h2::Frame;"),
            ("h2/mod", "use crate::{error, h1::{state, head}};\nuse self::stream::S;"),
            ("h2/stream", "use super::super::h1::Framing;"),
        ];
        let expected = ["h1/head.rs:2", "h2/mod.rs:1", "h2/mod.rs:1", "h2/stream.rs:1"];
        let expected = expected.map(|at| format!("crates/stoop-proto/src/{at}"));
        assert_eq!(found("stoop-proto", &files), expected);
    }

    #[test]
    fn hpack_imports_nothing_of_ours() {
        let files = [
            ("lib", ""),
            ("hpack/mod", "fn f() {\n    super::g();\n}"),
            ("hpack/table", "use bytes::Bytes;"),
            ("hpack/encoder", "use super::table;\nuse crate::limits;\nuse crate::hpack::table;"),
        ];
        let expected = ["mod.rs:2", "encoder.rs:2"];
        let expected = expected.map(|at| format!("crates/stoop-proto/src/hpack/{at}"));
        assert_eq!(found("stoop-proto", &files), expected);
    }

    #[test]
    fn client_and_server_never_import_each_other() {
        let pool =
            "// crate::server\nuse crate::server::Server;\nuse crate::Server;\nuse crate::conn::C;";
        let files = [
            ("lib", "pub use server::Server;\nmod client;\nmod server;"),
            ("client", "#[cfg(test)]\nmod tests {\n    use crate::server;\n}"),
            ("client/pool", pool),
            ("server", "use crate::client::Client;"),
            ("conn/mod", "use crate::{client, server};"),
        ];
        let expected = [
            "client/pool.rs:2",
            "client/pool.rs:3",
            "server.rs:1",
            "conn/mod.rs:1",
            "conn/mod.rs:1",
        ];
        assert_eq!(found("stoop", &files), expected.map(|at| format!("crates/stoop/src/{at}")));
    }

    #[test]
    fn a_driver_imports_nothing_of_the_other_version() {
        let files = [
            ("client/http1/mod", "use super::http2::Cell;\nuse crate::conn::http2::driver::Role;"),
            ("client/http2/mod", "use super::exchange::Exchange;\npub struct Cell;"),
            ("lib", "mod client;\nmod conn;"),
            ("conn/mod", "pub mod http2;"),
            ("conn/http2/mod", "pub mod driver;"),
            ("conn/http2/driver", "pub struct Role;"),
        ];
        let expected = ["client/http1/mod.rs:1", "client/http1/mod.rs:2"];
        assert_eq!(found("stoop", &files), expected.map(|at| format!("crates/stoop/src/{at}")));
    }

    #[test]
    fn a_driver_imports_no_machine_of_the_other_version() {
        let text =
            "use stoop_proto::{Fields, h1, h2::PREFACE};\nfn f() -> stoop_proto::h2::Event {}";
        let files = [("server/http1/receive", text), ("client/http2/mod", "use stoop_proto::h2;")];
        let expected = ["receive.rs:1", "receive.rs:2"];
        let expected = expected.map(|at| format!("crates/stoop/src/server/http1/{at}"));
        assert_eq!(found("stoop", &files), expected);
    }

    #[test]
    fn a_border_around_nothing_is_a_finding() {
        assert_eq!(check(&tree::<&str>(&[])).len(), 2 * BORDERS.len());
    }
}
