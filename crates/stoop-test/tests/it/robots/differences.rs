//! Where protego decides otherwise, and why. Each reason is a rewriting of files and paths that says in protego's
//! words what we read in them: for us it must change nothing, and for protego it must make the difference.

use super::files::Case;

pub(super) struct Difference {
    /// What we do, and by what section of RFC 9309; or by google/robotstxt, where the RFC leaves it open.
    pub(super) name: &'static str,
    pub(super) rewrite: fn(&Case) -> Case,
}

/// In an order in which they can be applied one after the other.
pub(super) const DIFFERENCES: &[Difference] = &[
    Difference { name: "§2.2: a line ends at a NUL", rewrite: at_nul },
    Difference {
        name: "§2.2: lines end with CR and LF alone, and white space is ASCII",
        rewrite: line_ends,
    },
    Difference { name: "§2.3: a byte order mark is passed over", rewrite: byte_order_mark },
    Difference { name: "§2.2.2: octets that are no UTF-8 are compared by value", rewrite: octets },
    Difference { name: "google: without a colon a line has two words", rewrite: two_words },
    Difference { name: "google: names count by how they begin", rewrite: names },
    Difference { name: "§2.2.4: other records end no group", rewrite: other_records },
    Difference { name: "§2.2.1: tokens are compared whole", rewrite: tokens },
    Difference { name: "§2.2: a pattern begins with a slash, and a URL is none", rewrite: urls },
    Difference { name: "google: index.htm is as index.html", rewrite: index_pages },
    Difference { name: "§2.2.3: a `$` at the end is not verbatim too", rewrite: dollars },
    Difference { name: "§2.2.2: a reserved character is one octet of a match", rewrite: reserved },
];

const AGENT: &[&str] = &["user-agent", "useragent", "user agent"];
const RULE: &[&str] =
    &["allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"];
const SITE: &[&str] = &["sitemap", "host"];

/// A line's name in lower case and its value. It has a colon, or no name without one.
fn split(line: &[u8]) -> Option<(String, Vec<u8>)> {
    let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
    let colon = line.iter().position(|byte| *byte == b':');
    let word = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let name = |at: usize| String::from_utf8_lossy(line[..at].trim_ascii()).to_lowercase();
    let begins = |names: &[&str]| names.iter().any(|known| name(word).starts_with(known));
    let next = line[word..].trim_ascii_start();
    if (begins(AGENT) || begins(RULE) || begins(SITE))
        && !next.starts_with(b":")
        && word < colon.unwrap_or(usize::MAX)
    {
        return Some((name(word), next.to_vec()));
    }
    let colon = colon?;
    Some((name(colon), line[colon + 1..].trim_ascii().to_vec()))
}

fn rewrite_lines(case: &Case, rewrite: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Case {
    let lines = case.file.split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(rewrite);
    Case { file: lines.collect::<Vec<_>>().join(&b'\n'), ..case.clone() }
}

/// Rewrites the values of rules, as text; of `None` the line goes.
fn rewrite_rules(case: &Case, rewrite: impl Fn(&str, String) -> Option<String>) -> Case {
    rewrite_lines(case, |line| match split(line) {
        Some((name, value)) if RULE.iter().any(|rule| name.starts_with(rule)) => {
            match String::from_utf8(value) {
                Ok(value) => Some(format!("{name}: {}", rewrite(&name, value)?).into_bytes()),
                Err(_) => Some(line.to_vec()),
            }
        }
        _ => Some(line.to_vec()),
    })
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut rest, mut replaced) = (bytes, Vec::new());
    while let Some((first, after)) = rest.split_first() {
        match rest.strip_prefix(from) {
            Some(after) => (rest, _) = (after, replaced.extend_from_slice(to)),
            None => (rest, _) = (after, replaced.push(*first)),
        }
    }
    replaced
}

fn at_nul(case: &Case) -> Case {
    rewrite_lines(case, |line| line.split(|byte| *byte == 0).next().map(<[u8]>::to_vec))
}

fn line_ends(case: &Case) -> Case {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    rewrite_lines(case, |line| {
        let end = line.iter().rposition(|byte| !is_space(byte)).map_or(0, |last| last + 1);
        let (name, value) =
            line[..end].split_at(line.iter().position(|byte| *byte == b':').map_or(0, |at| at + 1));
        let value = &value[value.iter().take_while(|byte| is_space(byte)).count()..];
        let odd: [(&[u8], &[u8]); 4] = [
            (b"\x0b", b"%0B"),
            (b"\xc2\x85", b"%C2%85"),
            (b"\xe2\x80\xa8", b"%E2%80%A8"),
            (b"\xc2\xa0", b"%C2%A0"),
        ];
        let value = odd.iter().fold(value.to_vec(), |value, (from, to)| replace(&value, from, to));
        Some([name, &value].concat())
    })
}

