//! Messages that look like a response and must not be taken for one.

use hickory_proto::op::{Message, MessageType};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::records::DnsForgery;

/// Seconds that a forged address may be cached: long enough to be noticed.
const FORGED_TTL: u32 = 3_600;

/// The bits that tell a compression pointer from a label, RFC 1035 §4.1.4.
const POINTER_BITS: u16 = 0xc000;

/// A forged message, and where it comes from.
pub(super) struct ForgedMessage {
    pub(super) bytes: Vec<u8>,
    pub(super) other_port: bool,
}

impl DnsForgery {
    /// The message, made from a response to the query that has no records. `None` if it cannot be encoded.
    pub(super) fn message(self, response: &Message) -> Option<ForgedMessage> {
        let mut message = response.clone();
        message.edns = None;
        let question = message.queries.first()?.clone();
        let mut name = question.name.clone();
        match self {
            Self::WrongId => message.metadata.id ^= 0x5a5a,
            Self::WrongQuestion => {
                name = Name::from_ascii("forged.test.").ok()?;
                message.queries[0].name = name.clone();
            }
            Self::NoQuestion => message.queries.clear(),
            Self::Query => message.metadata.message_type = MessageType::Query,
            Self::OtherPort | Self::Garbage | Self::Cut | Self::PointerLoop => {}
        }
        let data = match question.query_type {
            RecordType::AAAA => RData::AAAA(AAAA(Self::FORGED_V6)),
            _ => RData::A(A(Self::FORGED_V4)),
        };
        let record_at = message.to_vec().ok()?.len();
        message.answers.push(Record::from_rdata(name, FORGED_TTL, data));
        let mut bytes = message.to_vec().ok()?;
        match self {
            Self::Garbage => bytes[2..].fill(0xff),
            Self::Cut => bytes.truncate(bytes.len() - 2),
            Self::PointerLoop => {
                let pointer = POINTER_BITS | u16::try_from(record_at).ok()?;
                bytes[record_at..record_at + 2].copy_from_slice(&pointer.to_be_bytes());
            }
            Self::WrongId
            | Self::WrongQuestion
            | Self::NoQuestion
            | Self::Query
            | Self::OtherPort => {}
        }
        Some(ForgedMessage { bytes, other_port: self == Self::OtherPort })
    }
}
