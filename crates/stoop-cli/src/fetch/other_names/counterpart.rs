//! What an option of another program is here, where that is one option, or none: so that a command can be written anew.

/// What to say of options, and what each of them is here, by their names. A name with several letters behind one - is
/// httpx's, or wget's, and may be typed with two.
pub(super) type Row = (&'static str, &'static [(Counterpart, &'static [&'static str])]);

/// What is written in place of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counterpart {
    /// No command: what it means takes more than a word, or is not done.
    Unwritten,
    /// Nothing.
    Nothing,
    /// Nothing, and its value is left out, too.
    NothingForValue,
    /// These words.
    Words(&'static str),
    /// These words, and its value is left out.
    WordsForValue(&'static str),
    /// This option, with its value.
    Option(&'static str),
    /// Retries, one less than the tries that its value is.
    Tries,
    /// The bytes of content that are read at most, without an error.
    Truncated,
    /// Its value alone.
    Value,
    /// Files are saved, in this folder unless another option names one.
    Saved,
    /// Lines of JSON, which tell it.
    Lines,
    /// Lines of JSON, with this by `--extract`.
    Extract(&'static str),
}

impl Counterpart {
    /// Whether the option has a value.
    pub(super) fn takes_value(self) -> bool {
        match self {
            Self::NothingForValue
            | Self::WordsForValue(_)
            | Self::Option(_)
            | Self::Tries
            | Self::Truncated
            | Self::Value => true,
            Self::Unwritten
            | Self::Nothing
            | Self::Words(_)
            | Self::Saved
            | Self::Lines
            | Self::Extract(_) => false,
        }
    }
}
