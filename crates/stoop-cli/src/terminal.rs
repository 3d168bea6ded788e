//! What the place that a text goes to can show: how many columns, which characters, and whether a
//! line can be drawn over.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use terminal_size::terminal_size_of;

/// Columns of a terminal that does not say.
const COLUMNS: usize = 80;

/// How a text for people is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// How wide it may be; anything where it goes to no terminal.
    pub(crate) columns: Option<usize>,
    /// Tables may be drawn with characters beyond ASCII.
    pub(crate) boxes: bool,
}

impl Look {
    /// The look of what goes to `stream`.
    pub(crate) fn of(stream: &(impl AsFd + IsTerminal)) -> Self {
        Self { columns: columns(stream), boxes: has_unicode(|name| std::env::var_os(name)) }
    }
}

/// How many columns `stream` has, if it is a terminal.
pub(crate) fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = || terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    stream.is_terminal().then(|| size().unwrap_or(COLUMNS))
}

/// Whether the locale has characters beyond ASCII: POSIX, Base Definitions §8.2, says which variable
/// counts, and that without any it is the locale C.
pub(crate) fn has_unicode(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    let locale = locale.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Whether the terminal takes characters alone: no colours, and no way to draw over a line.
pub(crate) fn is_dumb(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// `text` in lines of at most `columns`, broken at blanks, each but the first behind an indent.
pub(crate) fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut width = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > indent && width + 1 + length > columns {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            width = indent;
        } else if width > indent {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_says_which_characters_there_are() {
        let asked = |set: &[(&str, &str)]| {
            has_unicode(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        assert!(asked(&[("LANG", "de_DE.UTF-8")]));
        assert!(asked(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!asked(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!asked(&[("LC_CTYPE", "POSIX"), ("LANG", "en_US.UTF-8")]));
        assert!(!asked(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!asked(&[]));
    }

    #[test]
    fn a_text_is_broken_at_blanks() {
        assert_eq!(wrapped("one two three", 11, 2), "one two\n  three");
        assert_eq!(wrapped("one two three", 15, 2), "one two three");
        assert_eq!(wrapped("longer_than_that it", 4, 1), "longer_than_that\n it");
        assert_eq!(wrapped("", 4, 1), "");
    }
}
