//! The records of an earlier run: which count, and how they are named.

/// The longest validator that is kept, in bytes: no server needs more than a hundred. Longer ones are not sent.
pub(crate) const VALIDATOR_BYTES_MAX: usize = 1024;

/// What was found in the output of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlierRecords {
    /// Records of responses, or of errors.
    pub records: u64,
    /// Lines and parts of archives that could not be understood, such as a last line that was cut off.
    pub malformed: u64,
}

/// The response of an earlier run that a 304 says is still right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlierResponse {
    /// When it was asked for, in milliseconds of Unix time.
    pub start_ms: i64,
    /// The name of its record, if an archive told of it: `<urn:uuid:…>`.
    pub record_id: Option<String>,
}

/// A URL as it is asked for.
pub(super) fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// Whether the record of a status has content to compare with.
pub(super) fn has_content(status: u16) -> bool {
    matches!(status, 200 | 203 | 304)
}

/// The bytes of a UUID in `<urn:uuid:…>`.
pub(super) fn uuid(id: &str) -> Option<[u8; 16]> {
    let digits = id.strip_prefix("<urn:uuid:")?.strip_suffix('>')?;
    let digits: Vec<u8> = digits
        .chars()
        .filter(|digit| *digit != '-')
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let pairs: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    pairs.try_into().ok()
}

/// The name of a record with the UUID of these bytes.
pub(super) fn record_id(id: [u8; 16]) -> String {
    let id = u128::from_be_bytes(id);
    format!(
        "<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>",
        id >> 96,
        id >> 80 & 0xffff,
        id >> 64 & 0xffff,
        id >> 48 & 0xffff,
        id & 0xffff_ffff_ffff
    )
}
