//! Letters that mean something else here, where what follows them shows it.

use std::net::IpAddr;
use std::path::Path;

use stoop_fetch::target::has_scheme;

use super::counterpart::Counterpart;
use super::program::{Program, is_number};

/// The methods that httpx probes by `-x`, and all of them.
const METHODS: [&str; 10] =
    ["ALL", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

/// What a letter was meant as.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misread {
    /// What to write for that.
    pub(super) said: String,
    pub(super) counterpart: Counterpart,
}

/// What to write in place of letters that others have for something without a value, or for a flag before a URL.
pub(super) const FLAGS: &[(char, &str, Counterpart)] = &[
    (
        'c',
        "to go on where a run was ended, write '--run FOLDER'",
        Counterpart::Words("--run FOLDER"),
    ),
    ('r', "links are not followed: a list has all URLs, see '-i FILE'", Counterpart::Unwritten),
    (
        'x',
        "folders are made by '--save DIR', and '--per-host N' bounds the connections to a host",
        Counterpart::Saved,
    ),
    (
        'f',
        "to end with an exit code where a URL failed, write '--fail'",
        Counterpart::Words("--fail"),
    ),
    (
        'i',
        "URLs need no option, and '-f warc -o FILE.warc.gz' has the heads of answers",
        Counterpart::Unwritten,
    ),
    (
        'n',
        "a file of .netrc is not read: write -H with the field Authorization",
        Counterpart::Unwritten,
    ),
];

/// What the other words of a command tell of its letters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    pub(super) program: Option<Program>,
    /// There is `-i`, without a method: a word behind `-d` is aria2's folder rather than content.
    has_input_alone: bool,
}

impl Beside {
    pub(super) fn of(words: &[String]) -> Self {
        let is_begun = |names: [&str; 2]| {
            words.iter().any(|word| word.starts_with(names[0]) || word.starts_with(names[1]))
        };
        let is_option = |word: &str| ["-i", "--input", "--input-file"].contains(&word);
        let has_input = words
            .iter()
            .any(|word| is_option(word.split('=').next().unwrap_or(word)) || is_input(word));
        Self {
            program: Program::of(words),
            has_input_alone: has_input && !is_begun(["-X", "--request"]),
        }
    }
}

/// Whether a name is `-i` with a file that is there.
pub(super) fn is_input(name: &str) -> bool {
    name.strip_prefix("-i").is_some_and(|file| !file.is_empty() && Path::new(file).exists())
}

/// What was meant by a letter with this value, if that is plainly something else than here, where it is the option
/// `shown`.
pub(super) fn misread(
    letter: char,
    shown: &str,
    value: Option<&str>,
    beside: Beside,
) -> Option<Misread> {
    let program = beside.program;
    let Some(value) = value.filter(|value| letter == 'x' || !has_scheme(value)) else {
        let (_, instead, counterpart) = FLAGS.iter().find(|(flag, ..)| *flag == letter)?;
        let said = match (letter, value) {
            // A list that is missing is told by the parser of options.
            ('i', None) => return None,
            ('i', Some(url)) => format!("-i is {shown} here, and {url} is no file; {instead}"),
            _ => format!("-{letter} is {shown} here; {instead}"),
        };
        return Some(Misread { said, counterpart: *counterpart });
    };
    let (said, counterpart) = match letter {
        'x' if is_number(value) => (
            format!(
                "-x {value}: a number is no proxy; '--per-host {value}' bounds the connections to a host"
            ),
            Counterpart::Option("--per-host"),
        ),
        'x' if value.split(',').all(|method| METHODS.contains(&method)) => (
            format!(
                "-x {value}: a method is no proxy; '-X METHOD' sends one, the same for all URLs"
            ),
            only(value != "ALL" && !value.contains(','), Counterpart::Option("-X")),
        ),
        'c' if is_cookie_file(value, program) => (
            format!("-c is {shown} here; '--cookie-jar {value}' is a file of cookies"),
            Counterpart::Option("--cookie-jar"),
        ),
        'd' if is_folder(value, beside) => (
            format!(
                "-d {value} would be sent as content here: write '--save {value}' to save what comes in that folder, and \
                 '--data-raw {value}' to send it"
            ),
            Counterpart::Option("--save"),
        ),
        'r' if value.split(',').all(|part| part.parse::<IpAddr>().is_ok()) => (
            format!("-r is {shown} here; for name servers write '--dns ADDR' for each"),
            only(!value.contains(','), Counterpart::Option("--dns")),
        ),
        't' if is_number(value) && program == Some(Program::Httpx) => (
            format!("-t is {shown} here; for {value} URLs at once write '-c {value}'"),
            Counterpart::Option("-c"),
        ),
        't' if is_number(value) && program == Some(Program::Wget) => {
            (format!("-t is {shown} here; {}", tries(value)), Counterpart::Tries)
        }
        'o' if value != "-" && program.is_some_and(Program::outputs_content) => (
            format!(
                "-o is {shown} here, for the lines; for content write '--save DIR', or 'stoop get -o {value} URL' for that of \
                 one URL"
            ),
            Counterpart::Unwritten,
        ),
        _ => return None,
    };
    Some(Misread { said, counterpart })
}

/// A counterpart that there is only if something holds.
fn only(holds: bool, counterpart: Counterpart) -> Counterpart {
    if holds { counterpart } else { Counterpart::Unwritten }
}

/// What to write for a number of tries, the first of which is no retry.
fn tries(count: &str) -> String {
    match count.parse::<u32>().ok().and_then(|count| count.checked_sub(1)) {
        None => format!("for {count}, tries without end, there is nothing: write '--retry N'"),
        Some(0) => "for one try leave it out".to_owned(),
        Some(retries) => format!("for {count} tries write '--retry {retries}'"),
    }
}

/// Whether a number of URLs at once is the name of a file.
fn is_cookie_file(value: &str, program: Option<Program>) -> bool {
    let is_name =
        value.starts_with(|first: char| first.is_ascii_alphabetic() || "./".contains(first));
    is_name && value != "auto" && (program == Some(Program::Curl) || value.contains(['.', '/']))
}

/// Whether what is to be sent is a folder that content was to be saved in.
fn is_folder(value: &str, beside: Beside) -> bool {
    let has_any = value.contains(['=', '@', '&', '{', '[']) || value.contains(char::is_whitespace);
    let may_be_sent = has_any || value.is_empty() || value.starts_with('-');
    let is_of_aria2 = beside.program == Some(Program::Aria2) || beside.has_input_alone;
    Path::new(value).is_dir()
        || !may_be_sent && (is_of_aria2 || value.len() > 1 && value.ends_with('/'))
}
