//! Where in a path the parameters of a pattern are.

/// Parameters in one pattern, those of the routers it is nested in included. They are kept in the call and not on
/// the heap; patterns of services have one to four.
pub(crate) const PARAMETERS_MAX: usize = 12;

/// Where in a path the parameters of a pattern are, in the pattern's order.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    count: usize,
    /// Whether the path has percent-encoding, so that parameters may have it.
    is_encoded: bool,
    spans: [(u32, u32); PARAMETERS_MAX],
}

impl Spans {
    /// Those of a pattern without parameters.
    pub(crate) const NONE: Self =
        Self { count: 0, is_encoded: false, spans: [(0, 0); PARAMETERS_MAX] };

    /// Makes them the spans of `parts`, each of which is a part of `path`. What does not fit is left out: the router refuses
    /// patterns with more parameters, and a path is shorter than 4 GiB.
    pub(crate) fn set<'a>(&mut self, path: &str, parts: impl Iterator<Item = &'a str>) {
        self.count = 0;
        for (slot, part) in self.spans.iter_mut().zip(parts) {
            let start = part.as_ptr().addr().wrapping_sub(path.as_ptr().addr());
            *slot = (start as u32, (start + part.len()) as u32);
            self.count += 1;
        }
    }

    /// Makes them those of a path with percent-encoding, in which `origin` says where each place of this one is.
    pub(crate) fn encode(&mut self, origin: impl Fn(u32) -> u32) {
        self.is_encoded = true;
        for (start, end) in self.spans.iter_mut().take(self.count) {
            (*start, *end) = (origin(*start), origin(*end));
        }
    }

    /// Whether parameters may have percent-encoding.
    pub(crate) fn is_encoded(&self) -> bool {
        self.is_encoded
    }

    /// The parameter at `index`, as it stands in what begins with `path`, which is the one that was matched.
    pub(crate) fn get<'a>(&self, index: usize, path: &'a str) -> Option<&'a str> {
        let (start, end) = *self.spans.get(..self.count)?.get(index)?;
        path.get(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_the_part_of_the_path_that_it_was_made_of() {
        let path = "/users/17/posts/x";
        let mut spans = Spans::NONE;
        spans.set(path, [&path[7..9], &path[16..], &path[17..]].into_iter());
        assert_eq!(spans.get(0, path), Some("17"));
        assert_eq!(spans.get(1, path), Some("x"));
        assert_eq!(spans.get(2, path), Some(""));
        assert_eq!(spans.get(3, path), None);
        assert_eq!(spans.get(1, "/short"), None, "another path has no such part");
    }
}
