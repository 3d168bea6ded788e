//! One Rust file of the workspace, as the rules see it: the paths that its code names.
//!
//! It is read line by line, as rustfmt writes lines; `cargo xtask test` checks the formatting first.
//! A string that looks like code is taken for code: a path in it may be found, and none is missed.

use std::collections::HashSet;

/// A file of a package's `src` folder.
pub(crate) struct SourceFile {
    /// From the root of the workspace, with `/`: `crates/stoop/src/client/pool.rs`.
    pub(crate) path: String,
    /// The module that the file is, from its crate's root: `client::pool`; empty for the root.
    pub(crate) module: String,
    /// The paths in the code that reaches users: not in comments or tests.
    pub(crate) names: Vec<NamedPath>,
    /// The modules that the file declares for tests alone, whose files are tests too.
    pub(crate) test_modules: Vec<String>,
    /// What these rules would not see, and why, by lines.
    pub(crate) unseen: Vec<(usize, &'static str)>,
}

/// A path of several segments as it is written, or one of a `use`, whose groups are spread out:
/// `use std::{env, io}` names two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
    /// The name by which a `use` imports it: `B` of `use a::B` and `C` of `use a::B as C`.
    pub(crate) imported_as: Option<String>,
    /// Whether a `pub use` or the like hands it on, and the file names it nowhere else.
    pub(crate) is_only_reexported: bool,
}

impl SourceFile {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (lines, declared) = shipped(text);
        let module = module_of(path);
        let test_modules = declared.iter().map(|name| inner(&module, name)).collect();
        let names = names(&lines);
        let unseen = unseen(text, &lines, &names);
        Self { path: path.to_owned(), module, names, test_modules, unseen }
    }

    /// The folder of the package: `crates/stoop`.
    pub(crate) fn package(&self) -> &str {
        self.path.split_once("/src/").map_or("", |(package, _)| package)
    }

    /// Whether it is the module `place` or one inside it: `place.rs`, `place/…` or `place` itself.
    pub(crate) fn is_in(&self, place: &str) -> bool {
        is_in(&self.path, place)
    }
}

/// Whether a path is that of the module `place` or of one inside it.
pub(crate) fn is_in(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
}

/// The module `name` inside `module`.
pub(crate) fn inner(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// `crates/stoop/src/client/pool.rs` → `client::pool`.
fn module_of(path: &str) -> String {
    let inside = path.split_once("/src/").map_or("", |(_, inside)| inside);
    let inside = inside.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(inside, "lib" | "main") { String::new() } else { inside.replace('/', "::") }
}

/// The numbered lines without comments and without the items under `#[cfg(test)]` or
/// `#[cfg(all(test, …))]`, and the names of the modules among these that have files of their own.
fn shipped(text: &str) -> (Vec<(usize, &str)>, Vec<String>) {
    let (mut lines, mut modules) = (Vec::new(), Vec::new());
    // How far the item is indented that is being left out.
    let mut test = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split(" //").next().unwrap_or_default().trim_end();
        let item = line.trim_start();
        let indent = line.len() - item.len();
        if item.starts_with("#[cfg(test)]") || item.starts_with("#[cfg(all(test,") {
            test = test.or(Some(indent));
        } else if test.is_none() && !item.starts_with("//") {
            lines.push((number, line));
        } else if test == Some(indent) && item.ends_with([';', ',', '}']) {
            let name = item.strip_suffix(';').and_then(|item| item.split_once("mod "));
            modules.extend(name.map(|(_, name)| name.to_owned()));
            test = None;
        }
    }
    (lines, modules)
}

/// The lines by which a path could be missed.
fn unseen(text: &str, lines: &[(usize, &str)], names: &[NamedPath]) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut inline = None;
    for (number, line) in lines {
        let item = line.trim_start();
        let indent = line.len() - item.len();
        if item.starts_with("#[path") {
            found.push((*number, "`#[path]` hides the file of a module: name the file for it"));
        }
        if item.ends_with('{') && item.split(' ').any(|word| word == "mod") {
            inline = inline.or(Some(indent));
        } else if inline == Some(indent) {
            inline = None;
        } else if inline.is_some() && item.contains("super::") {
            found.push((*number, "`super::` in an inline module: write the path from `crate`"));
        }
    }
    for name in names {
        if let [first, .., last] = name.segments.as_slice()
            && last == "*"
            && matches!(first.as_str(), "crate" | "super")
        {
            found.push((name.line, "a glob hides what is imported: name it"));
        }
    }
    // `shipped` leaves out from the attribute to the item's last line, as rustfmt indents it.
    let attributes = (1..).zip(text.lines()).filter(|(_, line)| {
        let item = line.trim_start();
        (item.starts_with("#[cfg(test)]") || item.starts_with("#[cfg(all(test,"))
            && !item.ends_with(']')
    });
    let why = "an item behind its `#[cfg(test)]` on one line: put it on a line of its own";
    found.extend(attributes.map(|(number, _)| (number, why)));
    found
}

