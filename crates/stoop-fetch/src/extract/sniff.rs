//! The media type that content looks like, by the WHATWG MIME sniffing standard (§7.1, "identifying a resource with an
//! unknown MIME type"), for all of its patterns but that of MP3 without an ID3 tag; and some formats that it does not know.

/// How much of content is looked at: what the standard calls the resource header.
const HEADER_BYTES: usize = 1445;

/// The names of HTML's beginnings, in any case; behind each comes a space or the end of the tag.
const HTML: [&[u8]; 17] = [
    b"<!DOCTYPE HTML",
    b"<HTML",
    b"<HEAD",
    b"<SCRIPT",
    b"<IFRAME",
    b"<H1",
    b"<DIV",
    b"<FONT",
    b"<TABLE",
    b"<A",
    b"<STYLE",
    b"<TITLE",
    b"<B",
    b"<BODY",
    b"<BR",
    b"<P",
    b"<!--",
];

/// What content of a type begins with.
const BEGINNINGS: [(&[u8], &str); 26] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xfe\xff", "text/plain"),
    (b"\xff\xfe", "text/plain"),
    (b"\xef\xbb\xbf", "text/plain"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"\0\0\x02\0", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\0", "application/ogg"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    // The standard has a space in place of the exclamation mark, which no archive has.
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    // From here on, what it does not know.
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\0\0\0\x1cftypavif", "image/avif"),
    (b"\0\0\0\x20ftypavif", "image/avif"),
];

/// What content of a type has at its beginning, and from its ninth byte on: the four between are a length.
const FORMS: [(&[u8; 4], &[u8], &str); 4] = [
    (b"RIFF", b"WEBPVP", "image/webp"),
    (b"RIFF", b"AVI ", "video/avi"),
    (b"RIFF", b"WAVE", "audio/wave"),
    (b"FORM", b"AIFF", "audio/aiff"),
];

/// The media type that content with this beginning looks like.
pub(super) fn sniff(beginning: &[u8]) -> &'static str {
    let header = &beginning[..beginning.len().min(HEADER_BYTES)];
    let text = &header[header.iter().take_while(|byte| is_whitespace(**byte)).count()..];
    if HTML.iter().any(|name| begins_with_tag(text, name)) {
        return "text/html";
    }
    if text.starts_with(b"<?xml") {
        return "text/xml";
    }
    let by_beginning = BEGINNINGS.iter().find(|(bytes, _)| header.starts_with(bytes));
    if let Some((_, found)) = by_beginning {
        return found;
    }
    let by_form = FORMS.iter().find(|(form, kind, _)| {
        header.starts_with(*form) && header.get(8..).is_some_and(|rest| rest.starts_with(kind))
    });
    match by_form {
        Some((_, _, found)) => found,
        None if is_mp4(header) => "video/mp4",
        None if is_webm(header) => "video/webm",
        None if header.get(257..).is_some_and(|rest| rest.starts_with(b"ustar")) => {
            "application/x-tar"
        }
        None if header.iter().copied().any(is_binary) => "application/octet-stream",
        None => "text/plain",
    }
}

fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// A control character that no text has (§4.2, "binary data byte").
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

fn begins_with_tag(text: &[u8], name: &[u8]) -> bool {
    text.split_at_checked(name.len()).is_some_and(|(begin, rest)| {
        begin.eq_ignore_ascii_case(name) && matches!(rest, [b' ' | b'>', ..])
    })
}

/// §6.2.1: a box `ftyp` that names a brand of MP4, the major one or a compatible one.
fn is_mp4(header: &[u8]) -> bool {
    let Some((length, _)) = header.split_first_chunk::<4>() else { return false };
    let length = u32::from_be_bytes(*length) as usize;
    let (Some(content), 0) = (header.get(4..length), length % 4) else { return false };
    let (brands, _) = content.as_chunks::<4>();
    // The third word is the version of the major brand.
    brands.first() == Some(b"ftyp")
        && brands
            .iter()
            .enumerate()
            .any(|(at, brand)| at != 0 && at != 2 && brand.starts_with(b"mp4"))
}

/// §6.2.2: an EBML header whose DocType is `webm`.
fn is_webm(header: &[u8]) -> bool {
    let Some(elements) = header.strip_prefix(b"\x1a\x45\xdf\xa3") else { return false };
    let elements = &elements[..elements.len().min(64)];
    let Some(at) = memchr::memmem::find(elements, b"\x42\x82") else { return false };
    let value = &elements[at + 2..];
    // The length takes as many bytes as its first has leading zeros, and one more.
    let length_bytes = value.first().map_or(0, |first| first.leading_zeros() as usize + 1);
    let value = value.get(length_bytes..).unwrap_or_default();
    value[value.iter().take_while(|byte| **byte == 0).count()..].starts_with(b"webm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_looks_like_what_it_begins_with() {
        let mp4 = b"\0\0\0\x18ftypisom\0\0\0\0isommp42";
        let tar = [&[b'a'; 100][..], &[0; 157], b"ustar\x0000"].concat();
        for (content, expected) in [
            (&b" \n<!doctype html>"[..], "text/html"),
            (b"<HtMl lang=en>", "text/html"),
            (b"<p>", "text/html"),
            (b"<!-- a -->", "text/html"),
            (b"<pre>", "text/plain"),
            (b"<!doctype html", "text/plain"),
            (b"\t<?xml version='1.0'?>", "text/xml"),
            (b"%PDF-1.7", "application/pdf"),
            (b" %PDF-1.7", "text/plain"),
            (b"%!PS-Adobe-3.0", "application/postscript"),
            (b"\xef\xbb\xbf\x01", "text/plain"),
            (b"\0\0\x01\0\x01\0", "image/x-icon"),
            (b"GIF89a", "image/gif"),
            (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
            (b"RIFF\x01\x02\x03\x04WAVEfmt ", "audio/wave"),
            (b"RIFF\x01\x02\x03\x04", "application/octet-stream"),
            (mp4, "video/mp4"),
            (&mp4[..20], "application/octet-stream"),
            (b"\0\0\0\x10ftypisommp42", "application/octet-stream"),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
            (b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01\x42\x82\x84webmB", "video/webm"),
            (b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01\x42\x82\x88matroska", "application/octet-stream"),
            (b"\x1f\x8b\x08\0", "application/x-gzip"),
            (b"PK\x03\x04", "application/zip"),
            (b"Rar!\x1a\x07\x01\0", "application/x-rar-compressed"),
            (b"\x28\xb5\x2f\xfd\0", "application/zstd"),
            (&tar, "application/x-tar"),
            (b"{\"a\": 1}\r\n\t\x0c\x1b[0m", "text/plain"),
            ("grüße".as_bytes(), "text/plain"),
            (b"a\0b", "application/octet-stream"),
        ] {
            assert_eq!(sniff(content), expected, "{}", content.escape_ascii());
        }
        let late = [&[b'a'; HEADER_BYTES][..], &[0]].concat();
        assert_eq!(sniff(&late), "text/plain");
    }
}
