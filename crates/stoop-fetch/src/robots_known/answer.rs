//! What came of asking an origin for its robots.txt, and for how long that counts.

use std::time::Duration;

use crate::record::Outcome;
use crate::robots::{Access, FRESH_FOR, RobotsTxt};

/// How long an origin that could not say what it allows is not asked again.
const UNREACHABLE_FOR: Duration = Duration::from_secs(300);

/// How long an origin that gave no response is not asked again: no longer than its jobs then wait, so that the one that tries
/// its host asks.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// What came of asking an origin.
pub(crate) enum RobotsAnswer {
    /// It said what it allows, or, with the reason for people, that it cannot say.
    Says { access: Access, why: Option<Box<str>> },
    /// It gave no response; its jobs get this outcome.
    Silent(Box<Outcome>),
}

impl RobotsAnswer {
    /// What holds where the origin came to `before` when it was asked before, and for how long it is not asked again. If it is
    /// unreachable now, which it is without a response, too (RFC 9309 §2.3.1.4), what it said before goes on to count (§2.4).
    pub(super) fn after(self, before: Option<&Self>) -> (Self, Duration) {
        let known = match before {
            Some(Self::Says { access, .. }) if *access != Access::Unreachable => Some(access),
            Some(Self::Says { .. } | Self::Silent(_)) | None => None,
        };
        match (self, known) {
            (Self::Says { access: Access::Unreachable, .. } | Self::Silent(_), Some(known)) => {
                let access = known.clone().renewed(Access::Unreachable);
                (Self::Says { access, why: None }, UNREACHABLE_FOR)
            }
            (now @ Self::Says { access: Access::Unreachable, .. }, None) => (now, UNREACHABLE_FOR),
            (now @ Self::Silent(_), None) => (now, SILENT_FOR),
            (now @ Self::Says { .. }, _) => (now, FRESH_FOR),
        }
    }

    /// The memory that it holds, nearly.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Says { access, why } => {
                    access.robots().map_or(0, RobotsTxt::memory)
                        + why.as_ref().map_or(0, |why| why.len())
                }
                Self::Silent(outcome) => outcome.held_bytes(),
            }
    }
}
