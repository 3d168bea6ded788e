//! What a server's answer says about one name.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, Record};

use super::failure::Failure;
use crate::dns::settings::{ADDRESSES_MAX, ALIASES_MAX, CacheLimits};

/// Addresses of one family.
pub(super) struct Found {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) lives: Duration,
}

impl Found {
    /// For how long both are to be believed.
    pub(super) fn lives_with(&self, other: Option<&Self>) -> Duration {
        other.map_or(self.lives, |other| self.lives.min(other.lives))
    }
}

/// What an answer comes to.
pub(super) enum Reply {
    Found(Found),
    /// Another name to ask for: the answer stops at an alias.
    Alias(Name),
    Failed(Failure),
}

/// Reads an answer to `query`.
pub(super) fn read(message: &Message, query: &Query, limits: &CacheLimits) -> Reply {
    let answers = &message.answers;
    let (mut name, mut seconds, mut aliases) = (query.name(), u32::MAX, 0);
    while let Some((target, ttl)) = alias(answers, name) {
        (name, seconds, aliases) = (target, seconds.min(ttl), aliases + 1);
        if aliases > ALIASES_MAX {
            return Reply::Failed(Failure::other("its aliases lead in a circle, or too far"));
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
        return Reply::Found(Found { addresses, lives: limits.ttl(seconds) });
    }
    let denied = denied(message);
    match message.metadata.response_code {
        ResponseCode::NoError if aliases > 0 && denied.is_none() => Reply::Alias(name.clone()),
        ResponseCode::NoError => Reply::Failed(Failure::no_records(limits.negative_ttl(denied))),
        ResponseCode::NXDomain => Reply::Failed(Failure::no_such_name(limits.negative_ttl(denied))),
        ResponseCode::ServFail => Reply::Failed(Failure::server()),
        code => Reply::Failed(Failure::other(&code.to_string())),
    }
}

/// What `name` is an alias for.
fn alias<'a>(answers: &'a [Record], name: &Name) -> Option<(&'a Name, u32)> {
    answers.iter().find_map(|record| match &record.data {
        RData::CNAME(target) if record.name == *name => Some((&target.0, record.ttl)),
        _ => None,
    })
}

/// For how many seconds the zone says that what is not there is not there, RFC 2308 §5.
fn denied(message: &Message) -> Option<u32> {
    message.authorities.iter().find_map(|record| match &record.data {
        RData::SOA(zone) => Some(record.ttl.min(zone.minimum)),
        _ => None,
    })
}
