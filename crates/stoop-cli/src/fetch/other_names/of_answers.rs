//! Options of other programs on content, on what is told of answers, and on messages, and what is written in their place.

use super::counterpart::Counterpart::{
    Extract, Lines, Nothing, NothingForValue, Option as Is, Saved, Truncated, Unwritten, Words,
    WordsForValue,
};
use super::counterpart::Row;

/// What to say of options, and what each of them is here.
pub(super) const OF_ANSWERS: &[Row] = &[
    // Content.
    (
        "write '--save DIR' for the content; '-o FILE' is for the lines",
        &[
            (
                Is("--save"),
                &[
                    "-P",
                    "--directory-prefix",
                    "--output-dir",
                    "--dir",
                    "-srd",
                    "-store-response-dir",
                ],
            ),
            (Saved, &["--remote-name", "-J", "--remote-name-all", "-sr", "-store-response"]),
        ],
    ),
    (
        "write '--save DIR' for the content, or 'stoop get -o FILE URL' for that of one URL; '-o FILE' is for the lines",
        &[(Unwritten, &["-O", "--output-document"])],
    ),
    (
        "leave it out: saved files have the time that Last-Modified says",
        &[(Nothing, &["--remote-time"])],
    ),
    (
        "write '-o FILE' for the lines, which is made anew",
        &[
            (Unwritten, &["--out", "-a", "--append-output", "--log"]),
            (Is("-o"), &["--output-file"]),
        ],
    ),
    (
        "leave it out: '--save' overwrites no file, and the variable NO_COLOR=1 has no colours",
        &[(Nothing, &["-nc", "--no-clobber", "-no-color"])],
    ),
    (
        "leave it out: '--save DIR' makes folders, and overwrites no file",
        &[
            (Nothing, &["--create-dirs"]),
            (Saved, &["--force-directories"]),
            (NothingForValue, &["--auto-file-renaming", "--allow-overwrite"]),
        ],
    ),
    ("write '--max-body SIZE'", &[(Is("--max-body"), &["--max-filesize"])]),
    ("write '--max-body SIZE --truncate'", &[(Truncated, &["-rstr", "-response-size-to-read"])]),
    (
        "leave it out: '--max-body SIZE' bounds the content of each URL, and '--limit N' their number",
        &[(Unwritten, &["-Q", "--quota"])],
    ),
    (
        "write '-f warc -o FILE.warc.gz', which has heads and content",
        &[(
            Unwritten,
            &[
                "--warc-file",
                "-D",
                "--dump-header",
                "-store-chain",
                "-irr",
                "-irh",
                "-include-response",
                "--save-headers",
                "-S",
                "--server-response",
            ],
        )],
    ),
    // What is told of answers.
    (
        "write '-f jsonl --extract title,server,length,chain,tls,favicon', or those of them that are wanted",
        &[
            (Extract("title"), &["-title"]),
            (Extract("server"), &["-server", "-web-server"]),
            (Extract("favicon"), &["-favicon"]),
            (Extract("chain"), &["-location", "-include-chain"]),
            (Extract("length"), &["-cl", "-content-length"]),
            (Extract("tls"), &["-tls-grab"]),
        ],
    ),
    (
        "leave it out: '-f jsonl' tells status, times, type, address and method of each URL, and what failed",
        &[(
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
        )],
    ),
    (
        "leave it out: this is not found out; see '--extract'",
        &[
            (
                Nothing,
                &[
                    "-td",
                    "-tech-detect",
                    "-jarm",
                    "-cdn",
                    "-asn",
                    "-cname",
                    "-pipeline",
                    "-websocket",
                ],
            ),
            (Unwritten, &["-er", "-extract-regex", "-ep", "-extract-preset"]),
        ],
    ),
    (
        "leave it out: '-f jsonl' tells the bytes of the content, and not its lines and words",
        &[
            (Nothing, &["-lc", "-line-count", "-wc", "-word-count"]),
            (
                Unwritten,
                &[
                    "-mlc",
                    "-match-line-count",
                    "-mwc",
                    "-match-word-count",
                    "-flc",
                    "-filter-line-count",
                    "-fwc",
                    "-filter-word-count",
                ],
            ),
        ],
    ),
    (
        "write '--save DIR', which has the whole content; no page is drawn, and '--extract title' tells its title",
        &[(Unwritten, &["-bp", "-body-preview", "-ss", "-screenshot"])],
    ),
    ("leave it out: '-f jsonl' has no content", &[(Nothing, &["-ob", "-omit-body"])]),
    (
        "leave it out: no program is updated",
        &[(Nothing, &["-duc", "-disable-update-check"]), (Unwritten, &["-up", "-update"])],
    ),
    (
        "leave it out: nothing is uploaded; '--report FILE.html' is a report of the run",
        &[(Nothing, &["-dashboard"]), (Unwritten, &["-pd", "-dashboard-upload"])],
    ),
    ("write '-f FORMAT -o FILE': a run writes one format", &[(Unwritten, &["-oa"])]),
    (
        "write '--dedupe', which fetches each URL once; answers that are alike each have a record",
        &[(Unwritten, &["-fd", "-filter-duplicates"])],
    ),
    ("write '--help'", &[(Unwritten, &["-help"])]),
    ("write 'stoop --version'", &[(Unwritten, &["-version"])]),
    ("write '--digest sha256', with '-f jsonl'", &[(WordsForValue("--digest sha256"), &["-hash"])]),
    ("write '-f csv --csv-header'", &[(Words("-f csv --csv-header"), &["-csv"])]),
    ("write '--match-code CODES'", &[(Is("--match-code"), &["-mc", "-match-code"])]),
    ("write '--skip-code CODES'", &[(Is("--skip-code"), &["-fc", "-filter-code"])]),
    ("write '--match-length MIN-MAX'", &[(Unwritten, &["-ml", "-match-length"])]),
    (
        "write '--match-text REGEX'",
        &[(Unwritten, &["-ms", "-match-string"]), (Is("--match-text"), &["-mr", "-match-regex"])],
    ),
    (
        "write '--skip-text REGEX'",
        &[(Unwritten, &["-fs", "-filter-string"]), (Is("--skip-text"), &["-fe", "-filter-regex"])],
    ),
    ("write '--skip-length MIN-MAX'", &[(Unwritten, &["-fl", "-filter-length"])]),
    // Messages.
    (
        "write '-q', which says nothing but errors; a file comes over one connection",
        &[(Words("-q"), &["-s"])],
    ),
    (
        "write '-q', which says nothing but errors",
        &[
            (Words("-q"), &["-silent", "--show-error", "-nv", "--no-verbose"]),
            (NothingForValue, &["--console-log-level"]),
        ],
    ),
    (
        "write '-f jsonl', which has the error and the times of each URL",
        &[(Nothing, &["-v", "--verbose", "-debug"]), (Unwritten, &["-debug-req", "-debug-resp"])],
    ),
    (
        "leave it out: a terminal has a progress; a log has it by '--progress-every SECONDS'",
        &[(Nothing, &["-stats", "--progress", "-#", "--progress-bar", "--show-progress"])],
    ),
    (
        "write '--progress-every SECONDS'",
        &[(Is("--progress-every"), &["-si", "-stats-interval", "--summary-interval"])],
    ),
    ("write '--fail'", &[(Words("--fail"), &["--fail-with-body", "--fail-early"])]),
    ("write '-o FILE', and & behind the command", &[(Unwritten, &["--background"])]),
];
