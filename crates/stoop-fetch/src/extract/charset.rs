//! The character encoding of text, as it is told: by a byte order mark, by Content-Type, or by the text itself, as HTML
//! (§13.2.3.2, "determining the character encoding") and XML (§4.3.3) declare it.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use stoop::Charset;

use super::kind::TextKind;

/// Where a text has to declare its encoding, by the HTML standard.
const DECLARATION_BYTES: usize = 1024;

/// The encoding of content that begins with `beginning`; none where nothing tells it, and for what is no text.
pub(super) fn charset(
    kind: TextKind,
    content_type: Option<&[u8]>,
    beginning: &[u8],
) -> Option<Charset> {
    if kind == TextKind::Other {
        return None;
    }
    let told = || content_type.and_then(Charset::from_content_type).filter(is_decodable);
    Charset::from_byte_order_mark(beginning).or_else(told).or_else(|| {
        let beginning = &beginning[..beginning.len().min(DECLARATION_BYTES)];
        match kind {
            TextKind::Html => of_xml(beginning).or_else(|| of_meta(beginning)),
            TextKind::Xhtml | TextKind::Xml => of_xml(beginning),
            TextKind::Plain | TextKind::Other => None,
        }
    })
}

/// Not one of those that the standard has given up, in place of whose text there is a single U+FFFD.
fn is_decodable(charset: &Charset) -> bool {
    charset.name() != "replacement"
}

/// The encoding that a text declares by this label. What could be read as ASCII is not in UTF-16.
fn declared(label: &[u8]) -> Option<Charset> {
    let charset = Charset::from_label(label).filter(is_decodable)?;
    match charset.name() {
        "UTF-16LE" | "UTF-16BE" => Some(Charset::UTF_8),
        "x-user-defined" => Charset::from_label(b"windows-1252"),
        _ => Some(charset),
    }
}

/// The encoding that an XML declaration names: `<?xml version="1.0" encoding="ISO-8859-1"?>`.
fn of_xml(beginning: &[u8]) -> Option<Charset> {
    match beginning {
        [b'<', 0, b'?', 0, b'x', 0, ..] => return Charset::from_label(b"utf-16le"),
        [0, b'<', 0, b'?', 0, b'x', ..] => return Charset::from_label(b"utf-16be"),
        _ => {}
    }
    let declaration = beginning.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.iter().position(|byte| *byte == b'>')?];
    let value = &declaration[find(declaration, b"encoding")? + b"encoding".len()..];
    let value = trim_start(value).strip_prefix(b"=").map(trim_start)?;
    let (quote @ (b'"' | b'\''), value) = value.split_first()? else { return None };
    declared(&value[..value.iter().position(|byte| byte == quote)?])
}

/// The encoding that a `meta` element of HTML names: `<meta charset=utf-8>`, or a Content-Type by `http-equiv`.
fn of_meta(beginning: &[u8]) -> Option<Charset> {
    let mut emitter = CallbackEmitter::new(MetaReader::default());
    emitter.naively_switch_states(true);
    let Ok(charset) = Tokenizer::new_with_emitter(beginning, emitter).next()?;
    Some(charset)
}

/// Finds the declaration among the tokens of HTML.
#[derive(Default)]
struct MetaReader {
    is_meta: bool,
    attribute: MetaAttribute,
    charset: Option<Vec<u8>>,
    is_content_type: bool,
    content: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Default)]
enum MetaAttribute {
    Charset,
    Equivalent,
    Content,
    #[default]
    Other,
}

impl Callback<Charset, ()> for MetaReader {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Charset> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                *self = Self { is_meta: name == b"meta", ..Self::default() };
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute = match name {
                    b"charset" => MetaAttribute::Charset,
                    b"http-equiv" => MetaAttribute::Equivalent,
                    b"content" => MetaAttribute::Content,
                    _ => MetaAttribute::Other,
                };
            }
            // Of attributes of one name, the first one counts.
            CallbackEvent::AttributeValue { value } => match self.attribute {
                MetaAttribute::Charset => drop(self.charset.get_or_insert_with(|| value.to_vec())),
                MetaAttribute::Content => drop(self.content.get_or_insert_with(|| value.to_vec())),
                MetaAttribute::Equivalent => {
                    self.is_content_type |= value.eq_ignore_ascii_case(b"content-type");
                }
                MetaAttribute::Other => {}
            },
            CallbackEvent::CloseStartTag { .. } if self.is_meta => {
                let by_content = || self.content.as_deref().and_then(of_content);
                return match &self.charset {
                    Some(label) => declared(label),
                    None if self.is_content_type => by_content().and_then(declared),
                    None => None,
                };
            }
            _ => {}
        }
        None
    }
}

