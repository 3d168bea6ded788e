//! robots.txt (RFC 9309) and X-Robots-Tag: what a site asks of programs that fetch it.
//!
//! Nothing here fetches. A caller asks a site for `/robots.txt`, makes an [`Access`] of what came of it, keeps
//! that for [`FRESH_FOR`], and asks it about each path. What is kept is the part that concerns one agent, in a
//! form that is about as long as that part of the file was, or nothing where all is allowed.
//!
//! ```
//! use stoop_fetch::robots::Access;
//!
//! let file = b"User-agent: *\nDisallow: /private/\nAllow: /private/*.html$\nCrawl-delay: 0.5\n";
//! let access = Access::from_response(200, file, "examplebot");
//! assert!(access.is_allowed("/"));
//! assert!(!access.is_allowed("/private/list?page=2"));
//! assert!(access.is_allowed("/private/index.html"));
//! assert_eq!(access.crawl_delay(), Some(std::time::Duration::from_millis(500)));
//!
//! // A site that cannot say what it allows allows nothing.
//! assert!(!Access::from_response(503, b"", "examplebot").is_allowed("/"));
//! ```
//!
//! # Fetching it
//!
//! The file is at `/robots.txt` of the same scheme, host and port, and is fetched whatever it says. A redirect is
//! followed, five times and to other hosts too; what is found there counts for the site that was asked first
//! (RFC 9309 §2.3.1.2). No more than [`RobotsTxt::BYTES_MAX`] need be read of the content. A page has more to say
//! when it is fetched: see [`RobotsTag`]. `<meta name="robots">` is in the content, which is not read here;
//! [`Extract::Robots`](crate::Extract::Robots) does.
//!
//! # What is taken for a rule
//!
//! What RFC 9309 says, and where it leaves the choice, or files are commonly wrong, what google/robotstxt does:
//!
//! - a directive counts by how its name begins, so that `Disallowed: /` denies; `useragent`, `user agent`,
//!   `dissallow`, `dissalow`, `disalow`, `diasllow`, `disallaw` and `site-map` are known; a colon may be missing
//!   between two words;
//! - the token of a user-agent line ends before the first character that is none of a token, so that
//!   `User-agent: Examplebot/2.1` is about `examplebot`; digits may be in one, as they are in the names of many;
//! - a line ends with CR, LF or both, before a `#` or a NUL, and after 16,663 bytes;
//! - a byte order mark, or what there is of one, is passed over;
//! - where `/a/index.html` or `/a/index.htm` is allowed, `/a/` is too;
//! - a group goes on until a user-agent line that follows a rule. `Crawl-delay` is none (§2.2.4): it counts for
//!   the user-agent lines above it, and of several the longest holds.
//!
//! Paths are compared in one spelling (§2.2.2): `%7E` is `~`, `%3A` is `:`, `ü` is `%C3%BC`. But `%2F` is not `/`.
//! The length of a rule, by which the most specific is chosen, is that of this spelling with its `*` and `$`. A
//! path is never read in another way than it is given: case counts, and `/a/../b` begins with `/a/`.

mod access;
mod line;
mod pattern;
mod reader;
mod rules;
mod tag;

use std::fmt;
use std::time::Duration;

use self::reader::Reader;
use self::rules::KeptRules;

pub use self::access::{Access, FRESH_FOR, REDIRECTS_MAX};
pub use self::tag::{ImagePreview, RobotsTag};

/// What a robots.txt file says to one agent.
///
/// ```
/// use stoop_fetch::robots::RobotsTxt;
///
/// let file = b"User-agent: examplebot\nDisallow: /cart\n\nUser-agent: *\nDisallow: /\n\nSitemap: https://a.test/s.xml";
/// let robots = RobotsTxt::parse(file, "ExampleBot");
/// assert!(robots.is_allowed("/cars"));
/// assert!(!robots.is_allowed("/cart?add=1"));
/// assert_eq!(robots.sitemaps().collect::<Vec<_>>(), ["https://a.test/s.xml"]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RobotsTxt {
    /// The rules, and the sitemaps with a line feed between each.
    data: Box<[u8]>,
    rules_len: u32,
    crawl_delay_ms: Option<u32>,
}

