//! Files that are there in a content coding already, and which of them a client takes (RFC 9110 §12.5.3).

use stoop::Fields;

use crate::accept::weighted;

/// A content coding that a file may be there in, beside itself: see [`Files::precompressed`](crate::Files::precompressed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCoding {
    /// `zstd`, in a file whose name ends in `.zst` (RFC 8878).
    Zstd,
    /// `br`, in a file whose name ends in `.br` (RFC 7932).
    Brotli,
    /// `gzip`, in a file whose name ends in `.gz` (RFC 1952).
    Gzip,
}

impl FileCoding {
    /// Its name in Content-Encoding.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// What is added to the name of a file.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Zstd => ".zst",
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }

    /// Whether `name` in Accept-Encoding is this one; `x-gzip` is gzip (RFC 9110 §8.4.1.3).
    fn is(self, name: &str) -> bool {
        name.eq_ignore_ascii_case(self.as_str())
            || (self == Self::Gzip && name.eq_ignore_ascii_case("x-gzip"))
    }
}

/// Which representation of a file a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Plain,
    Coded(FileCoding),
    /// It takes none of them: `identity;q=0`.
    Neither,
}

/// What a client takes, of the codings that a file is `there` in, the preferred one first, and of the file as it is.
pub(super) fn choose(fields: &Fields, there: impl Iterator<Item = FileCoding>) -> Choice {
    let weight_of = |is: &dyn Fn(&str) -> bool| {
        let mut of_any = None;
        for (name, weight) in weighted(fields, "accept-encoding") {
            match name {
                "*" => of_any = of_any.or(Some(weight)),
                name if is(name) => return (Some(weight), true),
                _ => {}
            }
        }
        (of_any, false)
    };
    let mut best: Option<(u16, FileCoding)> = None;
    for coding in there {
        let (weight, _) = weight_of(&|name| coding.is(name));
        let weight = weight.unwrap_or(0);
        if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, coding));
        }
    }
    let (plain, is_named) = weight_of(&|name| name.eq_ignore_ascii_case("identity"));
    match best {
        // A weight for it is its client's own choice, and none is none.
        Some((weight, _)) if is_named && plain > Some(weight) => Choice::Plain,
        Some((_, coding)) => Choice::Coded(coding),
        None if plain == Some(0) => Choice::Neither,
        None => Choice::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FileCoding::{Brotli, Gzip, Zstd};

    /// RFC 9110 §12.5.3.
    #[test]
    fn the_coding_is_the_one_with_the_greatest_weight_that_is_there() {
        for (accepted, there, choice) in [
            (&["gzip, deflate, br, zstd"][..], &[Zstd, Brotli, Gzip][..], Choice::Coded(Zstd)),
            (&["gzip, deflate, br, zstd"], &[Brotli, Gzip], Choice::Coded(Brotli)),
            (&["br;q=0.5", "X-GZIP;q=0.8"], &[Brotli, Gzip], Choice::Coded(Gzip)),
            (&["br;q=0, *"], &[Brotli, Gzip], Choice::Coded(Gzip)),
            (&["br"], &[Gzip], Choice::Plain),
            (&["gzip;q=0"], &[Gzip], Choice::Plain),
            (&["gzip;q=0.1, identity"], &[Gzip], Choice::Plain),
            (&["gzip, identity;q=0.5"], &[Gzip], Choice::Coded(Gzip)),
            (&["identity;q=0, gzip"], &[Gzip], Choice::Coded(Gzip)),
            (&["identity;q=0, gzip"], &[], Choice::Neither),
            (&["*;q=0"], &[Gzip], Choice::Neither),
            (&["*;q=0, identity"], &[Gzip], Choice::Plain),
            (&[""], &[Gzip], Choice::Plain),
            (&[], &[Gzip], Choice::Plain),
        ] {
            let mut fields = Fields::new();
            accepted
                .iter()
                .for_each(|line| fields.push("accept-encoding", line.as_bytes()).unwrap());
            assert_eq!(choose(&fields, there.iter().copied()), choice, "{accepted:?} {there:?}");
        }
    }
}
