//! Input of any kind and length.

use super::*;

#[test]
fn a_url_that_is_too_long_is_reported_by_its_beginning() {
    let long = "ü".repeat(100_000);
    let input = format!("<urlset><url><loc>{long}</loc></url><url><loc>b</loc></url></urlset>");
    let (jobs, ended) = read_in_steps(input.as_bytes(), 5000, Extent::Whole, &[]);
    assert_eq!((ended, jobs.len()), (Ok(()), 2));
    assert_eq!((jobs[0].0.len(), jobs[0].1.as_deref()), (64 << 10, Some("Overlong")));
    assert_eq!(jobs[1], ("b".to_owned(), None));
}

#[test]
fn memory_is_bounded() {
    let read = |input: &str| read_in_steps(input.as_bytes(), 4096, Extent::Whole, &[]).1;
    let deep = "<a>".repeat(63);
    assert_eq!(
        read(&format!("<urlset>{deep}<a>")),
        Err("byte 197: more than 64 elements within each other".into())
    );
    let text = "x".repeat(4 << 20);
    let too_long = "a tag, text or comment of more than 4 MiB";
    for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("", "<x/>"), ("<x a='", "'/>")] {
        let ended = read(&format!("<urlset>{begin}{text}y{end}</urlset>"));
        let ended = ended.expect_err("too long");
        assert!(ended.starts_with("byte ") && ended.ends_with(too_long), "{begin}: {ended}");
    }
    let tag = format!("<urlset><x a='{}'/></urlset>", "x".repeat(65_536));
    assert_eq!(read(&tag), Err("byte 8: a tag of more than 64 KiB".into()));
    let page = format!("<urlset><!--{}--></urlset>", "x".repeat(1 << 20));
    assert_eq!(read(&page), Ok(()));
}

#[test]
fn a_url_that_was_read_in_part_is_reported_as_that() {
    let part = b"<urlset><url><loc>a</loc></url><url><loc>http://b";
    let (jobs, ended) = read(part);
    assert_eq!(ended, Err("byte 49: the input ends within an element".to_owned()));
    assert_eq!(jobs[1], ("http://b".to_owned(), Some("InputFailed".to_owned())));
    assert_eq!(jobs.len(), 2);
}

#[test]
fn pages_are_reported_before_more_is_waited_for() {
    /// Has one page, and must not be read again.
    struct OneRead(bool);
    impl Read for OneRead {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(!std::mem::replace(&mut self.0, true), "it would be waited for");
            (&b"<urlset><url><loc>a</loc></url>\n<url><loc>b"[..]).read(into)
        }
    }
    let mut source = Sitemap::new(OneRead(false));
    let mut jobs = 0;
    let more = source.read(&mut |_: Job<'_>| {
        jobs += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((more.expect("readable"), jobs), (true, 1));
}

#[test]
fn no_bytes_make_it_panic_and_pieces_change_nothing() {
    let mut state = 0x1357_9bdf_u32;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize
    };
    let words: [&[u8]; 22] = [
        b"<urlset>",
        b"</urlset>",
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"http://a/",
        b"&amp;",
        b"&x;",
        b"&",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<?xml version='1.0'?>",
        b"<!DOCTYPE a [",
        b"]>",
        b"\xff",
        b"<sitemapindex>",
        b"<",
        b">",
        b"\xef\xbb\xbf",
    ];
    for _ in 0..4_000 {
        let mut input = Vec::new();
        if random() % 2 == 0 {
            input.extend(b"<urlset><url><loc>");
        }
        for _ in 0..random() % 12 {
            match random() % 8 {
                0 => input.push(random() as u8),
                _ => input.extend(words[random() % words.len()]),
            }
        }
        let whole = read_in_steps(&input, usize::MAX, Extent::Whole, &[]);
        let bytes = read_in_steps(&input, 1, Extent::Whole, &[]);
        // What is wrong is the same; its place can differ by what was looked at.
        assert_eq!(bytes.1.is_ok(), whole.1.is_ok(), "{:?}", String::from_utf8_lossy(&input));
        assert_eq!(bytes.0, whole.0, "{:?}", String::from_utf8_lossy(&input));
    }
}
