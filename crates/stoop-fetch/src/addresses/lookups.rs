//! The lookups of names that run at once: a number of them, and beside those a larger number that are slow.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::book::Found;

/// How many lookups run at once that are not slow: as many as a resolver sends at once without losing any.
pub(super) const QUICK_MAX: usize = 96;

/// How many slow ones run beside those: names whose servers are silent take the resolver 6 s each, and are not to hold
/// up the others. Each has a socket, or a thread without DNS of our own.
pub(super) const SLOW_MAX: usize = if cfg!(feature = "dns") { 4 * QUICK_MAX } else { QUICK_MAX };

/// How many lookups run at once in all.
pub(crate) const LOOKUPS_MAX: usize = QUICK_MAX + SLOW_MAX;

/// A lookup that runs for so long is slow: a resolver asks again then, because the query may have been lost.
const SLOW_AFTER: Duration = Duration::from_millis(500);

/// The lookups that run. Dropping them ends them.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    tasks: JoinSet<Found>,
    running: HashMap<Id, Lookup>,
    /// Those that are not slow, the oldest first, and among them some that have ended.
    by_age: VecDeque<(Instant, Id)>,
    slow: usize,
}

#[derive(Debug)]
struct Lookup {
    /// What is looked up.
    server: Box<[u8]>,
    is_slow: bool,
}

impl Lookups {
    /// Starts one.
    pub(super) fn start(
        &mut self,
        server: Box<[u8]>,
        finding: impl Future<Output = Found> + Send + 'static,
    ) {
        let id = self.tasks.spawn(finding).id();
        self.running.insert(id, Lookup { server, is_slow: false });
        self.by_age.push_back((Instant::now(), id));
    }

    /// Whether one more may start.
    pub(super) fn has_room(&mut self) -> bool {
        let now = Instant::now();
        while let Some((begun, id)) = self.by_age.front() {
            match self.running.get_mut(id) {
                Some(lookup) if *begun + SLOW_AFTER <= now && self.slow < SLOW_MAX => {
                    lookup.is_slow = true;
                    self.slow += 1;
                }
                Some(_) => break,
                None => {}
            }
            self.by_age.pop_front();
        }
        self.running.len() - self.slow < QUICK_MAX
    }

    /// When there is room again unless one ends before, if there is none now.
    pub(super) fn room_at(&mut self) -> Option<Instant> {
        if self.has_room() || self.slow == SLOW_MAX {
            return None;
        }
        self.by_age.front().map(|(begun, _)| *begun + SLOW_AFTER)
    }

    /// Waits until one has ended, and says what it found. None if none runs.
    pub(super) async fn next(&mut self) -> Option<(Box<[u8]>, Found)> {
        let ended = self.tasks.join_next_with_id().await?;
        Some(self.ended(ended))
    }

    /// The same for one that has ended already.
    pub(super) fn try_next(&mut self) -> Option<(Box<[u8]>, Found)> {
        let ended = self.tasks.try_join_next_with_id()?;
        Some(self.ended(ended))
    }

    fn ended(&mut self, ended: Result<(Id, Found), JoinError>) -> (Box<[u8]>, Found) {
        let (id, found) = ended.unwrap_or_else(|error| (error.id(), Found::Nothing));
        let Some(Lookup { server, is_slow }) = self.running.remove(&id) else {
            return (Box::default(), found);
        };
        self.slow -= usize::from(is_slow);
        (server, found)
    }
}
