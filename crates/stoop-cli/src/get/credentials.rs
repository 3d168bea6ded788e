//! The credentials of a request: those that were typed, those in the URL, and those of a netrc file.

use percent_encoding::percent_decode_str;
use stoop::Netrc;
use url::Url;

use super::args::GetArgs;
use super::failure::GetFailure;
use super::password;

/// A user and a password.
pub(super) type Credentials = (String, String);

/// The URL for the client, and the credentials for it, which are not in the URL then. What the client finds by itself,
/// in the URL or its netrc, is left to it.
///
/// # Errors
/// Those of reading a password.
pub(super) fn credentials(
    args: &GetArgs,
    url: &str,
    netrc: &Netrc,
) -> Result<(String, Option<Credentials>), GetFailure> {
    let kept = || url.to_owned();
    if args.oauth2_bearer.is_some() {
        return Ok((kept(), None));
    }
    let parsed = Url::parse(url).ok();
    let typed = args.user.as_deref();
    if let Some(typed) =
        typed.map(|typed| password::user_and_password("host", typed)).transpose()?
    {
        let url = if args.digest { parsed.and_then(without_user) } else { None };
        return Ok((url.unwrap_or_else(kept), Some(typed)));
    }
    let Some(parsed) = parsed else { return Ok((kept(), None)) };
    let known = parsed.host_str().and_then(|host| netrc.get(host));
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = (decoded(parsed.username()), parsed.password().map(decoded));
    let found = match (user.is_empty() && password.is_none(), password, known) {
        // The client sends these by the Basic scheme.
        (true, ..) | (_, Some(_), _) if !args.digest => None,
        (true, _, known) => known.map(|(user, password)| (user.to_owned(), password.to_owned())),
        (false, Some(password), _) => Some((user, password)),
        (false, None, Some((login, password))) if login == user => {
            Some((user, password.to_owned()))
        }
        (false, None, _) => args.digest.then(|| (user, String::new())),
    };
    match found {
        Some(found) => Ok((without_user(parsed).unwrap_or_else(kept), Some(found))),
        None => Ok((kept(), None)),
    }
}

fn without_user(mut url: Url) -> Option<String> {
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some(url.into())
}
