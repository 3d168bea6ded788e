//! What came of asking an origin for its robots.txt.

use crate::robots::{Access, RobotsTxt};

/// What a robots.txt file came to.
pub(crate) struct RobotsAnswer {
    pub(crate) access: Access,
    /// Why it is not known what is allowed, for people.
    pub(crate) why: Option<Box<str>>,
}

impl RobotsAnswer {
    /// The memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let robots = self.access.robots().map_or(0, RobotsTxt::memory);
        robots + self.why.as_ref().map_or(0, |why| why.len()) + size_of::<Self>()
    }
}
