//! A cache of credentials that a slow check has accepted, for a time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// How long a user is let in without another check. A password that was changed holds that much longer.
const FRESH: Duration = Duration::from_secs(60);

/// How long after the last check a user is let in if the pool has no room for another check: clients that guess passwords
/// fill the pool, and must not lock users out.
const USABLE: Duration = Duration::from_secs(3_600);

/// How many users are remembered; beyond it, those who would be checked again make room, then all others do.
const USERS_MAX: usize = 1_000;

/// What is remembered of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// They were right a moment ago.
    Fresh,
    /// They were right some time ago, and are to be checked again, if that is possible.
    Stale,
    Unknown,
}

/// Names and passwords that were checked, as hashes with a key of this process: neither can be read from its memory.
pub(super) struct KnownCredentials {
    key: [u8; 16],
    checked: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Default for KnownCredentials {
    fn default() -> Self {
        // What the standard library seeds its tables with, from the system's random bytes.
        let random = || RandomState::new().hash_one(0_u8).to_ne_bytes();
        let mut key = [0; 16];
        key[..8].copy_from_slice(&random());
        key[8..].copy_from_slice(&random());
        Self { key, checked: Mutex::default() }
    }
}

impl KnownCredentials {
    pub(super) fn standing(&self, name: &str, password: &str) -> Standing {
        let hash = self.hash(name, password);
        let Some(checked) = self.checked().get(&hash).copied() else { return Standing::Unknown };
        match checked.elapsed() {
            age if age < FRESH => Standing::Fresh,
            age if age < USABLE => Standing::Stale,
            _ => Standing::Unknown,
        }
    }

    /// A check has found them right.
    pub(super) fn insert(&self, name: &str, password: &str) {
        let hash = self.hash(name, password);
        let mut checked = self.checked();
        for age_max in [USABLE, FRESH] {
            if checked.len() >= USERS_MAX {
                checked.retain(|_, checked| checked.elapsed() < age_max);
            }
        }
        if checked.len() >= USERS_MAX {
            checked.clear();
        }
        checked.insert(hash, Instant::now());
    }

    /// A check has found them wrong.
    pub(super) fn forget(&self, name: &str, password: &str) {
        let hash = self.hash(name, password);
        self.checked().remove(&hash);
    }

    fn checked(&self) -> MutexGuard<'_, HashMap<[u8; 32], Instant>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hash(&self, name: &str, password: &str) -> [u8; 32] {
        let hash = Sha256::new_with_prefix(self.key);
        // A name has no colon (RFC 7617 §2).
        hash.chain_update(name).chain_update(b":").chain_update(password).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_by_name_and_password_together() {
        let known = KnownCredentials::default();
        known.insert("ada", "b:c");
        assert_eq!(known.standing("ada", "b:c"), Standing::Fresh);
        for (name, password) in [("ada", "b"), ("ada:b", "d"), ("", "ada:b:c"), ("ada", "b:c ")] {
            assert_eq!(known.standing(name, password), Standing::Unknown, "{name:?} {password:?}");
        }
        assert_eq!(KnownCredentials::default().standing("ada", "b:c"), Standing::Unknown);
        known.forget("ada", "b:c");
        assert_eq!(known.standing("ada", "b:c"), Standing::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn credentials_are_fresh_for_a_minute_and_usable_for_an_hour() {
        let known = KnownCredentials::default();
        known.insert("ada", "b");
        for (passed, expected) in [
            (59, Standing::Fresh),
            (1, Standing::Stale),
            (3_539, Standing::Stale),
            (1, Standing::Unknown),
        ] {
            tokio::time::advance(Duration::from_secs(passed)).await;
            assert_eq!(known.standing("ada", "b"), expected);
        }
    }

    #[test]
    fn no_more_than_the_bound_are_remembered() {
        let known = KnownCredentials::default();
        for n in 0..=USERS_MAX {
            known.insert("user", &n.to_string());
        }
        assert!(known.checked().len() <= USERS_MAX);
        assert_eq!(known.standing("user", &USERS_MAX.to_string()), Standing::Fresh);
    }
}
