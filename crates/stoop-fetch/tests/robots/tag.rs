//! X-Robots-Tag, by the descriptions of Google and MDN.

use std::time::{Duration, SystemTime};

use stoop_fetch::robots::{ImagePreview, RobotsTag};

fn tag(fields: &[&str]) -> RobotsTag {
    RobotsTag::parse(fields.iter().map(|field| field.as_bytes()), "FooBot")
}

/// The rules without a value that hold.
fn rules(fields: &[&str]) -> Vec<&'static str> {
    let tag = tag(fields);
    let rules = [
        ("noindex", tag.noindex),
        ("nofollow", tag.nofollow),
        ("noarchive", tag.noarchive),
        ("nosnippet", tag.nosnippet),
        ("noimageindex", tag.noimageindex),
        ("notranslate", tag.notranslate),
        ("noai", tag.noai),
        ("noimageai", tag.noimageai),
        ("indexifembedded", tag.indexifembedded),
    ];
    rules.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect()
}

#[test]
fn each_rule_is_read() {
    for rule in [
        "noindex",
        "nofollow",
        "noarchive",
        "nosnippet",
        "noimageindex",
        "notranslate",
        "noai",
        "noimageai",
        "indexifembedded",
    ] {
        assert_eq!(rules(&[rule]), [rule]);
        assert_eq!(rules(&[&format!(" \t{} ,all", rule.to_uppercase())]), [rule]);
    }
    assert_eq!(rules(&["none"]), ["noindex", "nofollow"]);
    assert_eq!(rules(&["nocache"]), ["noarchive"]);
    for nothing in
        ["", ",", "all", "index, follow", "no index", "noindex nofollow", ":", "x:y:z", "é"]
    {
        assert_eq!(tag(&[nothing]), RobotsTag::default(), "{nothing}");
    }
    assert!(RobotsTag::parse([&b"\xff, noindex"[..]], "a").noindex);
}

#[test]
fn rules_are_collected_from_all_fields() {
    assert_eq!(rules(&["nofollow, noarchive", "noindex"]), ["noindex", "nofollow", "noarchive"]);
}

#[test]
fn a_name_is_for_what_follows_it_in_its_field() {
    assert_eq!(rules(&["foobot: noindex, nofollow"]), ["noindex", "nofollow"]);
    assert_eq!(rules(&["otherbot: noindex, nofollow", "noarchive"]), ["noarchive"]);
    assert_eq!(
        rules(&["noarchive, otherbot: noindex, FOOBOT : nofollow"]),
        ["nofollow", "noarchive"]
    );
    assert_eq!(rules(&["foobots: noindex", "foo: noindex", ": noindex"]), [""; 0]);
    assert_eq!(rules(&["otherbot: noindex, *: nofollow", "robots: noai"]), ["nofollow", "noai"]);
    assert_eq!(tag(&["otherbot: max-snippet: 3, noindex"]), RobotsTag::default());
    assert_eq!(tag(&["foobot: max-snippet: 3"]).max_snippet, Some(3));
}

#[test]
fn rules_with_values_keep_the_strictest() {
    let tag_of = tag(&[
        "max-snippet:-1, max-snippet: 20",
        "Max-Snippet : 30, max-video-preview: -1, max-image-preview: large",
    ]);
    assert_eq!((tag_of.max_snippet, tag_of.max_video_preview), (Some(20), Some(-1)));
    assert_eq!(tag_of.max_image_preview, Some(ImagePreview::Large));
    let tag_of =
        tag(&["max-image-preview: standard, max-image-preview: large, max-image-preview: none"]);
    assert_eq!(tag_of.max_image_preview, Some(ImagePreview::None));
    assert_eq!(
        tag(&["max-snippet, max-snippet: x, max-snippet: -2, max-image-preview: big"]),
        RobotsTag::default()
    );
    // `none` is a value here, and no rule.
    assert_eq!(rules(&["max-image-preview: none"]), [""; 0]);
}

/// 2010-06-25 15:00:00 UTC.
const AT: u64 = 1_277_478_000;

#[test]
fn a_date_is_read_in_each_form() {
    for (date, expected) in [
        ("2010-06-25T15:00:00Z", AT),
        ("2010-06-25T17:00:00+02:00", AT),
        ("2010-06-25 15:00", AT),
        ("2010-06-25", AT - 15 * 3_600),
        ("25 Jun 2010 15:00:00 GMT", AT),
        ("25 Jun 2010 07:00:00 PST", AT),
        ("Fri, 25 Jun 2010 15:00:00 +0000", AT),
        ("Friday, 25-Jun-10 15:00:00 UTC", AT),
        ("25-Jun-2010 15:00:00 UTC", AT),
        ("25 Jun 2010 15:00:00", AT),
        ("25 Jun 2010 15:00", AT),
        ("25-Jun-2010", AT - 15 * 3_600),
        // The weekday does not matter.
        ("Mon, 25 Jun 2010 15:00:00 GMT", AT),
    ] {
        let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(expected);
        let read = tag(&[&format!("noai, unavailable_after: {date}, noindex")]);
        assert_eq!(read.unavailable_after, Some(expected), "{date}");
        assert!(read.noai && read.noindex, "{date}");
    }
    for date in ["", "soon", "25 Jun", "Friday", "Friday,", "2010-13-01", "99999999999999999999"] {
        assert_eq!(tag(&[&format!("unavailable_after: {date}")]), RobotsTag::default(), "{date}");
    }
}

#[test]
fn the_earliest_date_holds() {
    let fields = [
        "unavailable_after: 2030-01-01",
        "foobot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT",
        "otherbot: unavailable_after: 2001-01-01",
    ];
    assert_eq!(
        tag(&fields).unavailable_after,
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(AT))
    );
}

#[test]
fn rules_are_told_as_one_field_that_says_the_same() {
    for (fields, expected) in [
        (&[][..], ""),
        (&["index, follow"], ""),
        (&["NoFollow, foobot: noindex"], "noindex, nofollow"),
        (&["foobot: none", "nocache", "otherbot: noai"], "noindex, nofollow, noarchive"),
        (
            &["max-snippet:5, max-snippet: -1, max-image-preview:large, max-video-preview: 0"],
            "max-snippet: 5, max-video-preview: 0, max-image-preview: large",
        ),
        (
            &["noai, unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, nosnippet"],
            "nosnippet, noai, unavailable_after: 2010-06-25T15:00:00Z",
        ),
        (
            &["noimageindex, notranslate, noimageai, indexifembedded, max-image-preview: none"],
            "noimageindex, notranslate, noimageai, indexifembedded, max-image-preview: none",
        ),
    ] {
        let text = tag(fields).to_string();
        assert_eq!(text, expected);
        assert_eq!(tag(&[&text]), tag(fields), "{text}");
    }
}
