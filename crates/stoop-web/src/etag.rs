//! Entity tags as requests list them (RFC 9110 §8.8.3).

/// An entity tag, with its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) is_weak: bool,
    pub(crate) opaque: &'a [u8],
}

/// The tags of a list. It ends at what is none.
pub(crate) struct Tags<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    /// entity-tag = [ weak ] opaque-tag; weak = %s"W/"; opaque-tag = DQUOTE *etagc DQUOTE (RFC 9110 §8.8.3). A comma may be
    /// in it.
    fn next(&mut self) -> Option<Tag<'a>> {
        let start = self.0.iter().position(|byte| !matches!(byte, b',' | b' ' | b'\t'))?;
        let rest = &self.0[start..];
        let (is_weak, rest) = match rest.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let content = rest.strip_prefix(b"\"")?;
        let end = content.iter().position(|byte| *byte == b'"')?;
        let (opaque, behind) = rest.split_at(end + 2);
        self.0 = behind;
        let is_separated = matches!(behind.trim_ascii_start().first(), None | Some(b','));
        is_separated.then_some(Tag { is_weak, opaque })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_listed_until_one_is_malformed() {
        for (list, tags) in [
            ("\"a,b\"", &[(false, "\"a,b\"")][..]),
            (" , W/\"a\" ,\"\"", &[(true, "\"a\""), (false, "\"\"")]),
            ("\"a\", w/\"b\"", &[(false, "\"a\"")]),
            ("\"a\"\"b\"", &[]),
            ("\"a", &[]),
            ("*", &[]),
        ] {
            let expected = tags.iter().map(|(is_weak, opaque)| (*is_weak, opaque.as_bytes()));
            let found = Tags(list.as_bytes()).map(|tag| (tag.is_weak, tag.opaque));
            assert!(found.eq(expected), "{list}");
        }
    }
}
