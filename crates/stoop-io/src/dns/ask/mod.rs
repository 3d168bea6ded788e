//! Asking DNS servers. The messages are hickory's; sockets, time and the choice of servers are
//! ours.
//!
//! hickory's own resolver was measured first: twice the processor time for a lookup (51 to 80 µs
//! against 32 to 38), a socket for each repetition of each question, a failing server asked again
//! in the place of the next, and tasks on whichever runtime came first, which the others depend on.

mod asker;
mod config;
mod failure;
mod line;
mod lookup;
mod reply;

use std::net::IpAddr;
use std::sync::Arc;

use hickory_proto::rr::Name;
use tokio::time::timeout;

use self::asker::Asker;
pub(super) use self::config::Servers;
use self::failure::Failure;
use self::lookup::Lookup;
use self::reply::Found;
use super::answer::Addresses;
use super::flight::Flight;
use super::race::{First, race};
use super::settings::{Families, LATE_ANSWER_WAIT_MAX, ResolverSettings};

/// Starts lookups, each as a task on the runtime of whoever asked first.
pub(super) struct Backend(Arc<Asker>);

impl Backend {
    pub(super) fn new(settings: ResolverSettings) -> Self {
        Self(Arc::new(Asker::new(settings)))
    }

    pub(super) fn start(&self, flight: Flight) {
        tokio::spawn(self.0.clone().fly(flight));
    }
}

impl Asker {
    async fn fly(self: Arc<Self>, flight: Flight) {
        let questions = if self.settings.families == Families::Both { 2 } else { 1 };
        let turn = race(self.questions.acquire_many(questions), flight.deserted()).await;
        let First::One(_turn) = turn else { return };
        let mut failure = None;
        for name in self.settings.servers.candidates(&flight.name, flight.absolute) {
            let Ok(name) = Name::from_ascii(name) else { continue };
            let lookup = Lookup::new(self.clone(), name);
            let First::One(found) = race(lookup.both(), flight.deserted()).await else { return };
            match found {
                Ok((first, second, late)) => {
                    flight.land(
                        Ok(self.order(&first, second.as_ref())),
                        first.lives_with(second.as_ref()),
                    );
                    if let Some(question) = late
                        && let Ok(Ok(second)) = timeout(LATE_ANSWER_WAIT_MAX, question).await
                    {
                        flight.land(
                            Ok(self.order(&first, Some(&second))),
                            first.lives_with(Some(&second)),
                        );
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
            failure.unwrap_or_else(|| Failure::no_candidate(self.settings.cache.negative_ttl_max));
        let (error, lives) = failure.explain(&flight.name, &self.settings.servers.addresses);
        flight.land(Err(error), lives);
    }

    /// The addresses in the order to try them.
    fn order(&self, first: &Found, second: Option<&Found>) -> Addresses {
        let first = &first.addresses[..];
        let second = second.map_or(&[][..], |found| &found.addresses);
        if first.first().is_some_and(IpAddr::is_ipv6) == self.settings.v6_first {
            Addresses::interleave(first, second)
        } else {
            Addresses::interleave(second, first)
        }
    }
}
