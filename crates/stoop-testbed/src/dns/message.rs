//! Queries read, answers written.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, SOA};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::records::Lookup;
use crate::log::Ended;

/// What fits into UDP without EDNS, and the most we send with it.
const UDP_BYTES_MIN: u16 = 512;
const UDP_BYTES_MAX: u16 = 1232;

/// How long the absence of a name or a record may be cached, in seconds.
const NEGATIVE_TTL: u32 = 60;

/// A query, read.
pub(super) struct Question {
    message: Message,
    /// The name asked for, in lower case and without a final dot.
    pub(super) name: String,
}

/// What to do about a query.
pub(super) struct Response {
    /// `None` says nothing.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) delay: Duration,
    pub(super) ended: Ended,
}

impl Question {
    /// Reads a message that asks exactly one question; `None` for anything else.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let message = Message::from_vec(bytes).ok()?;
        let asks = message.metadata.message_type == MessageType::Query
            && message.metadata.op_code == OpCode::Query
            && message.queries.len() == 1;
        let name = message.queries.first().filter(|_| asks)?.name.to_ascii();
        Some(Self { name: name.trim_end_matches('.').to_ascii_lowercase(), message })
    }

    /// The type of record asked for, as people write it.
    pub(super) fn kind(&self) -> String {
        self.record_type().to_string()
    }

    fn record_type(&self) -> RecordType {
        self.message.queries.first().map_or(RecordType::A, |query| query.query_type)
    }

    /// The answer, for a client that asks over UDP or TCP.
    pub(super) fn respond(&self, lookup: &Lookup, udp: bool) -> Response {
        let (mut delay, mut lookup) = (Duration::ZERO, lookup);
        loop {
            match lookup {
                Lookup::Slow(longer, inner) => (delay, lookup) = (delay + *longer, inner),
                Lookup::OverTcp(_) if udp => {
                    let bytes = self.base(ResponseCode::NoError).truncate().to_vec().ok();
                    return Response { bytes, delay, ended: Ended::Truncated };
                }
                Lookup::OverTcp(inner) => lookup = inner,
                _ => break,
            }
        }
        if *lookup == Lookup::Silence {
            return Response { bytes: None, delay, ended: Ended::Silent };
        }
        let (message, mut ended) = self.message(lookup);
        let mut bytes = message.to_vec().ok();
        if udp && bytes.as_ref().is_some_and(|bytes| bytes.len() > self.udp_bytes_max()) {
            bytes = message.truncate().to_vec().ok();
            ended = Ended::Truncated;
        }
        Response { bytes, delay, ended }
    }

    fn message(&self, lookup: &Lookup) -> (Message, Ended) {
        let (code, ended) = match lookup {
            Lookup::Addresses { addresses, ttl } => {
                let mut message = self.base(ResponseCode::NoError);
                message.answers = self.records(addresses, *ttl);
                if !message.answers.is_empty() {
                    return (message, Ended::Answered);
                }
                (ResponseCode::NoError, Ended::NoData)
            }
            Lookup::NxDomain => (ResponseCode::NXDomain, Ended::NxDomain),
            Lookup::ServFail => (ResponseCode::ServFail, Ended::ServFail),
            Lookup::Refused => (ResponseCode::Refused, Ended::Refused),
            Lookup::NoData | Lookup::Silence | Lookup::OverTcp(_) | Lookup::Slow(..) => {
                (ResponseCode::NoError, Ended::NoData)
            }
        };
        let mut message = self.base(code);
        if matches!(ended, Ended::NoData | Ended::NxDomain) {
            message.authorities.push(self.authority());
        }
        (message, ended)
    }

    fn records(&self, addresses: &[IpAddr], ttl: u32) -> Vec<Record> {
        let Some(query) = self.message.queries.first() else { return Vec::new() };
        let data = addresses.iter().filter_map(|address| match (address, query.query_type) {
            (IpAddr::V4(v4), RecordType::A) => Some(RData::A(A(*v4))),
            (IpAddr::V6(v6), RecordType::AAAA) => Some(RData::AAAA(AAAA(*v6))),
            _ => None,
        });
        data.map(|data| Record::from_rdata(query.name.clone(), ttl, data)).collect()
    }

    /// Without this record an absence may not be cached: RFC 2308 §5. It names the zone above.
    fn authority(&self) -> Record {
        let name = self.message.queries.first().map_or_else(Name::root, |q| q.name.base_name());
        let soa = SOA::new(name.clone(), name.clone(), 1, 3600, 600, 86_400, NEGATIVE_TTL);
        Record::from_rdata(name, NEGATIVE_TTL, RData::SOA(soa))
    }

    /// An answer without records.
    fn base(&self, code: ResponseCode) -> Message {
        let query = &self.message;
        let mut message = Message::response(query.metadata.id, query.metadata.op_code);
        message.metadata.recursion_desired = query.metadata.recursion_desired;
        message.metadata.recursion_available = true;
        message.metadata.authoritative = true;
        message.metadata.response_code = code;
        message.queries.clone_from(&query.queries);
        if query.edns.is_some() {
            let mut edns = Edns::new();
            edns.set_max_payload(UDP_BYTES_MAX);
            message.edns = Some(edns);
        }
        message
    }

    fn udp_bytes_max(&self) -> usize {
        let offered = self.message.edns.as_ref().map_or(UDP_BYTES_MIN, Edns::max_payload);
        offered.clamp(UDP_BYTES_MIN, UDP_BYTES_MAX).into()
    }
}
