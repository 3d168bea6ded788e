//! One Rust file of the workspace, as the rules see it: where it stands, which module it is, its
//! tokens, and every path that it names.

use super::lexer::{Kind, Token, lex};
use super::shipped::without_tests;

/// A file, lexed.
pub(crate) struct Source {
    /// From the root of the workspace, with `/`: `crates/stoop/src/client/pool.rs`.
    pub(crate) path: String,
    /// The tokens that reach users: without items under `#[cfg(test)]`.
    pub(crate) shipped: Vec<Token>,
    /// Modules that this file declares under `#[cfg(test)]`, from the root of the crate: their
    /// files are tests too.
    pub(crate) test_modules: Vec<Vec<String>>,
}

/// A path as it is written, `use` groups spread out: `use std::{env, io}` is two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
    /// `B` of `use a::B` and `C` of `use a::B as C`, if the `use` stands between items and not
    /// inside a function: the name that the module knows it by.
    pub(crate) imported_as: Option<String>,
    /// `println!` is a path too, and a macro.
    pub(crate) is_macro: bool,
    /// The module it stands in, from the root of the crate; what `self` and `super` start from.
    module: Vec<String>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let tokens = lex(text);
        let (shipped, declared) = without_tests(&tokens);
        let module = module_of(path);
        let test_modules =
            declared.into_iter().map(|name| [module.as_slice(), &[name]].concat()).collect();
        Self { path: path.to_owned(), shipped, test_modules }
    }

    /// Whether the file is under `folder`, which ends in `/`.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    /// The module that the file is, from the root of its crate.
    pub(crate) fn module(&self) -> Vec<String> {
        module_of(&self.path)
    }

    /// Every path in the code that reaches users.
    pub(crate) fn names(&self) -> Vec<Named> {
        names(&self.shipped, self.module())
    }
}

impl Named {
    /// Where a path that starts with `crate`, `self` or `super` leads, from the crate's root.
    pub(crate) fn resolved(&self) -> Option<Vec<String>> {
        let mut at = match self.segments.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return None,
        };
        for segment in &self.segments {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => {
                    at.pop();
                }
                name => at.push(name.to_owned()),
            }
        }
        Some(at)
    }

    /// As written, for messages.
    pub(crate) fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// `crates/stoop/src/client/pool.rs` → `client`, `pool`.
fn module_of(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or("", |(_, inside)| inside);
    let mut module: Vec<String> =
        inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    match module.last().map(String::as_str) {
        Some("mod" | "") => {
            module.pop();
        }
        Some("lib" | "main") if module.len() == 1 => module.clear(),
        _ => {}
    }
    module
}

/// Every path in `tokens`, which stand in `module`.
pub(crate) fn names(tokens: &[Token], module: Vec<String>) -> Vec<Named> {
    let mut walk = Walk { tokens, scope: Scope::new(module), in_use: false, found: Vec::new() };
    let mut at = 0;
    while at < tokens.len() {
        walk.scope.step(tokens, at);
        at = match &tokens[at].kind {
            Kind::Word(word) if word == "use" => {
                // `impl Trait + use<'a>` imports nothing.
                walk.in_use = !tokens.get(at + 1).is_some_and(|token| token.is_mark('<'));
                at + 1
            }
            Kind::Word(_) => walk.path(at, Vec::new()),
            Kind::Mark('{') if walk.in_use => walk.group(at, &[]),
            Kind::Mark(';') => {
                walk.in_use = false;
                at + 1
            }
            _ => at + 1,
        };
    }
    walk.found
}

struct Walk<'a> {
    tokens: &'a [Token],
    scope: Scope,
    in_use: bool,
    found: Vec<Named>,
}

