//! Where a path leads: through modules, imports and re-exports, to the file that has the item.
//!
//! It knows names and not types: a method leads nowhere. A macro's expansion is not seen.

use super::source::{NamedPath, SourceFile, inner};
use super::tree::Tree;
use std::collections::BTreeMap;

/// How many imports a path may lead through. `use a::b as b` leads to itself.
const IMPORTS_MAX: u32 = 8;

/// The files of one package, by the modules that they are.
pub(crate) struct Package<'a>(BTreeMap<&'a str, &'a SourceFile>);

impl<'a> Package<'a> {
    /// The package in this folder.
    pub(crate) fn new(tree: &'a Tree, folder: &str) -> Self {
        let files = tree.files.iter().filter(|file| file.package() == folder);
        Self(files.map(|file| (file.module.as_str(), file)).collect())
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &'a SourceFile> {
        self.0.values().copied()
    }

    /// The files that a path in `from` leads through, the last of which has the item. None for a path
    /// into another crate.
    pub(crate) fn route(&self, from: &SourceFile, path: &NamedPath) -> Vec<&'a SourceFile> {
        let route = self.follow(&from.module, &path.segments, IMPORTS_MAX).unwrap_or_default();
        route.iter().filter_map(|module| self.0.get(module.as_str()).copied()).collect()
    }

    fn follow(&self, from: &str, path: &[String], imports: u32) -> Option<Vec<String>> {
        let mut at = from.to_owned();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (at, rest) = (String::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while let [first, after @ ..] = rest
                    && first == "super"
                {
                    at = at.rsplit_once("::").map_or(String::new(), |(outer, _)| outer.to_owned());
                    rest = after;
                }
            }
            first => {
                let is_ours = self.0.contains_key(inner(&at, first).as_str());
                if !is_ours && self.import(&at, first).is_none() {
                    return None;
                }
            }
        }
        let mut route = Vec::new();
        for (n, segment) in rest.iter().enumerate() {
            let module = inner(&at, segment);
            if self.0.contains_key(module.as_str()) {
                at = module;
                route.push(at.clone());
                continue;
            }
            let imported = self.import(&at, segment).filter(|_| imports > 0);
            let imported = imported.map(|path| [path.as_slice(), &rest[n + 1..]].concat());
            if let Some(more) = imported.and_then(|path| self.follow(&at, &path, imports - 1)) {
                route.extend(more);
                return Some(route);
            }
            break;
        }
        if route.last() != Some(&at) {
            route.push(at);
        }
        Some(route)
    }

    /// The path by which a module imports a name. If it does not, its first `use …::*` is taken to.
    fn import(&self, module: &str, name: &str) -> Option<Vec<String>> {
        let names = &self.0.get(module)?.names;
        let by = |imported: &str| {
            names.iter().find(|name| name.imported_as.as_deref() == Some(imported))
        };
        by(name).map(|found| found.segments.clone()).or_else(|| {
            let (_, path) = by("*")?.segments.split_last()?;
            Some([path, &[name.to_owned()]].concat())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::tree;
    use super::*;

    fn routes(files: &[(&str, &str)], from: &str) -> Vec<String> {
        let files = files.iter().map(|(at, text)| (format!("crates/x/src/{at}.rs"), *text));
        let tree = tree(&files.collect::<Vec<_>>());
        let package = Package::new(&tree, "crates/x");
        let from = tree.files.iter().find(|file| file.module == from).unwrap();
        let route = |name| {
            let route = package.route(from, name);
            route.iter().map(|file| file.module.as_str()).collect::<Vec<_>>().join(" ")
        };
        from.names.iter().map(route).collect()
    }

    #[test]
    fn a_path_leads_from_the_root_from_here_and_from_above() {
        let text = "use crate::b::c::X;\nuse super::X;\nuse self::d::X;\nuse d::X;\nuse tokio::b::X;\n\
                    use super::super::super::b::X;\nuse crate::time::Y;";
        let files =
            [("lib", "use tokio::time;"), ("a/mod", text), ("a/d", ""), ("b/mod", ""), ("b/c", "")];
        assert_eq!(routes(&files, "a"), ["b b::c", "", "a::d", "a::d", "", "b", ""]);
    }

    #[test]
    fn a_path_leads_through_imports_to_the_item() {
        let lib = "pub use b::Y;\nuse c::*;";
        let text = "use crate::{Y as Z, b};\nb::Y::new();\nZ::new();\nuse super::W;";
        let files = [("lib", lib), ("a", text), ("b/mod", "use c::Y;"), ("b/c", ""), ("c", "")];
        assert_eq!(routes(&files, "a"), ["b b::c", "b", "b b::c", "b b::c", "c"]);
    }

    #[test]
    fn an_import_of_itself_ends() {
        let files = [("lib", "use a;\nuse b as c;\nuse c as b;\nc::X;")];
        assert_eq!(routes(&files, ""), ["", "", "", ""]);
    }
}
