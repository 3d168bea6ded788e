//! The parts of `-F`.

use std::io;
use std::path::Path;

use stoop::body::{Form, Part};

use crate::data::read_file;

/// What curl takes files for, by their names' ends.
const TYPES: [(&str, &str); 10] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
    (".xml", "application/xml"),
];

/// A part as it is typed.
#[derive(Debug, PartialEq, Eq)]
struct TypedPart<'a> {
    name: &'a str,
    source: Source<'a>,
    mime_type: Option<&'a str>,
    file_name: Option<&'a str>,
}

#[derive(Debug, PartialEq, Eq)]
enum Source<'a> {
    Text(&'a str),
    /// A file, sent as one.
    File(&'a str),
    /// A file whose content is a value.
    Content(&'a str),
}

/// The form that the parts are.
///
/// # Errors
/// Those of files, and what is not NAME=VALUE.
pub(super) async fn form(parts: &[String]) -> io::Result<Form> {
    let mut form = Form::new();
    for text in parts {
        let Some(typed) = TypedPart::read(text) else {
            return Err(io::Error::other(format!("-F {text:?} is not NAME=VALUE")));
        };
        form = form.part(typed.name, typed.part().await?);
    }
    Ok(form)
}

impl<'a> TypedPart<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (name, value) = text.split_once('=')?;
        let (value, mut rest) = match value.strip_prefix('"').and_then(|v| v.split_once('"')) {
            Some((quoted, rest)) => (quoted, rest),
            None => {
                let end = [";type=", ";filename="].iter().filter_map(|mark| value.find(mark)).min();
                value.split_at(end.unwrap_or(value.len()))
            }
        };
        let source = match value.as_bytes().first() {
            Some(b'@') => Source::File(&value[1..]),
            Some(b'<') => Source::Content(&value[1..]),
            _ => Source::Text(value),
        };
        let (mut mime_type, mut file_name) = (None, None);
        while let Some(parameter) = rest.strip_prefix(';') {
            let end = match parameter.strip_prefix("type=") {
                // A type may have parameters of its own.
                Some(_) => parameter.find(";filename="),
                None => parameter.find(';'),
            };
            let (this, behind) = parameter.split_at(end.unwrap_or(parameter.len()));
            match this.split_once('=') {
                Some(("type", value)) => mime_type = Some(value),
                Some(("filename", value)) => file_name = Some(value.trim_matches('"')),
                _ => return None,
            }
            rest = behind;
        }
        rest.is_empty().then_some(Self { name, source, mime_type, file_name })
    }

    async fn part(&self) -> io::Result<Part> {
        let named =
            |path: &str, error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        let mut part = match self.source {
            Source::Text(text) => Part::new(text.to_owned()),
            Source::Content(path) => Part::new(read_file(path)?),
            Source::File("-") => Part::new(read_file("-")?).file_name("-"),
            Source::File(path) => {
                Part::file(Path::new(path)).await.map_err(|error| named(path, error))?
            }
        };
        let guessed = match self.source {
            Source::File(path) => Some(guess(self.file_name.unwrap_or(path))),
            Source::Text(_) | Source::Content(_) => None,
        };
        if let Some(file_name) = self.file_name {
            part = part.file_name(file_name);
        }
        match self.mime_type.or(guessed) {
            Some(mime_type) => part.mime_type(mime_type).map_err(io::Error::other),
            None => Ok(part),
        }
    }
}

fn guess(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    let known = TYPES.iter().find(|(end, _)| lower.ends_with(end));
    known.map_or("application/octet-stream", |(_, mime_type)| mime_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_value_or_a_file_with_parameters() {
        let part = |name, source, mime_type, file_name| {
            Some(TypedPart { name, source, mime_type, file_name })
        };
        for (text, read) in [
            ("a=b", part("a", Source::Text("b"), None, None)),
            ("a=", part("a", Source::Text(""), None, None)),
            ("a=b=c;d", part("a", Source::Text("b=c;d"), None, None)),
            ("a=@f.txt", part("a", Source::File("f.txt"), None, None)),
            ("a=<f", part("a", Source::Content("f"), None, None)),
            (
                "a=@f;type=text/x; charset=y;filename=\"n\"",
                part("a", Source::File("f"), Some("text/x; charset=y"), Some("n")),
            ),
            ("a=@f;filename=n;type=t/u", part("a", Source::File("f"), Some("t/u"), Some("n"))),
            ("a=\"x;type=y\";type=t/u", part("a", Source::Text("x;type=y"), Some("t/u"), None)),
            ("a", None),
            ("a=\"b\"c", None),
        ] {
            assert_eq!(TypedPart::read(text), read, "{text}");
        }
        assert_eq!((guess("A.PNG"), guess("x")), ("image/png", "application/octet-stream"));
    }
}