impl Walk<'_> {
    /// Reads the path at `at`, which may end in a group, and returns the index after it.
    fn path(&mut self, mut at: usize, mut segments: Vec<String>) -> usize {
        let line = self.tokens[at].line;
        loop {
            match self.tokens.get(at).map(|token| &token.kind) {
                Some(Kind::Word(word)) => segments.push(word.clone()),
                Some(Kind::Mark('*')) if self.in_use => segments.push("*".to_owned()),
                Some(Kind::Mark('{')) if self.in_use => return self.group(at, &segments),
                // `Vec::<u8>` and the like: the path ends before its arguments.
                _ => break,
            }
            at += 1;
            match self.tokens.get(at).map(|token| &token.kind) {
                Some(Kind::Path) => at += 1,
                _ => break,
            }
        }
        let mut imported_as = match segments.as_slice() {
            [.., parent, last] if last == "self" => Some(parent.clone()),
            [.., last] => Some(last.clone()),
            [] => None,
        };
        if self.in_use && self.tokens.get(at).is_some_and(|token| token.is_word("as")) {
            imported_as = self.tokens.get(at + 1).and_then(|token| token.word().map(str::to_owned));
            at += 2;
        }
        self.found.push(Named {
            line,
            segments,
            imported_as: imported_as.filter(|_| self.in_use && self.scope.between_items()),
            is_macro: self.tokens.get(at).is_some_and(|token| token.is_mark('!')),
            module: self.scope.module.clone(),
        });
        at
    }

    /// Reads `{a, b::C}`, each with `prefix` before it, and returns the index after the brace.
    fn group(&mut self, mut at: usize, prefix: &[String]) -> usize {
        at += 1;
        loop {
            at = match self.tokens.get(at).map(|token| &token.kind) {
                Some(Kind::Mark('}')) | None => return at + 1,
                Some(Kind::Word(_) | Kind::Mark('*' | '{')) => self.path(at, prefix.to_vec()),
                _ => at + 1,
            };
        }
    }
}

/// Which inline module a token stands in, and whether between items or inside one.
pub(crate) struct Scope {
    module: Vec<String>,
    depth: usize,
    /// The depth inside each inline module that is open.
    inline: Vec<usize>,
}

impl Scope {
    pub(crate) fn new(module: Vec<String>) -> Self {
        Self { module, depth: 0, inline: Vec::new() }
    }

    /// Takes note of the token at `at`; called for every token but those of `use` groups.
    pub(crate) fn step(&mut self, tokens: &[Token], at: usize) {
        if tokens[at].is_mark('{') {
            self.depth += 1;
            if let Some([keyword, name]) = at.checked_sub(2).map(|before| &tokens[before..at])
                && keyword.is_word("mod")
                && let Some(name) = name.word()
            {
                self.module.push(name.to_owned());
                self.inline.push(self.depth);
            }
        } else if tokens[at].is_mark('}') {
            if self.inline.last() == Some(&self.depth) {
                self.inline.pop();
                self.module.pop();
            }
            self.depth = self.depth.saturating_sub(1);
        }
    }

    pub(crate) fn between_items(&self) -> bool {
        self.depth == self.inline.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path, text);
        source.names().iter().filter(|name| name.segments.len() > 1).map(Named::text).collect()
    }

    #[test]
    fn groups_are_spread_out() {
        let text = "use std::{env, io::{self, Read as R}, fmt::*}; use {a::b, c::d};";
        assert_eq!(
            named("crates/x/src/lib.rs", text),
            ["std::env", "std::io::self", "std::io::Read", "std::fmt::*", "a::b", "c::d"]
        );
    }

    #[test]
    fn imports_are_known_by_their_last_name() {
        let text = "use a::B; use a::{self, c as d}; fn f() { use a::E; a::g(); }";
        let source = Source::new("crates/x/src/lib.rs", text);
        let known: Vec<_> =
            source.names().into_iter().filter_map(|name| name.imported_as).collect();
        assert_eq!(known, ["B", "a", "d"]);
    }

    #[test]
    fn supers_lead_somewhere() {
        let text = "use super::super::h2::A; mod inner { use super::B; use crate::C; }";
        let source = Source::new("crates/stoop-proto/src/h1/state.rs", text);
        let resolved: Vec<_> =
            source.names().iter().filter_map(Named::resolved).map(|path| path.join("::")).collect();
        assert_eq!(resolved, ["h2::A", "h1::state::B", "C"]);
    }

    #[test]
    fn modules_come_from_the_place_of_the_file() {
        assert!(module_of("crates/stoop/src/lib.rs").is_empty());
        assert_eq!(module_of("crates/stoop/src/client/mod.rs"), ["client"]);
        assert_eq!(module_of("crates/stoop/src/client/pool.rs"), ["client", "pool"]);
    }
}
