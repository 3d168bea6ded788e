//! Reads DNS queries and writes the responses.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME, NULL, SOA};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::forgery::ForgedMessage;
use super::records::DnsAnswer;
use crate::log::EntryEnd;

/// Bytes of a UDP response without EDNS: RFC 1035 §4.2.1.
const UDP_BYTES_MIN: u16 = 512;

/// Bytes of a UDP response with EDNS at most: what passes every path unfragmented, RFC 9715 §3.
const UDP_BYTES_MAX: u16 = 1232;

/// How long the absence of a name or a record may be cached, in seconds.
const NEGATIVE_TTL: u32 = 60;

/// A query that was received.
pub(super) struct DnsQuery {
    message: Message,
    /// The name asked for, in lower case and without a final dot.
    pub(super) name: String,
}

/// The response to a query, and when to send it.
pub(super) struct DnsResponse {
    /// What is sent at once, before it.
    pub(super) forged: Vec<ForgedMessage>,
    /// `None`: nothing is sent.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) delay: Duration,
    pub(super) ended: EntryEnd,
}

impl DnsQuery {
    /// Reads a message that asks exactly one question; `None` for anything else.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let message = Message::from_vec(bytes).ok()?;
        let asks = message.metadata.message_type == MessageType::Query
            && message.metadata.op_code == OpCode::Query
            && message.queries.len() == 1;
        let name = message.queries.first().filter(|_| asks)?.name.to_ascii();
        Some(Self { name: name.trim_end_matches('.').to_ascii_lowercase(), message })
    }

    /// The name of the record type asked for.
    pub(super) fn kind(&self) -> String {
        self.record_type().to_string()
    }

    fn record_type(&self) -> RecordType {
        self.message.queries.first().map_or(RecordType::A, |query| query.query_type)
    }

    fn wants_https(&self) -> bool {
        self.record_type() == RecordType::HTTPS
    }

    /// The response, for a query over UDP or TCP.
    pub(super) fn respond(&self, answer: &DnsAnswer, udp: bool) -> DnsResponse {
        let (mut delay, mut forged, mut answer) = (Duration::ZERO, Vec::new(), answer);
        loop {
            match answer {
                DnsAnswer::Slow(longer, inner) => (delay, answer) = (delay + *longer, inner),
                DnsAnswer::OverTcp(_) if udp => {
                    let bytes = self.base(ResponseCode::NoError).truncate().to_vec().ok();
                    return DnsResponse { forged, bytes, delay, ended: EntryEnd::Truncated };
                }
                DnsAnswer::OverTcp(inner) => answer = inner,
                DnsAnswer::PerFamily { v6, .. } if self.record_type() == RecordType::AAAA => {
                    answer = v6;
                }
                DnsAnswer::PerFamily { v4, .. } => answer = v4,
                DnsAnswer::Https { otherwise, .. } if !self.wants_https() => answer = otherwise,
                DnsAnswer::Forged(forgeries, inner) => {
                    let base = self.base(ResponseCode::NoError);
                    let made = forgeries.iter().filter_map(|forgery| forgery.message(&base));
                    forged.extend(made.filter(|message| udp || !message.other_port));
                    answer = inner;
                }
                _ => break,
            }
        }
        if *answer == DnsAnswer::Silence {
            return DnsResponse { forged, bytes: None, delay, ended: EntryEnd::Silent };
        }
        let (message, mut ended) = self.message(answer);
        let mut bytes = message.to_vec().ok();
        if udp && bytes.as_ref().is_some_and(|bytes| bytes.len() > self.udp_bytes_max()) {
            bytes = message.truncate().to_vec().ok();
            ended = EntryEnd::Truncated;
        }
        DnsResponse { forged, bytes, delay, ended }
    }

    fn message(&self, answer: &DnsAnswer) -> (Message, EntryEnd) {
        let (code, ended) = match answer {
            DnsAnswer::Addresses { addresses, ttl } => {
                let mut message = self.base(ResponseCode::NoError);
                let name = self.message.queries.first().map(|query| query.name.clone());
                message.answers = self.records(name.as_ref(), addresses, *ttl);
                if !message.answers.is_empty() {
                    return (message, EntryEnd::Answered);
                }
                (ResponseCode::NoError, EntryEnd::NoData)
            }
            DnsAnswer::Aliases { names, addresses, ttl } => {
                let mut message = self.base(ResponseCode::NoError);
                let mut owner = self.message.queries.first().map(|query| query.name.clone());
                for target in names.iter().filter_map(|name| absolute(name)) {
                    let alias = RData::CNAME(CNAME(target.clone()));
                    let owner = owner.replace(target);
                    let record = owner.map(|owner| Record::from_rdata(owner, *ttl, alias));
                    message.answers.extend(record);
                }
                message.answers.extend(self.records(owner.as_ref(), addresses, *ttl));
                return (message, EntryEnd::Answered);
            }
            DnsAnswer::Https { records, ttl, .. } => {
                let mut message = self.base(ResponseCode::NoError);
                let name = self.message.queries.first().map(|query| query.name.clone());
                let (code, name) = (RecordType::HTTPS, name.unwrap_or_else(Name::root));
                message.answers.extend(records.iter().map(|data| {
                    let data = RData::Unknown { code, rdata: NULL::with(data.clone()) };
                    Record::from_rdata(name.clone(), *ttl, data)
                }));
                return (message, EntryEnd::Answered);
            }
            DnsAnswer::AnotherName { name, addresses, ttl } => {
                let mut message = self.base(ResponseCode::NoError);
                message.answers = self.records(absolute(name).as_ref(), addresses, *ttl);
                return (message, EntryEnd::Answered);
            }
            DnsAnswer::NxDomain => (ResponseCode::NXDomain, EntryEnd::NxDomain),
            DnsAnswer::ServFail => (ResponseCode::ServFail, EntryEnd::ServFail),
            DnsAnswer::Refused => (ResponseCode::Refused, EntryEnd::Refused),
            DnsAnswer::NoData
            | DnsAnswer::Silence
            | DnsAnswer::OverTcp(_)
            | DnsAnswer::PerFamily { .. }
            | DnsAnswer::Forged(..)
            | DnsAnswer::Slow(..) => (ResponseCode::NoError, EntryEnd::NoData),
        };
        let mut message = self.base(code);
        if matches!(ended, EntryEnd::NoData | EntryEnd::NxDomain) {
            message.authorities.push(self.authority());
        }
        (message, ended)
    }

    /// The addresses of the family asked for, as records of `name`.
    fn records(&self, name: Option<&Name>, addresses: &[IpAddr], ttl: u32) -> Vec<Record> {
        let Some(name) = name else { return Vec::new() };
        let data = addresses.iter().filter_map(|address| match (address, self.record_type()) {
            (IpAddr::V4(v4), RecordType::A) => Some(RData::A(A(*v4))),
            (IpAddr::V6(v6), RecordType::AAAA) => Some(RData::AAAA(AAAA(*v6))),
            _ => None,
        });
        data.map(|data| Record::from_rdata(name.clone(), ttl, data)).collect()
    }

    /// Without this record an absence may not be cached: RFC 2308 §5. It names the zone above.
    fn authority(&self) -> Record {
        let name = self.message.queries.first().map_or_else(Name::root, |q| q.name.base_name());
        let soa = SOA::new(name.clone(), name.clone(), 1, 3600, 600, 86_400, NEGATIVE_TTL);
        Record::from_rdata(name, NEGATIVE_TTL, RData::SOA(soa))
    }

    /// A response without records.
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

/// A name of the records, which have no final dot. `None` if it is no name.
fn absolute(name: &str) -> Option<Name> {
    let mut name = Name::from_ascii(name).ok()?;
    name.set_fqdn(true);
    Some(name)
}
