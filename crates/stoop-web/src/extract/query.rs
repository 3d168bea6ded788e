//! [`Query`] and [`Form`]: queries and forms as arguments, decoded as browsers encode them.

use std::borrow::Cow;

use percent_encoding::percent_decode;
use serde::de::DeserializeOwned;
use stoop::{Method, Request, StatusCode};

use crate::extract::argument::{FromContent, FromHead, Head};
use crate::extract::content::{media_type, plain_content, read, wrong_type};
use crate::extract::problem::{Place, Problem};
use crate::extract::rejection::Rejection;
use crate::extract::values::{Pair, from_pairs};

/// Names with values that are read of one query or form: what PHP reads too. A type with as many members is none.
const PAIRS_MAX: usize = 1000;

/// The query of a request as a structure, a map, or a list of pairs; an empty one if there is none. A name that comes
/// several times is a list.
///
/// What is wrong with it is answered 400, all at once: each value that is not of its type, and each name that is missing.
///
/// ```
/// use serde::Deserialize;
/// use stoop_web::{Query, Router, get};
///
/// #[derive(Deserialize)]
/// struct Search { q: String, page: Option<u32>, #[serde(default)] tag: Vec<String> }
///
/// let search = |Query(search): Query<Search>| format!("{} in {:?}", search.q, search.tag);
/// let app = Router::new().route("/search", get(search)).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromHead for Query<T> {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        decode(Place::Query, head.request().query().unwrap_or_default().as_bytes()).map(Self)
    }
}

/// A form, `application/x-www-form-urlencoded`, as [`Query`] is one: the content of a request, or the query of a
/// GET or HEAD, which is where browsers put a form without `method=post`.
///
/// Content of another type, and in a content coding unless [`Decompress`](crate::Decompress) is around it, is answered 415, more than 2 MiB 413, unless
/// [`body_bytes_max`](crate::Router::body_bytes_max) says otherwise, and what is wrong 400.
///
/// ```
/// use serde::Deserialize;
/// use stoop_web::{Form, Redirect, Router, post};
///
/// #[derive(Deserialize)]
/// struct SignUp { name: String, age: u8 }
///
/// let sign_up = async |Form(form): Form<SignUp>| Redirect::to(format!("/people/{}", form.age));
/// let app = Router::new().route("/sign-up", post(sign_up)).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromContent for Form<T> {
    const IS_TRIED_ALWAYS: bool = true;

    async fn from_content(request: Request, body_bytes_max: u64) -> Result<Self, Rejection> {
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            let query = request.query().unwrap_or_default();
            return decode(Place::Query, query.as_bytes()).map(Self);
        }
        let found = media_type(&request);
        if !found.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(wrong_type(found, "application/x-www-form-urlencoded"));
        }
        plain_content(&request)?;
        let bytes = read(request.into_body(), body_bytes_max).await?;
        decode(Place::Content, &bytes).map(Self)
    }
}

fn decode<T: DeserializeOwned>(place: Place, text: &[u8]) -> Result<T, Rejection> {
    let bad = |problems| Rejection::of(StatusCode::BAD_REQUEST, problems);
    let pairs = pairs(place, text).map_err(|problem| bad(vec![problem]))?;
    from_pairs(place, &pairs).map_err(bad)
}

/// Names with values (URL standard §5.1): what is between `&`, a name up to its first `=`.
fn pairs(place: Place, text: &[u8]) -> Result<Vec<Pair<'_>>, Problem> {
    let mut pairs = Vec::new();
    for piece in text.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()) {
        if pairs.len() == PAIRS_MAX {
            let detail = format!("it has more than {PAIRS_MAX} names");
            return Err(Problem::new(place, "", detail));
        }
        let (name, value) = match piece.iter().position(|byte| *byte == b'=') {
            Some(at) => (&piece[..at], &piece[at + 1..]),
            None => (piece, &b""[..]),
        };
        let name = decoded(name).ok_or_else(|| not_text(place, "", name))?;
        let value = match decoded(value) {
            Some(value) => value,
            None => return Err(not_text(place, &name, value)),
        };
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn not_text(place: Place, name: &str, bytes: &[u8]) -> Problem {
    let shown = Problem::shown(&String::from_utf8_lossy(bytes));
    Problem::new(place, name, format!("{shown} is not UTF-8, percent-encoded"))
}

/// The text with its percent-encoding taken away, and a space for each plus.
fn decoded(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if !bytes.contains(&b'+') {
        return percent_decode(bytes).decode_utf8().ok();
    }
    let spaced: Vec<u8> =
        bytes.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).decode_utf8().ok().map(|text| Cow::Owned(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<(String, String)>, String> {
        decode(Place::Query, text).map_err(|rejection| rejection.problems()[0].to_string())
    }

    #[test]
    fn names_and_values_are_what_browsers_mean() {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        for (text, expected) in [
            ("", &[][..]),
            ("a=1&b=2", &[("a", "1"), ("b", "2")]),
            ("a=1=2&&b&=c", &[("a", "1=2"), ("b", ""), ("", "c")]),
            ("q=a+b%2Bc%20d", &[("q", "a b+c d")]),
            ("%C3%A4=%zz%4", &[("ä", "%zz%4")]),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(owned(expected)), "{text}");
        }
        assert_eq!(
            read(b"a=1&b=%ff").unwrap_err(),
            "query `b`: \"%ff\" is not UTF-8, percent-encoded"
        );
        assert_eq!(read(&b"a&".repeat(1000)).unwrap().len(), 1000);
        assert_eq!(read(&b"a&".repeat(1001)).unwrap_err(), "query: it has more than 1000 names");
    }
}
