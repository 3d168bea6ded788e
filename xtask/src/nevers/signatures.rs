//! No private dependency in the public interface of `stoop`.
//!
//! A type of tokio or rustls in a signature makes their next major version ours too. The crates
//! that may appear are the ones a user shares with us anyway (`PUBLIC`); the rest stays inside,
//! but for the modules that carry the dependency's name.
//!
//! This reads tokens, not types. It sees functions, fields, enums, traits, aliases, constants,
//! re-exports, and the heads and associated types of `impl` blocks for public types. It cannot
//! see: what a macro writes, a name that came in by `use private::*` or through a private alias,
//! what an `impl Trait` hides, and types that reach us through a crate of our own. `pub` stands
//! for "public", because the lint `unreachable_pub` refuses it anywhere else.

use super::lexer::{Kind, Token};
use super::source::{Scope, Source, names};
use super::{Finding, Tree};
use std::collections::HashSet;

/// Public dependencies, on purpose.
pub(crate) const PUBLIC: &[&str] = &["http", "bytes", "http_body"];

/// Modules named for the dependency that they expose.
const EXPOSED: &[&str] = &["tokio", "rustls_0_23"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let library: Vec<&Source> =
        tree.shipped().filter(|source| source.is_in("crates/stoop/src/")).collect();
    let public_types: HashSet<String> =
        library.iter().flat_map(|source| public_types(&source.shipped)).collect();
    let mut findings = Vec::new();
    for source in library {
        if source.module().first().is_some_and(|module| EXPOSED.contains(&module.as_str())) {
            continue;
        }
        let imported = imported(source, &tree.private_crates);
        let mut seen = HashSet::new();
        for piece in public_pieces(&source.shipped, &public_types) {
            for name in names(piece, Vec::new()) {
                let root = name.segments[0].as_str();
                let is_type = root.starts_with(char::is_uppercase);
                let private = name.segments.len() > 1 && tree.private_crates.contains(root);
                let import = imported.contains(root) && (is_type || name.segments.len() > 1);
                if (private || import) && seen.insert((name.line, name.text())) {
                    findings.push(Finding {
                        path: source.path.clone(),
                        line: name.line,
                        message: format!(
                            "`{}` in the public interface of stoop, which shows only its own \
                             types, std's and those of {}: wrap it in a type of ours, or move \
                             this to one of the modules {}",
                            name.text(),
                            PUBLIC.join(", "),
                            EXPOSED.join(", ")
                        ),
                    });
                }
            }
        }
    }
    findings
}

/// The names by which a file knows things of private crates.
fn imported(source: &Source, private_crates: &HashSet<String>) -> HashSet<String> {
    let names = source.names().into_iter();
    names
        .filter(|name| private_crates.contains(&name.segments[0]))
        .filter_map(|name| name.imported_as)
        .collect()
}

/// The names behind `pub struct`, `pub enum`, `pub union`, `pub trait` and `pub type`.
fn public_types(tokens: &[Token]) -> Vec<String> {
    const KEYWORDS: &[&str] = &["struct", "enum", "union", "trait", "type"];
    let declares = |window: &&[Token]| {
        window[0].is_word("pub") && window[1].word().is_some_and(|word| KEYWORDS.contains(&word))
    };
    let windows = tokens.windows(3).filter(declares);
    windows.filter_map(|window| window[2].word().map(str::to_owned)).collect()
}

/// The stretches of `tokens` that make up the public interface.
fn public_pieces<'a>(tokens: &'a [Token], public_types: &HashSet<String>) -> Vec<&'a [Token]> {
    let mut pieces = Vec::new();
    let mut scope = Scope::new(Vec::new());
    for at in 0..tokens.len() {
        scope.step(tokens, at);
        let rest = &tokens[at..];
        if rest[0].is_word("pub") && !rest.get(1).is_some_and(|token| token.is_mark('(')) {
            pieces.extend(after_pub(&rest[1..]));
        } else if rest[0].is_word("impl") && scope.between_items() {
            pieces.extend(after_impl(&rest[1..], public_types));
        }
    }
    pieces
}

