//! The rules of one agent, in as few bytes as they need: those that decide first come first.

use super::pattern;

/// How many octets a decision looks at. A file within the bounds of reading can have rules that look at
/// twenty times as many, and its author can choose the paths too. None that is written for its purpose comes
/// near it.
pub(super) const STEPS_MAX: usize = 16 << 20;

/// Rules as they are read.
#[derive(Debug, Default)]
pub(super) struct RulesBuilder {
    octets: Vec<u8>,
    rules: Vec<Rule>,
}

/// A rule whose pattern is a part of the builder's octets.
#[derive(Clone, Copy, Debug)]
struct Rule {
    begin: usize,
    end: usize,
    is_anchored: bool,
    is_allow: bool,
}

impl RulesBuilder {
    /// Adds a rule. An empty one decides nothing, and neither does a pattern that no path begins with.
    pub(super) fn add(&mut self, value: &[u8], is_allow: bool) {
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return;
        }
        let begin = self.octets.len();
        let is_anchored = pattern::push_pattern(&mut self.octets, value);
        let rule = Rule { begin, end: self.octets.len(), is_anchored, is_allow };
        self.rules.push(rule);
        if is_allow && !is_anchored {
            self.add_folder_of_index(rule);
        }
    }

    /// Where `/a/index.html` may be fetched, so may `/a/`, which is the same page.
    fn add_folder_of_index(&mut self, rule: Rule) {
        let pattern = &self.octets[rule.begin..rule.end];
        let folder = pattern.strip_suffix(b"/index.html").or(pattern.strip_suffix(b"/index.htm"));
        if let Some(folder) = folder {
            self.rules.push(Rule { end: rule.begin + folder.len() + 1, is_anchored: true, ..rule });
        }
    }

    /// The rules, the most specific first (RFC 9309 §2.2.2). Of two that match alike the first stays, which is
    /// the one that allows; those behind the last one that denies change nothing.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let Self { octets, mut rules } = self;
        let pattern = |rule: &Rule| &octets[rule.begin..rule.end];
        let priority = |rule: &Rule| rule.end - rule.begin + usize::from(rule.is_anchored);
        let spelling =
            |rule: &Rule| (&octets[rule.begin..rule.end], rule.is_anchored, !rule.is_allow);
        rules.sort_unstable_by(|a, b| spelling(a).cmp(&spelling(b)));
        rules.dedup_by(|next, kept| {
            next.is_anchored == kept.is_anchored && pattern(next) == pattern(kept)
        });
        rules.sort_by_key(|rule| (usize::MAX - priority(rule), !rule.is_allow));
        let deciding = rules.iter().rposition(|rule| !rule.is_allow).map_or(0, |last| last + 1);
        let mut bytes = Vec::new();
        for rule in &rules[..deciding] {
            let flags = usize::from(rule.is_anchored) << 1 | usize::from(rule.is_allow);
            push_number(&mut bytes, (rule.end - rule.begin) << 2 | flags);
            bytes.extend_from_slice(pattern(rule));
        }
        bytes
    }
}

/// Seven bits a byte, the last byte without the eighth.
fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A rule as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptRule<'a> {
    pub(super) pattern: &'a [u8],
    pub(super) is_anchored: bool,
    pub(super) is_allow: bool,
}

/// Reads rules that [`RulesBuilder`] wrote.
pub(super) struct KeptRules<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for KeptRules<'a> {
    type Item = KeptRule<'a>;

    fn next(&mut self) -> Option<KeptRule<'a>> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (pattern, rest) = self.0.split_at_checked(number >> 2)?;
        self.0 = rest;
        Some(KeptRule { pattern, is_anchored: number & 2 != 0, is_allow: number & 1 != 0 })
    }
}

/// Whether these rules allow a path in its one spelling, and how many octets were looked at. A path that would
/// take more than [`STEPS_MAX`] is denied.
pub(super) fn decide(rules: &[u8], path: &[u8]) -> (bool, usize) {
    let mut steps = 0;
    for rule in KeptRules(rules) {
        let is_match = pattern::matches(rule.pattern, rule.is_anchored, path, &mut steps);
        if steps > STEPS_MAX {
            return (false, steps);
        }
        if is_match {
            return (rule.is_allow, steps);
        }
    }
    (true, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules in the order in which they are asked.
    fn kept(lines: &[(&str, bool)]) -> Vec<String> {
        let mut builder = RulesBuilder::default();
        for (value, is_allow) in lines {
            builder.add(value.as_bytes(), *is_allow);
        }
        let text = |rule: KeptRule<'_>| {
            let sign = if rule.is_allow { "+" } else { "-" };
            let end = if rule.is_anchored { "$" } else { "" };
            format!("{sign}{}{end}", rule.pattern.escape_ascii())
        };
        KeptRules(&builder.into_bytes()).map(text).collect()
    }

    #[test]
    fn the_most_specific_rule_is_asked_first() {
        let rules = [("/a", false), ("/abc", true), ("/b$", false), ("/bc", true), ("*", false)];
        assert_eq!(kept(&rules), ["+/abc", "+/bc", "-/b$", "-/a", "-*"]);
        let long = ["/", &"x".repeat(5_000)].concat();
        assert_eq!(kept(&[(&long, false)]), [["-", &long].concat()]);
    }

    #[test]
    fn what_decides_nothing_is_not_kept() {
        assert_eq!(
            kept(&[("", false), ("$", false), ("a", false), ("http://a.test/", false)]),
            [""; 0]
        );
        assert_eq!(kept(&[("/a", true), ("/%61", false), ("/a", true)]), [""; 0]);
        assert_eq!(
            kept(&[("/ab", true), ("/a", false), ("/b", true), ("/", true)]),
            ["+/ab", "+/b", "-/a"]
        );
        assert_eq!(kept(&[("/ab", false), ("/ab", false)]), ["-/ab"]);
    }

    #[test]
    fn the_folder_of_an_index_page_may_be_fetched_with_it() {
        let rules = [("/a/index.html", true), ("/b/index.htm", true), ("/", false)];
        assert_eq!(kept(&rules), ["+/a/index.html", "+/b/index.htm", "+/a/$", "+/b/$", "-/"]);
        assert_eq!(kept(&[("/a/index.html$", true), ("/a/index.html", false)]).len(), 2);
    }

    #[test]
    fn a_decision_looks_at_a_bounded_number_of_octets() {
        let mut builder = RulesBuilder::default();
        for number in 0..36_000 {
            builder.add(format!("/*a{number:05}").as_bytes(), true);
        }
        builder.add(b"/*b", false);
        let rules = builder.into_bytes();
        let path = ["/", &"a".repeat(8_000)].concat();
        let (is_allowed, steps) = decide(&rules, path.as_bytes());
        assert!(!is_allowed);
        assert!(steps <= STEPS_MAX + 2 * path.len(), "{steps}");
        // A path of usual length is decided by the rules.
        let path = ["/", &"a".repeat(100)].concat();
        let (is_allowed, steps) = decide(&rules, path.as_bytes());
        assert!(is_allowed);
        assert!(steps <= STEPS_MAX, "{steps}");
    }
}
