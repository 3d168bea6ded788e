//! Finds options of other programs among the words of a command.

use clap::{Arg, Command};

use super::counterpart::Counterpart;
use super::meant::meant;
use super::misread::{Beside, Misread, is_input, misread};
use super::program::{is_fail_and_silent, is_of_curl};
use super::rows::{Absent, absent, is_absent};
use crate::fetch::HYPHEN_VALUES;

/// A part of a command, in its order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A word that means here what it says, or is no option that is known.
    Own(String),
    Other(OtherOption),
}

/// An option of another program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OtherOption {
    /// As it is typed, without its value.
    pub(super) typed: String,
    /// What to write in its place, as a sentence.
    pub(super) said: String,
    /// The part of that which others may share.
    pub(super) instead: Option<&'static str>,
    /// Its value, if its counterpart needs one.
    pub(super) value: Option<String>,
    pub(super) counterpart: Counterpart,
}

/// The parts of a command, whose own options `command` has.
pub(super) fn parts(words: &[String], command: &Command) -> Vec<Part> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (words, rest) = words.split_at(end);
    let mut reader = Reader { words, at: 0, command, beside: Beside::of(words), parts: Vec::new() };
    while let Some(word) = words.get(reader.at) {
        reader.at += 1;
        reader.word(word);
    }
    reader.parts.extend(rest.iter().cloned().map(Part::Own));
    reader.parts
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    command: &'a Command,
    beside: Beside,
    parts: Vec<Part>,
}

impl<'a> Reader<'a> {
    fn word(&mut self, word: &'a str) {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let letters = word.strip_prefix('-').filter(|rest| !rest.is_empty());
        match (letters, word.strip_prefix("--")) {
            (None, _) => self.own(word),
            _ if self.is_absent(word, name) => {
                self.absent(name, name, attached);
            }
            (_, Some(_)) => self.long(word, name, attached),
            (Some(letters), None) => self.letters(letters),
        }
    }

    /// Whether a word is an option of another program by its whole name.
    fn is_absent(&self, word: &str, name: &str) -> bool {
        let next = self.words.get(self.at).map(String::as_str);
        is_absent(name) && !is_input(name) && !self.is_own(name) && !is_fail_and_silent(word, next)
    }

    /// Whether this program has an option of this name: httpx has -match-code.
    fn is_own(&self, name: &str) -> bool {
        let long = name.strip_prefix("--");
        // The parser of options has that by itself.
        name == "--help"
            || long.is_some() && self.command.get_arguments().any(|arg| arg.get_long() == long)
    }

    fn own(&mut self, word: impl Into<String>) {
        self.parts.push(Part::Own(word.into()));
    }

