//! The classes of URLs and their distribution, as one table.

use std::fmt;

use crate::origin::BadHttp2;

/// The final result of a URL, redirects followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// A 2xx.
    Success,
    /// A 3xx that leads nowhere: 300 without a `location`.
    Unfollowed,
    /// A 4xx.
    ClientError,
    /// A 5xx.
    ServerError,

    /// The name does not exist.
    NxDomain,
    /// The name server fails.
    ServFail,
    /// The name server does not answer for this name.
    DnsSilence,
    /// A redirect to a name that does not exist.
    RedirectToNxDomain,

    /// Nothing listens.
    Refused,
    /// Packets vanish.
    BlackHole,
    /// A redirect to a port where nothing listens.
    RedirectToRefused,
    /// A redirect to a port where packets vanish.
    RedirectToBlackHole,

    /// The certificate is from a CA that is not trusted.
    UntrustedCertificate,
    /// The certificate is for another name.
    WrongName,
    /// The certificate has expired.
    ExpiredCertificate,
    /// The ClientHello is never answered.
    TlsHang,
    /// The connection is closed after the ClientHello.
    TlsClose,

    /// The request is never answered.
    HangAfterAccept,
    /// A head, and nothing after it.
    HangAfterHead,
    /// A body that comes one byte at a time, for longer than any client waits.
    Drip,
    /// A body that never ends.
    EndlessBody,
    /// Fewer bytes than announced.
    TruncatedLength,
    /// An end in the middle of a chunk.
    TruncatedChunk,
    /// A reset in the middle of the body.
    ResetMidBody,
    /// A close instead of a response.
    EarlyClose,
    /// A response that is not HTTP.
    MalformedHead,
    /// Redirects without end.
    RedirectLoop,

    /// What can go wrong over HTTP/2 alone; some of it is answered in the end. Over HTTP/1.1 a 2xx.
    BadHttp2(BadHttp2),
}

/// The phase of its work in which a client meets the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// None: there is a response with a status.
    Answered,
    /// In finding the address.
    Dns,
    /// In connecting.
    NoAnswer,
    /// Afterwards: in TLS, or in the response.
    Broken,
}

/// One row of the table.
struct ClassRow {
    class: Class,
    /// How many of 10,000 URLs.
    weight: u32,
    family: Family,
    /// Whether only a time limit of the client's ends it.
    until_deadline: bool,
    /// The error kinds that a correct client may report, of `stoop`'s closed list.
    kinds: &'static [&'static str],
}

const fn answered(class: Class, weight: u32) -> ClassRow {
    ClassRow { class, weight, family: Family::Answered, until_deadline: false, kinds: &[] }
}

const fn fails(
    class: Class,
    weight: u32,
    family: Family,
    kinds: &'static [&'static str],
) -> ClassRow {
    ClassRow { class, weight, family, until_deadline: false, kinds }
}

const fn stalls(
    class: Class,
    weight: u32,
    family: Family,
    kinds: &'static [&'static str],
) -> ClassRow {
    ClassRow { class, weight, family, until_deadline: true, kinds }
}