fn byte_order_mark(case: &Case) -> Case {
    let file = case.file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.file);
    Case { file: file.to_vec(), ..case.clone() }
}

/// %FF and %FE become octets that protego does not replace, and that are no shorter.
fn octets(case: &Case) -> Case {
    let spelt = |text: &[u8]| {
        let odd: [(&[u8], &[u8]); 3] = [(b"\xff", b"%01"), (b"%FF", b"%01"), (b"%fe", b"%02")];
        odd.iter().fold(text.to_vec(), |text, (from, to)| replace(&text, from, to))
    };
    let paths = case.paths.iter().map(|path| String::from_utf8(spelt(path.as_bytes())).unwrap());
    Case { file: spelt(&case.file), paths: paths.collect(), ..case.clone() }
}

fn two_words(case: &Case) -> Case {
    rewrite_lines(case, |line| {
        let text = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        (text.contains(&b':') || words == 2).then(|| line.to_vec())
    })
}

fn names(case: &Case) -> Case {
    rewrite_lines(case, |line| {
        let Some((name, value)) = split(line) else { return Some(line.to_vec()) };
        let known = AGENT.iter().chain(RULE).find(|known| name.starts_with(**known));
        let line = known.map(|known| [known.as_bytes(), b": ", &value].concat());
        Some(line.unwrap_or_else(|| [name.as_bytes(), b": ", &value].concat()))
    })
}

fn other_records(case: &Case) -> Case {
    rewrite_lines(case, |line| {
        let (name, _) = split(line)?;
        let known = AGENT.iter().chain(RULE).chain(SITE).any(|known| name.starts_with(known));
        known.then(|| line.to_vec())
    })
}

fn tokens(case: &Case) -> Case {
    rewrite_lines(case, |line| match split(line) {
        Some((name, value)) if AGENT.iter().any(|agent| name.starts_with(agent)) => {
            let is_of_token =
                |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            let token = &value[..value.iter().take_while(is_of_token).count()];
            let about = match &value[..] {
                b"*" | [b'*', b' ' | b'\t', ..] => "*",
                _ if token.eq_ignore_ascii_case(case.agent.as_bytes()) => case.agent,
                _ => "other",
            };
            Some(format!("{name}: {about}").into_bytes())
        }
        _ => Some(line.to_vec()),
    })
}

/// What is no pattern is still a rule.
fn urls(case: &Case) -> Case {
    rewrite_rules(case, |_, value| {
        Some(if value.starts_with("http") { String::new() } else { value })
    })
}

fn index_pages(case: &Case) -> Case {
    rewrite_rules(case, |name, value| match value.strip_suffix("index.htm") {
        Some(folder) if name.starts_with("allow") && folder.ends_with('/') => {
            Some(format!("{value}\n{name}: {folder}$"))
        }
        _ => Some(value),
    })
}

/// `text` with letters for characters in each spelling: letters of which there are none, and that are no digits.
fn with_letters(text: &str, letters: &[(&str, &[&str])]) -> String {
    letters.iter().fold(text.to_owned(), |text, (letter, spellings)| {
        spellings.iter().fold(text, |text, spelling| text.replace(spelling, letter))
    })
}

fn dollars(case: &Case) -> Case {
    const DOLLAR: &[(&str, &[&str])] = &[("Z", &["$", "%24"])];
    let paths = case.paths.iter().map(|path| with_letters(path, DOLLAR)).collect();
    let case = rewrite_rules(case, |_, value| {
        Some(match value.strip_suffix('$') {
            Some(value) => with_letters(value, DOLLAR) + "$",
            None => with_letters(&value, DOLLAR),
        })
    });
    Case { paths, ..case }
}

fn reserved(case: &Case) -> Case {
    const RESERVED: &[(&str, &[&str])] =
        &[("Q", &["?", "%3F"]), ("N", &["&"]), ("J", &["%3D", "="]), ("K", &[":", "%3a", "%3A"])];
    let paths = case.paths.iter().map(|path| with_letters(path, RESERVED)).collect();
    let case = rewrite_rules(case, |_, value| Some(with_letters(&value, RESERVED)));
    Case { paths, ..case }
}
