//! Tests of inputs that may be compressed.

use std::io::Write;

use super::*;

pub(super) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
}

pub(super) fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("memory")
}

fn read(input: &[u8]) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    Decompressed::new(input).read_to_end(&mut all).map(|_| all)
}

#[test]
fn what_is_not_compressed_is_read_as_it_is() {
    for text in [
        &b""[..],
        b"h",
        b"http://a/",
        b"\x1f",
        b"\x1f\x8a",
        b"(",
        b"(\xb5/",
        b"(\xb5/x",
        b"P",
        b"P*M",
        b"URL\n",
    ] {
        assert_eq!(read(text).expect("readable"), text);
    }
}

#[test]
fn gzip_and_zstd_are_known_by_their_first_bytes_and_go_on_with_the_next_member() {
    let text = b"http://a/\n".repeat(100_000);
    for compress in [gzip, zstd] {
        assert!(read(&compress(&text)).expect("readable") == text);
        let two = [compress(b"http://a/\n"), compress(b"http://b/\n")].concat();
        assert_eq!(read(&two).expect("readable"), b"http://a/\nhttp://b/\n");
        assert_eq!(read(&compress(b"")).expect("readable"), b"");
    }
}

#[test]
fn what_breaks_off_is_an_error_after_what_was_there() {
    for compress in [gzip, zstd] {
        let whole = compress(&b"http://a/\n".repeat(100_000));
        let mut reader = Decompressed::new(&whole[..whole.len() - 5]);
        let mut all = Vec::new();
        assert!(reader.read_to_end(&mut all).is_err());
        assert!(all.starts_with(b"http://a/\n"));
    }
}

#[test]
fn what_is_no_gzip_is_damaged_also_behind_a_whole_member() {
    let behind = |bytes: &[u8]| [gzip(b"http://a/\n"), bytes.to_vec()].concat();
    for bytes in [
        b"\x1f\x8b not gzip".to_vec(),
        behind(b"not gzip either"),
        behind(b"\0\0\0not gzip either"),
    ] {
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    }
}

#[test]
fn what_follows_gzip_and_is_none_was_told_as_a_head_or_an_end_without_a_place() {
    for behind in
        [&b"x"[..], b"\0\0x", b"\x1f", b"\x1f\x8c", b"not gzip either, and longer than a head"]
    {
        let bytes = [&gzip(b"http://a/\n"), behind].concat();
        let mut reader = Decompressed::new(&bytes[..]);
        let mut all = Vec::new();
        let error = reader.read_to_end(&mut all).unwrap_err();
        let text = error.to_string();
        assert_eq!((&all[..], error.kind()), (&b"http://a/\n"[..], io::ErrorKind::InvalidData));
        assert!(text.starts_with("bytes follow the end of what gzip compressed"), "{text}");
    }
    let whole = gzip(b"http://a/\n");
    for cut in [12, whole.len() - 1] {
        let error = read(&whole[..cut]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(error.to_string().starts_with("it breaks off"), "{error}");
    }
    let mut damaged = whole.clone();
    let at = damaged.len() - 6;
    damaged[at] ^= 1;
    let error = read(&damaged).unwrap_err();
    assert!(error.to_string().starts_with("it is damaged gzip"), "{error}");
}

/// What was read of an input, and the error with which it ended.
pub(super) fn read_until(input: &[u8]) -> (Vec<u8>, io::Error) {
    let mut all = Vec::new();
    let error = Decompressed::new(input).read_to_end(&mut all).unwrap_err();
    (all, error)
}

/// It was told in the words of the library of zstd: "Unknown frame descriptor".
#[test]
fn what_follows_zstd_and_what_is_damaged_within_is_told_as_that() {
    let page = b"http://a/\n".repeat(1000);
    for behind in [&b"not zstd"[..], b"x", &[0; 8], b"\x1f\x8b\x08\0\0\0\0\0"] {
        let (all, error) = read_until(&[&zstd(&page), behind].concat());
        assert!(all == page, "{} of {}", all.len(), page.len());
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let text = error.to_string();
        assert!(text.starts_with("bytes follow the end of what zstd compressed"), "{text}");
    }
    // Behind its head a frame has blocks, none of which is of this kind.
    let mut damaged = zstd(&page);
    damaged[6..].fill(0xff);
    let (_, error) = read_until(&damaged);
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().starts_with("it is damaged zstd: "), "{error}");
    // What the input itself fails by stays what it is.
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let half = zstd(&page);
    let mut all = Vec::new();
    let mut reader = Decompressed::new(half[..half.len() / 2].chain(Fails));
    let error = reader.read_to_end(&mut all).unwrap_err();
    assert_eq!(error.to_string(), "the disk is gone");
}

#[test]
fn what_others_have_compressed_was_a_list_of_lines_that_are_no_urls() {
    for (begin, by) in [
        (&b"\xfd7zXZ\0\0\x04"[..], "'xz -dc FILE |'"),
        (b"BZh91AY&SY\x01", "'bzip2 -dc FILE |'"),
        (b"BZh1\x17\x72\x45\x38\x50\x90\0\0\0\0", "'bzip2 -dc FILE |'"),
        (b"PK\x03\x04\x14\0", "'unzip -p FILE |'"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "'7z x -so FILE |'"),
        (b"\x04\x22\x4d\x18@", "'lz4 -dc FILE |'"),
        (b"\x1f\x9d\x90", "'gzip -dc FILE |'"),
        (b"Rar!\x1a\x07\x01\0", "'unrar p -inul FILE |'"),
    ] {
        let (all, error) = read_until(begin);
        assert_eq!((all.len(), error.kind()), (0, io::ErrorKind::InvalidData));
        assert!(error.to_string().contains(by), "{error}");
    }
    for text in [&b"BZh9.example"[..], b"BZh91AY&S", b"7z.example", b"PK\n", b"Rar!", b"\xfd"] {
        assert_eq!(read(text).expect("readable"), text);
    }
}

#[test]
fn zeros_behind_a_member_of_gzip_are_no_part_of_it() {
    for zeros in [1, 20, 100_000] {
        let padded = [gzip(b"http://a/\n"), vec![0; zeros]].concat();
        assert_eq!(read(&padded).expect("readable"), b"http://a/\n");
        let two = [padded.clone(), padded].concat();
        assert_eq!(read(&two).expect("readable"), b"http://a/\nhttp://a/\n");
    }
}

#[test]
fn frames_of_zstd_that_are_to_be_skipped_are() {
    let skipped = |first: u8| [&[first, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"other"].concat();
    let page = zstd(b"http://a/\n");
    for first in [0x50, 0x5e, 0x5f] {
        let input = [skipped(first), page.clone(), skipped(first), page.clone()].concat();
        assert_eq!(read(&input).expect("readable"), b"http://a/\nhttp://a/\n");
        assert!(is_compressed(&input[..4]));
    }
    assert_eq!(read(&skipped(0x50)).expect("readable"), b"");
    assert!(!is_compressed(b"P*M") && !is_compressed(b"P*Mx") && !is_compressed(b"`*M\x18"));
}

#[test]
fn no_more_is_waited_for_than_tells_what_it_is() {
    /// Gives one byte, and must not be read again.
    struct OneByte(bool);
    impl Read for OneByte {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(!std::mem::replace(&mut self.0, true), "a terminal would be waited for");
            into[0] = b'h';
            Ok(1)
        }
    }
    let mut reader = Decompressed::new(OneByte(false));
    assert_eq!(reader.read(&mut [0; 64]).expect("readable"), 1);
}
