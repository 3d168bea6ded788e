//! Options of other programs on URLs, hosts, time and requests, and what is written in their place.

use super::counterpart::Counterpart::{
    Nothing, NothingForValue, Option as Is, Tries, Unwritten, Value, Words,
};
use super::counterpart::Row;

/// What to say of options, and what each of them is here.
pub(super) const OF_REQUESTS: &[Row] = &[
    // Input.
    (
        "write '-i FILE' for a list; URLs themselves need no option",
        &[
            (Is("-i"), &["-l", "-list", "--input-file"]),
            (Value, &["-u", "-target", "--url"]),
            (Unwritten, &["--url-query"]),
        ],
    ),
    ("write whole URLs in the list", &[(Unwritten, &["-B", "--base"])]),
    (
        "choose URLs in the list, as links are not followed; '--match-type TYPE' chooses records",
        &[(Unwritten, &["--accept", "--reject", "--accept-regex", "--reject-regex"])],
    ),
    ("write '--input-format jsonl'", &[(Unwritten, &["-rr", "-request", "-im", "-input-mode"])]),
    (
        "type the options: no file of settings is read; \"sed -n 's/^url *= *//p' FILE | tr -d '\\\"' | stoop fetch\" \
         reads the URLs of one of curl's",
        &[(Unwritten, &["-K", "--config"])],
    ),
    ("type the options: no file of settings is read", &[(Unwritten, &["-config", "--conf-path"])]),
    (
        "links are not followed: a list has all URLs, and '--input-format sitemap' reads a site's",
        &[(
            Unwritten,
            &["--mirror", "--recursive", "--level", "-np", "--no-parent", "--page-requisites"],
        )],
    ),
    (
        "write '--save DIR', whose names '--save-as' chooses",
        &[(
            Unwritten,
            &[
                "-nH",
                "-nd",
                "--no-host-directories",
                "--no-directories",
                "--convert-links",
                "--cut-dirs",
                "--content-disposition",
                "--trust-server-names",
            ],
        )],
    ),
    (
        "leave it out: '--dedupe' alone fetches each URL once",
        &[(Nothing, &["-sd", "-skip-dedupe"])],
    ),
    ("write HOST:PORT in the list; links are not followed", &[(Unwritten, &["-p", "-ports"])]),
    (
        "leave it out: a list has all URLs, and one address of each is asked, which '--resolve' can choose",
        &[(Nothing, &["-vhost", "-pa", "-probe-all-ips", "-tls-probe", "-csp-probe"])],
    ),
    ("write the path in the URLs of the list", &[(Unwritten, &["-path"])]),
    ("write '-t SECONDS' for a time limit; links are not followed", &[(Is("-t"), &["-m"])]),
    // Concurrency and politeness.
    (
        "write '-c N', or leave it out, and the best number is found",
        &[
            (Is("-c"), &["-threads", "--parallel-max", "--max-concurrent-downloads"]),
            (Nothing, &["-Z", "--parallel", "--parallel-immediate"]),
            (NothingForValue, &["--optimize-concurrent-downloads"]),
        ],
    ),
    (
        "write '-c N', or leave it out, and the best number is found; to write JSON '-f jsonl'",
        &[(Is("-c"), &["-j"])],
    ),
    (
        "write '--total-rate N', requests a second to all hosts, or '--host-rate N', to one",
        &[
            (Is("--total-rate"), &["-rl", "-rate-limit"]),
            (Unwritten, &["-rlm", "-rate-limit-minute", "-delay", "--rate"]),
        ],
    ),
    (
        "write '--host-interval SECONDS' to wait between the URLs of a host; '-f jsonl' has the times and sizes of each",
        &[
            (Is("--host-interval"), &["-w", "--wait"]),
            (Nothing, &["--random-wait"]),
            (Unwritten, &["--write-out"]),
        ],
    ),
    (
        "write '--max-bandwidth SIZE', bytes a second of the whole run; '--per-host N' asks less of one host",
        &[(
            Is("--max-bandwidth"),
            &["--limit-rate", "--max-overall-download-limit", "--max-download-limit"],
        )],
    ),
    ("write '--per-host N'", &[(Is("--per-host"), &["--max-connection-per-server"])]),
    (
        "leave it out: a file comes over one connection, and many files at once",
        &[(NothingForValue, &["--split", "--min-split-size", "--piece-length"])],
    ),
    (
        "leave it out: files grow as their content comes",
        &[(NothingForValue, &["--file-allocation", "--disk-cache"])],
    ),
    (
        "leave it out: no cookies are kept without '--cookie-jar', and no content is cached",
        &[(Nothing, &["--no-cookies", "--no-cache"])],
    ),
    (
        "leave it out: URLs are fetched as they are, and no ranges in them are expanded",
        &[(Nothing, &["-g", "--globoff"])],
    ),
    ("leave it out: the list is read while it is fetched", &[(Nothing, &["-stream"])]),
    ("leave it out: what is sent is HTTP, and well formed", &[(Unwritten, &["-unsafe"])]),
    ("write '--host-failures N'", &[(Is("--host-failures"), &["-maxhr", "-max-host-error"])]),
    ("leave it out: robots.txt is read with '--robots' only", &[(Unwritten, &["--execute"])]),
    // Time and retries.
    ("write '-t SECONDS'", &[(Is("-t"), &["-timeout", "--max-time"])]),
    ("write '--speed-limit BYTES'", &[(Is("--speed-limit"), &["-Y", "--lowest-speed-limit"])]),
    ("write '--speed-time SECONDS'", &[(Is("--speed-time"), &["-y"])]),
    ("write '--retry N'", &[(Is("--retry"), &["-retries"])]),
    (
        "write '--retry N', with one less, as the first try counts there; none is without end",
        &[(Tries, &["--tries", "--max-tries"])],
    ),
    (
        "write '--retry N', which chooses the pauses; '--retry-on LIST' says after what",
        &[
            (NothingForValue, &["--waitretry", "--retry-wait", "--retry-delay"]),
            (Unwritten, &["--retry-max-time", "--retry-on-http-error"]),
            (Nothing, &["--retry-connrefused", "--retry-all-errors", "--retry-on-host-error"]),
        ],
    ),
    (
        "write '--run FOLDER': the same command goes on where a run was ended",
        &[
            (Words("--run FOLDER"), &["--continue", "-resume"]),
            (Unwritten, &["--continue-at", "-C", "--save-session"]),
        ],
    ),
    // Requests.
    (
        "leave it out: redirects are followed, see '--max-redirects'",
        &[(Nothing, &["-L", "--location", "-follow-redirects"])],
    ),
    (
        "leave it out: redirects are followed, see '--max-redirects'",
        &[(Nothing, &["-fr"]), (Unwritten, &["-fhr", "-follow-host-redirects"])],
    ),
    (
        "write '--max-redirects N'",
        &[(Is("--max-redirects"), &["-maxr", "-max-redirects", "--max-redirs", "--max-redirect"])],
    ),
    ("write '--insecure'", &[(Words("--insecure"), &["-k", "--no-check-certificate"])]),
    (
        "leave it out: certificates are checked; '--insecure' accepts all of them",
        &[(Unwritten, &["--check-certificate"])],
    ),
    ("write '--cacert FILE'", &[(Is("--cacert"), &["--ca-certificate"])]),
    ("write '--cert FILE'", &[(Is("--cert"), &["--certificate"])]),
    ("write '--key FILE'", &[(Is("--key"), &["--private-key"])]),
    (
        "write '-A TEXT' for one User-Agent; none is chosen at random",
        &[(Unwritten, &["-random-agent"])],
    ),
    ("write \"-H 'Referer: URL'\"", &[(Unwritten, &["--referer", "-auto-referer"])]),
    (
        "write '--cookie-jar FILE', or \"-H 'Cookie: NAME=VALUE'\"",
        &[(Unwritten, &["--cookie"]), (Is("--cookie-jar"), &["--load-cookies", "--save-cookies"])],
    ),
    (
        "write user and password into the URL, as USER:PASSWORD@ before its host, or -H with the field Authorization",
        &[(
            Unwritten,
            &["--user", "--http-user", "--http-passwd", "--http-password", "--password"],
        )],
    ),
    ("write '-d DATA'", &[(Is("-d"), &["-body", "--body-data", "--post-data"])]),
    (
        "write '--data-binary @FILE', with '-X METHOD'",
        &[(Unwritten, &["--post-file", "--body-file", "--upload-file"])],
    ),
    (
        "write '--data-binary @FILE', and -H with the Content-Type",
        &[(Unwritten, &["-F", "--form"])],
    ),
    ("write what is asked for into the URL, behind a ?", &[(Unwritten, &["-G", "--get"])]),
    ("write '-X METHOD'", &[(Is("-X"), &["--method"])]),
    ("write '-I', which asks for heads only", &[(Words("-I"), &["--spider", "--dry-run"])]),
    (
        "leave it out: HTTP/2 is spoken where the server agrees, see '--http2-prior-knowledge'",
        &[(Nothing, &["-http2"])],
    ),
    (
        "leave it out: HTTP/2 and HTTP/1.1 are spoken, and no HTTP/3",
        &[(Unwritten, &["--http3", "--http3-only"])],
    ),
    (
        "leave it out: TLS 1.2 and 1.3 are spoken, and the handshake cannot be chosen",
        &[(Nothing, &["--tlsv1.2", "-tlsi", "-tls-impersonate"]), (Unwritten, &["--tlsv1.3"])],
    ),
    (
        "leave it out: URLs of http and https are fetched, and no others",
        &[(NothingForValue, &["--proto", "--proto-redir"])],
    ),
    (
        "leave it out: the system chooses the address that connections are made from; '-4' and '-6' choose its family",
        &[(Unwritten, &["--bind-address", "--interface"])],
    ),
    (
        "write the name into the URL, and '--resolve HOST:PORT:ADDRESS' for the address that is asked",
        &[(Unwritten, &["-sni", "-sni-name"])],
    ),
    (
        "choose hosts in the list; redirects to private addresses are followed with '--allow-private' only",
        &[(Unwritten, &["-deny", "-allow", "-exclude"])],
    ),
    ("write '--http1.1'", &[(Words("--http1.1"), &["-0", "--http1.0"])]),
    (
        "leave it out: '--http-fallback' alone tries http",
        &[(Nothing, &["-nf", "-no-fallback", "-nfs", "-no-fallback-scheme"])],
    ),
    (
        "write '-x URL'",
        &[(Is("-x"), &["-proxy", "-http-proxy", "--http-proxy", "--https-proxy", "--all-proxy"])],
    ),
    ("write \"-x ''\"", &[(Words("-x ''"), &["--no-proxy"])]),
    (
        "write '-x socks5h://HOST:PORT', and the like",
        &[(Unwritten, &["--socks5", "--socks5-hostname", "--socks4"])],
    ),
    (
        "write user and password into the URL of '-x', as USER:PASSWORD@ before its host",
        &[(Unwritten, &["--proxy-user"])],
    ),
    ("write '--dns ADDR'", &[(Unwritten, &["-resolvers", "--dns-servers", "--async-dns-server"])]),
    ("write '-4'", &[(Words("-4"), &["--inet4-only"])]),
    ("write '-6'", &[(Words("-6"), &["--inet6-only"])]),
    ("write '--compressed'", &[(Words("--compressed"), &["--http-accept-gzip"])]),
    (
        "write '--if-changed-since FILE', with the lines of an earlier run",
        &[(
            Unwritten,
            &[
                "-N",
                "--timestamping",
                "-z",
                "--time-cond",
                "--conditional-get",
                "--etag-compare",
                "--etag-save",
            ],
        )],
    ),
    (
        "write \"-H 'Referer: URL'\"; robots.txt is read with '--robots' only",
        &[(Unwritten, &["-e"])],
    ),
    (
        "write '-A TEXT' for the User-Agent; the URL of '-x' has the user of a proxy, as USER:PASSWORD@ before its host",
        &[(Is("-A"), &["-U"])],
    ),
    (
        "write '-t SECONDS' for a time limit; '--data-binary @FILE' sends a file",
        &[(Is("-t"), &["-T"])],
    ),
    ("write '--cookie-jar FILE', or \"-H 'Cookie: NAME=VALUE'\"", &[(Unwritten, &["-b"])]),
];
