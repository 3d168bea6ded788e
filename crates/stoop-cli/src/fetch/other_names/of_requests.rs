//! Options of other programs on URLs, hosts, time and requests, and what is written in their place.

/// The names of options, and what to write in place of each.
pub(super) const OF_REQUESTS: &[(&[&str], &str)] = &[
    // Input.
    (
        &["-l", "-list", "-u", "-target", "--input-file", "--url", "--url-query"],
        "write '-i FILE' for a list; URLs themselves need no option",
    ),
    (
        &["--url_list"],
        "write '-i FILE', with '--url-column COLUMN' for the column of the URLs, and '-f tar -o FOLDER/' for samples",
    ),
    (&["-B", "--base"], "write whole URLs in the list"),
    (
        &["--accept", "--reject"],
        "choose URLs in the list, as links are not followed; '--match-type TYPE' chooses records",
    ),
    (&["-rr", "-request", "-im", "-input-mode"], "write '--input-format jsonl'"),
    (
        &["-K", "--config"],
        "type the options: no file of settings is read; \"sed -n 's/^url *= *//p' FILE | tr -d '\\\"' | stoop fetch\" \
         reads the URLs of one of curl's",
    ),
    (&["-config", "--conf-path"], "type the options: no file of settings is read"),
    (
        &["--mirror", "--recursive", "--level", "-np", "--no-parent", "--page-requisites"],
        "links are not followed: a list has all URLs, and '--input-format sitemap' reads a site's",
    ),
    (
        &[
            "-nH",
            "-nd",
            "--no-host-directories",
            "--no-directories",
            "--convert-links",
            "--cut-dirs",
            "--content-disposition",
        ],
        "write '--save DIR', whose names '--save-as' chooses",
    ),
    (&["-sd", "-skip-dedupe"], "leave it out: '--dedupe' alone fetches each URL once"),
    (&["-p", "-ports"], "write HOST:PORT in the list; links are not followed"),
    (
        &["-vhost", "-pa", "-probe-all-ips", "-tls-probe", "-csp-probe"],
        "leave it out: a list has all URLs, and one address of each is asked, which '--resolve' can choose",
    ),
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
            "--max-concurrent-downloads",
            "--optimize-concurrent-downloads",
        ],
        "write '-c N', or leave it out, and the best number is found",
    ),
    (
        &["-j"],
        "write '-c N', or leave it out, and the best number is found; to write JSON '-f jsonl'",
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
    (&["-retries"], "write '--retry N'"),
    (
        &["--tries", "--max-tries"],
        "write '--retry N', with one less, as the first try counts there; none is without end",
    ),
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
        "write user and password into the URL, as USER:PASSWORD@ before its host, or -H with the field Authorization",
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
        &["-http2"],
        "leave it out: HTTP/2 is spoken where the server agrees, see '--http2-prior-knowledge'",
    ),
    (&["--http3", "--http3-only"], "leave it out: HTTP/2 and HTTP/1.1 are spoken, and no HTTP/3"),
    (
        &["--tlsv1.2", "--tlsv1.3", "-tlsi", "-tls-impersonate"],
        "leave it out: TLS 1.2 and 1.3 are spoken, and the handshake cannot be chosen",
    ),
    (
        &["--proto", "--proto-redir"],
        "leave it out: URLs of http and https are fetched, and no others",
    ),
    (
        &["--bind-address", "--interface"],
        "leave it out: the system chooses the address that connections are made from; '-4' and '-6' choose its family",
    ),
    (
        &["-sni", "-sni-name"],
        "write the name into the URL, and '--resolve HOST:PORT:ADDRESS' for the address that is asked",
    ),
    (
        &["-deny", "-allow"],
        "choose hosts in the list; redirects to private addresses are followed with '--allow-private' only",
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
    (
        &["--proxy-user"],
        "write user and password into the URL of '-x', as USER:PASSWORD@ before its host",
    ),
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
        "write '-A TEXT' for the User-Agent; the URL of '-x' has the user of a proxy, as USER:PASSWORD@ before its host",
    ),
    (&["-T"], "write '-t SECONDS' for a time limit; '--data-binary @FILE' sends a file"),
    (&["-b"], "write '--cookie-jar FILE', or \"-H 'Cookie: NAME=VALUE'\""),
];