/// The weights follow a crawl of 10,000 popular domains: 7,980 answered 2xx, 1 3xx, 971 4xx, 21 5xx
/// and 1,027 failed. How its failures divide is not known; here a third each are names, connections,
/// and the rest. Nor is it known how often HTTP/2 goes wrong; here it is a fifth of the rest, and as
/// often as it makes some of each kind in 10,000. About 3.4 % of all URLs last until the client's
/// deadline.
const TABLE: &[ClassRow] = &{
    use crate::origin::BadHttp2 as Bad;
    use Class::*;
    use Family::*;
    [
        answered(Success, 7_965),
        answered(BadHttp2(Bad::RefusedTwice), 3),
        answered(BadHttp2(Bad::GoAwayOnReuse), 3),
        answered(BadHttp2(Bad::OneStream), 3),
        answered(BadHttp2(Bad::WantsHttp1), 3),
        answered(BadHttp2(Bad::DataAfterEnd), 3),
        answered(Unfollowed, 1),
        answered(ClientError, 979),
        answered(ServerError, 20),
        fails(NxDomain, 200, Dns, &["dns_nxdomain"]),
        fails(ServFail, 60, Dns, &["dns_servfail"]),
        stalls(DnsSilence, 50, Dns, &["dns_timeout", "total_timeout"]),
        fails(RedirectToNxDomain, 30, Dns, &["dns_nxdomain"]),
        fails(Refused, 150, NoAnswer, &["connect_refused"]),
        stalls(BlackHole, 160, NoAnswer, &["connect_timeout", "total_timeout"]),
        fails(RedirectToRefused, 20, NoAnswer, &["connect_refused"]),
        stalls(RedirectToBlackHole, 10, NoAnswer, &["connect_timeout", "total_timeout"]),
        fails(UntrustedCertificate, 40, Broken, &["tls_cert_untrusted"]),
        fails(WrongName, 35, Broken, &["tls_cert_name"]),
        fails(ExpiredCertificate, 20, Broken, &["tls_cert_expired"]),
        stalls(TlsHang, 25, Broken, &["tls_timeout", "total_timeout"]),
        fails(TlsClose, 20, Broken, &["tls_handshake", "closed_early", "reset"]),
        stalls(HangAfterAccept, 30, Broken, &["first_byte_timeout", "total_timeout"]),
        stalls(HangAfterHead, 15, Broken, &["read_timeout", "slow_body", "total_timeout"]),
        stalls(Drip, 15, Broken, &["slow_body", "total_timeout"]),
        stalls(EndlessBody, 5, Broken, &["body_too_large", "total_timeout"]),
        fails(TruncatedLength, 12, Broken, &["closed_early"]),
        fails(TruncatedChunk, 8, Broken, &["closed_early"]),
        fails(ResetMidBody, 10, Broken, &["reset"]),
        fails(EarlyClose, 15, Broken, &["closed_early"]),
        fails(MalformedHead, 8, Broken, &["h1_parse"]),
        fails(RedirectLoop, 9, Broken, &["redirect_limit"]),
        // Both are sent again and again, until a client gives up.
        fails(BadHttp2(Bad::Refused), 4, Broken, &["h2_refused", "total_timeout"]),
        fails(BadHttp2(Bad::GoAway), 4, Broken, &["h2_goaway", "total_timeout"]),
        fails(BadHttp2(Bad::Calm), 4, Broken, &["h2_goaway"]),
        fails(BadHttp2(Bad::ResetMidBody), 4, Broken, &["reset"]),
        fails(BadHttp2(Bad::ClosedMidBody), 4, Broken, &["closed_early"]),
        fails(BadHttp2(Bad::TooLittle), 4, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::TooMuch), 3, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::HeaderBomb), 3, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::ContinuationFlood), 3, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::Push), 3, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::Garbage), 4, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::FrameSize), 4, Broken, &["h2_protocol"]),
        fails(BadHttp2(Bad::WindowOverflow), 4, Broken, &["h2_protocol"]),
        // Without SETTINGS a client's own are not acknowledged, and without answers to PINGs it may take
        // the connection for lost.
        stalls(BadHttp2(Bad::Silence), 5, Broken, SILENT),
        stalls(BadHttp2(Bad::Stall), 5, Broken, &["read_timeout", "slow_body", "total_timeout"]),
        stalls(BadHttp2(Bad::PingIgnored), 5, Broken, UNANSWERED),
        stalls(BadHttp2(Bad::Drip), 5, Broken, &["slow_body", "total_timeout"]),
        stalls(BadHttp2(Bad::EndlessBody), 5, Broken, &["body_too_large", "total_timeout"]),
    ]
};

const SILENT: &[&str] = &["first_byte_timeout", "h2_protocol", "closed_early", "total_timeout"];
const UNANSWERED: &[&str] = &["read_timeout", "slow_body", "closed_early", "total_timeout"];

/// What the weights add up to.
pub(crate) const WEIGHTS: u32 = 10_000;

impl Class {
    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.class)
    }

    /// How many of 10,000 URLs are of this class, on average.
    pub fn weight(self) -> u32 {
        self.row().weight
    }

    /// The phase in which a client meets the failure.
    pub fn family(self) -> Family {
        self.row().family
    }

    /// Whether only a time limit of the client's ends it.
    pub fn is_until_deadline(self) -> bool {
        self.row().until_deadline
    }

    /// The error kinds that a correct client may report; empty where there is no failure.
    pub fn kinds(self) -> &'static [&'static str] {
        self.row().kinds
    }

    /// The class at this place of 0..[`WEIGHTS`].
    pub(crate) fn at(mut place: u32) -> Self {
        for row in TABLE {
            if place < row.weight {
                return row.class;
            }
            place -= row.weight;
        }
        Self::Success
    }

    /// Every class has a row: a test says so.
    fn row(self) -> &'static ClassRow {
        TABLE.iter().find(|row| row.class == self).unwrap_or(&TABLE[0])
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadHttp2(kind) => write!(f, "BadHttp2{kind:?}"),
            class => fmt::Debug::fmt(class, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_weights_add_up() {
        assert_eq!(TABLE.iter().map(|row| row.weight).sum::<u32>(), WEIGHTS);
        let of = |family| TABLE.iter().filter(|r| r.family == family).map(|r| r.weight).sum();
        let failures: [u32; 3] = [of(Family::Dns), of(Family::NoAnswer), of(Family::Broken)];
        assert_eq!(failures, [340, 340, 340]);
        assert_eq!(TABLE.iter().filter(|r| r.until_deadline).map(|r| r.weight).sum::<u32>(), 335);
    }

    #[test]
    fn every_class_has_a_row() {
        for (kind, _) in BadHttp2::ALL {
            assert_eq!(Class::BadHttp2(*kind).row().class, Class::BadHttp2(*kind));
        }
        assert_eq!(Class::all().collect::<HashSet<_>>().len(), 27 + BadHttp2::ALL.len());
        for class in Class::all() {
            assert_eq!(class.row().class, class);
            assert_eq!(class.kinds().is_empty(), class.family() == Family::Answered);
        }
        assert_eq!(Class::at(0), Class::Success);
        assert_eq!(Class::at(7_980), Class::Unfollowed);
        assert_eq!(Class::at(WEIGHTS - 1), Class::BadHttp2(BadHttp2::EndlessBody));
    }
}