fn names(lines: &[(usize, &str)]) -> Vec<NamedPath> {
    let (mut found, mut words) = (Vec::new(), HashSet::new());
    let mut lines = lines.iter();
    while let Some(&(line, text)) = lines.next() {
        let mut push = |path: &str, imported_as, is_only_reexported| {
            let segments = path.split("::").filter(|segment| !matches!(*segment, "" | "self"));
            let segments = segments.map(str::to_owned).collect();
            found.push(NamedPath { line, segments, imported_as, is_only_reexported });
        };
        let Some((visibility, tree)) = import(text) else {
            // `pub(in a::b)` says where an item is visible, and imports nothing.
            let item = text.split_once("pub(in ").and_then(|(_, item)| item.split_once(')'));
            let item = item.map_or(text, |(_, item)| item);
            for word in item.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':')) {
                let word = word.trim_matches(':');
                words.extend(word.split("::").next());
                if word.contains("::") {
                    push(word, None, false);
                }
            }
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some((_, more)) = lines.next() else { break };
            tree += more.trim_start();
        }
        spread_out("", tree.split(';').next().unwrap_or_default(), &mut |path| {
            let (path, renamed) = path.split_once(" as ").unwrap_or((path, ""));
            let last = path.trim_end_matches("::self").rsplit("::").next().unwrap_or_default();
            let name = if renamed.is_empty() { last } else { renamed };
            push(path, Some(name.to_owned()), !visibility.is_empty());
        });
    }
    for name in &mut found {
        let is_used = name.imported_as.as_deref().is_some_and(|name| words.contains(name));
        name.is_only_reexported &= !is_used;
    }
    found
}

/// What stands before and behind the keyword of a `use` item.
fn import(line: &str) -> Option<(&str, &str)> {
    let (before, tree) = line.trim_start().split_once("use ")?;
    let is_item = before.is_empty() || (before.starts_with("pub") && before.ends_with(' '));
    is_item.then_some((before, tree))
}

/// Hands each path of a `use` tree to `found`.
fn spread_out(prefix: &str, tree: &str, found: &mut impl FnMut(&str)) {
    let tree = tree.trim();
    let Some((path, group)) = tree.split_once('{') else {
        if !tree.is_empty() {
            found(&format!("{prefix}{tree}"));
        }
        return;
    };
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let mut depth = 0;
    let members = group.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    members.for_each(|member| spread_out(&format!("{prefix}{path}"), member, found));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let names = SourceFile::new("crates/x/src/y.rs", text).names;
        let text = |name: NamedPath| {
            let known = name.imported_as.map(|known| format!(" as {known}")).unwrap_or_default();
            format!("{} {}{known}", name.line, name.segments.join("::"))
        };
        names.into_iter().map(text).collect()
    }

    #[test]
    fn the_groups_of_imports_are_spread_out() {
        let text =
            "pub use std::{\n    env,\n    io::{self, Read as R},\n    fmt::*,\n};\nuse {a::b, c};";
        let expected = ["1 std::env as env", "1 std::io as io", "1 std::io::Read as R"];
        assert_eq!(named(text)[..3], expected);
        assert_eq!(named(text)[3..], ["1 std::fmt::* as *", "6 a::b as b", "6 c as c"]);
    }

    #[test]
    fn paths_of_several_segments_are_named() {
        let text =
            "fn f(a: &b::C) -> ::d::E<g::H> {\n    i::j::<K>(\"://\", l, m::n!()); // o::p\n}";
        assert_eq!(named(text), ["1 b::C", "1 d::E", "1 g::H", "2 i::j", "2 m::n"]);
        assert_eq!(named("/// a::b\n//! c::d\n    // e::f\n"), [""; 0]);
    }

    #[test]
    fn code_for_tests_is_left_out() {
        let text = "a::b;\n#[cfg(test)]\nmod more;\n#[cfg(all(test, unix))]\n#[x]\npub(crate) fn f(\n    \
                    y: c::d,\n) -> e::f {\n    g::h;\n}\nstruct S {\n    #[cfg(test)]\n    y: V<i::j, k::l>,\
                    \n    z: m::n,\n}\n#[cfg(feature = \"test-util\")]\nfn f() -> o::p {}";
        assert_eq!(named(text), ["1 a::b", "14 m::n", "17 o::p"]);
        assert_eq!(SourceFile::new("crates/x/src/y.rs", text).test_modules, ["y::more"]);
    }

    #[test]
    fn what_would_not_be_seen_is_told() {
        let text = "#[path = \"x.rs\"]\nmod y;\nuse super::*;\nuse std::fmt::*;\nmod z {\n    \
                    use super::A;\n}\nuse super::B;\n#[cfg(test)] mod t;\n#[cfg(test)]\nmod u {\n    \
                    use super::*;\n}\nuse self::C::*;";
        let unseen = SourceFile::new("crates/x/src/y.rs", text).unseen;
        assert_eq!(unseen.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 6, 3, 9]);
    }

    #[test]
    fn a_file_is_in_its_module_and_in_those_around_it() {
        let file = SourceFile::new("crates/stoop/src/client/pool.rs", "");
        assert_eq!((file.package(), file.module.as_str()), ("crates/stoop", "client::pool"));
        let places = ["", "/client", "/client/pool", "/client/pool.rs"];
        assert!(places.iter().all(|place| file.is_in(&format!("crates/stoop/src{place}"))));
        assert!(!file.is_in("crates/stoop/src/cli"));
        assert_eq!(module_of("crates/stoop/src/lib.rs"), "");
        assert_eq!(module_of("crates/stoop/src/client/mod.rs"), "client");
    }
}
