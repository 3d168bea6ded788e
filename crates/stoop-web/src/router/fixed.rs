//! A table of paths that is made once, and then asked for each request.

/// Values by their paths. At most half of its places are taken, so that a path is mostly at the first place of its hash.
pub(crate) struct FixedPaths<T> {
    /// Their number is a power of two, or none.
    places: Vec<Option<Place<T>>>,
    count: usize,
}

struct Place<T> {
    hash: u64,
    path: Box<str>,
    value: T,
}

impl<T> FixedPaths<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), count: 0 }
    }

    /// Adds the value of a path that is not there.
    pub(crate) fn insert(&mut self, path: Box<str>, value: T) {
        if (self.count + 1) * 2 > self.places.len() {
            let size = (self.places.len() * 2).max(4);
            let before = std::mem::take(&mut self.places);
            self.places.resize_with(size, || None);
            before.into_iter().flatten().for_each(|place| self.put(place));
        }
        self.count += 1;
        self.put(Place { hash: hash(path.as_bytes()), path, value });
    }

    /// Puts it at the first free place from that of its hash on.
    fn put(&mut self, place: Place<T>) {
        let mask = self.places.len() - 1;
        let mut at = place.hash as usize & mask;
        while self.places[at].is_some() {
            at = (at + 1) & mask;
        }
        self.places[at] = Some(place);
    }

    /// The value of a path. As a call of its own it would be a fifth longer.
    #[inline(always)]
    pub(crate) fn get(&self, path: &str) -> Option<&T> {
        let hash = hash(path.as_bytes());
        let place = self.place(hash as usize)?;
        if place.hash == hash && *place.path == *path {
            return Some(&place.value);
        }
        self.get_behind(path)
    }

    /// The same behind the first place. Apart, so that what is there pays nothing for it.
    #[cold]
    fn get_behind(&self, path: &str) -> Option<&T> {
        let mut at = hash(path.as_bytes()) as usize;
        loop {
            at = at.wrapping_add(1);
            let place = self.place(at)?;
            if *place.path == *path {
                return Some(&place.value);
            }
        }
    }

    /// The place of that number, counted around. Without places there is no mask, and nothing to be found.
    #[inline]
    fn place(&self, at: usize) -> Option<&Place<T>> {
        self.places.get(at & self.places.len().wrapping_sub(1))?.as_ref()
    }
}

/// A hash of paths, of up to 32 bytes by one product and of further 16 by one more. Only the router's own patterns are in a
/// table, so that no request can fill it with what collides.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let (one, other) = match (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        (Some(first), Some(last)) => {
            let mut rest = &bytes[16..];
            while let Some((pair, behind)) = rest.split_first_chunk::<16>()
                && !behind.is_empty()
            {
                hash = fold(hash ^ word(pair, 0), word(pair, 8) ^ MIX);
                rest = behind;
            }
            // The last ones may have bytes of the first ones again, in other places of the word.
            let both = |at| word(first, at).rotate_left(23) ^ word(last, at);
            (both(0), both(8))
        }
        _ => match bytes.last_chunk::<8>() {
            Some(last) => (word(bytes, 0), u64::from_le_bytes(*last)),
            None => (bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 0),
        },
    };
    fold(hash ^ one, other ^ MIX)
}

/// Eight bytes from `at` on, of at least so many.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Both halves of a product, so that each bit of it depends on all of the two.
#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// An odd number whose bits have no pattern: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_in_one_byte_have_other_hashes() {
        let path = b"/api/v1/resource_100/items/and/some/more";
        for length in 1..=path.len() {
            let path = &path[..length];
            for at in 0..length {
                let mut other = path.to_vec();
                other[at] ^= 1;
                assert_ne!(hash(path), hash(&other), "{length} {at}");
            }
        }
        let many: std::collections::HashSet<_> = (0..10_000)
            .map(|index| hash(format!("/things/{index}").as_bytes()) % (1 << 14))
            .collect();
        // By chance alone 10,000 values fall into some 7,500 of 16,384 places.
        assert!(many.len() > 7_000, "{}", many.len());
    }

    #[test]
    fn each_path_has_its_value_and_others_have_none() {
        let mut table = FixedPaths::new();
        assert_eq!(table.get("/"), None);
        let path = |index: usize| format!("/things/{index}/{}", "x".repeat(index % 40));
        for index in 0..1_000 {
            table.insert(path(index).into(), index);
            assert_eq!(table.get(&path(index)), Some(&index));
            assert_eq!(table.get(&path(index + 1)), None);
        }
        assert!((0..1_000).all(|index| table.get(&path(index)) == Some(&index)));
        assert_eq!((table.get(""), table.get("/things")), (None, None));
    }
}
