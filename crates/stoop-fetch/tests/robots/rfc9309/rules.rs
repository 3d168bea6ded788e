//! RFC 9309 §2.2.2, §2.2.3 and §2.2.4: rules, special characters, other records.

use std::time::Duration;

use stoop_fetch::robots::RobotsTxt;

use crate::{assert_paths, is_allowed};

/// §2.2.2: matching is by case, from the first octet.
#[test]
fn matching_is_by_case_from_the_first_octet() {
    assert_paths(
        "user-agent: a\ndisallow: /b/c",
        "a",
        &["/", "/b", "/B/c", "/a/b/c"],
        &["/b/c", "/b/c/d"],
    );
}

/// §2.2.2: the match with the most octets counts.
#[test]
fn the_match_with_the_most_octets_counts() {
    for file in [
        "user-agent: a\nallow: /b/\ndisallow: /\ndisallow: /b/c\n",
        "user-agent: a\ndisallow: /b/c\ndisallow: /\nallow: /b/\n",
    ] {
        assert_paths(file, "a", &["/b/", "/b/d"], &["/", "/b", "/b/c"]);
    }
}

/// §2.2.2: of two rules that are alike the one that allows counts.
#[test]
fn of_two_that_are_alike_the_one_that_allows_counts() {
    assert_paths("user-agent: a\nallow: /b\ndisallow: /b\ndisallow: /b", "a", &["/b"], &[]);
    assert_paths("user-agent: a\ndisallow: /%62?c:\nallow: /b?c%3A", "a", &["/b?c:"], &[]);
    // As long, and so as specific.
    assert_paths("user-agent: a\ndisallow: /*c\nallow: /b*", "a", &["/bc"], &["/c"]);
}

/// §2.2.2: what no rule matches is allowed.
#[test]
fn what_no_rule_matches_is_allowed() {
    assert_paths("user-agent: a\nallow: /b\ndisallow: /c", "a", &["/", "/d"], &["/c"]);
}

/// §2.2.2: the file itself is allowed.
#[test]
fn the_file_itself_is_allowed() {
    let file = "user-agent: *\ndisallow: /\ndisallow: /robots.txt$\n";
    assert_paths(
        file,
        "a",
        &["/robots.txt", "/robots.txt?a"],
        &["/robots.txt/", "/robots.txts", "/a/robots.txt"],
    );
}

/// §2.2.2: octets beyond ASCII, and reserved ones, are compared encoded. These are the rows of its table: each of
/// the spellings as a rule denies each of them as a path. The slashes of the second row stay apart, which two
/// resources have (RFC 3986 §2.2) and a rule about all encoded slashes needs.
#[test]
fn spellings_of_one_path_are_compared_as_one() {
    let rows: [&[&str]; 6] = [
        &["/foo/bar?baz=quz", "/foo/bar?baz%3Dquz"],
        &["/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A//foo.bar"],
        &[
            "/foo/bar?baz=https:%2F%2Ffoo.bar",
            "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
            "/foo/bar?baz=https%3a%2f%2ffoo.bar",
        ],
        &["/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"],
        &["/foo/bar/%62%61%7A", "/foo/bar/baz", "/foo/bar/b%61z"],
        &["/a b", "/a%20b"],
    ];
    for (row, spellings) in rows.iter().enumerate() {
        for rule in *spellings {
            for (other, paths) in rows.iter().enumerate() {
                for path in *paths {
                    let file = format!("user-agent: a\ndisallow: {rule}\n");
                    assert_eq!(is_allowed(file, "a", path), row != other, "{rule} {path}");
                }
            }
        }
    }
}

/// §2.2.2: what is not UTF-8 is compared by its octets.
#[test]
fn what_is_not_utf_8_is_compared_by_its_octets() {
    assert_paths(
        b"user-agent: a\ndisallow: /caf\xe9\n",
        "a",
        &["/caf\u{e9}"],
        &["/caf%E9", "/caf%e9s"],
    );
}

/// §2.2.2: rules in front of the first user-agent line are ignored.
#[test]
fn rules_in_no_group_are_ignored() {
    assert_paths("disallow: /\nuser-agent: a\ndisallow: /b\n", "a", &["/"], &["/b"]);
    assert_paths("disallow: /\n", "a", &["/"], &[]);
}

