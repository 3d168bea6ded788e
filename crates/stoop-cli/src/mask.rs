//! Masks the passwords of the arguments that a message quotes.

use std::borrow::Cow;

use stoop_fetch::mask::{line, text as masked_text};

/// A message without the passwords of the arguments that it quotes. A quoted argument, or the value
/// behind its `=`, is recognised as a whole, whichever characters it contains.
pub(crate) fn message(text: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut shown = text.to_owned();
    for argument in arguments {
        let value = argument.split_once('=').map_or("", |(_, value)| value);
        for quoted in [argument.as_str(), value] {
            let masked = line(quoted.as_bytes(), true);
            if let (Cow::Owned(masked), false) = (masked, quoted.is_empty()) {
                shown = shown.replace(quoted, &String::from_utf8_lossy(&masked));
            }
        }
    }
    masked_text(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_arguments_are_masked_whichever_characters_they_contain() {
        let arguments = ["--x=http://u:a 'b@h/", "http://v:c\"d@h/"].map(str::to_owned);
        let text = "'http://u:a 'b@h/' or 'http://v:c\"d@h/' or http://w:e@h/";
        assert_eq!(
            message(text, arguments.into_iter()),
            "'http://u:***@h/' or 'http://v:***@h/' or http://w:***@h/"
        );
        assert_eq!(message("mail a@b", std::iter::empty()), "mail a@b");
    }
}
