//! Rust source as words and marks, without comments, strings and characters.
//!
//! The nevers ask small questions ("does this file say `unsafe`?"), which a text search answers
//! wrongly as soon as a comment or a test's string contains the word. A full parser would answer
//! them too, at the price of the only dependency this crate would have. It knows nothing of
//! macros: their bodies are lexed like any other text.

/// A token and the line it starts on, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or a keyword; `r#type` is the word `type`.
    Word(String),
    /// `::`, which is all that paths need to be told apart from `a: B`.
    Path,
    /// Any other single character: `{`, `#`, `!`, …
    Mark(char),
    /// A string, a character or a number, its content dropped.
    Literal,
}

impl Token {
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(found) if found == word)
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Splits `source` into tokens. It never fails: what rustc would refuse comes out as marks.
pub(crate) fn lex(source: &str) -> Vec<Token> {
    Lexer { rest: source, line: 1, tokens: Vec::new() }.run()
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(mut self) -> Vec<Token> {
        while let Some(first) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.skip(block_comment_len(self.rest));
            } else if first.is_whitespace() {
                self.skip(first.len_utf8());
            } else if first == '"' {
                self.literal(quoted_len(self.rest, '"'));
            } else if first == '\'' {
                self.character_or_lifetime();
            } else if first.is_ascii_digit() {
                self.literal(word_len(self.rest));
            } else if is_word_char(first) {
                self.word_or_prefixed_literal();
            } else if self.rest.starts_with("::") {
                self.token(2, Kind::Path);
            } else {
                self.token(first.len_utf8(), Kind::Mark(first));
            }
        }
        self.tokens
    }

    fn token(&mut self, len: usize, kind: Kind) {
        self.tokens.push(Token { line: self.line, kind });
        self.skip(len);
    }

    fn literal(&mut self, len: usize) {
        self.token(len, Kind::Literal);
    }

    fn skip(&mut self, len: usize) {
        let (skipped, rest) = self.rest.split_at(len);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    /// `'a'` and `'\n'` are literals; `'a` is a lifetime or a label, which no rule asks about.
    fn character_or_lifetime(&mut self) {
        let mut after = self.rest.chars().skip(1);
        let (second, third) = (after.next(), after.next());
        if second == Some('\\') || third == Some('\'') {
            self.literal(quoted_len(self.rest, '\''));
        } else {
            self.skip(1 + word_len(&self.rest[1..]));
        }
    }

    /// A word may turn out to be the prefix of a literal (`b"…"`, `br#"…"#`, `b'x'`) or of a raw
    /// identifier (`r#type`).
    fn word_or_prefixed_literal(&mut self) {
        let len = word_len(self.rest);
        let (word, after) = self.rest.split_at(len);
        let hashes = after.len() - after.trim_start_matches('#').len();
        let opens = after[hashes..].starts_with('"');
        match word {
            "r" | "br" | "cr" if opens => {
                self.literal(len + raw_len(after, hashes));
            }
            "b" | "c" if opens && hashes == 0 => self.literal(len + quoted_len(after, '"')),
            "b" if after.starts_with('\'') => self.literal(len + quoted_len(after, '\'')),
            "r" if hashes == 1 && after[1..].starts_with(is_word_char) => {
                let name = after[1..][..word_len(&after[1..])].to_owned();
                self.token(len + 1 + name.len(), Kind::Word(name));
            }
            _ => {
                let word = word.to_owned();
                self.token(len, Kind::Word(word));
            }
        }
    }
}

fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn word_len(text: &str) -> usize {
    text.find(|c| !is_word_char(c)).unwrap_or(text.len())
}

/// The length of a literal that starts with `quote` and in which a backslash escapes.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of `##"…"##`, given how many hashes open it.
fn raw_len(text: &str, hashes: usize) -> usize {
    let close = format!("\"{}", "#".repeat(hashes));
    let body = hashes + 1;
    text[body..].find(&close).map_or(text.len(), |at| body + at + close.len())
}

/// Block comments nest.
fn block_comment_len(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if text[at..].starts_with("*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        lex(source).iter().filter_map(|token| token.word().map(str::to_owned)).collect()
    }

    #[test]
    fn comments_say_nothing() {
        assert_eq!(
            words("a // unsafe\nb /* unsafe /* nested */ unsafe */ c /// unsafe"),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn literals_say_nothing() {
        let source = r####"a "unsafe \" unsafe" b b"unsafe" c r"unsafe\" d br#"un"safe"# e c"unsafe" '"' f '\'' g b'"' h"####;
        assert_eq!(words(source), ["a", "b", "c", "d", "e", "f", "g", "h"]);
    }

    #[test]
    fn lifetimes_do_not_open_a_character() {
        assert_eq!(
            words("fn f<'a>(x: &'a str) { 'l: loop { break 'l } }"),
            ["fn", "f", "x", "str", "loop", "break"]
        );
        assert_eq!(words("('é', 'a', '\\u{1F600}') z"), ["z"]);
    }

    #[test]
    fn a_raw_identifier_is_its_word() {
        assert_eq!(words("r#type r#async"), ["type", "async"]);
    }

    #[test]
    fn lines_count_through_everything() {
        let tokens = lex("/*\n*/\n\"\n\"\nhere");
        assert_eq!(tokens.last().unwrap().line, 5);
    }

    #[test]
    fn paths_are_told_from_colons() {
        let kinds: Vec<_> = lex("a::b: c").into_iter().map(|token| token.kind).collect();
        assert_eq!(
            kinds,
            [
                Kind::Word("a".into()),
                Kind::Path,
                Kind::Word("b".into()),
                Kind::Mark(':'),
                Kind::Word("c".into()),
            ]
        );
    }

    #[test]
    fn unfinished_input_ends() {
        for source in ["\"abc", "/* abc", "r#\"abc", "'", "'\\", "b'"] {
            lex(source);
        }
    }
}
