//! What records tell of responses when it is asked for: the title of a page, the software of a server, its certificate
//! and the like. What only the head says is read with it; of content no more than a beginning is looked at.

mod charset;
mod facts;
mod favicon;
mod kind;
mod meta_robots;
mod sniff;
mod title;
#[cfg(feature = "tls")]
mod tls;

use bytes::Bytes;
use stoop::{Charset, Fields, Response};

use self::charset::charset;
pub use self::facts::{ChainHop, Extract, Extracted, TlsDetails};
use self::favicon::favicon_hash;
use self::kind::TextKind;
use self::meta_robots::meta_robots;
use self::sniff::sniff;
use self::title::title;
use crate::capture::Capture;
use crate::mask;
use crate::robots::RobotsTag;

/// How much of content is looked at, but for [`Extract::Favicon`]: more than the head of nearly every page.
pub(crate) const BEGINNING_BYTES: usize = 256 << 10;
/// The longest content that has a [`favicon_hash`](Extracted::favicon_hash): icons have some 10 KiB.
pub(crate) const FAVICON_BYTES_MAX: usize = 1 << 20;

/// Which facts are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extraction {
    facts: u16,
    /// The agent that rules for robots are told of, beside those for all.
    agent: Box<str>,
}

impl FromIterator<Extract> for Extraction {
    fn from_iter<I: IntoIterator<Item = Extract>>(facts: I) -> Self {
        let facts = facts.into_iter().fold(0, |all, fact| all | 1 << fact as u16);
        Self { facts, agent: Box::default() }
    }
}

impl Extraction {
    /// The same, with the rules for this agent.
    pub(crate) fn for_agent(self, agent: &str) -> Self {
        Self { agent: agent.into(), ..self }
    }

    pub(crate) fn has(&self, fact: Extract) -> bool {
        self.facts & 1 << fact as u16 != 0
    }

    /// How many bytes of content are needed for it.
    pub(crate) fn content_bytes(&self) -> usize {
        let of_beginning = [Extract::Title, Extract::Type, Extract::Charset, Extract::Robots];
        match of_beginning.into_iter().any(|fact| self.has(fact)) {
            // One more, to know of longer content that it is.
            _ if self.has(Extract::Favicon) => FAVICON_BYTES_MAX + 1,
            true => BEGINNING_BYTES,
            false => 0,
        }
    }

    /// What the head of a response tells.
    pub(crate) fn of_head(&self, response: &Response) -> Option<Box<Extracted>> {
        if self.facts == 0 {
            return None;
        }
        let text = |name: &str| response.field(name).map(String::from_utf8_lossy);
        Some(Box::new(Extracted {
            server: text("server").filter(|_| self.has(Extract::Server)).map(Into::into),
            content_length: text("content-length")
                .filter(|_| self.has(Extract::Length))
                .and_then(|length| length.parse().ok()),
            robots: self.robots(response.fields(), &[]),
            chain: if self.has(Extract::Chain) { chain(response) } else { Vec::new() },
            #[cfg(feature = "tls")]
            tls: self.has(Extract::Tls).then(|| tls::details(response)).flatten(),
            ..Extracted::default()
        }))
    }

    /// Adds what the content of a response tells.
    pub(crate) fn add_content(&self, extracted: &mut Extracted, capture: &Capture) {
        let content = &capture.content;
        if self.content_bytes() == 0 || content.is_empty() {
            return;
        }
        let content_type = capture.fields.first("content-type");
        let beginning = &content[..content.len().min(BEGINNING_BYTES)];
        let sniffed = sniff(beginning);
        let kind = TextKind::of(content_type, sniffed).unless_encoded(&capture.fields);
        if self.has(Extract::Type) {
            extracted.sniffed_type = Some(sniffed);
        }
        if [Extract::Charset, Extract::Title, Extract::Robots].iter().any(|fact| self.has(*fact)) {
            let charset = charset(kind, content_type, beginning);
            extracted.charset = charset.filter(|_| self.has(Extract::Charset)).map(Charset::name);
            let charset = charset.unwrap_or(Charset::UTF_8);
            if self.has(Extract::Title) {
                extracted.title = title(kind, charset, beginning);
            }
            if self.has(Extract::Robots) {
                let metas = meta_robots(kind, charset, beginning, &self.agent);
                extracted.robots = self.robots(&capture.fields, &metas);
                extracted.meta_robots = Some(metas.join(", ")).filter(|metas| !metas.is_empty());
            }
        }
        let is_whole = capture.truncated.is_none() && content.len() <= FAVICON_BYTES_MAX;
        let is_whole = is_whole && !kind::is_encoded(&capture.fields);
        if self.has(Extract::Favicon) && is_whole && kind::is_image(content_type, sniffed) {
            extracted.favicon_hash = Some(favicon_hash(content));
        }
    }

    /// What the fields of a response and the elements of a page say to robots, if that is asked for.
    fn robots(&self, fields: &Fields, metas: &[String]) -> Option<String> {
        if !self.has(Extract::Robots) {
            return None;
        }
        let said = fields.all("x-robots-tag").chain(metas.iter().map(String::as_bytes));
        let rules = RobotsTag::parse(said, &self.agent).to_string();
        Some(rules).filter(|rules| !rules.is_empty())
    }
}

/// The content of text in another encoding than UTF-8, in UTF-8; none of all else.
pub(crate) fn text_as_utf8(capture: &Capture) -> Option<Bytes> {
    let content = &capture.content;
    let content_type = capture.fields.first("content-type");
    let kind = TextKind::of(content_type, sniff(content)).unless_encoded(&capture.fields);
    let charset = charset(kind, content_type, content).filter(|it| *it != Charset::UTF_8)?;
    Some(charset.decode(content).into_owned().into())
}

/// The responses that led to this one, and it itself; none where it is the only one.
fn chain(response: &Response) -> Vec<ChainHop> {
    let history = response.history();
    if history.is_empty() {
        return Vec::new();
    }
    let hop = |status: stoop::StatusCode, url: &str| ChainHop {
        status: status.as_u16(),
        url: mask::text(url).into_owned(),
    };
    let last = hop(response.status(), response.url().unwrap_or_default());
    history.iter().map(|past| hop(past.status(), past.url())).chain([last]).collect()
}

#[cfg(test)]
mod tests;
