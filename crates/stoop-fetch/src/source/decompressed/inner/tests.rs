//! Tests of what is in what was decompressed.

use std::io::{self, Read};

use crate::source::Decompressed;
use crate::source::decompressed::tests::{gzip, read_until, zstd};

/// A tar archive of one file, as far as it is told by its first bytes.
fn tar() -> Vec<u8> {
    let mut archive = vec![0; 1536];
    archive[..9].copy_from_slice(b"lists/a.t");
    archive[257..265].copy_from_slice(b"ustar  \0");
    archive[512..522].copy_from_slice(b"http://a/\n");
    archive
}

/// Each of their lines was one that is no URL.
#[test]
fn a_list_that_is_compressed_twice_or_is_in_an_archive_is_refused() {
    let list = b"http://a/\n";
    let (zip, xz) = (b"PK\x03\x04\x14\0".to_vec(), b"\xfd7zXZ\0\0\x04".to_vec());
    for (input, by) in [
        (gzip(&gzip(list)), "'gzip -dc FILE |'"),
        (gzip(&zstd(list)), "'gzip -dc FILE |'"),
        (zstd(&gzip(list)), "'zstd -dc FILE |'"),
        (zstd(&zstd(list)), "'zstd -dc FILE |'"),
        (gzip(&tar()), "'tar -xOf FILE |'"),
        (zstd(&tar()), "'tar -xOf FILE |'"),
        (gzip(&zip), "'gzip -dc FILE > INNER' and then 'unzip -p INNER |'"),
        (zstd(&xz), "'zstd -dc FILE > INNER' and then 'xz -dc INNER |'"),
    ] {
        let (all, error) = read_until(&input);
        assert_eq!((all.len(), error.kind()), (0, io::ErrorKind::InvalidData), "{error}");
        assert!(error.to_string().contains(by), "{error}");
        let mut reader = Decompressed::new(&input[..]);
        assert!(reader.read(&mut [0; 8]).is_err());
        assert_eq!(reader.read(&mut [0; 8]).expect("nothing more"), 0);
    }
}

#[test]
fn what_only_begins_like_an_archive_is_read_as_it_is() {
    let mut long = tar();
    long[257] = b'U';
    let mut lines = tar();
    lines[9] = b'\n';
    for text in [&b"\x1f"[..], b"PK\n", b"(\xb5/", &long, &lines, &tar()[..261]] {
        for compress in [gzip, zstd] {
            let mut all = Vec::new();
            Decompressed::new(&compress(text)[..]).read_to_end(&mut all).expect("readable");
            assert_eq!(all, text);
        }
    }
}

#[test]
fn no_more_than_a_line_of_it_is_waited_for() {
    /// The beginning of an input that must not be read further.
    struct Begin(Vec<u8>);
    impl Read for Begin {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0.is_empty(), "a pipe would be waited for");
            let read = (&self.0[..]).read(into)?;
            self.0.drain(..read);
            Ok(read)
        }
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut encoder, b"http://a/\n").expect("memory");
    io::Write::flush(&mut encoder).expect("memory");
    let mut reader = Decompressed::new(Begin(encoder.get_ref().clone()));
    let mut line = [0; 10];
    reader.read_exact(&mut line).expect("readable");
    assert_eq!(&line, b"http://a/\n");
}

#[test]
fn what_breaks_off_in_its_first_line_is_read_so_far() {
    let whole = gzip(b"http://a/");
    let (all, error) = read_until(&whole[..whole.len() - 4]);
    assert_eq!((&all[..], error.kind()), (&b"http://a/"[..], io::ErrorKind::UnexpectedEof));
}
