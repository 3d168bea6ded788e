//! A cache of credentials that a slow check has accepted, for a time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// How long a user is let in without another check. A password that was changed holds that much longer.
const LIFETIME: Duration = Duration::from_secs(60);

/// How many users are remembered; beyond it, those whose time is over make room, then all others do.
const USERS_MAX: usize = 1_000;

/// Names and passwords that were checked, as hashes with a key of this process: neither can be read from its memory.
pub(super) struct KnownCredentials {
    key: [u8; 16],
    until: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Default for KnownCredentials {
    fn default() -> Self {
        // What the standard library seeds its tables with, from the system's random bytes.
        let random = || RandomState::new().hash_one(0_u8).to_ne_bytes();
        let mut key = [0; 16];
        key[..8].copy_from_slice(&random());
        key[8..].copy_from_slice(&random());
        Self { key, until: Mutex::default() }
    }
}

impl KnownCredentials {
    pub(super) fn contains(&self, name: &str, password: &str) -> bool {
        let hash = self.hash(name, password);
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(&hash).is_some_and(|until| *until > Instant::now())
    }

    pub(super) fn insert(&self, name: &str, password: &str) {
        let (hash, now) = (self.hash(name, password), Instant::now());
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if until.len() >= USERS_MAX {
            until.retain(|_, until| *until > now);
        }
        if until.len() >= USERS_MAX {
            until.clear();
        }
        until.insert(hash, now + LIFETIME);
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
        assert!(known.contains("ada", "b:c"));
        for (name, password) in [("ada", "b"), ("ada:b", "d"), ("", "ada:b:c"), ("ada", "b:c ")] {
            assert!(!known.contains(name, password), "{name:?} {password:?}");
        }
        assert!(!KnownCredentials::default().contains("ada", "b:c"));
    }

    #[test]
    fn no_more_than_the_bound_are_remembered() {
        let known = KnownCredentials::default();
        for n in 0..=USERS_MAX {
            known.insert("user", &n.to_string());
        }
        assert!(known.until.lock().unwrap().len() <= USERS_MAX);
        assert!(known.contains("user", &USERS_MAX.to_string()));
    }
}
