//! RFC 9309 §2.1, §2.2 and §2.2.1: lines, groups, and whom they are about.

use stoop_fetch::robots::is_product_token;

use crate::{assert_paths, is_allowed};

/// §2.1: a group has user-agent lines, then rules, and ends with a user-agent line.
#[test]
fn a_group_ends_with_a_user_agent_line_behind_a_rule() {
    let file = "user-agent: a\nuser-agent: b\ndisallow: /ab\nuser-agent: c\ndisallow: /c\n";
    assert_paths(file, "a", &["/c"], &["/ab"]);
    assert_paths(file, "b", &["/c"], &["/ab"]);
    assert_paths(file, "c", &["/ab"], &["/c"]);
}

/// §2.1: the last group may have no rules, and then allows everything.
#[test]
fn a_last_group_without_rules_allows_everything() {
    let file = "user-agent: *\ndisallow: /\nuser-agent: a\n";
    assert_paths(file, "a", &["/"], &[]);
    assert_paths(file, "b", &[], &["/"]);
}

/// §2.1: empty lines and comments end no group.
#[test]
fn empty_lines_end_no_group() {
    assert_paths(
        "user-agent: a\n\n#\n\n \ndisallow: /a\n\n\ndisallow: /b",
        "a",
        &["/"],
        &["/a", "/b"],
    );
}

/// §2.2: lines end with CR, LF or both.
#[test]
fn lines_end_with_cr_lf_or_both() {
    for end in ["\n", "\r", "\r\n", "\n\r", "\n\n"] {
        let file = ["user-agent: a", "disallow: /b", "allow: /bc", ""].join(end);
        assert_paths(file, "a", &["/a", "/bc"], &["/b"]);
    }
    assert_paths("user-agent: a\rdisallow: /b\nallow: /bc\r\n", "a", &["/a", "/bc"], &["/b"]);
}

/// §2.2: space and tab may stand around names and values.
#[test]
fn white_space_stands_around_names_and_values() {
    assert_paths(" \tuser-agent\t : \ta \t\n\t disallow \t:\t /b \t\n", "a", &["/"], &["/b"]);
    assert_paths("user-agent:a\ndisallow:/b\n", "a", &["/"], &["/b"]);
}

/// §2.2: names of directives are in any case, as ABNF's strings are.
#[test]
fn names_are_in_any_case() {
    assert_paths("USER-AGENT: a\nDisAllow: /b\nALLOW: /bc", "a", &["/bc"], &["/b"]);
}

/// §2.2: a comment may stand behind any line.
#[test]
fn a_comment_stands_behind_any_line() {
    assert_paths(
        "user-agent: a#b\ndisallow: /b #c\nallow: /bc#d#e\n#disallow: /",
        "a",
        &["/", "/bc"],
        &["/b"],
    );
}

/// §2.2: an empty pattern is a rule that matches nothing, and ends the user-agent lines of its group.
#[test]
fn an_empty_pattern_matches_nothing() {
    assert_paths("user-agent: a\ndisallow:\n", "a", &["/", "/b"], &[]);
    assert_paths("user-agent: a\nallow: \ndisallow: /b", "a", &["/"], &["/b"]);
    assert_paths("user-agent: a\ndisallow:\nuser-agent: b\ndisallow: /\n", "a", &["/"], &[]);
}

/// §2.2.1: a product token is of letters, `_` and `-`.
#[test]
fn a_product_token_is_of_letters_and_two_signs() {
    for token in ["a", "Z", "_", "-", "Example_Bot-a"] {
        assert!(is_product_token(token), "{token}");
    }
    for text in ["", " ", "a b", "a/1", "a1", "*", "é"] {
        assert!(!is_product_token(text), "{text}");
    }
}

/// §2.2.1: tokens are compared whole, in any case.
#[test]
fn tokens_are_compared_whole_in_any_case() {
    let file = "user-agent: ExampleBot\ndisallow: /\n";
    for (agent, expected) in [
        ("ExampleBot", false),
        ("examplebot", false),
        ("EXAMPLEBOT", false),
        ("Example", true),
        ("ExampleBots", true),
        ("Bot", true),
        ("", true),
    ] {
        assert_eq!(is_allowed(file, agent, "/"), expected, "{agent}");
    }
}

/// §2.2.1: the groups of one token are one.
#[test]
fn the_groups_of_one_token_are_one() {
    let file = "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n";
    assert_paths(file, "ExampleBot", &["/", "/ba"], &["/foo", "/bar", "/baz"]);
    let file = "user-agent: *\ndisallow: /foo\nuser-agent: b\ndisallow: /b\nuser-agent: *\ndisallow: /baz\n";
    assert_paths(file, "a", &["/b"], &["/foo", "/baz"]);
}

/// §2.2.1: `*` is for those that no other group is about, wherever it stands.
#[test]
fn all_are_those_that_no_other_group_is_about() {
    let file =
        "user-agent: *\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: BazBot\ndisallow: /baz\n";
    assert_paths(file, "ExampleBot", &["/baz"], &["/foo", "/bar"]);
    assert_paths(file, "BazBot", &["/foo", "/bar"], &["/baz"]);
    let file = "user-agent: BazBot\ndisallow: /baz\n\nuser-agent: *\ndisallow: /foo\n";
    assert_paths(file, "BazBot", &["/foo"], &["/baz"]);
    let file = "user-agent: *\nuser-agent: BazBot\ndisallow: /baz\nuser-agent: *\ndisallow: /foo\n";
    assert_paths(file, "BazBot", &["/foo"], &["/baz"]);
    assert_paths(file, "ExampleBot", &[], &["/foo", "/baz"]);
}

/// §2.2.1: without a group for it, and for all, an agent has no rules.
#[test]
fn without_a_group_there_are_no_rules() {
    assert_paths("user-agent: a\ndisallow: /\n", "b", &["/"], &[]);
    assert_paths("", "b", &["/"], &[]);
}
