//! What options of other programs are here, where that is one option, or none: so that a command can be written anew.

use super::absent::by_name;

/// What is written in place of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counterpart {
    /// Nothing.
    Nothing,
    /// Nothing, and its value is left out, too.
    NothingForValue,
    /// These words.
    Words(&'static str),
    /// These words, and its value is left out.
    WordsForValue(&'static str),
    /// This option, with its value.
    Option(&'static str),
    /// Retries, one less than the tries that its value is.
    Tries,
    /// The bytes of content that are read at most, without an error.
    Truncated,
    /// Its value alone.
    Value,
    /// Files are saved, in this folder unless another option names one.
    Saved,
    /// Lines of JSON, which tell it.
    Lines,
    /// Lines of JSON, with this by `--extract`.
    Extract(&'static str),
}

impl Counterpart {
    /// Whether the option has a value.
    pub(super) fn takes_value(self) -> bool {
        match self {
            Self::NothingForValue
            | Self::WordsForValue(_)
            | Self::Option(_)
            | Self::Tries
            | Self::Truncated
            | Self::Value => true,
            Self::Nothing | Self::Words(_) | Self::Saved | Self::Lines | Self::Extract(_) => false,
        }
    }
}

/// The counterpart of an option, as it is typed without its value.
pub(super) fn counterpart(typed: &str) -> Option<Counterpart> {
    let find = |name: &str| COUNTERPARTS.iter().find(|(_, names)| names.contains(&name));
    by_name(typed, |name| find(name).map(|(counterpart, _)| *counterpart))
}

use Counterpart::{
    Extract, Lines, Nothing, NothingForValue, Option as Is, Saved, Tries, Truncated, Value, Words,
    WordsForValue,
};

/// Names without one here have none: what they mean takes more than a word, or is not done.
pub(super) const COUNTERPARTS: &[(Counterpart, &[&str])] = &[
    (
        Nothing,
        &[
            "-sd",
            "-skip-dedupe",
            "-Z",
            "--parallel",
            "--parallel-immediate",
            "--random-wait",
            "--retry-connrefused",
            "--retry-all-errors",
            "--retry-on-host-error",
            "-L",
            "--location",
            "-follow-redirects",
            "-fr",
            "-http2",
            "-nf",
            "-no-fallback",
            "-nfs",
            "-no-fallback-scheme",
            "-nc",
            "--no-clobber",
            "-no-color",
            "--create-dirs",
            "-duc",
            "-disable-update-check",
            "-td",
            "-tech-detect",
            "-jarm",
            "-cdn",
            "-asn",
            "-cname",
            "-pipeline",
            "-websocket",
            "-vhost",
            "-pa",
            "-probe-all-ips",
            "-tls-probe",
            "-csp-probe",
            "-lc",
            "-line-count",
            "-wc",
            "-word-count",
            "-dashboard",
            "-debug",
            "-tlsi",
            "-tls-impersonate",
            "--tlsv1.2",
            "-stats",
            "--progress",
            "-#",
            "--progress-bar",
            "-v",
            "--verbose",
        ],
    ),
    (
        NothingForValue,
        &[
            "--optimize-concurrent-downloads",
            "--split",
            "--min-split-size",
            "--piece-length",
            "--waitretry",
            "--retry-wait",
            "--retry-delay",
            "--auto-file-renaming",
            "--allow-overwrite",
            "--console-log-level",
            "--proto",
            "--proto-redir",
        ],
    ),
    (Words("-q"), &["-s", "-silent", "--show-error", "-nv", "--no-verbose"]),
    (Words("--insecure"), &["-k", "--no-check-certificate"]),
    (Words("--compressed"), &["--http-accept-gzip"]),
    (Words("--http1.1"), &["-0", "--http1.0"]),
    (Words("-I"), &["--spider", "--dry-run"]),
    (Words("-4"), &["--inet4-only"]),
    (Words("-6"), &["--inet6-only"]),
    (Words("-x ''"), &["--no-proxy"]),
    (Words("--fail"), &["--fail-with-body", "--fail-early"]),
    (Words("--run FOLDER"), &["--continue", "-resume"]),
    (Words("-f csv --csv-header"), &["-csv"]),
    (WordsForValue("--digest sha256"), &["-hash"]),
    (Value, &["-u", "-target", "--url"]),
    (Saved, &["--remote-name", "-J", "--remote-name-all", "--force-directories", "-sr"]),
    (Is("-i"), &["-l", "-list", "--input-file", "--url_list"]),
    (Is("-c"), &["-threads", "--parallel-max", "-j", "--max-concurrent-downloads"]),
    (Is("--total-rate"), &["-rl", "-rate-limit"]),
    (
        Is("--max-bandwidth"),
        &["--limit-rate", "--max-overall-download-limit", "--max-download-limit"],
    ),
    (Is("--host-interval"), &["-w", "--wait"]),
    (Is("--per-host"), &["--max-connection-per-server"]),
    (Is("--host-failures"), &["-maxhr", "-max-host-error"]),
    (Is("-t"), &["-timeout", "--max-time", "-m", "-T"]),
    (Is("--speed-limit"), &["-Y", "--lowest-speed-limit"]),
    (Is("--speed-time"), &["-y"]),
    (Is("--retry"), &["-retries"]),
    (Tries, &["--tries", "--max-tries"]),
    (Is("--max-redirects"), &["-maxr", "--max-redirs", "--max-redirect"]),
    (Is("--cacert"), &["--ca-certificate"]),
    (Is("--cert"), &["--certificate"]),
    (Is("--key"), &["--private-key"]),
    (Is("-A"), &["-U"]),
    (Is("--cookie-jar"), &["--load-cookies", "--save-cookies"]),
    (Is("-d"), &["-body", "--body-data", "--post-data"]),
    (Is("-X"), &["--method"]),
    (Is("-x"), &["-proxy", "--http-proxy", "--https-proxy", "--all-proxy"]),
    (
        Is("--save"),
        &["-P", "--directory-prefix", "--output-dir", "--dir", "-srd", "-store-response-dir"],
    ),
    (Is("-o"), &["--output-file"]),
    (Is("--progress-every"), &["-si", "-stats-interval", "--summary-interval"]),
    (Is("--max-body"), &["--max-filesize"]),
    (Truncated, &["-rstr", "-response-size-to-read"]),
    (Is("--match-code"), &["-mc", "-match-code"]),
    (Is("--skip-code"), &["-fc", "-filter-code"]),
    (Is("--match-text"), &["-mr", "-match-regex"]),
    (
        Lines,
        &[
            "-sc",
            "-status-code",
            "-rt",
            "-response-time",
            "-ct",
            "-content-type",
            "-ip",
            "-method",
            "-probe",
            "-json",
        ],
    ),
    (Extract("title"), &["-title"]),
    (Extract("server"), &["-server", "-web-server"]),
    (Extract("length"), &["-cl", "-content-length"]),
    (Extract("chain"), &["-location", "-include-chain"]),
    (Extract("tls"), &["-tls-grab"]),
    (Extract("favicon"), &["-favicon"]),
];