/// The label in the content of a `meta` element: what follows `charset=`, in quotes or up to a space or a semicolon.
fn of_content(content: &[u8]) -> Option<&[u8]> {
    let lower = content.to_ascii_lowercase();
    let mut from = 0;
    loop {
        from += find(&lower[from..], b"charset")? + b"charset".len();
        let Some(value) = trim_start(&content[from..]).strip_prefix(b"=") else { continue };
        let value = trim_start(value);
        return match value.split_first()? {
            (quote @ (b'"' | b'\''), value) => {
                Some(&value[..value.iter().position(|byte| byte == quote)?])
            }
            _ => value.split(|byte| byte.is_ascii_whitespace() || *byte == b';').next(),
        };
    }
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

fn find(bytes: &[u8], searched: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, searched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn html(content_type: &str, beginning: &[u8]) -> Option<&'static str> {
        charset(TextKind::Html, Some(content_type.as_bytes()), beginning).map(Charset::name)
    }

    #[test]
    fn a_byte_order_mark_comes_before_content_type_and_that_before_a_declaration() {
        let meta = b"<meta charset=koi8-r>";
        assert_eq!(html("text/html", meta), Some("KOI8-R"));
        assert_eq!(html("text/html; charset=latin1", meta), Some("windows-1252"));
        assert_eq!(html("text/html; charset=nonsense", meta), Some("KOI8-R"));
        let marked = [&b"\xef\xbb\xbf"[..], meta].concat();
        assert_eq!(html("text/html; charset=latin1", &marked), Some("UTF-8"));
        assert_eq!(html("text/html", b"\xff\xfea\0"), Some("UTF-16LE"));
        assert_eq!(html("text/html", b"<p>"), None);
    }

    #[test]
    fn html_declares_its_encoding_in_a_meta_element() {
        for (page, expected) in [
            ("<head><META CharSet = 'windows-1251' />", Some("windows-1251")),
            (
                "<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>",
                Some("Shift_JIS"),
            ),
            ("<meta content='text/html;charset=\"gbk\"' http-equiv=content-type>", Some("GBK")),
            ("<meta http-equiv=content-type content='charset; charset = big5 ;x'>", Some("Big5")),
            ("<meta content='text/html; charset=gbk'>", None),
            ("<meta charset=nonsense><meta charset=utf-8>", Some("UTF-8")),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=iso-2022-kr>", None),
            ("<meta charset=koi8-r charset=utf-8>", Some("KOI8-R")),
            ("<!-- <meta charset=koi8-r> --><meta charset=utf-8>", Some("UTF-8")),
            ("<meta name=a content=b><meta charset=utf-8>", Some("UTF-8")),
            ("<meta charset=koi8-r", None),
            ("<meta charset=''>", None),
            ("<?xml version='1.0' encoding='iso-8859-2'?><html>", Some("ISO-8859-2")),
        ] {
            assert_eq!(html("text/html", page.as_bytes()), expected, "{page}");
        }
        let late = [&b" ".repeat(1020)[..], b"<meta charset=koi8-r>"].concat();
        assert_eq!(html("text/html", &late), None);
    }

    #[test]
    fn xml_declares_its_encoding_at_its_beginning() {
        for (text, expected) in [
            (&b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>"[..], Some("windows-1252")),
            (b"<?xml version='1.0' encoding = 'euc-jp' standalone='no'?>", Some("EUC-JP")),
            (b"<?xml version='1.0'?><a encoding='koi8-r'/>", None),
            (b"<?xml encoding=koi8-r?>", None),
            (b"<?xml encoding='koi8-r?>", None),
            (b" <?xml encoding='koi8-r'?>", None),
            (b"<\0?\0x\0m\0l\0", Some("UTF-16LE")),
            (b"\0<\0?\0x\0m\0l", Some("UTF-16BE")),
            (b"<meta charset=koi8-r>", None),
        ] {
            assert_eq!(charset(TextKind::Xml, None, text).map(Charset::name), expected);
        }
        assert_eq!(charset(TextKind::Plain, None, b"<meta charset=koi8-r>"), None);
        assert_eq!(charset(TextKind::Other, Some(b"image/png; charset=koi8-r"), b"\xff\xfe"), None);
    }
}
