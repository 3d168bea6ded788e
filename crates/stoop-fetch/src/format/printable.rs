//! Text from outside, shown safely.

use std::fmt::{self, Display, Formatter, Write as _};

/// Shows text from outside safely on a terminal: control characters are escaped.
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(
    /// The text.
    pub &'a str,
);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.0.contains(char::is_control) {
            return f.pad(self.0);
        }
        for c in self.0.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        Ok(())
    }
}
