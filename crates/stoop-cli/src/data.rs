//! The content of `-d` and its like: several of them, in the order in which they were typed.

use std::fs::File;
use std::io::{self, Read, stdin};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

/// What makes a piece of content of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataKind {
    /// `-d`: as typed, or a file without its line ends.
    Data,
    /// `--data-binary`: as typed, or a file as it is.
    Binary,
    /// `--data-raw`: as typed, an `@` too.
    Raw,
    /// `--data-urlencode`: encoded.
    Urlencode,
    /// `--json`: as `--data-binary`, and JSON.
    Json,
}

impl DataKind {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Data, "data"),
        (Self::Binary, "data-binary"),
        (Self::Raw, "data-raw"),
        (Self::Urlencode, "data-urlencode"),
        (Self::Json, "json"),
    ];

    /// The option.
    fn option(self) -> &'static str {
        match self {
            Self::Data => "--data",
            Self::Binary => "--data-binary",
            Self::Raw => "--data-raw",
            Self::Urlencode => "--data-urlencode",
            Self::Json => "--json",
        }
    }
}

/// The options that content is made of, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataArgs(pub(crate) Vec<(DataKind, String)>);

impl DataArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is JSON among it.
    pub(crate) fn is_json(&self) -> bool {
        self.0.iter().any(|(kind, _)| *kind == DataKind::Json)
    }

    /// The files that content is read from, each with its option; `-` is standard input.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().filter_map(|(kind, value)| {
            let path = match kind {
                DataKind::Raw => None,
                DataKind::Urlencode => value.find(['=', '@']).map(|at| &value[at..]),
                DataKind::Data | DataKind::Binary | DataKind::Json => Some(value.as_str()),
            };
            path.and_then(|path| path.strip_prefix('@')).map(|path| (kind.option(), path))
        })
    }

    /// All of it as one: with `&` between the pieces, but for JSON.
    pub(crate) fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        for (at, (kind, value)) in self.0.iter().enumerate() {
            if at > 0 && *kind != DataKind::Json {
                content.push(b'&');
            }
            append(&mut content, *kind, value).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", kind.option()))
            })?;
        }
        Ok(content)
    }
}

/// Appends a piece. Of a file there is no second copy: it may be large.
fn append(content: &mut Vec<u8>, kind: DataKind, value: &str) -> io::Result<()> {
    match (kind, value.strip_prefix('@')) {
        (DataKind::Urlencode, _) => content.extend(urlencoded(value)?),
        (DataKind::Data, Some(path)) => {
            let (before, mut at) = (content.len(), 0);
            read_into(content, path)?;
            content.retain(|byte| {
                at += 1;
                at <= before || !matches!(byte, b'\r' | b'\n' | 0)
            });
        }
        (DataKind::Binary | DataKind::Json, Some(path)) => read_into(content, path)?,
        (_, _) => content.extend(value.as_bytes()),
    }
    Ok(())
}

/// `content`, `=content`, `name=content`, `@file` or `name@file`, with the content encoded.
pub(crate) fn urlencoded(value: &str) -> io::Result<Vec<u8>> {
    let (name, content) = match value.find(['=', '@']) {
        None => ("", value.as_bytes().to_vec()),
        Some(at) if value[at..].starts_with('=') => {
            (&value[..at], value.as_bytes()[at + 1..].to_vec())
        }
        Some(at) => (&value[..at], read_file(&value[at + 1..])?),
    };
    let mut encoded = match name {
        "" => String::new(),
        name => format!("{name}="),
    };
    encoded.push_str(&percent_encoded(&content).replace("%20", "+"));
    Ok(encoded.into_bytes())
}

