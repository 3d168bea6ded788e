use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use tokio::runtime::Builder;

use super::*;
use crate::record::Outcome;
use crate::robots::RobotsTxt;

fn says(file: &str) -> RobotsAnswer {
    RobotsAnswer::Says { access: Access::Rules(RobotsTxt::parse(file.as_bytes(), "a")), why: None }
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

fn ask<'a>(robots: &'a KnownRobots, origin: &'a str) -> Asking<'a> {
    match robots.look_or_ask(origin) {
        Lookup::Unknown(asking) => asking,
        Lookup::Known(_) | Lookup::Asked(_) => panic!("{origin} was asked"),
    }
}

#[test]
fn a_redirect_is_followed_unless_that_is_known_to_be_denied() {
    let robots = KnownRobots::new("a");
    assert_eq!(robots.redirect("http://b/x"), RedirectAction::Follow);
    let asking = ask(&robots, "http://b");
    assert_eq!(robots.redirect("http://b/x"), RedirectAction::Follow);
    asking.end(says("user-agent: *\ndisallow: /x"));
    let denied = robots.redirect("http://b/x");
    let why = "where it leads: its robots.txt does not allow it to \"a\"";
    assert_eq!(denied, RedirectAction::Deny(why.to_owned()));
    assert_eq!(robots.redirect("http://b/y"), RedirectAction::Follow);
    assert_eq!(robots.redirect("https://b/x"), RedirectAction::Follow, "another origin");
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

/// RFC 9309 §2.4: an origin whose rules were known got 'robots_denied' for everything once they were a day old and it
/// answered 503, or gave no response.
#[test]
fn rules_that_were_known_go_on_to_count_while_their_origin_is_unreachable() {
    let unavailable = || RobotsAnswer::Says { access: Access::Unreachable, why: Some("x".into()) };
    let silent = || {
        let outcome = Outcome::local_error("connect_refused", stoop::Phase::Connect, "refused");
        RobotsAnswer::Silent(Box::new(outcome))
    };
    let expire = |robots: &KnownRobots| {
        let answer = robots.answer("http://b").expect("it still counts");
        robots.lock().tell("http://b", answer, Instant::now());
        assert!(robots.answer("http://b").is_none());
    };
    let robots = KnownRobots::new("a");
    ask(&robots, "http://b").end(says("user-agent: *\ndisallow: /x"));
    for newer in [unavailable(), silent(), unavailable()] {
        expire(&robots);
        ask(&robots, "http://b").end(newer);
        assert_eq!(robots.redirect("http://b/y"), RedirectAction::Follow);
        assert!(
            matches!(robots.redirect("http://b/x"), RedirectAction::Deny(why) if why.contains("allow"))
        );
    }
    expire(&robots);
    ask(&robots, "http://b").end(says("user-agent: *\ndisallow: /y"));
    assert_eq!(robots.redirect("http://b/x"), RedirectAction::Follow, "what it says now");
    // Of another nothing was known.
    ask(&robots, "http://c").end(unavailable());
    assert!(matches!(robots.redirect("http://c/y"), RedirectAction::Deny(_)));
    robots.lock().tell("http://c", Arc::new(unavailable()), Instant::now());
    ask(&robots, "http://c").end(silent());
    let answer = robots.answer("http://c").expect("told");
    assert!(matches!(*answer, RobotsAnswer::Silent(_)), "what it is now");
}
