//! Sitemaps, and the jobs that they are.

mod bounds;
mod index;
mod kept;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::*;

/// Gives at most `step` bytes a read.
struct SmallReads(VecDeque<u8>, usize);

impl Read for SmallReads {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(into.len());
        self.0.read(&mut into[..n])
    }
}

/// A job: its URL, and what is wrong with it.
type Seen = (String, Option<String>);

/// The jobs of a sitemap whose nested ones are those in `nested`, and how the reading ended.
fn read_in_steps(
    input: &[u8],
    step: usize,
    end: Extent,
    nested: &'static [(&'static str, &'static [u8])],
) -> (Vec<Seen>, Result<(), String>) {
    let mut jobs = Vec::new();
    let mut take = |job: Job<'_>| {
        let url = String::from_utf8_lossy(job.url).into_owned();
        let fault = match (job.extent, job.options) {
            (Extent::Whole, None) => None,
            (Extent::Whole, Some(options)) => options.fault.map(Into::into),
            (extent, _) => Some(format!("{extent:?}")),
        };
        jobs.push((url, fault));
        ControlFlow::Continue(())
    };
    let mut source = Sitemap::new(SmallReads(input.to_vec().into(), step));
    if !nested.is_empty() {
        source = source.open_nested(move |url| {
            let found = nested.iter().find(|(name, _)| *name == url);
            let (_, bytes) = found.ok_or_else(|| io::Error::other("404 Not Found"))?;
            Ok(Box::new(SmallReads(bytes.to_vec().into(), step)))
        });
    }
    let ended = loop {
        match source.read(&mut take) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    source.finish(if ended.is_ok() { end } else { Extent::InputFailed }, &mut take);
    (jobs, ended)
}

/// The same for input that comes in whatever pieces.
#[track_caller]
fn read(input: &[u8]) -> (Vec<Seen>, Result<(), String>) {
    let whole = read_in_steps(input, usize::MAX, Extent::Whole, &[]);
    for step in [1, 2, 7] {
        assert_eq!(read_in_steps(input, step, Extent::Whole, &[]), whole, "{step} bytes a read");
    }
    whole
}

#[track_caller]
fn check(input: &str, expected: &[&str]) {
    let (jobs, ended) = read(input.as_bytes());
    assert_eq!(ended, Ok(()), "{input}");
    let urls: Vec<_> = jobs.iter().map(|(url, _)| url.as_str()).collect();
    assert_eq!(urls, expected, "{input}");
    assert!(jobs.iter().all(|(_, fault)| fault.is_none()), "{jobs:?}");
}

/// The fault of the only job.
#[track_caller]
fn fault(input: &str) -> String {
    let (jobs, ended) = read(input.as_bytes());
    assert_eq!((jobs.len(), &ended), (1, &Ok(())), "{jobs:?}");
    jobs[0].1.clone().expect("a fault")
}

#[track_caller]
fn error(input: &[u8]) -> String {
    read(input).1.expect_err("no sitemap")
}

#[test]
fn each_loc_of_a_url_is_a_page() {
    check(
        "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- a > b -->\n<urlset xmlns=\"x\">
          <url><loc>http://a/</loc><lastmod>2026-01-01</lastmod></url>
          <url>\n<priority>0.5</priority><loc>\n  http://b/ü \n</loc></url></urlset>\n",
        &["http://a/", "http://b/ü"],
    );
    check("<s:urlset xmlns:s='x'><s:url><s:loc>a</s:loc></s:url></s:urlset>", &["a"]);
    check("<urlset/>", &[]);
    check("", &[]);
    check(" \n", &[]);
    // Several documents, one after the other.
    check(
        "<urlset><url><loc>a</loc></url></urlset>\n<?xml version='1.0'?><urlset><url><loc>b</loc></url></urlset>",
        &["a", "b"],
    );
}

