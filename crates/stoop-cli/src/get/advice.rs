//! What to try after a failure, in one line.

use super::args::GetArgs;
use super::cause::Cause;
use super::failure::GetFailure;

/// What to try after a failure.
pub(super) fn advice(failure: &GetFailure, args: &GetArgs) -> Option<&'static str> {
    Some(match (failure.code, failure.cause) {
        #[cfg(feature = "tls")]
        (_, Cause::NoCertificateShown) if args.tls.cert.is_none() => {
            "the server wants a certificate of the client's: --cert FILE shows one"
        }
        (6, _) => "--resolve HOST:PORT:ADDRESS gives the address of a name that is not known",
        (16, _) if args.http2_prior_knowledge => {
            "without --http2-prior-knowledge it is HTTP/1.1, if the server wants that"
        }
        (16, _) => "try --http1.1",
        (18, _) if !args.has_content() && !args.file.remove_on_error => {
            "-C - -o FILE goes on with what is there"
        }
        (33, _) => "without -C all of it is fetched",
        #[cfg(feature = "tls")]
        (35, Cause::NotTls) if args.is_https() => "a port without TLS is reached by http://",
        (47, _) => "--max-redirs N follows more",
        (60, Cause::Expired) => {
            "the server needs a new certificate; -k accepts any, an attacker's too"
        }
        (60, Cause::WrongName) => {
            "the URL needs a name that is in the certificate; -k accepts any, an attacker's too"
        }
        (60, _) => "--cacert FILE trusts its issuer, and -k any certificate, an attacker's too",
        (61, _) => "without --compressed the content is not asked for in a coding",
        (97, _) => "-U USER:PASSWORD has credentials for the proxy",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use stoop::{Error, ErrorKind, Phase};

    use super::super::url_args::UrlArgs;
    use super::*;

    #[test]
    fn a_certificate_that_no_issuer_would_mend_is_not_answered_by_cacert() {
        let args = GetArgs { url: UrlArgs::of("https://a/"), ..GetArgs::default() };
        let advised = |kind| {
            let failure = GetFailure::from(Error::new(kind, Phase::Tls));
            advice(&failure, &args).unwrap_or_default()
        };
        for kind in [ErrorKind::TlsCertExpired, ErrorKind::TlsCertName] {
            let text = advised(kind);
            assert!(text.contains("-k") && !text.contains("--cacert"), "{text}");
        }
        assert!(advised(ErrorKind::TlsCertUntrusted).contains("--cacert"));
        // Nothing says that the server does not speak TLS.
        assert_eq!(advised(ErrorKind::TlsHandshake), "");
    }
}
