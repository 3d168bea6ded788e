//! Invariant: whatever a client sends as `Forwarded`, or as the fields that were there before it,
//! - a list in several fields says the same as in one (RFC 7239 §7.1);
//! - what a proxy adds behind it names the client, unless the whole is malformed or no text;
//! - it is answered, or refused with 400, which the older fields never are;
//! - nothing panics.

use stoop::{Body, Handler, IntoHandler, Method, Network};
use stoop_web::{AppHandler, Extension, ForwardedClient, Router, TrustedProxies, get};

use super::web::answer;

/// More is only more of the same.
const INPUT_MAX: usize = 2_000;

/// Commas at which a list is made two.
const CUTS_MAX: usize = 8;

const FORWARDED: &[&str] = &["forwarded"];
const OLDER: &[&str] = &["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"];

/// The same proxy's element, in the two ways of writing it.
const ELEMENTS: [&str; 2] =
    ["for=192.0.2.7;proto=https;host=a.test", "for=\"192.0.2.7\";proto=\"https\";host=\"a.test\""];

/// What the proxy writes into each of the older fields.
const MEMBERS: [&str; 3] = ["192.0.2.7", "https", "a.test"];

thread_local! {
    static BY_FORWARDED: AppHandler = app(TrustedProxies::forwarded(proxies()));
    static BY_OLDER: AppHandler = app(TrustedProxies::x_forwarded(proxies()));
}

fn proxies() -> Option<Network> {
    "10.0.0.0/8".parse().ok()
}

/// An application that answers what is known of the client; the requests come from a proxy.
fn app(proxies: TrustedProxies) -> AppHandler {
    let shown = |Extension(client): Extension<ForwardedClient>| format!("{client:?}");
    let router = Router::new().route("/f", get(shown)).layer(proxies.unix(true));
    router.build().expect("a router").into_handler()
}

/// What is known of the client by fields of these names, each with these lines; none if it is refused.
fn told<H: Handler<Body = Body>>(app: &H, fields: &[(&str, &[u8])]) -> Option<Option<String>> {
    let answered = answer(app, Method::GET, fields, Body::empty())?;
    Some(match answered.status {
        200 => Some(String::from_utf8(answered.content.into()).expect("text")),
        400 => None,
        status => panic!("answered {status}"),
    })
}

/// The first byte chooses the fields, the others are a list.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [choice, list @ ..] = &data[..data.len().min(INPUT_MAX)] else { return };
    match choice & 1 {
        0 => BY_FORWARDED.with(|app| check_fields(app, FORWARDED, list)),
        _ => BY_OLDER.with(|app| check_fields(app, OLDER, list)),
    }
}

fn check_fields<H: Handler<Body = Body>>(app: &H, names: &[&str], list: &[u8]) {
    let in_lines = |lines: &[&[u8]]| {
        let of = |name| lines.iter().map(move |line| (name, *line));
        told(app, &names.iter().copied().flat_map(of).collect::<Vec<_>>())
    };
    let Some(whole) = in_lines(&[list]) else { return };
    let (is_text, is_older) = (std::str::from_utf8(list).is_ok(), names.len() > 1);
    assert!(whole.is_some() || !is_older, "the older fields have no grammar");
    let commas = list.iter().enumerate().filter(|(_, byte)| **byte == b',');
    for (at, _) in commas.take(CUTS_MAX).filter(|_| is_text) {
        let (left, right) = (&list[..at], &list[at + 1..]);
        let are_lists = [left, right].iter().all(|one| in_lines(&[*one]).flatten().is_some());
        if are_lists {
            assert_eq!(in_lines(&[left, right]), Some(whole.clone()), "in two fields");
        }
    }
    let expected = "address: Some(192.0.2.7:0), is_secure: Some(true), host: Some(\"a.test\")";
    let is_it = |told: &str| told.contains(expected);
    for element in ELEMENTS {
        let added = |name: &usize| if is_older { MEMBERS[*name] } else { element };
        let fields: Vec<usize> = (0..names.len()).collect();
        let joined = |name| [list, b", ", added(&name).as_bytes()].concat();
        let same: Vec<Vec<u8>> = fields.iter().copied().map(joined).collect();
        let same: Vec<_> = fields.iter().map(|name| (names[*name], &*same[*name])).collect();
        let of = |name: &usize| [(names[*name], list), (names[*name], added(name).as_bytes())];
        let apart: Vec<_> = fields.iter().flat_map(of).collect();
        if let Some(told) = told(app, &apart).flatten() {
            assert!(is_it(&told), "in a field of its own: {told}");
        }
        if let Some(told) = told(app, &same).flatten() {
            assert!(is_it(&told) || !is_text, "in the same field: {told}");
        }
    }
}
