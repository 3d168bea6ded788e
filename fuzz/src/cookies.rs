//! Invariant: whatever a client sends as Cookie,
//! - it is read the same in several fields as in one (RFC 9113 §8.2.3);
//! - a cookie that is set with a name and a value that were read is read again as the same;
//! - none passes for one that was signed or encrypted;
//! - nothing panics.

use std::cell::RefCell;

use stoop::{Body, IntoHandler, Method, Response};
use stoop_web::{AppHandler, Cookie, CookieKey, Cookies, Router, get};

use super::web::answer;

/// More is only more of the same.
const INPUT_MAX: usize = 1_000;

/// Cookies that are set again.
const SET_MAX: usize = 8;

thread_local! {
    static APP: AppHandler =
        Router::new().route("/f", get(note)).build().expect("a router").into_handler();
    static NOTED: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the cookies of a request.
fn note(cookies: Cookies) -> &'static str {
    let key = CookieKey::from_bytes(&[7; 64]).expect("a key");
    let own = |(name, value): (&str, &str)| {
        assert_eq!(cookies.signed(&key, name), None, "signed");
        assert_eq!(cookies.private(&key, name), None, "encrypted");
        (name.to_owned(), value.to_owned())
    };
    NOTED.set(cookies.iter().map(own).collect());
    "noted"
}

/// The cookies in these fields. `None` if these are no fields.
fn cookies(lines: &[&[u8]]) -> Option<Vec<(String, String)>> {
    let fields: Vec<_> = lines.iter().map(|line| ("cookie", *line)).collect();
    let answered = APP.with(|app| answer(app, Method::GET, &fields, Body::empty()))?;
    assert_eq!(answered.status, 200);
    Some(NOTED.take())
}

/// The input is the cookies.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let line = &data[..data.len().min(INPUT_MAX)];
    let Some(whole) = cookies(&[line]) else { return };
    if std::str::from_utf8(line).is_ok() {
        let apart: Vec<_> = line.split(|byte| *byte == b';').map(<[u8]>::trim_ascii).collect();
        assert_eq!(cookies(&apart).as_ref(), Some(&whole), "in a field each");
    }
    for (name, value) in whole.into_iter().take(SET_MAX) {
        let set = Cookie::new(&name, &value).set_on(Response::from_text("set"));
        let Some(line) = set.field("set-cookie") else {
            assert_eq!(set.status().as_u16(), 500, "what cannot be set is a defect");
            continue;
        };
        let pair = line.split(|byte| *byte == b';').next().unwrap_or_default();
        assert_eq!(cookies(&[pair]), Some(vec![(name, value)]), "set again");
    }
}
