//! Options of httpx, wget, aria2 and curl that `stoop fetch` does not have, or has for something else, and what to write
//! in their place.

/// What is written in place of options that other programs have. One with a single - and several letters is httpx's, or
/// wget's, and may be typed with two.
const ABSENT: &[(&[&str], &str)] = &[
    // Input.
    (
        &["-l", "-list", "-u", "-target", "--input-file", "--url", "--url-query"],
        "write '-i FILE' for a list; URLs themselves need no option",
    ),
    (&["-rr", "-request", "-im", "-input-mode"], "write '--input-format jsonl'"),
    (
        &["-K", "--config", "-config", "--conf-path"],
        "type the options: no file of settings is read",
    ),
    (
        &["--mirror", "--recursive", "--level", "-np", "--no-parent", "--page-requisites"],
        "links are not followed: a list has all URLs, and '--input-format sitemap' reads a site's",
    ),
    (
        &["-nH", "-nd", "--no-host-directories", "--no-directories", "--convert-links"],
        "write '--save DIR', whose names '--save-as' chooses",
    ),
    (&["-sd", "-skip-dedupe"], "leave it out: '--dedupe' alone fetches each URL once"),
    (&["-p", "-ports"], "write HOST:PORT in the list; links are not followed"),
    (&["-path"], "write the path in the URLs of the list"),
    (&["-m"], "write '-t SECONDS' for a time limit; links are not followed"),
    // Concurrency and politeness.
    (
        &[
            "-threads",
            "-Z",
            "--parallel",
            "--parallel-max",
            "--parallel-immediate",
            "-j",
            "--max-concurrent-downloads",
            "--optimize-concurrent-downloads",
        ],
        "write '-c N', or leave it out, and the best number is found; JSON is '-f jsonl'",
    ),
    (
        &["-rl", "-rate-limit", "-rlm", "-rate-limit-minute", "-delay", "--rate"],
        "write '--total-rate N', requests a second to all hosts, or '--host-rate N', to one",
    ),
    (
        &["-w", "--wait", "--random-wait", "--write-out"],
        "write '--host-interval SECONDS' to wait between the URLs of a host; '-f jsonl' has the times and sizes of each",
    ),
    (
        &["--limit-rate", "--max-overall-download-limit", "--max-download-limit"],
        "write '--max-bandwidth SIZE', bytes a second of the whole run; '--per-host N' asks less of one host",
    ),
    (&["--max-connection-per-server"], "write '--per-host N'"),
    (
        &["--split", "--min-split-size", "--piece-length"],
        "leave it out: a file comes over one connection, and many files at once",
    ),
    (&["-maxhr", "-max-host-error"], "write '--host-failures N'"),
    (&["--execute"], "leave it out: robots.txt is read with '--robots' only"),
    // Time and retries.
    (&["-timeout", "--max-time"], "write '-t SECONDS'"),
    (&["-Y", "--lowest-speed-limit"], "write '--speed-limit BYTES'"),
    (&["-y"], "write '--speed-time SECONDS'"),
    (&["-retries", "--tries", "--max-tries"], "write '--retry N'"),
    (
        &[
            "--waitretry",
            "--retry-wait",
            "--retry-delay",
            "--retry-max-time",
            "--retry-connrefused",
            "--retry-all-errors",
            "--retry-on-host-error",
            "--retry-on-http-error",
        ],
        "write '--retry N', which chooses the pauses; '--retry-on LIST' says after what",
    ),
    (
        &["--continue", "--continue-at", "-C", "-resume", "--save-session"],
        "write '--run FOLDER': the same command goes on where a run was ended",
    ),
    // Requests.
    (
        &["-L", "--location", "-follow-redirects"],
        "leave it out: redirects are followed, see '--max-redirects'",
    ),
    (
        &["-fr", "-fhr", "-follow-host-redirects"],
        "leave it out: redirects are followed, see '--max-redirects'",
    ),
    (&["-maxr", "--max-redirs", "--max-redirect"], "write '--max-redirects N'"),
    (&["-k", "--no-check-certificate", "--check-certificate"], "write '--insecure'"),
    (&["--ca-certificate"], "write '--cacert FILE'"),
    (&["--certificate"], "write '--cert FILE'"),
    (&["--private-key"], "write '--key FILE'"),
    (&["-random-agent"], "write '-A TEXT' for one User-Agent; none is chosen at random"),
    (&["--referer", "-auto-referer"], "write \"-H 'Referer: URL'\""),
    (
        &["--cookie", "--load-cookies", "--save-cookies"],
        "write '--cookie-jar FILE', or \"-H 'Cookie: NAME=VALUE'\"",
    ),
    (
        &["--user", "--http-user", "--http-passwd"],
        "write https://USER:PASSWORD@HOST/, or -H with the field Authorization",
    ),
    (&["-body", "--body-data", "--post-data"], "write '-d DATA'"),
    (
        &["--post-file", "--body-file", "--upload-file"],
        "write '--data-binary @FILE', with '-X METHOD'",
    ),
    (&["-F", "--form"], "write '--data-binary @FILE', and -H with the Content-Type"),
    (&["-G", "--get"], "write what is asked for into the URL, behind a ?"),
    (&["--method"], "write '-X METHOD'"),
    (&["--spider", "--dry-run"], "write '-I', which asks for heads only"),
    (
        &["--http2"],
        "leave it out: HTTP/2 is spoken where the server agrees, see '--http2-prior-knowledge'",
    ),
    (&["-0", "--http1.0"], "write '--http1.1'"),
    (
        &["-nf", "-no-fallback", "-nfs", "-no-fallback-scheme"],
        "leave it out: '--http-fallback' alone tries http",
    ),
    (&["-proxy", "--http-proxy", "--https-proxy", "--all-proxy"], "write '-x URL'"),
    (&["--no-proxy"], "write \"-x ''\""),
    (
        &["--socks5", "--socks5-hostname", "--socks4"],
        "write '-x socks5h://HOST:PORT', and the like",
    ),
    (&["--proxy-user"], "write '-x http://USER:PASSWORD@HOST:PORT'"),
    (&["-resolvers", "--dns-servers", "--async-dns-server"], "write '--dns ADDR'"),
    (&["--inet4-only"], "write '-4'"),
    (&["--inet6-only"], "write '-6'"),
    (&["--http-accept-gzip"], "write '--compressed'"),
    (
        &[
            "-N",
            "--timestamping",
            "-z",
            "--time-cond",
            "--conditional-get",
            "--etag-compare",
            "--etag-save",
        ],
        "write '--if-changed-since FILE', with the lines of an earlier run",
    ),
    (&["-e"], "write \"-H 'Referer: URL'\"; robots.txt is read with '--robots' only"),
    (
        &["-U"],
        "write '-A TEXT' for the User-Agent; '-x http://USER:PASSWORD@HOST:PORT' has the user of a proxy",
    ),
    (&["-T"], "write '-t SECONDS' for a time limit; '--data-binary @FILE' sends a file"),
    (&["-b"], "write '--cookie-jar FILE', or \"-H 'Cookie: NAME=VALUE'\""),
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
    (
        &["--max-filesize", "-rstr", "-response-size-to-read", "-Q", "--quota"],
        "write '--max-body SIZE'",
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
        &["-td", "-tech-detect", "-jarm", "-cdn", "-asn", "-cname"],
        "leave it out: this is not found out; see '--extract'",
    ),
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
        &["-v", "--verbose", "-debug-req", "-debug-resp"],
        "write '-f jsonl', which has the error and the times of each URL",
    ),
    (
        &["-stats", "--progress", "-#", "--progress-bar"],
        "leave it out: a terminal has a progress, see '--no-progress'",
    ),
    (&["--fail-with-body", "--fail-early"], "write '--fail'"),
    (&["--background"], "write '-o FILE', and & behind the command"),
];

/// Options that mean something else here, where what they were given shows it: their name here, and what to write for
/// what the other program means.
pub(super) const MISREAD: &[(&str, &str, &str)] = &[
    ("-c", "--concurrency", "to go on where a run was ended, write '--run FOLDER'"),
    ("-r", "--range", "links are not followed: a list has all URLs, see '-i FILE'"),
    (
        "-x",
        "--proxy",
        "folders are made by '--save DIR', and '--per-host N' bounds the connections to a host",
    ),
    ("-f", "--format", "to end with an exit code where a URL failed, write '--fail'"),
    ("-n", "--limit", "a file of .netrc is not read: write -H with the field Authorization"),
];

/// What to write in place of a word, with the word.
pub(super) fn instead_of(word: &str) -> Option<(&str, &'static str)> {
    // Its names with one - may have two.
    let single = word.strip_prefix('-').filter(|rest| rest.starts_with('-') && rest.len() > 2);
    let find = |name: &str| ABSENT.iter().find(|(names, _)| names.contains(&name));
    let (_, instead) = find(word).or_else(|| single.and_then(find))?;
    Some((word, instead))
}

#[cfg(test)]
mod tests;
