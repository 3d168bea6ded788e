//! Random robots.txt files and paths, with all that is common in them and much that is not.

use stoop_test::random::Random;

/// A file, who asks, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) file: Vec<u8>,
    pub(super) agent: &'static str,
    pub(super) paths: Vec<String>,
}

const AGENTS: &[&str] = &["foo", "foobot", "bar-bot", "a_b"];

const AGENT_VALUES: &[&str] = &[
    "*",
    "*",
    "*",
    "foo",
    "foo",
    "Foo",
    "foobot",
    "foobot",
    "FooBot",
    "bar-bot",
    "a_b",
    "A_B",
    "foo/1.0",
    "foobot bar",
    "foo*",
    "*foo",
    "foo*bot",
    "* all",
    "",
    "bot",
    "mozilla",
    "foo2",
];

const ALLOWS: &[&str] = &["Allow", "Allow", "Allow", "allow", "ALLOW", "Allowed"];

const DISALLOWS: &[&str] = &[
    "Disallow",
    "Disallow",
    "Disallow",
    "Disallow",
    "Disallow",
    "disallow",
    "DISALLOW",
    "Dissallow",
    "Disalow",
    "diasllow",
    "disallaw",
    "Disallowed",
];

const USER_AGENTS: &[&str] = &[
    "User-agent",
    "User-agent",
    "User-Agent",
    "user-agent",
    "Useragent",
    "User agent",
    "User-agents",
];

const OTHERS: &[&str] = &[
    "Crawl-delay: 5",
    "crawl-delay: 0.5",
    "Crawl delay 2",
    "Sitemap: http://a.test/s.xml",
    "sitemap http://a.test/s",
    "Host: a.test",
    "Noindex: /a",
    "Clean-param: a /b",
    "x",
    "Disallow",
    "User-agent",
    "<html>",
    ":",
    "#",
    "",
    "  ",
];

const SEPARATORS: &[&str] = &[": ", ": ", ": ", ": ", ":", " : ", ":\t", " ", "\t"];

/// What patterns and paths are made of.
const PARTS: &[&str] = &[
    "a", "a", "b", "b", "c", "/", "/", "/", ".", "~", "-", "%61", "%7e", "?", "?", "&", "=", "%3D",
    ":", "%3a", "%3F", "%2F", "%2f", "%25", "%", "%zz", "\u{e9}", "%C3%A9", "%c3%a9", "%FF", "%fe",
    "*", "%2A", "$", "%24", "//", "%20",
];

/// What is in no path, or ends a line elsewhere.
const ODDITIES: &[&[u8]] =
    &[b"\0", b"\x0b", b"\xc2\x85", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xff", b" b", b"\t"];

const LINE_ENDS: &[&str] = &["\n", "\n", "\r\n", "\r"];

pub(super) fn case(seed: u64) -> Case {
    let random = &mut Random::new(seed);
    let mut patterns = Vec::new();
    let mut file = Vec::new();
    if random.one_in(40) {
        file.extend_from_slice(b"\xef\xbb\xbf");
    }
    let line_end = random.pick(LINE_ENDS);
    for _ in 0..2 + random.below(14) {
        file.extend(line(random, &mut patterns));
        let end = if random.one_in(12) { random.pick(LINE_ENDS) } else { line_end };
        file.extend_from_slice(end.as_bytes());
    }
    let paths = (0..10).map(|_| path(random, &patterns)).collect();
    let agent: &&'static str = random.pick(AGENTS);
    Case { file, agent, paths }
}

fn line(random: &mut Random, patterns: &mut Vec<String>) -> Vec<u8> {
    let (name, mut value) = match random.below(10) {
        0..3 => (random.pick(USER_AGENTS), (*random.pick(AGENT_VALUES)).to_owned()),
        3..9 => {
            let names = if random.one_in(3) { ALLOWS } else { DISALLOWS };
            let name = random.pick(names);
            patterns.push(pattern(random));
            (name, patterns.last().cloned().unwrap_or_default())
        }
        _ => return random.pick(OTHERS).as_bytes().to_vec(),
    };
    if random.one_in(15) {
        value += " # a: comment";
    }
    let mut line = [name, *random.pick(SEPARATORS), &value].concat().into_bytes();
    if random.one_in(60) {
        let at = line.len() - random.below(value.len().min(3) + 1);
        line.splice(at..at, random.pick(ODDITIES).iter().copied());
    }
    line
}

fn pattern(random: &mut Random) -> String {
    let first = *random.pick(&["/", "/", "/", "/", "/", "/", "*", "/*", "", "http://a/"]);
    let last = *random.pick(&["", "", "", "", "", "$", "$", "*", "/index.html", "/index.htm"]);
    if random.one_in(20) {
        return String::new();
    }
    [first, &parts(random, 5), last].concat()
}

fn parts(random: &mut Random, most: usize) -> String {
    (0..random.below(most + 1)).map(|_| *random.pick(PARTS)).collect()
}

/// A path, which as a rule is made to match a pattern or nearly.
fn path(random: &mut Random, patterns: &[String]) -> String {
    if random.one_in(30) {
        return (*random.pick(&["/robots.txt", "/robots.txt?a", "/robots.txts"])).to_owned();
    }
    if patterns.is_empty() || random.one_in(4) {
        return ["/", &parts(random, 6)].concat();
    }
    let pattern = random.pick(patterns);
    let mut path: String = pattern.split('*').fold(String::new(), |path, part| {
        if path.is_empty() {
            part.to_owned()
        } else {
            [path, parts(random, 2), part.to_owned()].concat()
        }
    });
    if path.ends_with('$') && !random.one_in(4) {
        path.pop();
    }
    match random.below(6) {
        0 => path += &parts(random, 3),
        1 => path = path.replace("index.html", "").replace("index.htm", ""),
        2 => path = path.replace("%61", "a").replace(':', "%3A").replace("%C3%A9", "\u{e9}"),
        _ => {}
    }
    if path.starts_with('/') { path } else { ["/", &path].concat() }
}
