//! A part of `-F` as it is typed, read as curl reads it.

/// A part as it is typed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TypedPart {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) mime_type: Option<String>,
    pub(super) file_name: Option<String>,
    /// What is no parameter.
    pub(super) skipped: Vec<String>,
}

/// Where a part is from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    Text(String),
    /// A file, sent as one.
    File(String),
    /// A file whose content is a value.
    Content(String),
}

impl Default for Source {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl TypedPart {
    /// A part of `--form-string`: all of it is text.
    pub(super) fn literal(text: &str) -> Option<Self> {
        let (name, value) = text.split_once('=')?;
        let source = Source::Text(value.to_owned());
        Some(Self { name: name.to_owned(), source, ..Self::default() })
    }

    /// A part of `-F`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, value) = text.split_once('=')?;
        let marked = value.starts_with(['@', '<']);
        let (mark, value) = value.split_at(usize::from(marked));
        let (value, mut rest) = word(value.trim_start());
        let source = match mark {
            "@" => Source::File(value),
            "<" => Source::Content(value),
            _ => Source::Text(value),
        };
        let mut part = Self { name: name.to_owned(), source, ..Self::default() };
        // A type may have parameters of its own.
        let mut is_in_type = false;
        while let Some(parameter) = rest.strip_prefix(';') {
            let trimmed = parameter.trim_start();
            let end = parameter.find(';').unwrap_or(parameter.len());
            let is_type = trimmed.starts_with("type=") && !is_in_type;
            if let Some(value) = trimmed.strip_prefix("filename=") {
                let (file_name, behind) = word(value.trim_start());
                (part.file_name, rest, is_in_type) = (Some(file_name), behind, false);
            } else if is_type {
                let (this, behind) = parameter.split_at(end);
                let (_, mime_type) = this.split_once('=')?;
                let mime_type = mime_type.trim();
                mime_type
                    .split_once('/')
                    .filter(|(main, sub)| !main.is_empty() && !sub.is_empty())?;
                (part.mime_type, rest, is_in_type) = (Some(mime_type.to_owned()), behind, true);
            } else if let Some(mime_type) = part.mime_type.as_mut().filter(|_| is_in_type) {
                let (this, behind) = parameter.split_at(end);
                mime_type.push(';');
                mime_type.push_str(this.trim_end());
                rest = behind;
            } else {
                let (skipped, behind) = word(trimmed);
                part.skipped.push(skipped);
                rest = behind;
            }
        }
        part.skipped.retain(|skipped| !skipped.is_empty());
        Some(part)
    }
}

/// A word, quoted or up to the next `;`, and what begins there.
fn word(text: &str) -> (String, &str) {
    quoted(text).unwrap_or_else(|| {
        let (word, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
        (word.trim_end().to_owned(), rest)
    })
}

/// A word in quotes, in which `\"` is a quote and `\\` a backslash, and what begins at the `;` behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?.chars();
    let mut word = String::new();
    loop {
        match rest.next()? {
            '"' => break,
            '\\' if rest.as_str().starts_with(['"', '\\']) => word.extend(rest.next()),
            other => word.push(other),
        }
    }
    let rest = rest.as_str();
    Some((word, &rest[rest.find(';').unwrap_or(rest.len())..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_value_or_a_file_with_parameters() {
        let text = |text: &str| Source::Text(text.to_owned());
        let file = |path: &str| Source::File(path.to_owned());
        for (typed, source, mime_type, file_name) in [
            ("a=b", text("b"), None, None),
            ("a=", text(""), None, None),
            ("a=b=c", text("b=c"), None, None),
            ("a= b ", text("b"), None, None),
            ("a=\"@b; \"", text("@b; "), None, None),
            ("a=\"b\\\\\\\"c\\d\"", text("b\\\"c\\d"), None, None),
            ("a=\"b\"c", text("b"), None, None),
            ("a=\"b", text("\"b"), None, None),
            ("a=@f.txt", file("f.txt"), None, None),
            ("a=@\"f;g\" ; type=t/u", file("f;g"), Some("t/u"), None),
            ("a=<f", Source::Content("f".to_owned()), None, None),
            (
                "a=@f;type=text/x; charset=y ;filename=\"n\"",
                file("f"),
                Some("text/x; charset=y"),
                Some("n"),
            ),
            ("a=@f;filename=n;type=t/u", file("f"), Some("t/u"), Some("n")),
            ("a=\"x;type=y\";type=t/u", text("x;type=y"), Some("t/u"), None),
        ] {
            let read = TypedPart::read(typed).unwrap_or_else(|| panic!("{typed}"));
            let expected = TypedPart {
                name: "a".to_owned(),
                source,
                mime_type: mime_type.map(str::to_owned),
                file_name: file_name.map(str::to_owned),
                skipped: Vec::new(),
            };
            assert_eq!(read, expected, "{typed}");
        }
        let read = TypedPart::read("a=b;c; d ;").expect("a part");
        assert_eq!((read.source, read.skipped), (text("b"), vec!["c".to_owned(), "d".to_owned()]));
        for bad in ["a", "a=b;type=x", "a=b;type=/x"] {
            assert_eq!(TypedPart::read(bad), None, "{bad}");
        }
        let read = TypedPart::literal("a=@b;type=c").expect("a part");
        assert_eq!((read.source, read.mime_type), (text("@b;type=c"), None));
    }
}
