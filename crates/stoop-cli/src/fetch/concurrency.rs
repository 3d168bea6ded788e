//! How many URLs are in flight at once: as it is typed, and as it is shown.

use stoop_fetch::Bottleneck;

use super::politeness::at_once;

/// The most that are in flight where the run finds out: each is a connection with its memory.
const AUTO_MAX: usize = 10_000;

/// The option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// The run finds out.
    Auto,
    Fixed(usize),
}

impl Concurrency {
    /// The number, if there is one.
    pub(super) fn given(self) -> Option<usize> {
        match self {
            Self::Auto => None,
            Self::Fixed(urls) => Some(urls),
        }
    }
}

/// Reads the option.
pub(super) fn concurrency(text: &str) -> Result<Concurrency, String> {
    match text.trim() {
        "auto" => Ok(Concurrency::Auto),
        number => {
            at_once(number).map(Concurrency::Fixed).map_err(|error| format!("{error}, or 'auto'"))
        }
    }
}

/// What keeps a run that finds its concurrency from a higher one than it may ever have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ceiling {
    #[default]
    Concurrency,
    OpenFiles,
}

/// The highest concurrency that a run may find where `files` fit into the limit of open files, and why it is no
/// higher. The run sees to memory itself.
pub(super) fn ceiling(files: usize) -> (usize, Ceiling) {
    match files < AUTO_MAX {
        true => (files, Ceiling::OpenFiles),
        false => (AUTO_MAX, Ceiling::Concurrency),
    }
}

/// The word for what keeps more URLs from being in flight.
pub(super) fn word(bottleneck: Bottleneck, ceiling: Ceiling) -> &'static str {
    match (bottleneck, ceiling) {
        (Bottleneck::Source, _) => "source",
        (Bottleneck::Hosts, _) => "hosts",
        (Bottleneck::Rate, _) => "rate",
        (Bottleneck::Bandwidth, _) => "bandwidth",
        (Bottleneck::Output, _) => "output",
        (Bottleneck::ContentMemory, _) => "content memory",
        (Bottleneck::Cores, _) => "cores",
        (Bottleneck::Network, _) => "network",
        (Bottleneck::OpenFiles, _) | (Bottleneck::Concurrency, Ceiling::OpenFiles) => "open files",
        (Bottleneck::Memory, _) => "memory",
        _ => "concurrency",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concurrency_is_a_number_or_auto() {
        assert_eq!(concurrency("auto"), Ok(Concurrency::Auto));
        assert_eq!(concurrency("7").map(Concurrency::given), Ok(Some(7)));
        for text in ["0", "Auto", "many", ""] {
            let error = concurrency(text).expect_err(text);
            assert_eq!(error, "must be a whole number from 1 to 100000, or 'auto'");
        }
    }

    #[test]
    fn the_lowest_bound_is_the_ceiling() {
        assert_eq!(ceiling(5), (5, Ceiling::OpenFiles));
        assert_eq!(ceiling(1_000_000), (AUTO_MAX, Ceiling::Concurrency));
    }
}
