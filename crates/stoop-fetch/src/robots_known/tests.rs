use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use tokio::runtime::Builder;

use super::*;

fn says(file: &str) -> RobotsAnswer {
    RobotsAnswer::Says { access: Access::Rules(RobotsTxt::parse(file.as_bytes(), "a")), why: None }
}

fn known(file: &str) -> Origin {
    Origin::Known { answer: Arc::new(says(file)), until: Instant::now() + FRESH_FOR }
}

#[test]
fn a_url_is_its_origin_and_its_path_with_the_query() {
    for (url, origin, path) in [
        ("http://a/", "http://a", "/"),
        ("https://a:8443/b/c?d=e#f", "https://a:8443", "/b/c?d=e"),
        ("http://a", "http://a", "/"),
    ] {
        assert_eq!(split(url), (origin, path));
    }
}

#[test]
fn what_is_known_is_bounded_in_number_and_bytes() {
    let mut origins = Origins::default();
    for n in 0..ORIGINS_MAX + 10 {
        origins.put(&format!("http://host-{n}"), known("user-agent: *\ndisallow: /x"));
    }
    assert_eq!((origins.order.len(), origins.by_name.len()), (ORIGINS_MAX, ORIGINS_MAX));
    assert!(!origins.by_name.contains_key("http://host-0"));
    let rules: String =
        (0..10_000).map(|n| format!("disallow: /a/rather/long/path/{n}\n")).collect();
    for n in 0..200 {
        origins.put(&format!("http://large-{n}"), known(&format!("user-agent: *\n{rules}")));
        assert!(origins.bytes <= BYTES_MAX);
    }
    assert!(origins.by_name.contains_key("http://large-199"));
    // The same origin again takes the place of what it said before.
    let before = (origins.order.len(), origins.bytes);
    origins.put("http://large-199", known(&format!("user-agent: *\n{rules}")));
    assert_eq!((origins.order.len(), origins.bytes), before);
}

fn ask<'a>(robots: &'a KnownRobots, origin: &'a str) -> Asking<'a> {
    match robots.look_or_ask(origin) {
        Lookup::Unknown(asking) => asking,
        Lookup::Known(_) | Lookup::Asked(_) => panic!("{origin} was asked"),
    }
}

#[test]
fn a_redirect_is_followed_where_that_is_known_to_be_allowed() {
    let robots = KnownRobots::new("a");
    assert_eq!(robots.redirect("http://b/x"), RedirectAction::Stop);
    let asking = ask(&robots, "http://b");
    assert_eq!(robots.redirect("http://b/x"), RedirectAction::Stop);
    asking.end(says("user-agent: *\ndisallow: /x"));
    let denied = robots.redirect("http://b/x");
    let why = "where it leads: its robots.txt does not allow it to \"a\"";
    assert_eq!(denied, RedirectAction::Deny(why.to_owned()));
    assert_eq!(robots.redirect("http://b/y"), RedirectAction::Follow);
    assert_eq!(robots.redirect("https://b/y"), RedirectAction::Stop, "another origin");
}

#[test]
fn of_many_threads_one_asks_and_the_others_wait_for_what_it_is_told() {
    for _ in 0..50 {
        let (robots, asked) = (KnownRobots::new("a"), AtomicU32::new(0));
        let ask = async || loop {
            match robots.look_or_ask("http://b") {
                Lookup::Known(answer) => return answer,
                Lookup::Asked(end) => end.over().await,
                // The first two give up.
                Lookup::Unknown(asking) if asked.fetch_add(1, SeqCst) < 2 => drop(asking),
                Lookup::Unknown(asking) => return asking.end(says("")),
            }
        };
        let ask = || Builder::new_current_thread().build().expect("one").block_on(ask());
        let answers: Vec<_> = std::thread::scope(|threads| {
            let threads: Vec<_> = (0..8).map(|_| threads.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(answers.iter().all(|answer| Arc::ptr_eq(answer, &answers[0])));
        assert_eq!(asked.load(SeqCst), 3);
    }
}
