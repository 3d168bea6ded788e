//! Groups, agents, rules.

use stoop_fetch::robots::is_product_token;

use crate::assert_paths;

/// The bound of a line, and what a line of `disallow: /x/aaa…` has room for.
const LINE_MAX: usize = 8 * 2083 - 1;

#[test]
fn google_only_system_test() {
    let file = "user-agent: FooBot\ndisallow: /\n";
    assert_paths("", "FooBot", &[""], &[]);
    assert_paths(file, "", &[""], &[]);
    assert_paths(file, "FooBot", &[], &[""]);
    assert_paths("", "", &[""], &[]);
}

#[test]
fn id_line_syntax_line() {
    assert_paths("user-agent: FooBot\ndisallow: /\n", "FooBot", &[], &["/x/y"]);
    assert_paths("foo: FooBot\nbar: /\n", "FooBot", &["/x/y"], &[]);
    assert_paths("user-agent FooBot\ndisallow /\n", "FooBot", &[], &["/x/y"]);
}

#[test]
fn id_line_syntax_groups() {
    let file = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\n\
                allow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n";
    assert_paths(file, "FooBot", &["/x/b", "/z/d"], &["/y/c", "/foo/bar/"]);
    assert_paths(file, "BarBot", &["/y/c", "/w/a"], &["/z/d", "/foo/bar/"]);
    assert_paths(file, "BazBot", &["/z/d"], &["/foo/bar/"]);
}

#[test]
fn id_line_syntax_groups_other_rules() {
    for file in [
        "User-agent: BarBot\nSitemap: https://foo.bar/sitemap\nUser-agent: *\nDisallow: /\n",
        "User-agent: FooBot\nInvalid-Unknown-Line: unknown\nUser-agent: *\nDisallow: /\n",
    ] {
        assert_paths(file, "FooBot", &[], &["/"]);
        assert_paths(file, "BarBot", &[], &["/"]);
    }
}

#[test]
fn id_rep_line_names_case_insensitive() {
    for file in [
        "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
        "user-agent: FooBot\nallow: /x/\ndisallow: /\n",
        "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n",
    ] {
        assert_paths(file, "FooBot", &["/x/y"], &["/a/b"]);
    }
}

#[test]
fn id_verify_valid_user_agents_to_obey() {
    for (text, expected) in [
        ("Foobot", true),
        ("Foobot-Bar", true),
        ("Foo_Bar", true),
        ("", false),
        ("\u{30c4}", false),
        ("Foobot*", false),
        (" Foobot ", false),
        ("Foobot/2.1", false),
        ("Foobot Bar", false),
    ] {
        assert_eq!(is_product_token(text), expected, "{text}");
    }
}

#[test]
fn id_user_agent_value_case_insensitive() {
    for name in ["FOO BAR", "foo bar", "FoO bAr"] {
        let file = format!("User-Agent: {name}\nAllow: /x/\nDisallow: /\n");
        for agent in ["Foo", "foo"] {
            assert_paths(&file, agent, &["/x/y"], &["/a/b"]);
        }
    }
}

#[test]
fn google_only_accept_user_agent_up_to_first_space() {
    let file = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n";
    assert_paths(file, "Foo", &["/x/y"], &[]);
    assert_paths(file, "Foo Bar", &[], &["/x/y"]);
}

#[test]
fn id_global_groups_secondary() {
    assert_paths("", "FooBot", &["/x/y"], &[]);
    let file = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n";
    assert_paths(file, "FooBot", &[], &["/x/y"]);
    assert_paths(file, "BarBot", &["/x/y"], &[]);
    let file = "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\nuser-agent: BazBot\ndisallow: /\n";
    assert_paths(file, "QuxBot", &["/x/y"], &[]);
}

#[test]
fn id_allow_disallow_value_case_sensitive() {
    assert_paths("user-agent: FooBot\ndisallow: /x/\n", "FooBot", &[], &["/x/y"]);
    assert_paths("user-agent: FooBot\ndisallow: /X/\n", "FooBot", &["/x/y"], &[]);
}

#[test]
fn id_longest_match() {
    for (rules, allowed, denied) in [
        ("disallow: /x/page.html\nallow: /x/\n", &[][..], &["/x/page.html"][..]),
        ("allow: /x/page.html\ndisallow: /x/\n", &["/x/page.html"], &["/x/"]),
        ("disallow: \nallow: \n", &["/x/page.html"], &[]),
        ("disallow: /\nallow: /\n", &["/x/page.html"], &[]),
        ("disallow: /x\nallow: /x/\n", &["/x/"], &["/x"]),
        ("disallow: /x/page.html\nallow: /x/page.html\n", &["/x/page.html"], &[]),
        ("allow: /page\ndisallow: /*.html\n", &["/page"], &["/page.html"]),
        ("allow: /x/page.\ndisallow: /*.html\n", &["/x/page.html"], &["/x/y.html"]),
    ] {
        assert_paths(format!("user-agent: FooBot\n{rules}"), "FooBot", allowed, denied);
    }
    let file = "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n";
    assert_paths(file, "FooBot", &["/x/page"], &["/y/page"]);
}

