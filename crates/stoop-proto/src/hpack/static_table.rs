//! The static table (RFC 7541 Appendix A), and the lookup of names in it.

/// The number of entries; the dynamic table begins behind them.
pub(super) const LEN: u8 = 61;

/// The entries by index. Index 0 is not used; its empty name is not that of any field.
#[rustfmt::skip]
pub(super) static ENTRIES: [(&[u8], &[u8]); LEN as usize + 1] = [
    (b"", b""),
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// The static table's entry with that index, from 1 to 61: name and value.
///
/// ```
/// use stoop_proto::hpack;
///
/// assert_eq!(hpack::static_entry(8), Some((&b":status"[..], &b"200"[..])));
/// assert_eq!(hpack::static_entry(0), None);
/// ```
pub fn static_entry(index: u8) -> Option<(&'static [u8], &'static [u8])> {
    ENTRIES.get(usize::from(index)).copied().filter(|_| index != 0)
}

/// The index of the static table's first entry of that name, which is in lower case; 0 if there is
/// none.
///
/// ```
/// assert_eq!(stoop_proto::hpack::static_name(b"content-type"), 31);
/// assert_eq!(stoop_proto::hpack::static_name(b"x-cache"), 0);
/// ```
#[inline]
pub fn static_name(name: &[u8]) -> u8 {
    let Some(slot) = slot(name) else { return 0 };
    let index = SLOTS[slot];
    if ENTRIES[usize::from(index)].0 == name { index } else { 0 }
}

/// The index of the entry that has this value and the name of `first`, the first entry of that name.
#[inline]
pub(super) fn with_value(first: u8, value: &[u8]) -> Option<u8> {
    let last = match first {
        2 | 4 | 6 => first + 1,
        8 => 14,
        16 => 16,
        // All others have an empty value.
        _ => return value.is_empty().then_some(first),
    };
    (first..=last).find(|&index| ENTRIES[usize::from(index)].1 == value)
}

/// The multiplier of the hash: length, first and last byte tell all names apart, and multiplied by this,
/// so do the highest eight bits. No smaller number has this property.
const MULTIPLIER: u32 = 0x41_70f9;

/// The slot of a name in [`SLOTS`], if it has one.
#[inline]
const fn slot(name: &[u8]) -> Option<usize> {
    let [first, .., last] = name else { return None };
    let key = u32::from_le_bytes([name.len() as u8, *first, *last, 0]);
    Some((key.wrapping_mul(MULTIPLIER) >> 24) as usize)
}

/// The first index of each name, by its slot; 0 if there is none.
static SLOTS: [u8; 256] = slots();

const fn slots() -> [u8; 256] {
    let mut slots = [0; 256];
    let mut index = LEN;
    while index > 0 {
        if let Some(slot) = slot(ENTRIES[index as usize].0) {
            // Entries of one name are consecutive. The tests below check that no two names share a slot.
            assert!(slots[slot] == 0 || slots[slot] == index + 1);
            slots[slot] = index;
        }
        index -= 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found() {
        for index in 1..=LEN {
            let (name, value) = static_entry(index).unwrap();
            let first = static_name(name);
            let expected = ENTRIES.iter().position(|entry| entry.0 == name).unwrap();
            assert_eq!(usize::from(first), expected);
            assert_eq!(with_value(first, value), Some(index));
            assert_eq!(with_value(first, b"another"), None);
        }
        assert_eq!((static_entry(0), static_entry(62)), (None, None));
    }

    #[test]
    fn names_that_resemble_one_are_not_it() {
        for (name, _) in &ENTRIES[1..] {
            for at in 0..name.len() {
                let mut other = name.to_vec();
                other[at] ^= 1;
                assert_eq!(static_name(&other), 0, "{}", other.escape_ascii());
            }
            assert_eq!(static_name(&name[1..]), 0);
        }
        for name in [&b""[..], b"a", b":", b"Accept", b"x-cache"] {
            assert_eq!(static_name(name), 0);
        }
        let longer = [b"age".to_vec(), vec![b'e'; 256]].concat();
        assert_eq!(static_name(&longer), 0);
    }
}
