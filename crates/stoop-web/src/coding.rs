//! Chooses the content coding that a client prefers (RFC 9110 §12.5.3), of those that content can be in, or is in.

use stoop::Fields;

use crate::accept::weighted;

/// What a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice<C> {
    /// The content as it is.
    Plain,
    /// The content in this coding: the one with the greatest weight, of several the first that was offered.
    Coded(C),
    /// It takes none of them: `identity;q=0`.
    Neither,
}

/// What Accept-Encoding lists: names, each with its weight. It is read once, and without a field nothing is allocated.
pub(crate) struct AcceptEncoding<'a>(Vec<(&'a str, u16)>);

impl<'a> AcceptEncoding<'a> {
    pub(crate) fn of(fields: &'a Fields) -> Self {
        Self(weighted(fields, "accept-encoding").collect())
    }

    /// What a client takes of `offered`, which are codings with their names, the preferred one first.
    pub(crate) fn choose<C>(
        &self,
        offered: impl IntoIterator<Item = (C, &'static str)>,
    ) -> Choice<C> {
        let mut best: Option<(u16, C)> = None;
        for (coding, name) in offered {
            let weight = self.weight(name).or_else(|| self.weight("*")).unwrap_or(0);
            if weight > 0 && best.as_ref().is_none_or(|(most, _)| weight > *most) {
                best = Some((weight, coding));
            }
        }
        match best {
            // A weight for content as it is is its client's own choice, and that of `*` is none.
            Some((weight, _)) if self.weight("identity") > Some(weight) => Choice::Plain,
            Some((_, coding)) => Choice::Coded(coding),
            None if self.takes_plain() => Choice::Plain,
            None => Choice::Neither,
        }
    }

    /// Whether the client takes content as it is.
    pub(crate) fn takes_plain(&self) -> bool {
        self.weight("identity").or_else(|| self.weight("*")) != Some(0)
    }

    /// The weight of what is listed by that name; `x-gzip` is gzip (RFC 9110 §8.4.1.3).
    fn weight(&self, name: &str) -> Option<u16> {
        let is = |of: &str| {
            of.eq_ignore_ascii_case(name) || (name == "gzip" && of.eq_ignore_ascii_case("x-gzip"))
        };
        self.0.iter().find(|(of, _)| is(of)).map(|(_, weight)| *weight)
    }
}

#[cfg(test)]
mod tests {
    use super::Choice::{Coded, Neither, Plain};
    use super::*;

    /// RFC 9110 §12.5.3.
    #[test]
    fn the_coding_is_the_one_with_the_greatest_weight_that_is_offered() {
        const ALL: &[&str] = &["zstd", "br", "gzip"];
        for (accepted, offered, choice, plain) in [
            (&["gzip, deflate, br, zstd"][..], ALL, Coded("zstd"), true),
            (&["gzip, deflate, br, zstd"], &["br", "gzip"], Coded("br"), true),
            (&["gzip, br"], ALL, Coded("br"), true),
            (&["br;q=0.5, gzip"], ALL, Coded("gzip"), true),
            (&["br;q=0.5", "GZIP;q=0.8"], ALL, Coded("gzip"), true),
            (&["br;q=0.5", "X-Gzip;q=0.8"], ALL, Coded("gzip"), true),
            (&["x-gzip;q=0, *"], &["gzip"], Plain, true),
            (&["br;q=0, *"], &["br", "gzip"], Coded("gzip"), true),
            (&["gzip;q=0"], ALL, Plain, true),
            (&["br"], &["gzip"], Plain, true),
            (&["*"], ALL, Coded("zstd"), true),
            (&["gzip;q=0.1, *"], &["gzip"], Coded("gzip"), true),
            (&["gzip;q=0.1, identity"], ALL, Plain, true),
            (&["gzip, identity;q=0.5"], ALL, Coded("gzip"), true),
            (&["gzip, identity"], ALL, Coded("gzip"), true),
            (&["*;q=0, identity"], &["gzip"], Plain, true),
            (&["*;q=0, gzip"], ALL, Coded("gzip"), false),
            (&["identity;q=0, gzip"], ALL, Coded("gzip"), false),
            (&["identity;q=0, gzip"], &[], Neither, false),
            (&["identity;q=0, compress"], ALL, Neither, false),
            (&["*;q=0"], ALL, Neither, false),
            (&["deflate"], ALL, Plain, true),
            (&[""], ALL, Plain, true),
            (&[], ALL, Plain, true),
        ] {
            let mut fields = Fields::new();
            accepted
                .iter()
                .for_each(|line| fields.push("accept-encoding", line.as_bytes()).unwrap());
            let listed = AcceptEncoding::of(&fields);
            let chosen = listed.choose(offered.iter().map(|name| (*name, *name)));
            let told = (chosen, listed.takes_plain());
            assert_eq!(told, (choice, plain), "{accepted:?} {offered:?}");
        }
    }
}
