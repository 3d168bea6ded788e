//! What is known of names, and who is finding out: the cache and the flights, without any input or
//! output. Time is an argument.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::answer::Addresses;
use super::error::DnsError;

/// What a lookup comes to.
pub(super) type Outcome = Result<Addresses, DnsError>;

/// Where those who wait for one flight are told its outcome. Dropped without one: the flight was
/// given up.
pub(super) type Landing = Arc<watch::Sender<Option<Outcome>>>;

/// What the table says to a question.
pub(super) enum Ask {
    /// It is known.
    Known(Outcome),
    /// Somebody is finding out; whether on the caller's own runtime.
    Wait(watch::Receiver<Option<Outcome>>, Near),
    /// The caller is to start a flight, which lands here.
    Start(Landing),
}

/// Whether a flight runs where those who wait for it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Near {
    /// It does: as long as somebody waits, it goes on.
    Here,
    /// It does not: its runtime may not be driven just now.
    Elsewhere,
}

/// The runtime of whoever asks.
pub(super) type Home = Option<tokio::runtime::Id>;

struct Entry {
    outcome: Outcome,
    expires: Instant,
}

/// A cache of two generations: what is asked for moves into the young one; when that is full it
/// becomes the old one, and what nobody asked for since the last time is forgotten. So the newest
/// half at least is always there, and nothing is sorted or linked.
pub(super) struct Table {
    young: HashMap<Arc<str>, Entry>,
    old: HashMap<Arc<str>, Entry>,
    flights: HashMap<Arc<str>, (Landing, Home)>,
    /// Entries of one generation.
    generation_max: usize,
}

impl Table {
    /// A table for at most `entries_max` outcomes.
    pub(super) fn new(entries_max: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            flights: HashMap::new(),
            generation_max: entries_max / 2,
        }
    }

    /// Looks `name` up; if nobody knows it or is finding it out, the caller starts to.
    pub(super) fn ask(&mut self, name: &str, home: Home, now: Instant) -> Ask {
        if let Some(outcome) = self.known(name, now) {
            return Ask::Known(outcome);
        }
        if let Some((landing, of)) = self.flights.get(name) {
            let near = if *of == home { Near::Here } else { Near::Elsewhere };
            return Ask::Wait(landing.subscribe(), near);
        }
        Ask::Start(self.depart(name, home))
    }

    /// The same for somebody who has waited for another runtime's flight long enough: only one of
    /// the caller's own will do. Who waits for the other may still be served by it.
    pub(super) fn insist(&mut self, name: &str, home: Home, now: Instant) -> Ask {
        match self.ask(name, home, now) {
            Ask::Wait(_, Near::Elsewhere) => Ask::Start(self.depart(name, home)),
            answer => answer,
        }
    }

    fn depart(&mut self, name: &str, home: Home) -> Landing {
        let landing = Landing::new(watch::Sender::new(None));
        self.flights.insert(name.into(), (landing.clone(), home));
        landing
    }

    /// What is known of `name` at `now`.
    pub(super) fn known(&mut self, name: &str, now: Instant) -> Option<Outcome> {
        if let Some(entry) = self.young.get(name) {
            return (entry.expires > now).then(|| entry.outcome.clone());
        }
        let (name, entry) = self.old.remove_entry(name)?;
        if entry.expires <= now {
            return None;
        }
        let outcome = entry.outcome.clone();
        self.insert(name, entry);
        Some(outcome)
    }

    /// Remembers what `name` came to, until `expires`.
    pub(super) fn learn(&mut self, name: &Arc<str>, outcome: Outcome, expires: Instant) {
        self.old.remove(name);
        self.insert(name.clone(), Entry { outcome, expires });
    }

    /// Forgets the flight that lands at `landing`, unless it is another's by now.
    pub(super) fn landed(&mut self, name: &str, landing: &Landing) {
        if self.flights.get(name).is_some_and(|(current, _)| Arc::ptr_eq(current, landing)) {
            self.flights.remove(name);
        }
    }

    /// Forgets everything that is known. Flights go on.
    pub(super) fn clear(&mut self) {
        self.young = HashMap::new();
        self.old = HashMap::new();
    }

    fn insert(&mut self, name: Arc<str>, entry: Entry) {
        if self.generation_max == 0 {
            return;
        }
        if self.young.len() >= self.generation_max && !self.young.contains_key(&name) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(name, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::time::Duration;

    fn outcome(n: u8) -> Outcome {
        Ok(IpAddr::from([10, 0, 0, n]).into())
    }

    fn start(table: &mut Table, name: &str, now: Instant) -> Landing {
        match table.ask(name, None, now) {
            Ask::Start(landing) => landing,
            Ask::Known(_) | Ask::Wait(..) => panic!("{name} is known or on its way"),
        }
    }

    #[test]
    fn an_outcome_is_known_until_it_expires() {
        let (mut table, now) = (Table::new(10), Instant::now());
        let landing = start(&mut table, "a", now);
        assert!(
            matches!(table.ask("a", None, now), Ask::Wait(_, Near::Here)),
            "one flight for a name"
        );
        table.learn(&"a".into(), outcome(1), now + Duration::from_secs(5));
        table.landed("a", &landing);
        let second = Duration::from_secs(1);
        assert_eq!(table.known("a", now + 4 * second), Some(outcome(1)));
        assert_eq!(table.known("a", now + 5 * second), None);
        start(&mut table, "a", now + 5 * second);
    }

    #[test]
    fn a_flight_that_was_given_up_does_not_end_its_successor() {
        let (mut table, now) = (Table::new(10), Instant::now());
        let first = start(&mut table, "a", now);
        table.landed("a", &first);
        let _second = start(&mut table, "a", now);
        table.landed("a", &first);
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let home = Some(other.handle().id());
        assert!(matches!(table.ask("a", home, now), Ask::Wait(_, Near::Elsewhere)));
        assert!(matches!(table.insist("a", home, now), Ask::Start(_)));
        assert!(matches!(table.insist("a", home, now), Ask::Wait(_, Near::Here)), "one is enough");
        assert!(matches!(table.ask("a", None, now), Ask::Wait(..)));
    }

    #[test]
    fn no_more_than_the_maximum_is_kept_and_what_is_used_stays() {
        let (mut table, now) = (Table::new(100), Instant::now());
        let later = now + Duration::from_secs(60);
        table.learn(&"used".into(), outcome(0), later);
        for n in 0..1_000u32 {
            table.learn(&n.to_string().into(), outcome(1), later);
            assert!(table.young.len() + table.old.len() <= 100);
            assert!(table.known("used", now).is_some());
        }
        assert!(table.known("999", now).is_some());
        assert!(table.known("0", now).is_none());
    }

    #[test]
    fn a_table_for_nothing_keeps_nothing() {
        let (mut table, now) = (Table::new(0), Instant::now());
        table.learn(&"a".into(), outcome(1), now + Duration::from_secs(60));
        assert!(table.known("a", now).is_none());
    }
}
