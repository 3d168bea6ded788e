//! Which kind of text content is, if it is any: by Content-Type, or by what it looks like where there is none.

use stoop::Fields;

/// A kind of text, by how it declares its encoding and its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Html,
    /// HTML in the syntax of XML.
    Xhtml,
    Xml,
    /// Text that declares neither.
    Plain,
    /// No text, or nothing that is known to be text.
    Other,
}

impl TextKind {
    /// The kind of content with this Content-Type, or of this sniffed type if it has none, or one that says that it is unknown
    /// (WHATWG MIME sniffing standard, §7).
    pub(super) fn of(content_type: Option<&[u8]>, sniffed: &str) -> Self {
        let told = essence(content_type);
        let is_unknown = !told.contains('/')
            || matches!(&*told, "unknown/unknown" | "application/unknown" | "*/*");
        let essence = if is_unknown { sniffed } else { &*told };
        match essence {
            "text/html" => Self::Html,
            "application/xhtml+xml" => Self::Xhtml,
            "text/xml" | "application/xml" => Self::Xml,
            "application/javascript" | "application/json" | "application/x-javascript" => {
                Self::Plain
            }
            _ if essence.ends_with("+xml") => Self::Xml,
            _ if essence.starts_with("text/") || essence.ends_with("+json") => Self::Plain,
            _ => Self::Other,
        }
    }

    /// No text, if the content is as [encoded](is_encoded) as these fields say.
    pub(super) fn unless_encoded(self, fields: &Fields) -> Self {
        if is_encoded(fields) { Self::Other } else { self }
    }
}

/// Whether content is still in a content coding: what was decoded has lost the field. A server may apply one that was not
/// asked for.
pub(super) fn is_encoded(fields: &Fields) -> bool {
    fields.all("content-encoding").any(|coding| {
        let coding = coding.trim_ascii();
        !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
    })
}

/// Whether content is an image, by its Content-Type or by its sniffed type.
pub(super) fn is_image(content_type: Option<&[u8]>, sniffed: &str) -> bool {
    [&*essence(content_type), sniffed].iter().any(|media_type| media_type.starts_with("image/"))
}

/// A Content-Type without its parameters, in lower case.
fn essence(content_type: Option<&[u8]>) -> String {
    let content_type = content_type.unwrap_or_default();
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    String::from_utf8_lossy(essence.trim_ascii()).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_an_unknown_type_is_what_it_looks_like() {
        for told in [None, Some(""), Some("html"), Some("*/*"), Some("Unknown/Unknown; a=b")] {
            let told = told.map(str::as_bytes);
            assert_eq!(TextKind::of(told, "text/html"), TextKind::Html, "{told:?}");
        }
        assert_eq!(TextKind::of(Some(b"text/plain"), "text/html"), TextKind::Plain);
        assert_eq!(TextKind::of(Some(b"application/x"), "text/html"), TextKind::Other);
    }
}