impl RobotsTxt {
    /// How many bytes of a file are read, 500 KiB (RFC 9309 §2.5), and a byte order mark. What is behind them is
    /// ignored, and so is the line in which they end.
    pub const BYTES_MAX: usize = line::BYTES_MAX;

    /// Reads what a file says to `agent`, which is a product token (see [`is_product_token`]) in any case. Of
    /// another text no user-agent line but `*` is about it. Nothing is an error: a file without a record, such as
    /// a page that says "not found" with status 200, allows everything.
    pub fn parse(file: &[u8], agent: &str) -> Self {
        let mut reader = Reader::new(agent);
        line::records(file).for_each(|record| reader.read(record));
        let (rules, sitemaps, crawl_delay_ms) = reader.finish();
        // The bound of reading keeps it far below: an octet of the file takes six at most.
        let rules_len = rules.len() as u32;
        Self { data: [rules, sitemaps].concat().into(), rules_len, crawl_delay_ms }
    }

    /// Whether a path may be fetched. It is what stands in a request: `/path?query`; without a slash in front one
    /// is assumed, and a fragment is ignored. `/robots.txt` may always be fetched.
    ///
    /// It takes time in proportion to the octets of rules and path, each rule with an asterisk once over the path,
    /// up to 16 Mi octets in total. A path that would take more, by rules that were made for that, is denied.
    pub fn is_allowed(&self, path_and_query: &str) -> bool {
        if self.rules_len == 0 {
            return true;
        }
        let path = pattern::path(path_and_query);
        is_robots_txt(&path) || rules::decide(self.rules(), &path).0
    }

    /// How long to wait between two requests, where the file asks for it. It may be as long as 49 days, or zero.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay_ms.map(|delay| Duration::from_millis(delay.into()))
    }

    /// The URLs of sitemaps, for whatever agent, as they are written there. They may be of other hosts.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        let sitemaps = &self.data[self.rules_len as usize..];
        let lines = sitemaps.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.filter_map(|line| std::str::from_utf8(line).ok())
    }

    /// The same without its sitemaps, for those who keep many and have no use for these.
    #[must_use]
    pub fn without_sitemaps(mut self) -> Self {
        if self.data.len() > self.rules_len as usize {
            self.data = self.rules().into();
        }
        self
    }

    /// How many bytes of memory it takes, itself included.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.data.len()
    }

    fn rules(&self) -> &[u8] {
        &self.data[..self.rules_len as usize]
    }
}

/// The rules in the order in which they are asked.
impl fmt::Debug for RobotsTxt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = KeptRules(self.rules()).map(|rule| {
            let name = if rule.is_allow { "Allow" } else { "Disallow" };
            let end = if rule.is_anchored { "$" } else { "" };
            format!("{name}: {}{end}", rule.pattern.escape_ascii())
        });
        f.debug_struct("RobotsTxt")
            .field("rules", &rules.collect::<Vec<_>>())
            .field("crawl_delay", &self.crawl_delay())
            .field("sitemaps", &self.sitemaps().collect::<Vec<_>>())
            .finish()
    }
}

/// Whether a text is a product token as RFC 9309 §2.2.1 has it: letters, `_` and `-`. It should be a part of the
/// User-Agent that is sent, and be sent without what stands around it there.
///
/// ```
/// use stoop_fetch::robots::is_product_token;
///
/// assert!(is_product_token("ExampleBot"));
/// assert!(!is_product_token("ExampleBot/2.1"));
/// ```
pub fn is_product_token(text: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_of_token)
}

/// Whether a path in its one spelling is that of the file itself, with whatever query.
fn is_robots_txt(path: &[u8]) -> bool {
    path.strip_prefix(b"/robots.txt").is_some_and(|rest| matches!(rest.first(), None | Some(b'?')))
}
