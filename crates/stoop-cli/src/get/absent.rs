//! Options of curl that are not here, and what is used in their place.

const ABSENT: &[(&str, &str)] = &[
    ("--url", "the URL is typed without an option"),
    ("--socks4", "-x socks4://HOST:PORT"),
    ("--socks4a", "-x socks4a://HOST:PORT"),
    ("--socks5", "-x socks5://HOST:PORT"),
    ("--socks5-hostname", "-x socks5h://HOST:PORT"),
    ("--config", "there are no files of settings"),
    ("-K", "there are no files of settings"),
    ("--proxytunnel", "https goes through a tunnel in any case"),
    ("-p", "https goes through a tunnel in any case"),
    ("--data-ascii", "-d"),
    ("--parallel", "stoop fetch has many at once"),
    ("-Z", "stoop fetch has many at once"),
    ("--retry-all-errors", "--retry"),
    ("--trace", "-v"),
    ("--trace-ascii", "-v"),
    ("--capath", "--cacert FILE"),
    ("--http1.0", "--http1.1"),
    ("--http3", "--http2"),
    ("--append", "it is of FTP"),
    ("--ntlm", "there are --basic and --digest"),
    ("--negotiate", "there are --basic and --digest"),
    ("--anyauth", "--basic or --digest"),
];

/// What is used in place of an option of curl that is not here.
pub(crate) fn instead_of(option: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(absent, _)| *absent == option).map(|(_, instead)| *instead)
}
