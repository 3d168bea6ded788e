//! Chooses the content coding that a client prefers (RFC 9110 §12.5.3).

use stoop::Fields;
use stoop::body::ContentCoding;

use crate::accept::weighted;

/// Which coding a response is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The coding with the greatest weight.
    pub(super) coding: Option<ContentCoding>,
    /// Whether the client takes it without a coding.
    pub(super) takes_plain: bool,
    /// Whether it would rather have it plain.
    pub(super) prefers_plain: bool,
}

/// What a client says that it takes, of `offered`, the preferred one first.
pub(super) fn wanted(fields: &Fields, offered: &[ContentCoding]) -> Wanted {
    let listed: Vec<_> = weighted(fields, "accept-encoding").collect();
    let weight_of = |name: &str| {
        let find = |name: &str| {
            listed.iter().find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, weight)| *weight)
        };
        find(name).or_else(|| find("*"))
    };
    let mut best: Option<(u16, ContentCoding)> = None;
    for coding in offered {
        let weight = weight_of(coding.as_str()).unwrap_or(0);
        if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, *coding));
        }
    }
    let named = |name: &str| listed.iter().any(|(of, _)| of.eq_ignore_ascii_case(name));
    let plain = weight_of("identity");
    let prefers_plain = named("identity")
        && plain.is_some_and(|plain| plain > 0 && best.is_none_or(|(weight, _)| plain > weight));
    Wanted { coding: best.map(|(_, coding)| coding), takes_plain: plain != Some(0), prefers_plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ContentCoding::{Brotli, Gzip, Zstd};

    /// RFC 9110 §12.5.3.
    #[test]
    fn the_coding_is_the_one_with_the_greatest_weight() {
        for (accepted, coding, takes_plain, prefers_plain) in [
            (&["gzip, deflate, br, zstd"][..], Some(Zstd), true, false),
            (&["gzip, br"], Some(Brotli), true, false),
            (&["br;q=0.5, gzip"], Some(Gzip), true, false),
            (&["br;q=0.5", "GZIP;q=0.8"], Some(Gzip), true, false),
            (&["gzip;q=0"], None, true, false),
            (&["*"], Some(Zstd), true, false),
            (&["*;q=0, gzip"], Some(Gzip), false, false),
            (&["*;q=0"], None, false, false),
            (&["identity;q=0, compress"], None, false, false),
            (&["gzip;q=0.1, identity"], Some(Gzip), true, true),
            (&["gzip, identity;q=0.5"], Some(Gzip), true, false),
            (&["deflate"], None, true, false),
            (&[""], None, true, false),
            (&[], None, true, false),
        ] {
            let mut fields = Fields::new();
            accepted
                .iter()
                .for_each(|line| fields.push("accept-encoding", line.as_bytes()).unwrap());
            assert_eq!(
                wanted(&fields, &[Zstd, Brotli, Gzip]),
                Wanted { coding, takes_plain, prefers_plain },
                "{accepted:?}"
            );
        }
    }
}
