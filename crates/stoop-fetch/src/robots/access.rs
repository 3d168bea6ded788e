//! What came of asking for a robots.txt file, and what that allows (RFC 9309 §2.3.1).

use std::time::Duration;

use super::{RobotsTxt, is_robots_txt, pattern};

/// How long an [`Access`] is used before the site is asked again (RFC 9309 §2.4). A longer `max-age` of the
/// response does not lengthen it.
pub const FRESH_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// How many redirects are followed to a robots.txt file, one after the other (RFC 9309 §2.3.1.2).
pub const REDIRECTS_MAX: u16 = 5;

/// What a site allows, by what came of asking it for its robots.txt.
///
/// | what came | what it is | what may be fetched |
/// |---|---|---|
/// | 2xx with its content | [`Rules`](Self::Rules), §2.3.1.1 | what the file says |
/// | 3xx: more than [`REDIRECTS_MAX`], or a redirect to nowhere | [`Unavailable`](Self::Unavailable), §2.3.1.2 | everything |
/// | 4xx but 429 | [`Unavailable`](Self::Unavailable), §2.3.1.3 | everything |
/// | 429 | [`Unreachable`](Self::Unreachable) | nothing |
/// | 5xx | [`Unreachable`](Self::Unreachable), §2.3.1.4 | nothing |
/// | no response, or not all of its content | [`Unreachable`](Self::Unreachable), §2.3.1.4 | nothing |
/// | any other status | [`Unreachable`](Self::Unreachable) | nothing |
///
/// 429 is of the 4xx, but who sends it says that there are too many requests, not that there is no file: that
/// must not lead to more of them. Google reads it so too. 401 and 403 are as 404, as the RFC has it.
///
/// RFC 9309 §2.3.1.4 lets a site that was unreachable for a long time, such as 30 days, be taken for one without
/// a file. That is not done: nothing is fetched from it until it says what it allows. What it said before may be
/// used as long as it is unreachable: see [`renewed`](Self::renewed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// There is a file.
    Rules(RobotsTxt),
    /// There is none for this agent. Everything may be fetched.
    Unavailable,
    /// It is not known whether there is one. Nothing may be fetched, but the file itself.
    Unreachable,
}

impl Access {
    /// What a final response says, which is none that a redirect was followed from. The content is what was
    /// received of it up to [`RobotsTxt::BYTES_MAX`] or to its end; one that broke off before is no response, but
    /// [`Unreachable`](Self::Unreachable).
    ///
    /// ```
    /// use stoop_fetch::robots::Access;
    ///
    /// let allows = |status| Access::from_response(status, b"", "examplebot").is_allowed("/");
    /// assert!(allows(200) && allows(404) && allows(403) && allows(308));
    /// assert!(!allows(500) && !allows(503) && !allows(429));
    /// ```
    pub fn from_response(status: u16, content: &[u8], agent: &str) -> Self {
        match status {
            200..=299 => Self::Rules(RobotsTxt::parse(content, agent)),
            429 => Self::Unreachable,
            300..=499 => Self::Unavailable,
            _ => Self::Unreachable,
        }
    }

    /// Whether a path may be fetched: see [`RobotsTxt::is_allowed`].
    pub fn is_allowed(&self, path_and_query: &str) -> bool {
        match self {
            Self::Rules(robots) => robots.is_allowed(path_and_query),
            Self::Unavailable => true,
            Self::Unreachable => is_robots_txt(&pattern::path(path_and_query)),
        }
    }

    /// How long to wait between two requests: see [`RobotsTxt::crawl_delay`].
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.robots().and_then(RobotsTxt::crawl_delay)
    }

    /// The URLs of sitemaps: see [`RobotsTxt::sitemaps`].
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.robots().into_iter().flat_map(RobotsTxt::sitemaps)
    }

    /// The file, if there is one.
    pub fn robots(&self) -> Option<&RobotsTxt> {
        match self {
            Self::Rules(robots) => Some(robots),
            Self::Unavailable | Self::Unreachable => None,
        }
    }

    /// What holds after the site was asked again: what it says now, or if it is unreachable what it said before
    /// (RFC 9309 §2.4), which is still to be renewed.
    ///
    /// ```
    /// use stoop_fetch::robots::Access;
    ///
    /// let access = Access::from_response(200, b"User-agent: *\nDisallow: /a", "examplebot");
    /// let access = access.renewed(Access::Unreachable);
    /// assert!(access.is_allowed("/b") && !access.is_allowed("/a"));
    /// let access = access.renewed(Access::Unavailable);
    /// assert!(access.is_allowed("/a"));
    /// ```
    #[must_use]
    pub fn renewed(self, newer: Self) -> Self {
        match newer {
            Self::Unreachable => self,
            newer => newer,
        }
    }
}
