//! The names of behaviours.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::behaviour::{BadChunk, BadLength, Behaviour, MalformedHead};
use super::http2::BadHttp2;

/// Bytes of a body that fits into one read.
const SMALL: u64 = 1_000;

/// Bytes of a body that does not.
const LARGE: u64 = 1_000_000;

const BEHAVIOURS: &[(&str, Behaviour)] = &[
    ("fast", Behaviour::Fast { body: SMALL }),
    ("large", Behaviour::Fast { body: LARGE }),
    ("chunked", Behaviour::Chunked { body: LARGE }),
    ("chunked-trailers", Behaviour::ChunkedTrailers { body: LARGE }),
    ("close-delimited", Behaviour::CloseDelimited { body: LARGE }),
    ("status-404", Behaviour::Status(404)),
    ("status-503", Behaviour::Status(503)),
    ("busy", Behaviour::Busy { requests: 3, retry_after: 1 }),
    ("slow-first-byte", Behaviour::SlowFirstByte { delay: Duration::from_secs(1), body: SMALL }),
    ("drip", Behaviour::Drip { body: SMALL, every: Duration::from_millis(100) }),
    ("drip-head", Behaviour::DripHead { every: Duration::from_millis(100) }),
    ("hang-after-accept", Behaviour::HangAfterAccept),
    ("hang-after-head", Behaviour::HangAfterHead),
    ("hang-mid-body", Behaviour::HangMidBody),
    ("black-hole", Behaviour::BlackHole),
    ("refused", Behaviour::Refused),
    ("close-after-accept", Behaviour::CloseAfterAccept),
    ("reset-after-accept", Behaviour::ResetAfterAccept),
    ("early-close", Behaviour::EarlyClose),
    ("reset-mid-body", Behaviour::ResetMidBody { sent: SMALL, announced: LARGE }),
    ("truncated-length", Behaviour::TruncatedLength { sent: SMALL, announced: LARGE }),
    ("truncated-chunk", Behaviour::TruncatedChunk),
    ("missing-last-chunk", Behaviour::MissingLastChunk),
    ("large-head", Behaviour::LargeHead { bytes: 100_000 }),
    ("endless-head", Behaviour::EndlessHead),
    ("endless-field", Behaviour::EndlessField),
    ("endless-body", Behaviour::EndlessBody { every: Duration::ZERO }),
    ("interim-flood", Behaviour::InterimFlood { count: Some(20_000) }),
    ("interim-endless", Behaviour::InterimFlood { count: None }),
    ("redirect-chain", Behaviour::RedirectChain { hops: 3, status: 302 }),
    ("redirect-loop", Behaviour::RedirectLoop),
    ("redirect-to-dead", Behaviour::RedirectToDead),
    ("stale-keep-alive", Behaviour::StaleKeepAlive { after: Duration::from_millis(1) }),
    ("close-on-reuse", Behaviour::CloseOnReuse),
    ("tls-hang", Behaviour::TlsHang),
    ("tls-close", Behaviour::TlsClose),
    ("tls-alert", Behaviour::TlsAlert),
    ("tls-garbage", Behaviour::TlsGarbage),
    ("untrusted-certificate", Behaviour::UntrustedCertificate),
    ("wrong-name", Behaviour::WrongName),
    ("expired-certificate", Behaviour::ExpiredCertificate),
];

/// The prefixes of families of behaviours: `malformed-nul`, `length-hex`, `chunk-signed`, `h2-push`.
const MALFORMED: &str = "malformed-";
const LENGTH: &str = "length-";
const CHUNK: &str = "chunk-";
const HTTP2: &str = "h2-";
const STATUS: &str = "status-";

impl Behaviour {
    /// Every behaviour that has a name, with that name and with ordinary parameters.
    ///
    /// Beyond these, `status-NNN` names any status, and [`Behaviour::RedirectTo`] and [`Behaviour::Robots`] have no name.
    pub fn all() -> impl Iterator<Item = (String, Self)> {
        let plain = BEHAVIOURS.iter().map(|(name, it)| ((*name).to_owned(), it.clone()));
        let malformed = MalformedHead::ALL
            .iter()
            .map(|(kind, word)| (format!("{MALFORMED}{word}"), Self::MalformedHead(*kind)));
        let length = BadLength::ALL
            .iter()
            .map(|(kind, word)| (format!("{LENGTH}{word}"), Self::BadLength(*kind)));
        let chunk = BadChunk::ALL
            .iter()
            .map(|(kind, word)| (format!("{CHUNK}{word}"), Self::BadChunk(*kind)));
        let http2 = BadHttp2::ALL.iter().map(|(kind, word)| {
            (format!("{HTTP2}{word}"), Self::BadHttp2 { kind: *kind, body: SMALL })
        });
        plain.chain(malformed).chain(length).chain(chunk).chain(http2)
    }
}

/// No behaviour has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBehaviour {
    name: String,
}

impl fmt::Display for UnknownBehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no behaviour is called {:?}", self.name)
    }
}

impl std::error::Error for UnknownBehaviour {}

impl FromStr for Behaviour {
    type Err = UnknownBehaviour;

    fn from_str(name: &str) -> Result<Self, UnknownBehaviour> {
        let status = name.strip_prefix(STATUS).and_then(|status| status.parse().ok());
        if let Some(status @ 200..=999) = status {
            return Ok(Self::Status(status));
        }
        let known = Self::all().find(|(known, _)| known == name);
        known.map(|(_, behaviour)| behaviour).ok_or_else(|| UnknownBehaviour { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_unique_and_can_be_parsed() {
        let names: Vec<String> = Behaviour::all().map(|(name, _)| name).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        for (name, behaviour) in Behaviour::all() {
            assert_eq!(name.parse(), Ok(behaviour));
        }
        assert_eq!("status-418".parse(), Ok(Behaviour::Status(418)));
        for wrong in ["", "status-", "status-099", "status-1000", "no-such-thing"] {
            assert!(wrong.parse::<Behaviour>().is_err());
        }
    }
}