/// Google's callers bring URLs into one spelling; it expects that those which are not do not match. RFC 9309
/// §2.2.2 has it done before a comparison, so `/foo/bar/ツ` and `/foo/bar/baz` match here.
#[test]
fn id_encoding() {
    let file = |allow: &str| format!("User-agent: FooBot\nDisallow: /\nAllow: {allow}\n");
    let query = "/foo/bar?qux=taz&baz=http://foo.bar?tar&par";
    assert_paths(file(query), "FooBot", &[query], &["/foo/bar"]);
    for allow in ["/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"] {
        assert_paths(
            file(allow),
            "FooBot",
            &["/foo/bar/%E3%83%84", "/foo/bar/\u{30c4}"],
            &["/foo/bar/%E3%83"],
        );
    }
    assert_paths(
        file("/foo/bar/%62%61%7A"),
        "FooBot",
        &["/foo/bar/%62%61%7A", "/foo/bar/baz"],
        &["/foo/bar/"],
    );
}

#[test]
fn id_special_characters() {
    let file = "User-agent: FooBot\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\n";
    assert_paths(file, "FooBot", &["/foo/quz", "/foo//quz", "/foo/bax/quz"], &["/foo/bar/quz"]);
    let file = "User-agent: FooBot\nDisallow: /foo/bar$\nAllow: /foo/bar/qux\n";
    assert_paths(file, "FooBot", &["/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"], &["/foo/bar"]);
    let file = "User-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n";
    assert_paths(file, "FooBot", &["/foo/bar"], &["/foo/quz"]);
}

#[test]
fn google_only_index_html_is_directory() {
    let file = "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n";
    let allowed = ["/allowed-slash/", "/allowed-slash/index.html"];
    assert_paths(file, "foobot", &allowed, &["/allowed-slash/index.htm", "/anyother-url"]);
}

#[test]
fn google_only_line_too_long() {
    let room = |name: &str, letter: &str| {
        ["/x/", &letter.repeat(LINE_MAX - name.len() - "/x/".len())].concat()
    };
    let long = room("disallow: ", "a");
    let file = format!("user-agent: FooBot\ndisallow: {long}/qux\n");
    assert_paths(file, "FooBot", &["/fux", &long[..long.len() - 1]], &[&format!("{long}/fux")]);
    let (a, b) = (room("allow: ", "a"), room("allow: ", "b"));
    let file = format!("user-agent: FooBot\ndisallow: /\nallow: {a}/qux\nallow: {b}/qux\n");
    assert_paths(file, "FooBot", &[&format!("{a}/qux"), &format!("{b}/fux")], &["/"]);
}

#[test]
fn google_only_documentation_checks() {
    let prefixed = [
        "/fish",
        "/fish.html",
        "/fish/salmon.html",
        "/fishheads",
        "/fishheads/yummy.html",
        "/fish.html?id=anything",
    ];
    let other = ["/bar", "/Fish.asp", "/catfish", "/?id=fish"];
    let folder =
        ["/fish/", "/fish/salmon", "/fish/?salmon", "/fish/salmon.html", "/fish/?id=anything"];
    let php = [
        "/filename.php",
        "/folder/filename.php",
        "/folder/filename.php?parameters",
        "//folder/any.php.file.html",
        "/filename.php/",
        "/index?f=filename.php/",
    ];
    let not_last = [
        "/bar",
        "/filename.php?parameters",
        "/filename.php/",
        "/filename.php5",
        "/php/",
        "/filename?php",
        "/aaaphpaaa",
        "//windows.PHP",
    ];
    for (allow, allowed, denied) in [
        ("/fish", &prefixed[..], &other[..]),
        ("/fish*", &prefixed, &other),
        ("/fish/", &folder, &["/bar", "/fish", "/fish.html", "/Fish/Salmon.html"]),
        ("/*.php", &php, &["/bar", "/php/", "/index?php", "/windows.PHP"]),
        ("/*.php$", &["/filename.php", "/folder/filename.php"], &not_last),
        ("/fish*.php", &["/fish.php", "/fishheads/catfish.php?parameters"], &["/bar", "/Fish.PHP"]),
        ("/p", &["/page"], &["/"]),
        ("/$", &["/"], &["/page.html"]),
    ] {
        assert_paths(
            format!("user-agent: FooBot\ndisallow: /\nallow: {allow}\n"),
            "FooBot",
            allowed,
            denied,
        );
    }
    assert_paths(
        "user-agent: FooBot\nallow: /folder\ndisallow: /folder\n",
        "FooBot",
        &["/folder/page"],
        &[],
    );
    assert_paths(
        "user-agent: FooBot\nallow: /page\ndisallow: /*.htm\n",
        "FooBot",
        &[],
        &["/page.htm"],
    );
}