    /// The next word, if it can be the value of an option.
    fn next_value(&self, may_have_hyphen: bool) -> Option<&'a str> {
        let next = self.words.get(self.at)?;
        (may_have_hyphen || next == "-" || !next.starts_with('-')).then_some(next)
    }

    /// An option that begins with two hyphens, as it is typed.
    fn long(&mut self, word: &str, name: &str, attached: Option<&str>) {
        let arg = self.command.get_arguments().find(|arg| arg.get_long() == name.get(2..));
        let arg = arg.filter(|arg| takes_value(arg));
        let next = arg.filter(|_| attached.is_none());
        let next = next.and_then(|arg| self.next_value(may_have_hyphen(arg)));
        self.at += usize::from(next.is_some());
        let output = arg.filter(|arg| arg.get_short() == Some('o'));
        let meant =
            output.and_then(|arg| misread('o', &shown(arg), attached.or(next), self.beside));
        if let Some(meant) = meant {
            return self.misread(name, meant, None);
        }
        self.own(word);
        if let Some(value) = next {
            self.own(value);
        }
    }

    /// An option of this program that was meant as one of another.
    fn misread(&mut self, typed: &str, meant: Misread, value: Option<&str>) {
        self.parts.push(Part::Other(OtherOption {
            typed: typed.to_owned(),
            said: meant.said,
            instead: None,
            value: value.map(str::to_owned),
            counterpart: meant.counterpart,
        }));
    }

    /// Letters behind one hyphen.
    fn letters(&mut self, letters: &'a str) {
        let mut rest = letters;
        let mut flags = String::new();
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let arg = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter));
            // curl's, behind -s.
            let is_curls = letter == 'S' && letters.contains('s');
            let name = if is_curls { "--show-error".to_owned() } else { format!("-{letter}") };
            match arg {
                // curl's, before others of its flags: no format consists of those.
                Some(arg) if letter == 'f' && is_of_curl(rest) => self.fail_flag(arg),
                Some(arg) if takes_value(arg) => return self.valued(&flags, letter, arg, rest),
                None if is_absent(&name) => {
                    let attached = (!rest.is_empty()).then_some(rest);
                    if self.absent(&name, &format!("-{letter}"), attached) {
                        rest = "";
                    }
                }
                // What is unknown is told by the parser of options, and -h is its own.
                _ => flags.push(letter),
            }
        }
        if !flags.is_empty() {
            self.own(format!("-{flags}"));
        }
    }

    /// An option of this program by its letter, with its value in the same word, or in the next.
    fn valued(&mut self, flags: &str, letter: char, arg: &Arg, rest: &'a str) {
        // -r of wget is a flag, which others of its options follow.
        let is_value = |next: &&str| letter != 'r' || !is_absent(next);
        let next = || self.next_value(may_have_hyphen(arg)).filter(is_value);
        let attached = (!rest.is_empty()).then(|| rest.strip_prefix('=').unwrap_or(rest));
        let value = attached.or_else(next);
        let meant = misread(letter, &shown(arg), value, self.beside);
        self.at += usize::from(value.is_some() && attached.is_none());
        if let Some(meant) = meant {
            if !flags.is_empty() {
                self.own(format!("-{flags}"));
            }
            let is_unwritten = meant.counterpart == Counterpart::Unwritten;
            let takes_value = is_unwritten || meant.counterpart.takes_value();
            self.misread(&format!("-{letter}"), meant, value.filter(|_| takes_value));
            return value.filter(|_| !takes_value).map_or((), |value| self.own(value));
        }
        self.own(format!("-{flags}{letter}{rest}"));
        if let Some(value) = value.filter(|_| attached.is_none()) {
            self.own(value);
        }
    }

    /// The flag that ends with an exit code where a URL failed.
    fn fail_flag(&mut self, arg: &Arg) {
        if let Some(meant) = misread('f', &shown(arg), None, self.beside) {
            self.misread("-f", meant, None);
        }
    }

    /// An option that is absent here, `typed` so. Returns whether what is attached to it is its value.
    fn absent(&mut self, name: &str, typed: &str, attached: Option<&str>) -> bool {
        let next = attached.is_none().then(|| self.next_value(false)).flatten();
        let name = meant(name, attached.or(next), self.beside.program);
        let Some(Absent { instead, counterpart }) = absent(name) else { return false };
        let takes_value = counterpart.takes_value();
        let value = attached.or(next).filter(|_| takes_value);
        self.at += usize::from(takes_value && next.is_some());
        let said = match typed.strip_prefix("-i").filter(|file| file.len() == 1) {
            Some(file) => format!("there is no file {file}; if {typed} was meant: {instead}"),
            None => format!("fetch has no {typed}: {instead}"),
        };
        self.parts.push(Part::Other(OtherOption {
            typed: typed.to_owned(),
            said,
            instead: Some(instead),
            value: value.map(str::to_owned),
            counterpart,
        }));
        // 5m is no flag behind -Q.
        let has_number = attached.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()));
        takes_value || counterpart == Counterpart::Unwritten && has_number
    }
}

/// An option of this program with the name of its value, as its help has it.
fn shown(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.iter().map(|name| format!(" <{name}>"));
    format!("--{}{}", arg.get_long().unwrap_or_default(), values.collect::<String>())
}

fn takes_value(arg: &Arg) -> bool {
    !arg.is_positional() && arg.get_action().takes_values()
}

fn may_have_hyphen(arg: &Arg) -> bool {
    HYPHEN_VALUES.contains(&arg.get_id().as_str())
}
