//! RFC 9309 §2.3, §2.4, §2.5 and §5: what came of asking for the file, and how much of it is read.

use std::time::Duration;

use stoop_fetch::robots::{Access, FRESH_FOR, REDIRECTS_MAX, RobotsTxt};

use crate::assert_paths;

/// §2.3: the file should be UTF-8; a byte order mark, or what there is of it, is passed over.
#[test]
fn a_byte_order_mark_is_passed_over() {
    for mark in [&b""[..], b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"] {
        let file = [mark, b"user-agent: a\ndisallow: /b"].concat();
        assert_paths(file, "a", &["/"], &["/b"]);
    }
    assert_paths(b"\xff\xfeuser-agent: a\ndisallow: /b", "a", &["/b"], &[]);
    assert_paths(b"user-agent: a\n\xef\xbb\xbfdisallow: /b", "a", &["/b"], &[]);
}

/// §2.3.1.1: a file that was fetched is followed.
#[test]
fn a_file_that_was_fetched_is_followed() {
    for status in [200, 203, 206, 299] {
        let access = Access::from_response(
            status,
            b"user-agent: a\ndisallow: /b\ncrawl-delay: 2\nsitemap: /s",
            "a",
        );
        assert!(access.is_allowed("/") && !access.is_allowed("/b"), "{status}");
        assert_eq!(access.crawl_delay(), Some(Duration::from_secs(2)));
        assert_eq!(access.sitemaps().collect::<Vec<_>>(), ["/s"]);
    }
}

/// §2.3.1.2: five redirects are followed; more may count as unavailable.
#[test]
fn more_than_five_redirects_are_unavailable() {
    assert_eq!(REDIRECTS_MAX, 5);
    for status in [300, 301, 302, 303, 304, 307, 308, 399] {
        assert_eq!(
            Access::from_response(status, b"user-agent: *\ndisallow: /", "a"),
            Access::Unavailable,
            "{status}"
        );
    }
}

/// §2.3.1.3: an unavailable file allows everything. 429 is none.
#[test]
fn an_unavailable_file_allows_everything() {
    for status in (400..=499).filter(|status| *status != 429) {
        let access = Access::from_response(status, b"user-agent: *\ndisallow: /", "a");
        assert_eq!(access, Access::Unavailable, "{status}");
        assert!(access.is_allowed("/a"));
        assert_eq!((access.crawl_delay(), access.sitemaps().count()), (None, 0));
    }
    assert_eq!(Access::from_response(429, b"", "a"), Access::Unreachable);
}

/// §2.3.1.4: an unreachable file allows nothing, but to be fetched.
#[test]
fn an_unreachable_file_allows_nothing() {
    for status in (500..=599).chain([0, 100, 199, 600, 999]) {
        assert_eq!(
            Access::from_response(status, b"user-agent: *\nallow: /", "a"),
            Access::Unreachable,
            "{status}"
        );
    }
    let access = Access::Unreachable;
    assert!(!access.is_allowed("/") && !access.is_allowed("") && !access.is_allowed("/a?b"));
    assert!(access.is_allowed("/robots.txt"));
    assert_eq!((access.crawl_delay(), access.sitemaps().count()), (None, 0));
}

/// §2.3.1.4, §2.4: what was known stays while the file is unreachable.
#[test]
fn what_was_known_stays_while_the_file_is_unreachable() {
    let known = Access::from_response(200, b"user-agent: a\ndisallow: /b", "a");
    assert_eq!(known.clone().renewed(Access::Unreachable), known);
    assert_eq!(known.clone().renewed(Access::Unavailable), Access::Unavailable);
    assert_eq!(Access::Unavailable.renewed(Access::Unreachable), Access::Unavailable);
    assert_eq!(Access::Unreachable.renewed(Access::Unreachable), Access::Unreachable);
    assert_eq!(Access::Unreachable.renewed(known.clone()), known);
}

/// §2.3.1.5: lines that cannot be read take nothing away from the others.
#[test]
fn lines_that_cannot_be_read_take_nothing_away() {
    let file = b"<html>\nuser-agent: a\n\0\0\0\n\xff\xfe:\xff\ndisallow\ndisallow /b c\n: /\ndisallow: /b\0/c\n====\n";
    assert_paths(file, "a", &["/"], &["/b", "/b/"]);
}

/// §2.4: a copy is kept for a day.
#[test]
fn a_copy_is_kept_for_a_day() {
    assert_eq!(FRESH_FOR, Duration::from_secs(86_400));
}

/// §2.5: at least 500 KiB are read.
#[test]
fn as_much_as_must_be_is_read() {
    assert_eq!(RobotsTxt::BYTES_MAX, 500 * 1024);
    let file = |comment: usize| {
        ["user-agent: a\n#", &"x".repeat(comment), "\ndisallow: /b\ndisallow: /c"].concat()
    };
    let others = file(0).len();
    assert_paths(file(RobotsTxt::BYTES_MAX - others), "a", &["/"], &["/b", "/c"]);
    // Half of a rule is another rule.
    assert_paths(file(RobotsTxt::BYTES_MAX - others + 1), "a", &["/", "/c"], &["/b"]);
}

/// §5.1 and §5.2, the examples.
#[test]
fn the_examples_are_read_as_described() {
    let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
                User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
                User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\n";
    assert_paths(
        file,
        "other",
        &["/", "/publications/", "/a.gif?b"],
        &["/example/", "/a.gif", "/b/a.gif"],
    );
    assert_paths(
        file,
        "foobot",
        &["/example/page.html", "/example/allowed.gif"],
        &["/", "/example/"],
    );
    for agent in ["barbot", "bazbot"] {
        assert_paths(file, agent, &["/", "/a.gif", "/example/"], &["/example/page.html"]);
    }
    assert_paths(file, "quxbot", &["/", "/a.gif", "/example/page.html"], &[]);
    let file =
        "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert_paths(
        file,
        "foobot",
        &["/example/page/", "/example/page/a"],
        &["/example/page/disallowed.gif"],
    );
}
