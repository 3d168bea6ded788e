//! The form of `-F` and `--form-string`.

use std::io;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use stoop::body::{Form, Part};

use super::exit;
use super::failure::GetFailure;
use super::form_part::{Source, TypedPart};
use super::stream::{is_stream, stream};
use crate::data::read_file;
use crate::stderr;

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

/// The parts of a form, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct FormArgs(Vec<TypedForm>);

#[derive(Clone, Debug)]
struct TypedForm {
    text: String,
    /// It is of `--form-string`.
    is_literal: bool,
}

impl FormArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The form. What is skipped is told, unless that is not wanted.
    ///
    /// # Errors
    /// Those of files, and what is no part.
    pub(super) async fn form(&self, is_silent: bool) -> Result<Form, GetFailure> {
        let mut form = Form::new();
        for TypedForm { text, is_literal } in &self.0 {
            let read = if *is_literal { TypedPart::literal } else { TypedPart::read };
            let typed = read(text).ok_or_else(|| {
                GetFailure::new(exit::BAD_USE, format!("-F {text:?} is not NAME=VALUE[;type=TYPE]"))
            })?;
            for skipped in typed.skipped.iter().filter(|_| !is_silent) {
                stderr::message(format_args!(
                    "-F {text:?}: {skipped:?} is no parameter, and skipped"
                ));
            }
            let made = part(&typed).await;
            let made = made.map_err(|error| GetFailure::read("the form", &error))?;
            form = form.part(&typed.name, made);
        }
        Ok(form)
    }
}

async fn part(typed: &TypedPart) -> io::Result<Part> {
    let named =
        |path: &str, error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
    let mut part = match &typed.source {
        Source::Text(text) => Part::new(text.clone()),
        Source::Content(path) => Part::new(read_file(path)?),
        Source::File(path) if path == "-" => Part::new(read_file("-")?).file_name("-"),
        Source::File(path) if is_stream(Path::new(path)).unwrap_or(false) => {
            let content = stream(Path::new(path)).await.map_err(|error| named(path, error))?;
            let name = path.rsplit('/').next().unwrap_or_default();
            Part::new(content).file_name(name)
        }
        Source::File(path) => {
            Part::file(Path::new(path)).await.map_err(|error| named(path, error))?
        }
    };
    let guessed = match &typed.source {
        Source::File(path) => Some(guess(typed.file_name.as_deref().unwrap_or(path))),
        Source::Text(_) | Source::Content(_) => None,
    };
    if let Some(file_name) = &typed.file_name {
        part = part.file_name(file_name.clone());
    }
    match typed.mime_type.as_deref().or(guessed) {
        Some(mime_type) => part.mime_type(mime_type).map_err(io::Error::other),
        None => Ok(part),
    }
}

impl clap::Args for FormArgs {
    fn augment_args(command: Command) -> Command {
        let arg = |name: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name("PART").help(help).action(ArgAction::Append)
        };
        let form = "Add a part to a multipart form: NAME=VALUE, NAME=@FILE, NAME=<FILE, with ;type= and \
                    ;filename=";
        command
            .arg(arg("form", form).short('F'))
            .arg(arg("form-string", "Add the part NAME=VALUE as it is, an @ and a ; too"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FormArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut found = Vec::new();
        for (name, is_literal) in [("form", false), ("form-string", true)] {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            let typed = values.map(|text| TypedForm { text: text.clone(), is_literal });
            found.extend(places.zip(typed));
        }
        found.sort_by_key(|(at, _)| *at);
        Ok(Self(found.into_iter().map(|(_, typed)| typed).collect()))
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Err(Error::raw(ErrorKind::InvalidValue, "the arguments are read once"))
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
    fn a_type_is_guessed_of_the_end_of_a_name() {
        assert_eq!((guess("A.PNG"), guess("x")), ("image/png", "application/octet-stream"));
    }
}