/// §2.2.3: `#`, `$` and `*`.
#[test]
fn special_characters_are_special() {
    assert_paths(
        "user-agent: a\ndisallow: / # comment in line\nallow: /b",
        "a",
        &["/b"],
        &["/", "/%23"],
    );
    let file = "user-agent: a\ndisallow: /\nallow: /this/path/exactly$";
    assert_paths(
        file,
        "a",
        &["/this/path/exactly"],
        &["/this/path/exactly/", "/this/path/exactly?"],
    );
    let file = "user-agent: a\ndisallow: /\nallow: /this/*/exactly";
    assert_paths(
        file,
        "a",
        &["/this//exactly", "/this/a/b/exactly", "/this/a/exactly/b"],
        &["/this/exactly"],
    );
}

/// §2.2.3: special characters are matched verbatim where they are encoded, and `$` where it is not last.
#[test]
fn encoded_special_characters_are_not() {
    let file = "user-agent: a\ndisallow: /path/file-with-a-%2A.html\ndisallow: /path/foo-%24\ndisallow: /c$d\n";
    let denied = [
        "/path/file-with-a-*.html",
        "/path/file-with-a-%2a.html",
        "/path/foo-$",
        "/path/foo-%24b",
        "/c$d",
        "/c%24d",
    ];
    assert_paths(file, "a", &["/path/file-with-a-.html", "/path/foo-", "/cd", "/c"], &denied);
}

/// §2.2.4: other records end no group, and no run of user-agent lines.
#[test]
fn other_records_end_no_group() {
    for record in [
        "Sitemap: https://a.test/s.xml",
        "Crawl-delay: 5",
        "Host: a.test",
        "Clean-param: a /b",
        "x",
        "x: y",
    ] {
        let file = format!(
            "user-agent: a\n{record}\nuser-agent: b\n{record}\ndisallow: /c\n{record}\ndisallow: /d\n"
        );
        for agent in ["a", "b"] {
            assert_paths(&file, agent, &["/"], &["/c", "/d"]);
        }
    }
}

/// §2.2.4: sitemaps are read, wherever they stand and however they are misspelt.
#[test]
fn sitemaps_are_read_wherever_they_stand() {
    let file = "Sitemap: https://a.test/1\nuser-agent: a\nsite-map: /2?a=b:c\ndisallow: /\nSITEMAP https://a.test/3\n\
                sitemap:\nuser-agent: b\nSitemaps:\thttps://\u{e9}.test/ #4";
    for agent in ["a", "c"] {
        let robots = RobotsTxt::parse(file.as_bytes(), agent);
        let expected = ["https://a.test/1", "/2?a=b:c", "https://a.test/3", "https://\u{e9}.test/"];
        assert_eq!(robots.sitemaps().collect::<Vec<_>>(), expected);
        let without = robots.clone().without_sitemaps();
        assert_eq!(without.sitemaps().count(), 0);
        assert_eq!(without.is_allowed("/"), robots.is_allowed("/"));
    }
}

/// §2.2.4: Crawl-delay is for the agents above it, and of several the longest holds.
#[test]
fn crawl_delays_are_those_of_the_agent() {
    let delay = |file: &str, agent| RobotsTxt::parse(file.as_bytes(), agent).crawl_delay();
    let file = "crawl-delay: 9\nuser-agent: a\ncrawl-delay: 1.5\nuser-agent: b\ncrawl-delay: 0.25\ndisallow: /\n\
                user-agent: *\ncrawl-delay: 4\ncrawl-delay: x\ncrawl-delay 3";
    assert_eq!(delay(file, "a"), Some(Duration::from_millis(1_500)));
    assert_eq!(delay(file, "b"), Some(Duration::from_millis(250)));
    assert_eq!(delay(file, "c"), Some(Duration::from_secs(4)));
    // A group of its own is all that counts, also without a delay.
    assert_eq!(delay("user-agent: *\ncrawl-delay: 4\nuser-agent: a\ndisallow:", "a"), None);
    assert_eq!(delay("user-agent: a\ncrawl-delay: 0", "a"), Some(Duration::ZERO));
}
