//! Reads the response of a server to a query.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, Record};

use super::failure::QueryFailure;
use crate::dns::settings::{ADDRESSES_MAX, ALIASES_MAX, CacheLimits};

/// Addresses of one family.
pub(super) struct FamilyAddresses {
    pub(super) addresses: Vec<IpAddr>,
    /// How long they are remembered.
    pub(super) ttl: Duration,
}

impl FamilyAddresses {
    /// How long they are remembered together with those of the other family.
    pub(super) fn ttl_with(&self, other: Option<&Self>) -> Duration {
        other.map_or(self.ttl, |other| self.ttl.min(other.ttl))
    }
}

/// What a response says about a name.
pub(super) enum QueryResponse {
    Addresses(FamilyAddresses),
    /// Another name to ask for: the response stops at an alias.
    Alias(Name),
    Failed(QueryFailure),
}

/// Reads the response to `query`.
pub(super) fn read(message: &Message, query: &Query, limits: &CacheLimits) -> QueryResponse {
    let answers = &message.answers;
    let (mut name, mut seconds, mut aliases) = (query.name(), u32::MAX, 0);
    while let Some((target, ttl)) = alias(answers, name) {
        (name, seconds, aliases) = (target, seconds.min(ttl), aliases + 1);
        if aliases > ALIASES_MAX {
            return QueryResponse::Failed(QueryFailure::alias_loop());
        }
    }
    let mut addresses = Vec::new();
    for record in answers.iter().filter(|record| record.name == *name) {
        let address = match &record.data {
            RData::A(v4) => IpAddr::V4(v4.0),
            RData::AAAA(v6) => IpAddr::V6(v6.0),
            _ => continue,
        };
        if record.record_type() == query.query_type() && addresses.len() < ADDRESSES_MAX {
            addresses.push(address);
            seconds = seconds.min(record.ttl);
        }
    }
    if !addresses.is_empty() {
        return QueryResponse::Addresses(FamilyAddresses { addresses, ttl: limits.ttl(seconds) });
    }
    let negative_ttl = negative_ttl(message);
    match message.metadata.response_code {
        ResponseCode::NoError if aliases > 0 && negative_ttl.is_none() => {
            QueryResponse::Alias(name.clone())
        }
        ResponseCode::NoError => {
            QueryResponse::Failed(QueryFailure::no_records(limits.negative_ttl(negative_ttl)))
        }
        ResponseCode::NXDomain => {
            QueryResponse::Failed(QueryFailure::no_such_name(limits.negative_ttl(negative_ttl)))
        }
        ResponseCode::ServFail => QueryResponse::Failed(QueryFailure::server()),
        code => QueryResponse::Failed(QueryFailure::other(&code.to_string())),
    }
}

/// What `name` is an alias for.
fn alias<'a>(answers: &'a [Record], name: &Name) -> Option<(&'a Name, u32)> {
    answers.iter().find_map(|record| match &record.data {
        RData::CNAME(target) if record.name == *name => Some((&target.0, record.ttl)),
        _ => None,
    })
}

/// How many seconds the zone lets the absence of a name or record be remembered, RFC 2308 §5.
fn negative_ttl(message: &Message) -> Option<u32> {
    message.authorities.iter().find_map(|record| match &record.data {
        RData::SOA(zone) => Some(record.ttl.min(zone.minimum)),
        _ => None,
    })
}
