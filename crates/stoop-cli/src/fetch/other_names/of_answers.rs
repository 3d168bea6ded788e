//! Options of other programs on content, on what is told of answers, and on messages, and what is written in their place.

/// The names of options, and what to write in place of each.
pub(super) const OF_ANSWERS: &[(&[&str], &str)] = &[
    // Content.
    (
        &[
            "-P",
            "--directory-prefix",
            "--output-dir",
            "--dir",
            "-O",
            "--output-document",
            "--remote-name",
            "-J",
            "--remote-name-all",
            "-sr",
            "-srd",
            "-store-response",
            "-store-response-dir",
        ],
        "write '--save DIR' for the content; '-o FILE' is for the lines",
    ),
    (
        &["--out", "--output-file", "-a", "--append-output", "--log"],
        "write '-o FILE' for the lines, which is made anew",
    ),
    (
        &["-nc", "--no-clobber", "-no-color"],
        "leave it out: '--save' overwrites no file, and the variable NO_COLOR=1 has no colours",
    ),
    (
        &["--create-dirs", "--force-directories", "--auto-file-renaming", "--allow-overwrite"],
        "leave it out: '--save DIR' makes folders, and overwrites no file",
    ),
    (&["--max-filesize"], "write '--max-body SIZE'"),
    (&["-rstr", "-response-size-to-read"], "write '--max-body SIZE --truncate'"),
    (
        &["-Q", "--quota"],
        "leave it out: '--max-body SIZE' bounds the content of each URL, and '--limit N' their number",
    ),
    (
        &[
            "--warc-file",
            "-D",
            "--dump-header",
            "-irr",
            "-irh",
            "-include-response",
            "--save-headers",
            "-S",
            "--server-response",
        ],
        "write '-f warc -o FILE.warc.gz', which has heads and content",
    ),
    // What is told of answers.
    (
        &[
            "-title",
            "-server",
            "-web-server",
            "-favicon",
            "-location",
            "-cl",
            "-content-length",
            "-tls-grab",
            "-include-chain",
        ],
        "write '-f jsonl --extract title,server,length,chain,tls,favicon', or those of them that are wanted",
    ),
    (
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
        "leave it out: '-f jsonl' tells status, times, type, address and method of each URL, and what failed",
    ),
    (
        &[
            "-td",
            "-tech-detect",
            "-jarm",
            "-cdn",
            "-asn",
            "-cname",
            "-pipeline",
            "-websocket",
            "-er",
            "-extract-regex",
            "-ep",
            "-extract-preset",
        ],
        "leave it out: this is not found out; see '--extract'",
    ),
    (
        &["-lc", "-line-count", "-wc", "-word-count"],
        "leave it out: '-f jsonl' tells the bytes of the content, and not its lines and words",
    ),
    (
        &["-bp", "-body-preview", "-ss", "-screenshot"],
        "write '--save DIR', which has the whole content; no page is drawn, and '--extract title' tells its title",
    ),
    (&["-duc", "-disable-update-check"], "leave it out: no program is updated"),
    (
        &["-dashboard", "-pd", "-dashboard-upload"],
        "leave it out: nothing is uploaded; '--report FILE.html' is a report of the run",
    ),
    (&["-oa"], "write '-f FORMAT -o FILE': a run writes one format"),
    (
        &["-fd", "-filter-duplicates"],
        "write '--dedupe', which fetches each URL once; answers that are alike each have a record",
    ),
    (&["-help"], "write '--help'"),
    (&["-version"], "write 'stoop --version'"),
    (&["-hash"], "write '--digest sha256', with '-f jsonl'"),
    (&["-csv"], "write '-f csv --csv-header'"),
    (&["-mc", "-match-code"], "write '--match-code CODES'"),
    (&["-fc", "-filter-code"], "write '--skip-code CODES'"),
    (&["-ml", "-match-length"], "write '--match-length MIN-MAX'"),
    (&["-ms", "-match-string", "-mr", "-match-regex"], "write '--match-text REGEX'"),
    (
        &["-fs", "-filter-string", "-fe", "-filter-regex", "-fl", "-filter-length"],
        "write '--match-text REGEX' or '--match-length MIN-MAX', which say what is kept",
    ),
    // Messages.
    (&["-s"], "write '-q', which says nothing but errors; a file comes over one connection"),
    (
        &["-silent", "--show-error", "-nv", "--no-verbose", "--console-log-level"],
        "write '-q', which says nothing but errors",
    ),
    (
        &["-v", "--verbose", "-debug", "-debug-req", "-debug-resp"],
        "write '-f jsonl', which has the error and the times of each URL",
    ),
    (
        &["-stats", "--progress", "-#", "--progress-bar"],
        "leave it out: a terminal has a progress; a log has it by '--progress-every SECONDS'",
    ),
    (&["-si", "-stats-interval", "--summary-interval"], "write '--progress-every SECONDS'"),
    (&["--fail-with-body", "--fail-early"], "write '--fail'"),
    (&["--background"], "write '-o FILE', and & behind the command"),
];
