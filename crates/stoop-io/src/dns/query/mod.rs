//! Queries to DNS servers. The messages are hickory's; sockets, time and the choice of servers are
//! ours.
//!
//! hickory's own resolver was measured first: twice the processor time for a lookup (51 to 80 µs
//! against 32 to 38), a socket for each repetition of each query, a failing server asked again
//! in the place of the next, and tasks on whichever runtime came first, which the others depend on.

mod context;
mod failure;
mod https;
mod name_query;
mod response;
mod servers;
mod socket;

use std::net::IpAddr;
use std::sync::Arc;

use hickory_proto::rr::Name;
use tokio::time::timeout;

use self::context::QueryContext;
use self::failure::QueryFailure;
use self::name_query::NameQuery;
use self::response::FamilyAddresses;
pub(super) use self::servers::Servers;
use super::addresses::Addresses;
use super::error::DnsError;
use super::https::HttpsRecord;
use super::race::{First, race};
use super::settings::{Families, LATE_ANSWER_WAIT_MAX, ResolverSettings};
use super::shared_lookup::SharedLookup;

/// Starts lookups, each as a task on the runtime of the caller that asked first.
pub(super) struct Backend(Arc<QueryContext>);

impl Backend {
    pub(super) fn new(settings: ResolverSettings) -> Self {
        Self(Arc::new(QueryContext::new(settings)))
    }

    pub(super) fn start(&self, lookup: SharedLookup) {
        tokio::spawn(run(self.0.clone(), lookup));
    }

    /// The HTTPS records of a name; none if it exists without them.
    pub(super) async fn https_records(
        &self,
        name: &str,
        absolute: bool,
    ) -> Result<Vec<HttpsRecord>, DnsError> {
        let settings = &self.0.settings;
        let _permit = self.0.permits.acquire().await;
        let (mut failure, mut exists) = (None, false);
        for candidate in settings.servers.candidates(name, absolute) {
            let Ok(candidate) = Name::from_ascii(candidate) else { continue };
            match NameQuery::new(self.0.clone(), candidate).https().await {
                Ok(records) => return Ok(records),
                Err(failed) if failed.is_no_records() => exists = true,
                Err(failed) if failed.is_no_such_name() => failure = failure.or(Some(failed)),
                Err(failed) => return Err(failed.explain(name, &settings.servers.addresses).0),
            }
        }
        if exists {
            return Ok(Vec::new());
        }
        let none = || QueryFailure::no_candidate(settings.cache.negative_ttl_max);
        Err(failure.unwrap_or_else(none).explain(name, &settings.servers.addresses).0)
    }
}

/// Runs a lookup to its end, or until no caller waits for it.
async fn run(context: Arc<QueryContext>, lookup: SharedLookup) {
    let settings = &context.settings;
    let queries = if settings.families == Families::Both { 2 } else { 1 };
    let permits = race(context.permits.acquire_many(queries), lookup.abandoned()).await;
    let First::One(_permits) = permits else { return };
    let mut failure = None;
    for name in settings.servers.candidates(&lookup.name, lookup.absolute) {
        let Ok(name) = Name::from_ascii(name) else { continue };
        let query = NameQuery::new(context.clone(), name);
        let First::One(found) = race(query.both_families(), lookup.abandoned()).await else {
            return;
        };
        match found {
            Ok((first, second, late)) => {
                let addresses = order(settings, &first, second.as_ref());
                lookup.finish(Ok(addresses), first.ttl_with(second.as_ref()));
                if let Some(query) = late
                    && let Ok(Ok(second)) = timeout(LATE_ANSWER_WAIT_MAX, query).await
                {
                    let addresses = order(settings, &first, Some(&second));
                    lookup.finish(Ok(addresses), first.ttl_with(Some(&second)));
                }
                return;
            }
            Err(failed) if failed.is_no_such_name() => failure = failure.or(Some(failed)),
            Err(failed) => {
                failure = Some(failed);
                break;
            }
        }
    }
    let failure =
        failure.unwrap_or_else(|| QueryFailure::no_candidate(settings.cache.negative_ttl_max));
    let (error, ttl) = failure.explain(&lookup.name, &settings.servers.addresses);
    lookup.finish(Err(error), ttl);
}

/// The addresses of both families, in the order to try them.
fn order(
    settings: &ResolverSettings,
    first: &FamilyAddresses,
    second: Option<&FamilyAddresses>,
) -> Addresses {
    let first = &first.addresses[..];
    let second = second.map_or(&[][..], |found| &found.addresses);
    if first.first().is_some_and(IpAddr::is_ipv6) == settings.v6_first {
        Addresses::interleave(first, second)
    } else {
        Addresses::interleave(second, first)
    }
}
