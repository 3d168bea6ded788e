//! Lines, byte order marks, sitemaps; paths and spellings.

use stoop_fetch::robots::RobotsTxt;

use crate::{assert_paths, is_allowed};

/// It counts lines; here is what they say. `bar` has the last one, and `foo` the second.
#[test]
fn id_lines_numbers_are_counted_correctly() {
    for file in [
        "User-Agent: foo\nDisallow: /some/path\nUser-Agent: bar\n\n\nDisallow: /\n",
        "User-Agent: foo\r\nDisallow: /some/path\r\nUser-Agent: bar\r\n\r\n\r\nDisallow: /\r\n",
        "User-Agent: foo\rDisallow: /some/path\rUser-Agent: bar\r\r\rDisallow: /\r",
        "User-Agent: foo\nDisallow: /some/path\nUser-Agent: bar\n\n\nDisallow: /",
        "User-Agent: foo\nDisallow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /",
    ] {
        assert_paths(file, "foo", &["/"], &["/some/path"]);
        assert_paths(file, "bar", &[], &["/", "/some/path"]);
    }
}

#[test]
fn id_utf8_byte_order_mark_is_skipped() {
    let file = b"User-Agent: foo\nDisallow: /AnyValue\n";
    for (mark, expected) in [
        (&b"\xef\xbb\xbf"[..], false),
        (b"\xef\xbb", false),
        (b"\xef", false),
        // This is none, and makes the first line another one.
        (b"\xef\x11\xbf", true),
    ] {
        assert_eq!(is_allowed([mark, file].concat(), "foo", "/AnyValue"), expected, "{mark:?}");
    }
    let file = b"User-Agent: foo\n\xef\xbb\xbfDisallow: /AnyValue\n";
    assert_paths(file, "foo", &["/AnyValue"], &[]);
}

#[test]
fn id_non_standard_line_example_sitemap() {
    let (group, sitemap) = (
        "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\n",
        "Sitemap: http://foo.bar/sitemap.xml\n",
    );
    for file in [[group, sitemap].concat(), [sitemap, group].concat()] {
        let robots = RobotsTxt::parse(file.as_bytes(), "foo");
        assert_eq!(robots.sitemaps().collect::<Vec<_>>(), ["http://foo.bar/sitemap.xml"]);
    }
}

/// Those of its URLs that are a path and query.
#[test]
fn get_path_params_query() {
    for (path, rule) in
        [("", "/$"), ("/", "/$"), ("/a", "/a$"), ("/a/b?c=http://d.e/", "/a/b?c=http://d.e/$")]
    {
        assert_paths(format!("user-agent: *\ndisallow: {rule}"), "a", &[], &[path]);
    }
    let file = "user-agent: *\ndisallow: /a/b?c=d&e=f$\ndisallow: /?a$\ndisallow: /a;b$";
    assert_paths(file, "a", &["/a/b?c=d&e=f%23g"], &["/a/b?c=d&e=f#fragment", "?a", "/a;b#c"]);
}

#[test]
fn maybe_escape_pattern() {
    for (rule, path) in
        [("/a/b/c", "/a/b/c"), ("/\u{e1}", "/%C3%A1"), ("/%aa", "/%AA"), ("/%aa", "/%aA")]
    {
        assert_paths(format!("user-agent: *\ndisallow: {rule}"), "a", &["/"], &[path]);
    }
}