#[test]
fn locs_of_other_namespaces_and_places_are_no_pages() {
    check(
        "<urlset xmlns:image='i' xmlns:video='v'><loc>no</loc><url><loc>a</loc><image:loc>no</image:loc>
         <image:image><image:loc>no</image:loc><loc>no</loc></image:image>
         <video:video><video:player_loc>no</video:player_loc></video:video>
         <xhtml:link rel='alternate' href='no'/></url><other><url><loc>no</loc></url></other></urlset>",
        &["a"],
    );
}

#[test]
fn references_and_cdata_stand_for_what_they_are() {
    check(
        "<urlset><url><loc>http://a/?b=1&amp;c=&lt;&#x41;&#66;&apos;&quot;</loc></url>
         <url><loc><![CDATA[http://b/?x&y]]>&gt;</loc></url>
         <url><loc>http://c/?x=1&y=2&</loc></url></urlset>",
        &["http://a/?b=1&c=<AB'\"", "http://b/?x&y>", "http://c/?x=1&y=2&"],
    );
}

#[test]
fn an_entity_of_a_dtd_is_not_expanded() {
    let dtd = "<!DOCTYPE urlset [<!ENTITY a \"http://a/\"><!ENTITY b \"&a;&a;\">]>";
    let text = fault(&format!("{dtd}<urlset><url><loc>&b;</loc></url></urlset>"));
    assert_eq!(text, "byte 84: XML defines no `&b;`");
    let text = fault("<urlset><url><loc>&#0;</loc></url></urlset>");
    assert_eq!(text, "byte 22: a reference to a character that is none");
    let text = fault("<urlset><url><priority>1</priority></url></urlset>");
    assert_eq!(text, "byte 35: <url> without <loc>");
}

#[test]
fn feeds_have_pages_too() {
    check(
        "<rss version='2.0' xmlns:atom='a'><channel><link>no</link><atom:link href='no'/>
         <item><title>T</title><link>http://a/</link><atom:link href='no'/></item>
         <item><link>http://b/</link><description><![CDATA[<p>no</p>]]></description></item></channel></rss>",
        &["http://a/", "http://b/"],
    );
    check(
        "<feed xmlns='a'><link href='no'/><entry><link rel='edit' href='no'/><link href='http://a/?b&amp;c'/>
         <link rel='alternate' href='no'/></entry>
         <entry><link rel='alternate' href='http://b/'></link><content><a href='no'/></content></entry></feed>",
        &["http://a/?b&c", "http://b/"],
    );
    assert_eq!(fault("<feed><entry/></feed>"), "byte 14: <entry> without <link>");
    assert_eq!(
        fault("<feed><entry><link href='&x;'/></entry></feed>"),
        "byte 13: a reference in `href` that is none of XML"
    );
}

#[test]
fn what_is_no_sitemap_is_an_error_with_its_place() {
    for (input, expected) in [
        (
            &b"http://a/\nhttp://b/\n"[..],
            "byte 0: it is no XML: a sitemap of text is a list of lines",
        ),
        (
            b"<!DOCTYPE html><html><body>",
            "byte 15: the document is a <html>, and no <urlset>, <sitemapindex>, <rss> or <feed>",
        ),
        (b"<!-- x -->", "byte 10: the input ends before the document begins"),
        (b"<urlset><url><loc>a</loc></url>", "byte 31: the input ends within an element"),
        (
            b"<urlset><url></urlset>",
            "byte 13: ill-formed document: expected `</url>`, but `</urlset>` was found",
        ),
        (
            b"<urlset><url",
            "byte 8: syntax error: tag not closed: `>` not found before end of input",
        ),
        (b"<urlset><url><loc>\xff</loc>", "byte 18: it is not UTF-8"),
        (
            b"\xff\xfe<\0u\0",
            "byte 0: it begins with FF FE, as UTF-16 does, and has to be UTF-8: 'iconv -f utf-16 -t utf-8' converts it",
        ),
        (
            b"<urlset>a</urlset></urlset>",
            "byte 18: ill-formed document: close tag `</urlset>` does not match any open tag",
        ),
    ] {
        let shown = String::from_utf8_lossy(input);
        assert_eq!(error(input), expected, "{shown}");
    }
}
