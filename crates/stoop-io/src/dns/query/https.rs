//! Reads the HTTPS records of a response (RFC 9460).

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::rdata::svcb::{SVCB, SvcParamKey, SvcParamValue};
use hickory_proto::rr::{Name, RData};

use super::failure::QueryFailure;
use super::response::{QueryResponse, end_of_aliases, nothing};
use crate::dns::https::{HttpsRecord, HttpsService};
use crate::dns::settings::{CacheLimits, HTTPS_RECORDS_MAX};

/// The key `mandatory`, which must not name itself (§8).
const MANDATORY: u16 = 0;

/// The key `no-default-alpn`, which goes with `alpn` alone (§7.1.1).
const NO_DEFAULT_ALPN: u16 = 2;

/// The last key that is known, `ipv6hint`: they are numbered from 0 on (§14.3.2).
const LAST_KEY: u16 = 6;

/// Reads the response to `query`.
pub(super) fn read(
    message: &Message,
    query: &Query,
    limits: &CacheLimits,
) -> QueryResponse<Vec<HttpsRecord>> {
    let end = match end_of_aliases(&message.answers, query.name()) {
        Ok(end) => end,
        Err(failure) => return QueryResponse::Failed(failure),
    };
    let (mut records, mut found) = (Vec::new(), false);
    for record in message.answers.iter().filter(|record| record.name == *end.name) {
        let RData::HTTPS(data) = &record.data else { continue };
        found = true;
        match of_record(&data.0, end.name) {
            Ok(record) => records.extend(record),
            // §2.2: one that is malformed spoils all.
            Err(why) => {
                let why = format!("one of its HTTPS records is malformed: {why}");
                return QueryResponse::Failed(QueryFailure::other(&why));
            }
        }
    }
    if !found {
        return nothing(message, &end, limits);
    }
    // §2.4.1: beside an alias, ways to reach the service do not count.
    if records.iter().any(|record| record.priority() == 0) {
        records.retain(|record| record.priority() == 0);
    }
    records.sort_by_key(HttpsRecord::priority);
    records.truncate(HTTPS_RECORDS_MAX);
    QueryResponse::Found(records)
}

/// A record of `owner`. `None` if it must not be used: it needs what is not known (§8), or contradicts itself
/// (§2.4.3). An error if it is malformed.
fn of_record(data: &SVCB, owner: &Name) -> Result<Option<HttpsRecord>, &'static str> {
    let target = (!data.target_name.is_root()).then(|| text(&data.target_name));
    if data.svc_priority == 0 {
        // §2.4.2: its parameters do not count.
        return Ok(Some(HttpsRecord::Alias { target }));
    }
    let mut service = HttpsService {
        priority: data.svc_priority,
        target: target.unwrap_or_else(|| text(owner)),
        ..HttpsService::default()
    };
    let keys: Vec<u16> = data.svc_params.iter().map(|(key, _)| u16::from(*key)).collect();
    for (_, value) in &data.svc_params {
        match value {
            SvcParamValue::Mandatory(all) => {
                service.mandatory = all.0.iter().map(|key: &SvcParamKey| u16::from(*key)).collect();
            }
            SvcParamValue::Alpn(all) => service.alpn.clone_from(&all.0),
            SvcParamValue::NoDefaultAlpn => service.no_default_alpn = true,
            SvcParamValue::Port(port) => service.port = Some(*port),
            SvcParamValue::Ipv4Hint(all) => {
                service.ipv4_hints = all.0.iter().map(|address| address.0).collect();
                if service.ipv4_hints.is_empty() {
                    return Err("ipv4hint is empty");
                }
            }
            SvcParamValue::Ipv6Hint(all) => {
                service.ipv6_hints = all.0.iter().map(|address| address.0).collect();
                if service.ipv6_hints.is_empty() {
                    return Err("ipv6hint is empty");
                }
            }
            SvcParamValue::EchConfigList(bytes) => service.ech = Some(bytes.0.clone()),
            SvcParamValue::Unknown(_) => {}
        }
    }
    let mandatory = &service.mandatory;
    if !mandatory.is_sorted_by(|one, next| one < next) || mandatory.contains(&MANDATORY) {
        return Err("mandatory names a key twice, out of order, or itself");
    }
    let is_consistent = mandatory.iter().all(|key| keys.contains(key))
        && !(service.alpn.is_empty() && keys.contains(&NO_DEFAULT_ALPN));
    let is_known = mandatory.iter().all(|key| *key <= LAST_KEY);
    Ok((is_consistent && is_known).then_some(HttpsRecord::Service(service)))
}

/// A name without the root's dot.
fn text(name: &Name) -> String {
    let mut text = name.to_ascii().to_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    text
}
