//! Tests of lists of lines.

use super::*;

/// Gives at most `step` bytes a read.
struct SmallReads<'a> {
    rest: &'a [u8],
    step: usize,
}

impl Read for SmallReads<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.step.min(self.rest.len()).min(into.len());
        let (now, rest) = self.rest.split_at(n);
        into[..n].copy_from_slice(now);
        self.rest = rest;
        Ok(n)
    }
}

fn read_in_steps(input: &[u8], step: usize) -> Vec<(Vec<u8>, Extent)> {
    let mut lines = Lines::new(SmallReads { rest: input, step });
    let mut found = Vec::new();
    let mut each = |job: Job<'_>| {
        found.push((job.url.to_vec(), job.extent));
        ControlFlow::Continue(())
    };
    while lines.read(&mut each).expect("no error") {}
    lines.finish(Extent::Whole, &mut each);
    found
}

#[track_caller]
fn check(input: &[u8], expected: &[&[u8]]) {
    for step in [1, 2, 3, 7, usize::MAX] {
        let found = read_in_steps(input, step);
        let lines: Vec<_> = found.iter().map(|(line, _)| line.as_slice()).collect();
        assert_eq!(lines, expected, "{step} bytes a read");
        assert!(found.iter().all(|(_, extent)| *extent == Extent::Whole));
    }
}

#[test]
fn blank_lines_and_comments_are_skipped() {
    check(b"a\n\n  \t\n# no\n  # no\nb # yes\n#\n", &[b"a", b"b # yes"]);
    check(b"", &[]);
    check(b"\n", &[]);
}

#[test]
fn line_ends_byte_order_mark_and_missing_last_end_are_tolerated() {
    check(b"\xef\xbb\xbfa\r\nb\r\n \tc \r\nd", &[b"a", b"b", b"c", b"d"]);
    check(b"\xef\xbb\xbf#a\n\xef\xbb\xbfb", &[b"\xef\xbb\xbfb"]);
    check(b"\xef\xbb\xbf", &[]);
    check(b"\xfe\xfd bad \xc3\nb", &[b"\xfe\xfd bad \xc3", b"b"]);
}

#[test]
fn options_below_a_url_are_no_urls() {
    let list =
        b"http://a/1?x=1\n  out=b.html\n\n\theader=X-Y: z\n http://a/?out=b\nout=b\n max-tries=5";
    for step in [1, 7, usize::MAX] {
        let mut lines = Lines::new(SmallReads { rest: list, step });
        let mut found = Vec::new();
        let mut each = |job: Job<'_>| {
            let fault = job.options.and_then(|options| options.fault);
            let fault = fault.map(|text| text.split(" is").next().expect("one").to_owned());
            found.push((String::from_utf8_lossy(job.url).into_owned(), fault));
            ControlFlow::Continue(())
        };
        while lines.read(&mut each).expect("no error") {}
        lines.finish(Extent::Whole, &mut each);
        let found: Vec<_> = found.iter().map(|(line, fault)| (&**line, fault.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("http://a/1?x=1", None),
                ("out=b.html", Some("line 2: out=")),
                ("header=X-Y: z", Some("line 4: header=")),
                ("http://a/?out=b", None),
                // Nothing says that this was not meant as a host.
                ("out=b", None),
                ("max-tries=5", Some("line 7: max-tries=")),
            ]
        );
    }
}

#[test]
fn half_a_character_is_left_out_of_an_interrupted_line_unless_it_is_the_whole_line() {
    for (input, expected) in [(&b"a\nb\xc3"[..], &b"b"[..]), (b"a\n\xc3", b"\xc3")] {
        let mut lines = Lines::new(SmallReads { rest: input, step: usize::MAX });
        let mut found = Vec::new();
        let mut each = |job: Job<'_>| {
            found.push(job.url.to_vec());
            ControlFlow::Continue(())
        };
        while lines.read(&mut each).expect("no error") {}
        lines.finish(Extent::Interrupted, &mut each);
        assert_eq!(found, [b"a", expected]);
    }
}

#[test]
fn an_overlong_line_is_reported_once_and_its_rest_skipped() {
    let mut input = b"a\n".to_vec();
    input.extend(vec![b'x'; 5 * LINE_BYTES_MAX + 3]);
    input.extend(b"\nb\n");
    for step in [100, 4096, LINE_BYTES_MAX, usize::MAX] {
        let found = read_in_steps(&input, step);
        assert_eq!(found.len(), 3, "{step} bytes a read");
        assert_eq!(found[0], (b"a".to_vec(), Extent::Whole));
        assert_eq!(found[1], (vec![b'x'; LINE_BYTES_MAX], Extent::Overlong));
        assert_eq!(found[2], (b"b".to_vec(), Extent::Whole));
    }
    let unfinished = read_in_steps(&input[..input.len() - 3], 4096);
    assert_eq!(unfinished.len(), 2);
}

#[test]
fn a_line_of_the_longest_length_is_whole_and_leading_blanks_do_not_count() {
    let line = vec![b'x'; LINE_BYTES_MAX - 1];
    let mut input = vec![b' '; 3 * LINE_BYTES_MAX];
    input.extend(&line);
    input.push(b'\n');
    assert_eq!(read_in_steps(&input, usize::MAX), [(line, Extent::Whole)]);
}

#[test]
fn an_overlong_comment_is_still_a_comment_and_a_cut_character_is_left_out() {
    let mut input = b"#".to_vec();
    input.extend(vec![b'x'; 2 * LINE_BYTES_MAX]);
    input.push(b'\n');
    input.push(b'y');
    input.extend("ü".repeat(LINE_BYTES_MAX).into_bytes());
    let found = read_in_steps(&input, usize::MAX);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0.len(), LINE_BYTES_MAX - 1);
    assert!(std::str::from_utf8(&found[0].0).is_ok());
}
