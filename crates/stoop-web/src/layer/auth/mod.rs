//! Authentication by the schemes Basic (RFC 7617) and Bearer (RFC 6750).

mod basic;
mod bearer;
mod known;
mod waiting;

use sha2::{Digest, Sha256};
use stoop::{Answer, Body, Request, StatusCode};
use subtle::ConstantTimeEq;

use crate::extract::{FromHead, Head, Place, Problem, Rejection};
use crate::route::middleware::Next;
use crate::route::mode::{Mode, map};

pub use basic::BasicAuth;
pub use bearer::BearerAuth;

/// Whether two secrets are the same, in a time that tells neither where they differ nor how long they are: their
/// SHA-256 hashes are compared, all bytes of them.
///
/// ```
/// assert!(stoop_web::same_secret(b"hunter2", b"hunter2"));
/// assert!(!stoop_web::same_secret(b"hunter2", b"hunter3"));
/// ```
pub fn same_secret(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}

/// The name by which [`BasicAuth`] or [`BearerAuth`] has let a request in: an argument of handlers, and an
/// [extension](stoop::Request::extensions) of the request and of its response. Where neither is in front of the handler, the answer is 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(pub String);

impl FromHead for User {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        head.request().extensions().get().cloned().ok_or_else(|| {
            let problem = Problem::new(Place::Service, "", "no credentials are asked for here");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        })
    }
}

fn let_in<M: Mode>(
    user: Result<String, Rejection>,
    mut request: Request,
    next: Next<M>,
) -> Answer<M::Future, Body> {
    match user {
        Ok(user) => {
            request.extensions_mut().insert(User(user.clone()));
            map::<M>(next.answer(request), move |mut response| {
                response.extensions_mut().insert(User(user));
                response
            })
        }
        Err(rejection) => Answer::Now(rejection.answer(&request)),
    }
}

/// The credentials of a request by that scheme (RFC 9110 §11.4). None if there are several: which of them were meant
/// is not known.
fn credentials<'a>(request: &'a Request, scheme: &str) -> Option<&'a str> {
    let mut all = request.fields().all("authorization");
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let (named, credentials) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then(|| credentials.trim_matches(' '))
}

fn missing(why: &str) -> Rejection {
    let problem = Problem::new(Place::Field, "Authorization", why);
    Rejection::new(StatusCode::UNAUTHORIZED, problem)
}

/// A quoted string (RFC 9110 §5.6.4), of what a field can have.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars().filter(|character| !character.is_control()) {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}
