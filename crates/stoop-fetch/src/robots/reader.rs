//! Which records of a file concern an agent.

use std::num::IntErrorKind;

use super::line::{Directive, Record, is_space};
use super::rules::RulesBuilder;

/// Reads records one after the other, and keeps those of the agent's groups and of the groups for all.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    agent: &'a str,
    /// Whether the user-agent lines of the group so far name the agent, and all.
    names_agent: bool,
    names_all: bool,
    /// Whether a rule ended the user-agent lines of the group.
    had_rule: bool,
    /// What concerns the agent by its name, from the first group that has it.
    own: Option<Part>,
    for_all: Part,
    sitemaps: Vec<u8>,
}

#[derive(Debug, Default)]
struct Part {
    rules: RulesBuilder,
    crawl_delay_ms: Option<u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(agent: &'a str) -> Self {
        Self {
            agent,
            names_agent: false,
            names_all: false,
            had_rule: false,
            own: None,
            for_all: Part::default(),
            sitemaps: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, (directive, value): Record<'_>) {
        match directive {
            Directive::UserAgent => self.read_agent(value),
            Directive::Allow => self.read_rule(value, true),
            Directive::Disallow => self.read_rule(value, false),
            // It ends no user-agent lines: what is no rule must not change how rules are read (RFC 9309 §2.2.4).
            Directive::CrawlDelay => {
                if let (Some(delay), Some(part)) = (milliseconds(value), self.part()) {
                    part.crawl_delay_ms = part.crawl_delay_ms.max(Some(delay));
                }
            }
            Directive::Sitemap => {
                self.sitemaps.extend_from_slice(String::from_utf8_lossy(value).as_bytes());
                self.sitemaps.push(b'\n');
            }
        }
    }

    fn read_agent(&mut self, value: &[u8]) {
        if self.had_rule {
            (self.names_agent, self.names_all, self.had_rule) = (false, false, false);
        }
        if let [b'*', rest @ ..] = value {
            self.names_all |= rest.first().is_none_or(|next| is_space(*next));
        } else if is_about(value, self.agent) {
            self.names_agent = true;
            // The groups for all are for others from here on (§2.2.1).
            if self.own.is_none() {
                (self.own, self.for_all) = (Some(Part::default()), Part::default());
            }
        }
    }

    fn read_rule(&mut self, value: &[u8], is_allow: bool) {
        self.had_rule = true;
        if let Some(part) = self.part() {
            part.rules.add(value, is_allow);
        }
    }

    /// Where the lines of this group belong.
    fn part(&mut self) -> Option<&mut Part> {
        match &mut self.own {
            Some(own) => self.names_agent.then_some(own),
            None => self.names_all.then_some(&mut self.for_all),
        }
    }

    /// The rules and the sitemaps, as they are kept, and the delay in milliseconds.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>, Option<u32>) {
        let part = self.own.unwrap_or(self.for_all);
        (part.rules.into_bytes(), self.sitemaps, part.crawl_delay_ms)
    }
}

/// Whether the token that a user-agent line begins with is the agent's.
fn is_about(value: &[u8], agent: &str) -> bool {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = value.iter().position(|byte| !is_of_token(byte)).unwrap_or(value.len());
    end > 0 && value[..end].eq_ignore_ascii_case(agent.as_bytes())
}

/// A number of seconds, with a fraction if it has a point, in milliseconds, of which a part counts as one. What is
/// too large is the largest.
fn milliseconds(value: &[u8]) -> Option<u32> {
    let value = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let seconds = match whole.parse::<u32>() {
        Ok(seconds) => seconds,
        Err(error) if *error.kind() == IntErrorKind::Empty => 0,
        Err(_) => u32::MAX,
    };
    let (thousandths, rest) = fraction.split_at(fraction.len().min(3));
    let thousandths: u32 = format!("{thousandths:0<3}").parse().ok()?;
    let part = u32::from(rest.bytes().any(|digit| digit != b'0'));
    Some(seconds.saturating_mul(1_000).saturating_add(thousandths + part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_seconds_with_or_without_a_fraction() {
        for (value, expected) in [
            ("10", Some(10_000)),
            ("0", Some(0)),
            ("1.5", Some(1_500)),
            ("1.", Some(1_000)),
            (".25", Some(250)),
            ("0.0001", Some(1)),
            ("2.0000", Some(2_000)),
            ("007", Some(7_000)),
            ("4294967296", Some(u32::MAX)),
            ("99999999999999999999.9", Some(u32::MAX)),
            ("", None),
            (".", None),
            ("-1", None),
            ("+1", None),
            ("1,5", None),
            ("1e3", None),
            ("10 s", None),
            ("1.2.3", None),
            ("inf", None),
        ] {
            assert_eq!(milliseconds(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_line_is_about_the_token_that_it_begins_with() {
        for (value, agent, expected) in [
            ("FooBot", "foobot", true),
            ("foobot/2.1", "FooBot", true),
            ("foobot bar", "foobot", true),
            ("foobots", "foobot", false),
            ("foo", "foobot", false),
            ("foobot2", "foobot", false),
            ("foobot2", "foobot2", true),
            ("foobot*", "foobot", true),
            ("*foobot", "foobot", false),
            ("", "", false),
            ("/", "", false),
            ("foo bar", "foo bar", false),
        ] {
            assert_eq!(is_about(value.as_bytes(), agent), expected, "{value:?} {agent:?}");
        }
    }
}
