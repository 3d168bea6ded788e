//! The capabilities of a terminal: how many columns and which characters it has, and whether a line can
//! be redrawn.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use terminal_size::terminal_size_of;

/// The width of a terminal that does not report one.
const DEFAULT_COLUMNS: usize = 80;

/// The layout of a summary as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextLayout {
    /// The width of the terminal; none where the text goes elsewhere, and may be of any width.
    pub(crate) columns: Option<usize>,
    /// Tables may be drawn with characters beyond ASCII.
    pub(crate) has_boxes: bool,
}

impl TextLayout {
    /// The layout for text that goes to `stream`.
    pub(crate) fn of(stream: &(impl AsFd + IsTerminal)) -> Self {
        Self { columns: columns(stream), has_boxes: has_unicode(|name| std::env::var_os(name)) }
    }
}

/// The number of columns of `stream`, if it is a terminal.
pub(crate) fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = || terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    stream.is_terminal().then(|| size().unwrap_or(DEFAULT_COLUMNS))
}

/// The number of rows of `stream`, if it is a terminal that tells.
pub(crate) fn rows(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = || terminal_size_of(stream).map(|(_, height)| usize::from(height.0));
    stream.is_terminal().then(size).flatten()
}

/// Whether the locale has characters beyond ASCII. POSIX, Base Definitions §8.2, defines which variable
/// decides, and that without any it is the locale C.
pub(crate) fn has_unicode(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    let locale = locale.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Whether the terminal shows characters only: no colours, and no redrawing of a line.
pub(crate) fn is_dumb(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// `text` in lines of at most `columns`, broken at blanks; each but the first is indented.
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
    fn the_first_variable_that_is_set_decides_the_characters() {
        let has_unicode_with = |set: &[(&str, &str)]| {
            has_unicode(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        assert!(has_unicode_with(&[("LANG", "de_DE.UTF-8")]));
        assert!(has_unicode_with(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!has_unicode_with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!has_unicode_with(&[("LC_CTYPE", "POSIX"), ("LANG", "en_US.UTF-8")]));
        assert!(!has_unicode_with(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!has_unicode_with(&[]));
    }

    #[test]
    fn a_text_is_wrapped_at_blanks() {
        assert_eq!(wrapped("one two three", 11, 2), "one two\n  three");
        assert_eq!(wrapped("one two three", 15, 2), "one two three");
        assert_eq!(wrapped("longer_than_that it", 4, 1), "longer_than_that\n it");
        assert_eq!(wrapped("", 4, 1), "");
    }
}
