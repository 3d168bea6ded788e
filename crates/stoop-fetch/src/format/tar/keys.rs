//! The keys of samples: what the names of the files of one job begin with, up to the first dot.

use std::fmt::Write as _;

use crate::kinds;
use crate::record::Record;
use crate::summary::ResultCode;

/// The longest identifier that is a key as it is, in bytes, and how many bytes are kept of a longer one, before its hash.
/// With all that can stand around it the name of a file has 100 bytes at most, as a tar without extensions has them.
const ID_BYTES_MAX: usize = 45;
const ID_BYTES_KEPT: usize = 24;

/// How many digits of its hash tell apart what would have the same key.
const DISTINCT_DIGITS: usize = 16;

/// How samples are named.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// What numbers begin with.
    pub(super) prefix: Box<str>,
    pub(super) are_ids: bool,
}

impl Keys {
    /// The key of the sample of a record, whose number is `number`.
    pub(super) fn key(&self, record: &Record<'_>, number: u64) -> String {
        let is_job = !matches!(record.outcome.code, ResultCode::Error(kinds::INVALID_JOB));
        let id = record.id.filter(|id| self.are_ids && is_job && !id.is_empty());
        let (prefix, round) = (&self.prefix, record.round);
        match (id, round) {
            (Some(id), 0) => id_key(id),
            (Some(id), round) => format!("{}~{round}", id_key(id)),
            // No key by an identifier begins so.
            (None, 0) if self.are_ids => format!("~{prefix}{number:09}"),
            (None, round) if self.are_ids => format!("~{prefix}{number:09}-{round}"),
            (None, 0) => format!("{prefix}{number:09}"),
            (None, round) => format!("{prefix}{number:09}-{round}"),
        }
    }
}

/// The key of an identifier. Different ones have different keys: what is neither a letter nor a digit, nor `-` nor `_`, is
/// percent-encoded.
fn id_key(id: &str) -> String {
    let mut key = String::with_capacity(id.len());
    for c in id.chars() {
        if c.is_alphanumeric() || matches!(c, '-' | '_') {
            key.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            write!(key, "%{byte:02X}").expect("memory takes all");
        }
    }
    if key.len() > ID_BYTES_MAX {
        key.truncate(key.floor_char_boundary(ID_BYTES_KEPT));
        let hash = blake3::hash(id.as_bytes()).to_hex();
        write!(key, "~{}", &hash[..DISTINCT_DIGITS]).expect("memory takes all");
    }
    key
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::Outcome;

    #[test]
    fn an_identifier_is_a_key_that_no_other_has() {
        for (id, key) in [
            ("order-17_b", "order-17_b"),
            ("größe", "größe"),
            ("a.b", "a%2Eb"),
            ("../a", "%2E%2E%2Fa"),
            ("a%2Eb", "a%252Eb"),
            ("~000000000", "%7E000000000"),
            ("a b\n", "a%20b%0A"),
        ] {
            assert_eq!(id_key(id), key, "{id}");
        }
        let long = ["x", "y"].map(|end| id_key(&("ü".repeat(50) + end)));
        assert!(long[0] != long[1] && long[0].starts_with("üü") && long[0].len() <= ID_BYTES_MAX);
    }

    #[test]
    fn what_has_no_identifier_of_its_own_has_a_number_that_is_none() {
        let keys = Keys { prefix: "1of4-".into(), are_ids: true };
        let (ok, no_job) = (Outcome::new(ResultCode::Status(200)), Outcome::error("invalid_job"));
        let key = |outcome: &Outcome, id, round| {
            let record = Record::new(b"http://a/", 0, Duration::ZERO, outcome);
            keys.key(&Record { id, round, ..record }, 7)
        };
        assert_eq!(key(&ok, Some("a"), 0), "a");
        assert_eq!(key(&ok, Some("a"), 2), "a~2");
        assert_eq!(key(&no_job, Some("a"), 0), "~1of4-000000007");
        assert_eq!(key(&ok, None, 2), "~1of4-000000007-2");
    }
}
