//! What is told of content, and that any content is looked at in bounds.

use stoop::Fields;

use super::*;

const OF_CONTENT: [Extract; 4] =
    [Extract::Title, Extract::Favicon, Extract::Type, Extract::Charset];

fn capture(content_type: Option<&str>, content: &[u8]) -> Capture {
    let mut fields = Fields::new();
    if let Some(content_type) = content_type {
        fields.push("content-type", content_type.as_bytes()).expect("a field");
    }
    Capture::new("http://h/", 200, fields, content.to_vec())
}

fn extracted(content_type: Option<&str>, content: &[u8]) -> Extracted {
    let mut extracted = Extracted::default();
    let extraction: Extraction = OF_CONTENT.into_iter().collect();
    extraction.add_content(&mut extracted, &capture(content_type, content));
    extracted
}

#[test]
fn content_without_a_type_is_what_it_looks_like() {
    let page = b"<!doctype html><meta charset=latin1><title>caf\xe9</title>";
    for content_type in [None, Some("text/html"), Some("Text/HTML ; x=y")] {
        let told = extracted(content_type, page);
        assert_eq!(told.title.as_deref(), Some("café"));
        assert_eq!((told.charset, told.sniffed_type), (Some("windows-1252"), Some("text/html")));
    }
    let told = extracted(Some("text/plain"), page);
    assert_eq!((told.title, told.charset, told.sniffed_type), (None, None, Some("text/html")));
    assert_eq!(extracted(Some("text/html"), b""), Extracted::default());
}

#[test]
fn rules_for_robots_are_those_of_head_and_content() {
    let page =
        b"<meta name=robots content=noindex><meta name=a-bot content=noai><meta name=b content=c>";
    let told = |agent: &str, page: &[u8]| {
        let mut capture = capture(Some("text/html"), page);
        let field = b"nofollow, A-Bot: nosnippet";
        capture.fields.push("x-robots-tag", field).expect("a field");
        let mut told = Extracted::default();
        let extraction: Extraction = [Extract::Robots].into_iter().collect();
        extraction.for_agent(agent).add_content(&mut told, &capture);
        (told.robots.unwrap_or_default(), told.meta_robots.unwrap_or_default())
    };
    let text = |robots: &str, metas: &str| (robots.to_owned(), metas.to_owned());
    assert_eq!(told("", page), text("noindex, nofollow", "noindex"));
    let named = "noindex, nofollow, nosnippet, noai";
    assert_eq!(told("a-bot", page), text(named, "noindex, a-bot: noai"));
    assert_eq!(told("b", b"<p>"), text("nofollow", ""));
    let extraction: Extraction = OF_CONTENT.into_iter().collect();
    let mut told = Extracted::default();
    extraction.add_content(&mut told, &capture(Some("text/html"), page));
    assert_eq!((told.robots, told.meta_robots), (None, None));
}

#[test]
fn images_have_a_hash_up_to_a_length() {
    let icon = b"\0\0\x01\0".repeat(1000);
    assert_eq!(extracted(None, &icon).favicon_hash, Some(1_155_029_743));
    assert!(extracted(Some("image/svg+xml"), b"<svg/>").favicon_hash.is_some());
    assert_eq!(extracted(Some("text/html"), b"<svg/>").favicon_hash, None);
    let longest = vec![0; FAVICON_BYTES_MAX + 1];
    assert!(extracted(Some("image/png"), &longest[1..]).favicon_hash.is_some());
    assert_eq!(extracted(Some("image/png"), &longest).favicon_hash, None);
    let mut cut = capture(Some("image/png"), &icon);
    cut.truncated = Some(crate::Truncated::Length);
    let mut extracted = Extracted::default();
    Extraction::from_iter(OF_CONTENT).add_content(&mut extracted, &cut);
    assert_eq!(extracted.favicon_hash, None);
}

#[test]
fn text_becomes_utf_8_where_its_encoding_is_told() {
    let converted = |content_type, content| text_as_utf8(&capture(content_type, content));
    let latin1 = Some("text/plain; charset=latin1");
    assert_eq!(converted(latin1, b"caf\xe9").as_deref(), Some("café".as_bytes()));
    assert_eq!(converted(Some("application/json"), b"\xff\xfe1\0").as_deref(), Some(&b"1"[..]));
    assert_eq!(converted(Some("text/plain"), b"caf\xe9"), None);
    assert_eq!(converted(Some("text/plain; charset=utf-8"), b"caf\xe9"), None);
    assert_eq!(converted(Some("image/png; charset=latin1"), b"\xe9"), None);
    assert_eq!(converted(Some("text/plain; charset=iso-2022-kr"), b"a"), None);
}

