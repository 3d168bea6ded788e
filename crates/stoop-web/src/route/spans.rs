//! Where in a path the parameters of a pattern are.

/// Parameters in one pattern, those of the routers it is nested in included. They are kept in the call and not on
/// the heap; patterns of services have one to four.
pub(crate) const PARAMETERS_MAX: usize = 12;

/// Where in a path the parameters of a pattern are, in the pattern's order.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    count: usize,
    spans: [(u32, u32); PARAMETERS_MAX],
}

impl Spans {
    /// Those of a pattern without parameters.
    pub(crate) const NONE: Self = Self { count: 0, spans: [(0, 0); PARAMETERS_MAX] };

    /// The spans of `parts`, each of which is a part of `path`. What does not fit is left out: the router refuses
    /// patterns with more parameters, and a path is shorter than 4 GiB.
    pub(crate) fn of<'a>(path: &str, parts: impl Iterator<Item = &'a str>) -> Self {
        let mut spans = Self::NONE;
        for (slot, part) in spans.spans.iter_mut().zip(parts) {
            let start = part.as_ptr().addr().wrapping_sub(path.as_ptr().addr());
            *slot = (start as u32, (start + part.len()) as u32);
            spans.count += 1;
        }
        spans
    }

    /// These of another path, in which `origin` says where each place of this one is.
    pub(crate) fn map(mut self, origin: impl Fn(u32) -> u32) -> Self {
        for (start, end) in self.spans.iter_mut().take(self.count) {
            (*start, *end) = (origin(*start), origin(*end));
        }
        self
    }

    /// The parameter at `index`, as it stands in `path`, which is the one that was matched.
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
        let spans = Spans::of(path, [&path[7..9], &path[16..], &path[17..]].into_iter());
        assert_eq!(spans.get(0, path), Some("17"));
        assert_eq!(spans.get(1, path), Some("x"));
        assert_eq!(spans.get(2, path), Some(""));
        assert_eq!(spans.get(3, path), None);
        assert_eq!(spans.get(1, "/short"), None, "another path has no such part");
    }
}
