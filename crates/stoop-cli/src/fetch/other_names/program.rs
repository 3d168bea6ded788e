//! Which program a command was written for, where its options tell: some letters mean something else in each.

use stoop_fetch::target::has_scheme;

use super::rows::is_absent;

/// A program whose letters differ from those here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Httpx,
    Wget,
    Aria2,
    Curl,
}

/// Options of one program alone.
const OF_ONE: &[(Program, &[&str])] = &[
    (
        Program::Aria2,
        &[
            "-j",
            "-k",
            "--dir",
            "--split",
            "--min-split-size",
            "--piece-length",
            "--max-connection-per-server",
            "--max-concurrent-downloads",
            "--max-overall-download-limit",
            "--max-download-limit",
            "--max-tries",
            "--auto-file-renaming",
            "--allow-overwrite",
            "--lowest-speed-limit",
            "--http-accept-gzip",
            "--file-allocation",
            "--dry-run",
        ],
    ),
    (
        Program::Wget,
        &[
            "-P",
            "-w",
            "-np",
            "-nH",
            "-nd",
            "-nv",
            "--tries",
            "--wait",
            "--waitretry",
            "--random-wait",
            "--directory-prefix",
            "--no-check-certificate",
            "--no-clobber",
            "--no-verbose",
            "--spider",
            "--cut-dirs",
            "--content-disposition",
        ],
    ),
    (
        Program::Curl,
        &[
            "-L",
            "--location",
            "--show-error",
            "--write-out",
            "--fail-with-body",
            "--fail-early",
            "--retry-delay",
            "--retry-all-errors",
            "--remote-name",
            "--remote-name-all",
            "--output-dir",
            "--create-dirs",
            "--parallel",
            "--parallel-max",
            "--max-filesize",
            "--max-redirs",
        ],
    ),
];

impl Program {
    /// The program that the first word tells that is an option of one alone.
    pub(super) fn of(words: &[String]) -> Option<Self> {
        let following = words.iter().skip(1).map(String::as_str).map(Some).chain([None]);
        let told = words.iter().zip(following).find_map(|(word, next)| told_by(word, next));
        let has = |name: &str| words.iter().any(|word| word == name);
        // aria2 has a file of messages by -l, beside a list or URLs, and wget a number.
        let is_list = |name: &str| !is_number(name) && !name.starts_with('-') && !has_scheme(name);
        let has_list = !has("-i") && words.windows(2).any(|it| it[0] == "-l" && is_list(&it[1]));
        let by_list = || has_list.then_some(Self::Httpx);
        told.or_else(by_list).or_else(|| has("-nc").then_some(Self::Wget))
    }

    /// Whether content is saved in files without an option that says so.
    pub(super) fn saves(self) -> bool {
        matches!(self, Self::Wget | Self::Aria2)
    }

    /// Whether the file of `-o` has content.
    pub(super) fn outputs_content(self) -> bool {
        matches!(self, Self::Curl | Self::Aria2)
    }
}

/// The program that has the option that `word` begins with.
fn told_by(word: &str, next: Option<&str>) -> Option<Program> {
    let name = word.split('=').next().unwrap_or(word);
    let has_number = next.is_some_and(is_number);
    let begins_next = |next: &str| next != "-" && next.starts_with('-') || has_scheme(next);
    let is_flag = next.is_none_or(begins_next);
    match name {
        "-nc" => None,
        "-k" if !next
            .is_some_and(|next| next.starts_with(|first: char| first.is_ascii_digit())) =>
        {
            None
        }
        "-x" | "-s" if has_number => Some(Program::Aria2),
        // That of curl's has the name of a file.
        "-T" if has_number => Some(Program::Wget),
        "-s" if !has_number => Some(Program::Curl),
        "-f" | "-O" if is_flag => Some(Program::Curl),
        _ if ["-j", "-s", "-x"].iter().any(|it| is_number(name.strip_prefix(it).unwrap_or(""))) => {
            Some(Program::Aria2)
        }
        _ if is_letters_of_curl(name) && (!is_absent(name) || is_flag) => Some(Program::Curl),
        _ => OF_ONE
            .iter()
            .find(|(_, names)| names.contains(&name))
            .map(|(program, _)| *program)
            .or_else(|| is_httpx(name).then_some(Program::Httpx)),
    }
}

fn is_httpx(name: &str) -> bool {
    is_long_with_one_hyphen(name) && is_absent(name)
}

/// Whether text is a number of digits alone.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether letters are flags of curl's, such as sSL, perhaps with the option `-o` as the last.
pub(super) fn is_of_curl(letters: &str) -> bool {
    let flags = letters.strip_suffix('o').unwrap_or(letters);
    !letters.is_empty() && flags.chars().all(|letter| "fsSLkvOJ#ZI".contains(letter))
}

/// Whether an option is several flags of curl's, one of which at least is none here: `-If csv -o FILE` is of this program.
fn is_letters_of_curl(name: &str) -> bool {
    let letters = name.strip_prefix('-').unwrap_or(name);
    let before_format = letters.strip_suffix('f').unwrap_or(letters);
    is_long_with_one_hyphen(name)
        && is_of_curl(letters)
        && before_format.contains(|letter| !"Io".contains(letter))
}

/// Whether a word is `-f` and `-s` of curl's, and not httpx's `-fs TEXT`.
pub(super) fn is_fail_and_silent(word: &str, next: Option<&str>) -> bool {
    word == "-fs" && told_by(word, next) == Some(Program::Curl)
}

fn is_long_with_one_hyphen(name: &str) -> bool {
    name.len() > 2 && name.starts_with('-') && !name.starts_with("--")
}