/// A server may encode content that no coding was asked for.
#[test]
fn content_that_is_still_encoded_is_no_text_and_no_image() {
    let content = b"\x1f\x8b\x08\0\0\0<title>a</title>\xe9";
    for content_type in ["text/html; charset=latin1", "image/png"] {
        for (coding, is_encoded) in [("gzip", true), ("Identity", false)] {
            let mut capture = capture(Some(content_type), content);
            capture.fields.push("content-encoding", coding.as_bytes()).expect("a field");
            let mut told = Extracted::default();
            Extraction::from_iter(OF_CONTENT).add_content(&mut told, &capture);
            assert_eq!(told.sniffed_type, Some("application/x-gzip"));
            let is_read = told.title.is_some() || told.favicon_hash.is_some();
            assert_eq!(is_read, !is_encoded, "{content_type} {coding}");
            assert!(!is_encoded || told.charset.is_none() && text_as_utf8(&capture).is_none());
        }
    }
}

#[test]
fn only_what_is_asked_for_is_told_and_only_what_it_takes_is_kept() {
    let needs = |facts: &[Extract]| facts.iter().copied().collect::<Extraction>().content_bytes();
    assert_eq!(needs(&[]), 0);
    assert_eq!(needs(&[Extract::Server, Extract::Length, Extract::Chain]), 0);
    assert_eq!(needs(&[Extract::Type]), BEGINNING_BYTES);
    assert_eq!(needs(&[Extract::Title, Extract::Favicon]), FAVICON_BYTES_MAX + 1);
    let mut told = Extracted::default();
    let page = capture(Some("text/html; charset=utf-8"), b"<title>a</title>");
    Extraction::from_iter([Extract::Title]).add_content(&mut told, &page);
    assert_eq!(told, Extracted { title: Some("a".to_owned()), ..Extracted::default() });
}

#[test]
fn a_title_beyond_the_beginning_is_not_looked_for() {
    let page = |before: usize| [&b" ".repeat(before)[..], b"<title>a</title>"].concat();
    assert!(extracted(Some("text/html"), &page(BEGINNING_BYTES - 16)).title.is_some());
    assert!(extracted(Some("text/html"), &page(BEGINNING_BYTES)).title.is_none());
}

/// No content, however odd, is a panic, or makes a title that is longer than it may be.
#[test]
fn any_content_is_looked_at() {
    let seeds: [&[u8]; 9] = [
        b"<!doctype html><html><head><meta charset=shift_jis><title>a &amp; b\x83\x5c</title><svg><title/>",
        b"<meta http-equiv=content-type content='text/html; charset=\"gb18030\"'><title>\x81\x30\x81\x30",
        b"<?xml version='1.0' encoding='utf-16'?><title>a</title>",
        b"\xff\xfe<\0t\0i\0t\0l\0e\0>\0a\0\0\xd8",
        b"<script><!--<script></script>--></script><noscript><title></noscript><title>&#x110000;&notit;",
        b"\x1a\x45\xdf\xa3\x42\x82\x84webm",
        b"\0\0\0\x18ftypisom\0\0\0\0isommp42",
        b"RIFF\0\0\0\0WEBPVP8 ",
        b"<!DOCTYPE html PUBLIC '-//W3C//DTD' \"x\"><![CDATA[<title>]]><textarea></title>\xc3",
    ];
    let types = [
        None,
        Some("text/html"),
        Some("application/xhtml+xml; charset=iso-2022-jp"),
        Some("image/x-icon"),
        Some("text/xml"),
        Some("text/html; charset=\"utf-16be"),
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        // A linear congruential generator, whose upper bits are good enough.
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for round in 0..20_000 {
        let mut content = seeds[next(seeds.len())].to_vec();
        for _ in 0..next(6) {
            let at = next(content.len() + 1);
            match next(4) {
                0 => content.truncate(at),
                1 => content.insert(at, next(256) as u8),
                2 if at < content.len() => content[at] = next(256) as u8,
                _ => {
                    let other = seeds[next(seeds.len())];
                    let from = next(other.len());
                    content.splice(at..at, other[from..].iter().copied());
                }
            }
        }
        if round % 10 == 0 {
            content = (0..next(3000)).map(|_| next(256) as u8).collect();
        }
        let content_type = types[next(types.len())];
        let told = extracted(content_type, &content);
        assert!(told.title.is_none_or(|title| (1..=1024).contains(&title.len())));
        assert_eq!(told.sniffed_type.is_some(), !content.is_empty());
        if let Some(text) = text_as_utf8(&capture(content_type, &content)) {
            assert!(std::str::from_utf8(&text).is_ok());
        }
    }
}
