//! Text from outside, shown safely.

use std::fmt::{self, Display, Formatter, Write as _};

/// Shows text from outside safely on a terminal: control characters are escaped, and those that turn or hide text.
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(
    /// The text.
    pub &'a str,
);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.0.contains(misleads) {
            return f.pad(self.0);
        }
        for c in self.0.chars() {
            if misleads(c) { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

/// Whether a terminal would do something else than show it: controls, marks of direction, and what has no width.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
