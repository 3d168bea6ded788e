//! A command of another program as it is written here.

use super::counterpart::Counterpart;
use super::parts::{OtherOption, Part};
use super::program::Program;

/// The options by which httpx follows redirects, and by which it tries one scheme alone.
const FOLLOWS: [&str; 5] = ["-fr", "-follow-redirects", "-fhr", "-follow-host-redirects", "-maxr"];
const ONE_SCHEME: [&str; 4] = ["-nf", "-no-fallback", "-nfs", "-no-fallback-scheme"];

/// The options by which no content is received.
const NO_CONTENT: [&str; 3] = ["-I", "--head", "--no-content"];

/// A command, and what is said before it.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) words: Vec<String>,
    pub(super) said: &'static str,
}

/// A command, if all options of other programs in it have a counterpart, with a value where they need one. It has what a
/// program does by default, too.
pub(super) fn written(parts: &[Part], program: Option<Program>) -> Option<Written> {
    let is_end = |part: &Part| matches!(part, Part::Own(word) if word == "--");
    let end = parts.iter().position(is_end).unwrap_or(parts.len());
    let (parts, no_options) = parts.split_at(end);
    let mut words = Words::default();
    for part in parts {
        match part {
            Part::Own(word) => words.own.push(word.clone()),
            Part::Other(option) => words.add(option.counterpart, option.value.as_deref())?,
        }
    }
    let is_received = !words.own.iter().any(|word| NO_CONTENT.contains(&word.as_str()));
    words.saves |= is_received && program.is_some_and(Program::saves);
    let is_httpx = program == Some(Program::Httpx);
    if is_httpx {
        let has = |names: &[&str]| parts.iter().any(|part| is_typed(part, names));
        words.add_default(!has(&ONE_SCHEME), &["--http-fallback"]);
        words.add_default(true, &["--insecure"]);
        words.add_default(!has(&FOLLOWS), &["--max-redirects", "0"]);
    }
    let saves = words.saves;
    let said = match (saves, is_httpx) {
        (true, _) => "So it is written here, for files of any length, by the names of their URLs:",
        (_, true) => {
            "So it is written here, with http tried after https, and certificates and redirects as httpx has them:"
        }
        _ => "So it is written here:",
    };
    let mut words = words.finish();
    words.extend(no_options.iter().filter_map(|part| match part {
        Part::Own(word) => Some(word.clone()),
        Part::Other(_) => None,
    }));
    Some(Written { words, said })
}

fn is_typed(part: &Part, names: &[&str]) -> bool {
    matches!(part, Part::Other(OtherOption { typed, .. }) if names.contains(&typed.as_str()))
}

/// The words of a command that is being written.
#[derive(Default)]
struct Words {
    own: Vec<String>,
    urls: Vec<String>,
    extracted: Vec<&'static str>,
    needs_lines: bool,
    saves: bool,
}

impl Words {
    /// Adds what is written for an option. None where that is nothing that is known, or its value is missing.
    fn add(&mut self, counterpart: Counterpart, value: Option<&str>) -> Option<()> {
        match counterpart {
            Counterpart::Unwritten => return None,
            Counterpart::Nothing | Counterpart::NothingForValue => {}
            Counterpart::Words(words) | Counterpart::WordsForValue(words) => {
                self.needs_lines |= words.starts_with("--digest");
                // Two quotes are an empty word.
                self.own.extend(words.split(' ').map(|word| word.trim_matches('\'').to_owned()));
            }
            Counterpart::Option(option) => {
                self.saves |= option == "--save";
                self.own.extend([option.to_owned(), value?.to_owned()]);
            }
            Counterpart::Tries => match value?.parse::<u32>().ok()?.checked_sub(1)? {
                0 => {}
                retries => self.own.extend(["--retry".to_owned(), retries.to_string()]),
            },
            Counterpart::Truncated => {
                let words = ["--max-body", value?, "--truncate"];
                self.own.extend(words.map(str::to_owned));
            }
            Counterpart::Saved => self.saves = true,
            Counterpart::Value => self.urls.push(value?.to_owned()),
            Counterpart::Lines => self.needs_lines = true,
            Counterpart::Extract(what) => self.extracted.push(what),
        }
        Some(())
    }

    /// Adds an option with its value that is not there yet, if it is wanted.
    fn add_default(&mut self, is_wanted: bool, words: &[&str]) {
        if is_wanted && !self.own.iter().any(|word| word == words[0]) {
            self.own.extend(words.iter().map(|&word| word.to_owned()));
        }
    }

    fn finish(mut self) -> Vec<String> {
        let has = |words: &[String], begin: &str| words.iter().any(|word| word.starts_with(begin));
        let has_format = has(&self.own, "-f") || has(&self.own, "--format");
        let needs_format = self.needs_lines || !self.extracted.is_empty();
        self.add_default(needs_format && !has_format, &["-f", "jsonl"]);
        self.extracted.dedup();
        let extracted = self.extracted.join(",");
        self.add_default(!extracted.is_empty(), &["--extract", &extracted]);
        if self.saves {
            let has_time = has(&self.own, "-t") || has(&self.own, "--timeout");
            self.add_default(!has(&self.own, "--save="), &["--save", "."]);
            self.add_default(true, &["--save-as", "url"]);
            self.add_default(true, &["--max-body", "none"]);
            self.add_default(!has_time, &["-t", "3600"]);
            self.add_default(true, &["--read-timeout", "30"]);
        }
        // A flag may come several times, and stands once.
        for flag in ["-q", "--insecure", "--fail"] {
            let mut is_first = true;
            self.own.retain(|word| word != flag || std::mem::take(&mut is_first));
        }
        self.own.extend(self.urls);
        self.own
    }
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
