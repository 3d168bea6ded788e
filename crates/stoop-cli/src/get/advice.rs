//! What to try after a failure, in one line.

use super::args::GetArgs;

/// What to try after a failure with this exit code.
pub(super) fn advice(code: u8, args: &GetArgs) -> Option<&'static str> {
    Some(match code {
        6 => "--resolve HOST:PORT:ADDRESS says where a name is that is not known",
        16 if args.http2_prior_knowledge => {
            "without --http2-prior-knowledge it is HTTP/1.1, if the server wants that"
        }
        16 => "try --http1.1",
        18 => "-C - -o FILE goes on with what is there",
        33 => "without -C all of it is fetched",
        35 if args.url.starts_with("https:") => "a port without TLS is reached by http://",
        47 => "--max-redirs N follows more",
        60 => "--cacert FILE trusts its issuer, and -k any certificate, an attacker's too",
        61 => "without --compressed none is asked for",
        97 => "-U USER:PASSWORD has credentials for the proxy",
        _ => return None,
    })
}