/// All but the unreserved characters of RFC 3986 §2.3 percent-encoded.
pub(crate) fn percent_encoded(content: &[u8]) -> String {
    let mut encoded = String::new();
    for byte in content {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(*byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The content of a file, or of standard input.
pub(crate) fn read_file(path: &str) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    read_into(&mut content, path)?;
    Ok(content)
}

fn read_into(content: &mut Vec<u8>, path: &str) -> io::Result<()> {
    let read = match path {
        "-" => stdin().lock().read_to_end(content),
        path => File::open(path).and_then(|mut file| file.read_to_end(content)),
    };
    read.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
    Ok(())
}

impl clap::Args for DataArgs {
    fn augment_args(command: Command) -> Command {
        let arg = |name: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name("DATA").help(help).action(ArgAction::Append)
        };
        command
            .arg(
                arg("data", "Send DATA by POST, as a form; @FILE reads it, without line ends")
                    .short('d'),
            )
            .arg(arg("data-binary", "Send DATA by POST as it is; @FILE reads it"))
            .arg(arg("data-raw", "Send DATA by POST as it is, an @ too"))
            .arg(arg(
                "data-urlencode",
                "Send DATA by POST, encoded: CONTENT, NAME=CONTENT, @FILE or NAME@FILE",
            ))
            .arg(arg("json", "Send DATA by POST as JSON, and accept JSON; @FILE reads it"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for DataArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut found = Vec::new();
        for (kind, name) in DataKind::ALL {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(places.zip(values).map(|(at, value)| (at, kind, value.clone())));
        }
        found.sort_unstable_by_key(|(at, _, _)| *at);
        Ok(Self(found.into_iter().map(|(_, kind, value)| (kind, value)).collect()))
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Err(Error::raw(ErrorKind::InvalidValue, "the arguments are read once"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(items: &[(DataKind, &str)]) -> String {
        let items = items.iter().map(|(kind, value)| (*kind, (*value).to_owned())).collect();
        String::from_utf8(DataArgs(items).content().expect("no file")).expect("text")
    }

    #[test]
    fn pieces_are_joined_as_forms_are_but_for_json() {
        use DataKind::{Binary, Data, Json, Raw, Urlencode};
        assert_eq!(content(&[(Data, "a=1"), (Data, "b=2"), (Binary, "c")]), "a=1&b=2&c");
        assert_eq!(content(&[(Json, "{\"a\":"), (Json, "1}")]), "{\"a\":1}");
        assert_eq!(content(&[(Raw, "@x"), (Urlencode, "q=a b&c")]), "@x&q=a+b%26c");
        assert_eq!(content(&[(Urlencode, "ä/~")]), "%C3%A4%2F~");
        assert_eq!(content(&[(Urlencode, "=x=y")]), "x%3Dy");
        assert_eq!(content(&[]), "");
        // One that is empty is one, too.
        assert_eq!(content(&[(Data, ""), (Data, "a=1"), (Raw, "")]), "&a=1&");
    }

    #[test]
    fn content_comes_from_files_behind_an_at_sign() {
        use DataKind::{Binary, Data, Json, Raw, Urlencode};
        let items = [
            (Data, "@a"),
            (Data, "b@c"),
            (Binary, "@-"),
            (Raw, "@d"),
            (Urlencode, "n@e"),
            (Urlencode, "@f"),
            (Urlencode, "n=@g"),
            (Json, "@h"),
        ];
        let args = DataArgs(items.map(|(kind, value)| (kind, value.to_owned())).to_vec());
        let expected = [
            ("--data", "a"),
            ("--data-binary", "-"),
            ("--data-urlencode", "e"),
            ("--data-urlencode", "f"),
            ("--json", "h"),
        ];
        assert_eq!(args.files().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let items = vec![(DataKind::Data, "@/no/such/file".to_owned())];
        let error = DataArgs(items).content().expect_err("there is none");
        assert!(error.to_string().starts_with("--data: /no/such/file: "), "{error}");
        let items = vec![(DataKind::Urlencode, "n@/no/such/file".to_owned())];
        let error = DataArgs(items).content().expect_err("there is none");
        assert!(error.to_string().starts_with("--data-urlencode: /no/such/file: "), "{error}");
    }
}