fn after_pub(rest: &[Token]) -> Vec<&[Token]> {
    const BEFORE_FN: &[&str] = &["const", "async", "unsafe", "extern"];
    let keyword = rest.iter().find_map(Token::word).unwrap_or_default();
    let is_fn = rest
        .iter()
        .find(|token| {
            token.kind != Kind::Literal && !token.word().is_some_and(|w| BEFORE_FN.contains(&w))
        })
        .is_some_and(|token| token.is_word("fn"));
    if is_fn {
        return vec![until(rest, &['{', ';'])];
    }
    match keyword {
        "struct" | "union" => vec![until(rest, &['{', ';', '('])],
        "enum" => vec![head_and_body(rest)],
        "trait" => {
            let head = until(rest, &['{']);
            [vec![head], members(body(rest), |_| true)].concat()
        }
        "const" | "static" => vec![until(rest, &['=', ';'])],
        "type" | "use" => vec![until_semicolon(rest)],
        "mod" | "macro" | "crate" => Vec::new(),
        // What is left is a field: `pub name: Type,` or, in a tuple, `pub Type,`.
        _ => vec![until(rest, &[',', ';'])],
    }
}

/// The head of an `impl` for a public type, and the types that it associates.
fn after_impl<'a>(rest: &'a [Token], public_types: &HashSet<String>) -> Vec<&'a [Token]> {
    let head = until(rest, &['{']);
    // `for<'a>` in a bound is no `for Type`.
    let is_for = |pair: &[Token]| pair[0].is_word("for") && !pair[1].is_mark('<');
    let target = match head.windows(2).position(is_for) {
        Some(at) => &head[at + 1..],
        None if head.first().is_some_and(|token| token.is_mark('<')) => {
            &head[until(&head[1..], &['>']).len() + 2..]
        }
        None => head,
    };
    let path = target.iter().skip_while(|token| token.word().is_none_or(|word| word == "mut"));
    let path = path.take_while(|token| token.word().is_some() || token.kind == Kind::Path);
    let name = path.filter_map(Token::word).take_while(|word| *word != "where").last();
    if !name.is_some_and(|name| public_types.contains(name)) {
        return Vec::new();
    }
    [vec![head], members(body(rest), |member| member[0].is_word("type"))].concat()
}

/// From the start to the first of `ends` that stands outside brackets of any kind.
fn until<'a>(tokens: &'a [Token], ends: &[char]) -> &'a [Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let Kind::Mark(mark) = token.kind else { continue };
        let is_arrow =
            mark == '>' && at > 0 && matches!(tokens[at - 1].kind, Kind::Mark('-' | '='));
        if depth == 0 && ends.contains(&mark) && !is_arrow {
            return &tokens[..at];
        }
        match mark {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if is_arrow => {}
            ')' | ']' | '}' | '>' if depth == 0 => return &tokens[..at],
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
    }
    tokens
}

fn until_semicolon(tokens: &[Token]) -> &[Token] {
    until(tokens, &[';'])
}

/// What stands between the braces that follow a head.
fn body(tokens: &[Token]) -> &[Token] {
    let opened = until(tokens, &['{', ';']).len() + 1;
    let inside = tokens.get(opened..).unwrap_or_default();
    &inside[..braces_len(inside)]
}

fn head_and_body(tokens: &[Token]) -> &[Token] {
    let opened = until(tokens, &['{', ';']).len() + 1;
    let inside = tokens.get(opened..).unwrap_or_default();
    &tokens[..(opened + braces_len(inside)).min(tokens.len())]
}

/// The length of what a closing brace ends; `<` may mean "less" in there, so only braces count.
fn braces_len(inside: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in inside.iter().enumerate() {
        match token.kind {
            Kind::Mark('{') => depth += 1,
            Kind::Mark('}') if depth == 0 => return at,
            Kind::Mark('}') => depth -= 1,
            _ => {}
        }
    }
    inside.len()
}

