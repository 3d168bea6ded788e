//! Credentials by the Digest scheme: RFC 7616, and its predecessors for servers that have no more.

use std::fmt;

use digest_auth::{AlgorithmType, AuthContext, HttpMethod, Qop, WwwAuthenticateHeader};
use http::Method;
use stoop_proto::Fields;

use super::challenge;

/// A username and password, for the challenge that a server answers with.
#[derive(Clone)]
pub(crate) struct DigestCredentials {
    pub(crate) user: String,
    pub(crate) password: String,
    /// Challenges that were answered: a second one means that the server does not accept them, or that its nonce is
    /// stale.
    pub(crate) answered: u32,
}

impl DigestCredentials {
    /// The Authorization for a request that was answered by these fields; none if they have no challenge that can be
    /// answered, or only the one that was. `content` is what is known of the request's.
    pub(crate) fn answer(
        &mut self,
        fields: &Fields,
        method: &Method,
        target: &str,
        content: Option<&[u8]>,
    ) -> Option<String> {
        let mut challenge = strongest(fields)?;
        let may_answer = self.answered == 0 || challenge.stale;
        if !may_answer || self.answered >= ANSWERS_MAX {
            return None;
        }
        self.answered += 1;
        match &mut challenge.qop {
            // The integrity of content is TLS's to protect; where the server insists, it has to be known.
            Some(offered) if offered.contains(&Qop::AUTH) => *offered = vec![Qop::AUTH],
            Some(_) if content.is_none() => return None,
            Some(_) | None => {}
        }
        let method = HttpMethod::from(method.as_str());
        let context =
            AuthContext::new_with_method(&self.user, &self.password, target, content, method);
        Some(challenge.respond(&context).ok()?.to_header_string())
    }
}

/// Challenges that are answered for one request: the first, and one because its nonce has become stale.
const ANSWERS_MAX: u32 = 2;

/// The challenge with the strongest hash (RFC 7616 §3.7).
fn strongest(fields: &Fields) -> Option<WwwAuthenticateHeader> {
    let values = fields.all("www-authenticate").filter_map(|value| std::str::from_utf8(value).ok());
    let challenges = values.flat_map(|value| challenge::of_scheme(value, "digest"));
    challenges.filter_map(|parameters| read(&parameters)).max_by_key(|challenge| {
        match challenge.algorithm.algo {
            AlgorithmType::MD5 => 0,
            AlgorithmType::SHA2_256 => 1,
            AlgorithmType::SHA2_512_256 => 2,
        }
    })
}

/// A challenge of these parameters. What stands in quotes may be any text, which the parser takes for ASCII: it is read
/// without it.
fn read(parameters: &[&str]) -> Option<WwwAuthenticateHeader> {
    let text = parameters.join(", ");
    let ascii: String = text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
    let mut challenge = digest_auth::parse(&ascii).ok()?;
    if ascii != text {
        challenge.realm = challenge::parameter(parameters, "realm")?;
        challenge.nonce = challenge::parameter(parameters, "nonce")?;
        challenge.opaque = challenge::parameter(parameters, "opaque");
    }
    Some(challenge)
}

/// Shows no credentials.
impl fmt::Debug for DigestCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestCredentials")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> DigestCredentials {
        let (user, password) = ("Mufasa".to_owned(), "CircleOfLife".to_owned());
        DigestCredentials { user, password, answered: 0 }
    }

    fn challenged(challenges: &[&str]) -> Fields {
        let mut fields = Fields::new();
        for challenge in challenges {
            fields.push("WWW-Authenticate", challenge.as_bytes()).unwrap();
        }
        fields
    }

    /// RFC 2069 §2.4, with the response that its erratum has. Later schemes have a random part.
    #[test]
    fn a_challenge_is_answered_with_the_response_that_the_rfc_has() {
        let fields = challenged(&[
            "Basic realm=\"x\"",
            "digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
        ]);
        let answer = credentials().answer(&fields, &Method::GET, "/dir/index.html", None).unwrap();
        assert!(answer.starts_with("Digest username=\"Mufasa\", "), "{answer}");
        assert!(answer.contains("response=\"1949323746fe6a43ef61f9606e7febea\""), "{answer}");
    }

    #[test]
    fn the_strongest_hash_is_chosen_and_content_is_left_out_where_it_may_be() {
        let fields = challenged(&[
            "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD5",
            "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int, auth\", algorithm=SHA-256",
            "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=unknown",
        ]);
        let answer = credentials().answer(&fields, &Method::PUT, "/", None).unwrap();
        assert!(answer.contains("algorithm=SHA-256") && answer.contains("qop=auth,"), "{answer}");
        let strict = challenged(&["Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\""]);
        assert_eq!(credentials().answer(&strict, &Method::PUT, "/", None), None);
        let answer = credentials().answer(&strict, &Method::PUT, "/", Some(b"body")).unwrap();
        assert!(answer.contains("qop=auth-int"), "{answer}");
    }

    #[test]
    fn a_challenge_is_answered_once_unless_its_nonce_was_stale() {
        let mut credentials = credentials();
        let fresh = challenged(&["Digest realm=\"r\", nonce=\"n\""]);
        let stale = challenged(&["Digest realm=\"r\", nonce=\"m\", stale=TRUE"]);
        let mut answer = |fields| credentials.answer(fields, &Method::GET, "/", None).is_some();
        assert!(answer(&fresh) && !answer(&fresh) && answer(&stale));
        assert!(!answer(&stale), "it was answered without end");
        for none in
            ["Basic realm=\"r\"", "Digest", "Digest realm=\"r\"", "", "Digest realm=\"\u{e9}\""]
        {
            assert!(
                self::credentials().answer(&challenged(&[none]), &Method::GET, "/", None).is_none()
            );
        }
    }

    #[test]
    fn a_challenge_may_share_its_field_and_have_any_text_in_quotes() {
        let nonce = "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"";
        let shared = format!("Basic realm=\"b, c\", Digest realm=\"testrealm@host.com\", {nonce}");
        let answer = |challenge: &str| {
            credentials().answer(&challenged(&[challenge]), &Method::GET, "/dir/index.html", None)
        };
        for challenge in
            [&*shared, &*format!("{shared}, Negotiate"), &*shared.replace(", Digest", ",Digest")]
        {
            let answer = answer(challenge).expect(challenge);
            assert!(answer.contains("response=\"1949323746fe6a43ef61f9606e7febea\""), "{answer}");
        }
        // MD5(MD5(Mufasa:zoé:CircleOfLife):n:MD5(GET:/dir/index.html))
        let answer = answer("Digest realm=\"zo\u{e9}\", nonce=\"n\"").expect("an answer");
        assert!(answer.contains("realm=\"zo\u{e9}\""), "{answer}");
        assert!(answer.contains("response=\"4bdec0a3e4898801d7ab1d62de2bb534\""), "{answer}");
    }
}
