//! One name being looked up, on behalf of everybody who asked for it meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::table::{Landing, Outcome, Table};
use crate::timer::now;

/// A lookup under way. Dropped before it landed, it is given up: whoever still waits starts anew.
pub(super) struct Flight {
    /// What the table calls it.
    key: Arc<str>,
    /// The name, without the root's dot.
    pub(super) name: Box<str>,
    /// The name is complete: no search list.
    pub(super) absolute: bool,
    landing: Landing,
    table: Arc<Mutex<Table>>,
    /// When it started, by the asker's clock (which a test may advance) and by the real one.
    started: (Instant, Instant),
}

impl Flight {
    pub(super) fn new(
        key: &str,
        name: &str,
        absolute: bool,
        landing: Landing,
        table: Arc<Mutex<Table>>,
    ) -> Self {
        let started = (now(), Instant::now());
        Self { key: key.into(), name: name.into(), absolute, landing, table, started }
    }

    /// Waits until nobody waits for this any more.
    pub(super) async fn deserted(&self) {
        self.landing.closed().await;
    }

    /// Tells everybody, and remembers it for as long as `lives`. May be called again when more is
    /// known.
    pub(super) fn land(&self, outcome: Outcome, lives: Duration) {
        let mut table = lock(&self.table);
        let (started, really) = self.started;
        table.learn(&self.key, outcome.clone(), started + really.elapsed() + lives);
        table.landed(&self.key, &self.landing);
        drop(table);
        self.landing.send_if_modified(|landed| {
            let first = landed.is_none();
            landed.get_or_insert(outcome);
            first
        });
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        lock(&self.table).landed(&self.key, &self.landing);
    }
}

/// The table is never left half-changed, whatever panics.
pub(super) fn lock(table: &Mutex<Table>) -> std::sync::MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