/// The members of a trait or an `impl`, each without its braces.
fn members(body: &[Token], wanted: impl Fn(&[Token]) -> bool) -> Vec<&[Token]> {
    let mut found = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let member = until(rest, &['{', ';']);
        if !member.is_empty() && wanted(member) {
            found.push(member);
        }
        let has_body = rest.get(member.len()).is_some_and(|token| token.is_mark('{'));
        let after = rest.get(member.len() + 1..).unwrap_or_default();
        let skip = if has_body { braces_len(after) + 1 } else { 0 };
        rest = after.get(skip..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::tree;
    use super::*;

    fn found(snippet: &str) -> Vec<Finding> {
        check(&tree(&[("crates/stoop/src/server/mod.rs", snippet)]))
    }

    #[test]
    fn private_crates_do_not_show() {
        for snippet in [
            "pub fn f(s: tokio::net::TcpStream) {}",
            "pub async fn f() -> Result<(), rustls::Error> {}",
            "pub const fn f<T>(t: T) where T: tokio::io::AsyncRead {}",
            "use tokio::net::TcpStream; pub fn f(s: &TcpStream) {}",
            "use tokio::net::TcpStream as S; pub fn f(s: Option<S>) {}",
            "use tokio::net; pub fn f(s: net::TcpStream) {}",
            "pub struct A<T: tokio::io::AsyncRead>(T);",
            "pub struct A { a: u8, pub b: HashMap<u8, tokio::time::Instant>, c: u8 }",
            "pub struct A(pub tokio::time::Instant);",
            "pub enum E { Tls(rustls::Error) }",
            "pub trait T { fn f(&self) { g() } fn h(&self, e: hickory_resolver::E); }",
            "pub trait T: tokio::io::AsyncRead {}",
            "pub type T = tokio::time::Instant;",
            "pub use tokio::time::Instant;",
            "pub const A: tokio::time::Instant = x;",
            "pub struct E; impl From<rustls::Error> for E {}",
            "pub struct E; impl<T> tokio::io::AsyncRead for E<T> where T: A {}",
            "pub struct E; impl<T: tokio::io::AsyncRead> E<T> {}",
            "pub struct E; impl A for E { fn f() { if a < b {} } type X = tokio::time::Instant; }",
            "mod inner { pub struct E; impl A<tokio::time::Sleep> for E {} }",
        ] {
            assert_eq!(found(snippet).len(), 1, "{snippet}: {:?}", found(snippet));
        }
    }

    #[test]
    fn what_stays_inside_may_use_them() {
        for snippet in [
            "pub fn f(r: http::Request<bytes::Bytes>) { tokio::spawn(g()); }",
            "pub(crate) fn f(s: tokio::net::TcpStream) {}",
            "pub struct A { a: tokio::time::Instant }",
            "pub struct A(tokio::time::Instant);",
            "pub(crate) struct E; impl From<rustls::Error> for E {}",
            "struct E; impl tokio::io::AsyncRead for E {}",
            "pub trait T { fn f(&self) { tokio::spawn(g()); } }",
            "pub const A: u8 = tokio::x::Y;",
            "use tokio::time; pub fn time(&self) {}",
            "pub mod tokio;",
            "pub use crate::tokio::from_io;",
            "fn f() { use tokio::time::Instant; } pub fn g(i: Instant) {}",
            "pub fn f() { let x: impl A = tokio::y::Z; }",
            "// pub fn f(s: tokio::net::TcpStream) {}",
        ] {
            assert!(found(snippet).is_empty(), "{snippet}: {:?}", found(snippet));
        }
    }

    #[test]
    fn the_modules_named_for_them_may_show_them() {
        let text = "pub fn from_io(s: tokio::net::TcpStream) {}";
        for path in ["crates/stoop/src/tokio.rs", "crates/stoop/src/rustls_0_23/mod.rs"] {
            assert!(check(&tree(&[(path, text)])).is_empty(), "{path}");
        }
    }
}
