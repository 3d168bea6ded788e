//! What of a file reaches users: everything but the items that only tests are compiled with.

use super::lexer::{Kind, Token};

/// The tokens without the items that `#[cfg(test)]` or `#[cfg(all(test, …))]` keeps from users,
/// and the names of the modules among them that live in files of their own.
pub(crate) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut declared) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            let end = item_end(tokens, at);
            let item = &tokens[at..end];
            if let [.., keyword, name, semicolon] = item
                && keyword.is_word("mod")
                && semicolon.is_mark(';')
            {
                declared.extend(name.word().map(str::to_owned));
            }
            at = end;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    (kept, declared)
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let opens = ["#", "[", "cfg", "("];
    let is = |token: &Token, text: &str| {
        token.is_word(text) || text.chars().next().is_some_and(|mark| token.is_mark(mark))
    };
    if tokens.len() < 7 || !opens.iter().zip(tokens).all(|(text, token)| is(token, text)) {
        return false;
    }
    tokens[4].is_word("test") || (tokens[4].is_word("all") && tokens[6].is_word("test"))
}

/// The index after the item, field or arm that starts, with its attributes, at `at`.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    // A comma ends a field, but not inside `<A, B>`; inside brackets `<` may well mean "less".
    let (mut depth, mut angles) = (0_usize, 0_usize);
    while at < tokens.len() {
        match tokens[at].kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(mark @ (')' | ']' | '}')) => {
                if depth == 0 {
                    return at;
                }
                depth -= 1;
                if depth == 0 && mark == '}' {
                    return at + 1;
                }
            }
            Kind::Mark('<') if depth == 0 => angles += 1,
            Kind::Mark('>') if depth == 0 => angles = angles.saturating_sub(1),
            Kind::Mark(';') if depth == 0 => return at + 1,
            Kind::Mark(',') if depth == 0 && angles == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::source::{Named, Source};

    /// The paths of more than one word that ship.
    fn named(text: &str) -> Vec<String> {
        let source = Source::new("crates/x/src/y.rs", text);
        source.names().iter().filter(|name| name.segments.len() > 1).map(Named::text).collect()
    }

    #[test]
    fn code_for_tests_does_not_ship() {
        let text =
            "a::b(); #[cfg(test)] mod tests { c::d(); } e::f(); #[cfg(test)] mod more; g::h();";
        assert_eq!(named(text), ["a::b", "e::f", "g::h"]);
        let source = Source::new("crates/x/src/y.rs", text);
        assert_eq!(source.test_modules, [["y", "more"]]);
    }

    #[test]
    fn a_test_item_ends_where_it_ends() {
        let text = "struct S { #[cfg(test)] a: T<b::C, d::E>, f: g::H, #[cfg(test)] i: j::K } \
                    #[cfg(test)] fn l<M, N>(o: p::Q) -> r::S { if 1 < 2 {} } t::u!();";
        assert_eq!(named(text), ["g::H", "t::u"]);
    }

    #[test]
    fn a_feature_named_test_util_ships() {
        let text = "#[cfg(feature = \"test-util\")] fn f() { a::b(); }";
        assert_eq!(named(text), ["a::b"]);
    }
}
