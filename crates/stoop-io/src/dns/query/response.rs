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
pub(super) enum QueryResponse<T> {
    /// What was asked for.
    Found(T),
    /// Another name to ask for: the response stops at an alias.
    Alias(Name),
    Failed(QueryFailure),
}

/// The name at the end of the aliases of a response.
pub(super) struct AliasEnd<'a> {
    pub(super) name: &'a Name,
    /// The least TTL of the aliases.
    seconds: u32,
    aliases: usize,
}

/// Follows the aliases of `name` in a response.
pub(super) fn end_of_aliases<'a>(
    answers: &'a [Record],
    name: &'a Name,
) -> Result<AliasEnd<'a>, QueryFailure> {
    let mut end = AliasEnd { name, seconds: u32::MAX, aliases: 0 };
    while let Some((target, ttl)) = alias(answers, end.name) {
        let seconds = end.seconds.min(ttl);
        end = AliasEnd { name: target, seconds, aliases: end.aliases + 1 };
        if end.aliases > ALIASES_MAX {
            return Err(QueryFailure::alias_loop());
        }
    }
    Ok(end)
}

/// Reads the addresses of the response to `query`.
pub(super) fn read(
    message: &Message,
    query: &Query,
    limits: &CacheLimits,
) -> QueryResponse<FamilyAddresses> {
    let end = match end_of_aliases(&message.answers, query.name()) {
        Ok(end) => end,
        Err(failure) => return QueryResponse::Failed(failure),
    };
    let (mut addresses, mut seconds) = (Vec::new(), end.seconds);
    for record in message.answers.iter().filter(|record| record.name == *end.name) {
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
        return QueryResponse::Found(FamilyAddresses { addresses, ttl: limits.ttl(seconds) });
    }
    nothing(message, &end, limits)
}

/// What a response says that has not what was asked for.
pub(super) fn nothing<T>(
    message: &Message,
    end: &AliasEnd<'_>,
    limits: &CacheLimits,
) -> QueryResponse<T> {
    let negative_ttl = negative_ttl(message);
    match message.metadata.response_code {
        ResponseCode::NoError if end.aliases > 0 && negative_ttl.is_none() => {
            QueryResponse::Alias(end.name.clone())
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
