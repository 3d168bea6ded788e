//! The fields of a part.

use crate::multipart::boundary::parameter;

/// What the fields of a part say. Others than Content-Disposition and Content-Type mean nothing (RFC 7578 §4.8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartHead {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
}

impl PartHead {
    /// Reads the lines of a part's head, or says what is wrong with it. Text is UTF-8, as browsers send it (RFC 7578
    /// §5.1).
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(bytes).map_err(|_| "the fields of a part are not UTF-8")?;
        let mut head = Self::default();
        let mut has_name = false;
        for line in text.split("\r\n").filter(|line| !line.is_empty()) {
            let (field, value) = line.split_once(':').ok_or("a field of a part has no colon")?;
            let value = value.trim_matches([' ', '\t']);
            if field.eq_ignore_ascii_case("content-disposition") {
                let (disposition, parameters) = value.split_once(';').unwrap_or((value, ""));
                if !disposition.trim().eq_ignore_ascii_case("form-data") {
                    return Err("a part is no form-data");
                }
                let name = parameter(parameters, "name").ok_or("a part has no name")?;
                head.name = unescaped(&name);
                head.file_name = parameter(parameters, "filename").map(|name| unescaped(&name));
                has_name = true;
            } else if field.eq_ignore_ascii_case("content-type") {
                head.content_type = Some(value.to_owned());
            }
        }
        if has_name { Ok(head) } else { Err("a part has no Content-Disposition") }
    }
}

/// What browsers cannot have in a quoted string they write as `%22`, `%0D` and `%0A`, and nothing else (HTML standard
/// §4.10.21.8).
fn unescaped(text: &str) -> String {
    text.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7578 §4.2, §4.4.
    #[test]
    fn a_part_has_a_name_and_may_have_a_file_name_and_a_type() {
        let head = "Content-Disposition: form-data; name=\"a%22b\"; filename=\"ä.txt\"\r\n\
                    content-type:  text/plain \r\nX-Other: y";
        let parsed = PartHead::parse(head.as_bytes()).unwrap();
        assert_eq!(parsed.name, "a\"b");
        assert_eq!(parsed.file_name.as_deref(), Some("ä.txt"));
        assert_eq!(parsed.content_type.as_deref(), Some("text/plain"));
        for malformed in [
            "",
            "Content-Type: text/plain",
            "Content-Disposition: form-data",
            "Content-Disposition: attachment; name=a",
            "no colon",
        ] {
            assert!(PartHead::parse(malformed.as_bytes()).is_err(), "{malformed}");
        }
        assert!(PartHead::parse(b"Content-Disposition: form-data; name=\"\xff\"").is_err());
    }
}
