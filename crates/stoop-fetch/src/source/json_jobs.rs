//! A list of jobs, each a JSON object on a line.

mod fields;
mod line;

use std::io::{self, Read};
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stoop::{Method, Misuse};

use self::line::{JsonId, JsonLine, Names};
use super::{Extent, Job, JobOptions, JobSource, Lines, Take};

/// A line longer than this is no job. Its content is in it, and memory for it.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Jobs as JSON, one object a line; blank lines and those that start with `#` are skipped. Its names:
///
/// - `url`, which must be there;
/// - `id`, text or a number, and `meta`, any value: the record has them too;
/// - `method`, in its own letters, as they are told apart (RFC 9110 §9.1); by default the run's, or POST with content;
/// - `headers`, an object of texts or lists of texts;
/// - `body`, a text, or `body_base64`, bytes in base64 (RFC 4648 §4), or `json`, any value, which is sent as
///   `application/json` unless `headers` has another Content-Type.
///
/// ```
/// use stoop_fetch::source::JsonJobs;
///
/// let jobs = r#"
/// {"url": "https://example.com/", "id": 1, "meta": {"shelf": "A"}}
/// {"url": "https://example.com/search", "headers": {"accept": "text/html"}, "json": {"q": "crab"}}
/// "#;
/// let source = JsonJobs::new(jobs.as_bytes());
/// # drop(source);
/// ```
///
/// A list in UTF-16 or UTF-32 is an error of the kind [`InvalidData`](io::ErrorKind::InvalidData), and no job, and so is one
/// that begins as a JSON array.
///
/// A line that is no job, or longer than 4 MiB, gets a record of the kind `invalid_job`, which says where in the
/// line and why, and has the `url` and `id` if they could be read. The line itself is in no record, since what it
/// has may be secret.
#[derive(Debug)]
pub struct JsonJobs<R> {
    lines: Lines<R>,
    names: Names,
    /// The number of the line that was read last, without blank ones.
    jobs: u64,
}

impl<R: Read> JsonJobs<R> {
    /// The jobs of `source`, which is read in large pieces and needs no buffer of its own.
    pub fn new(source: R) -> Self {
        let names = Names { url: "url".into(), id: "id".into(), keeps_others: false };
        Self { lines: Lines::of_json(source, LINE_BYTES_MAX), names, jobs: 0 }
    }

    /// The name of the URL, in place of `url`.
    #[must_use]
    pub fn url_column(mut self, name: impl Into<String>) -> Self {
        self.names.url = name.into();
        self
    }

    /// The name of the identifier, in place of `id`.
    #[must_use]
    pub fn id_column(mut self, name: impl Into<String>) -> Self {
        self.names.id = name.into();
        self
    }

    /// Whether all names but these two are metadata, as they are, so that any lines of JSON are a list: `method`,
    /// `body` and the like have no meaning of their own then. By default a name that is none of those above makes the
    /// line no job.
    ///
    /// ```
    /// use stoop_fetch::source::JsonJobs;
    ///
    /// let pages = r#"{"link": "https://example.com/", "key": 7, "title": "Crabs", "body": "They ..."}"#;
    /// let source = JsonJobs::new(pages.as_bytes()).url_column("link").id_column("key").keep_columns(true);
    /// # drop(source);
    /// ```
    #[must_use]
    pub fn keep_columns(mut self, keeps: bool) -> Self {
        self.names.keeps_others = keeps;
        self
    }
}

impl<R: Read + Send> JobSource for JsonJobs<R> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let Self { lines, names, jobs } = self;
        lines.read(&mut |line| hand_on(&line, names, jobs, take))
    }

    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let Self { lines, names, jobs } = self;
        lines.finish(extent, &mut |line| hand_on(&line, names, jobs, take));
    }

    fn position(&self) -> u64 {
        self.lines.position()
    }
}

/// Calls `take` with the job of a line.
fn hand_on(line: &Job<'_>, names: &Names, jobs: &mut u64, take: &mut Take<'_>) -> ControlFlow<()> {
    *jobs += 1;
    let invalid = |why: &str| format!("job {jobs} of the input: {why}");
    match line.extent {
        Extent::Whole => {}
        Extent::Interrupted => return take(Job::new(b"").with_extent(Extent::Interrupted)),
        Extent::Overlong => {
            let options = JobOptions::new().invalid(invalid("longer than 4 MiB"));
            return take(Job::new(b"").with_options(options));
        }
        Extent::InputFailed => {
            let options = JobOptions::new().invalid(invalid("the input failed within it"));
            return take(Job::new(b"").with_options(options));
        }
    }
    match names.read(line.url) {
        Ok(mut json) => {
            let url = std::mem::take(&mut json.url);
            let id = json.id.take().map(JsonId::into_text);
            let options =
                json.into_options().unwrap_or_else(|why| JobOptions::new().invalid(invalid(&why)));
            let options = match id {
                Some(id) => options.id(id),
                None => options,
            };
            let job = Job::new(url.as_bytes());
            match options.is_empty() {
                true => take(job),
                false => take(job.with_options(options)),
            }
        }
        Err(error) => {
            // What can be told of it all the same, so that it is found again.
            let (url, id) = names.identity(line.url);
            let options = JobOptions::new().invalid(invalid(&described(&error)));
            let options = match id {
                Some(id) => options.id(id),
                None => options,
            };
            take(Job::new(url.as_bytes()).with_options(options))
        }
    }
}

/// What is wrong with a line, without what it has: names, which are not secret, and where they stand.
fn described(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let is_of_names = ["missing field", "unknown field", "duplicate field"];
    if !error.is_data() || is_of_names.iter().any(|begin| text.starts_with(begin)) {
        return text;
    }
    let (line, column) = (error.line(), error.column());
    format!("a value of another type than its name has at line {line} column {column}")
}

impl JsonLine {
    /// What it has beside its URL and identifier, or why it is no job.
    fn into_options(self) -> Result<JobOptions, String> {
        let mut options = JobOptions::new();
        options.metadata = self.meta;
        if !self.kept.0.is_empty() {
            options = options.metadata(&self.kept).map_err(|error| error.to_string())?;
        }
        let refused = |misuse: Misuse| format!("`headers`: {misuse}");
        for (name, value) in self.headers.0 {
            options = options.field(&name, value.as_bytes()).map_err(refused)?;
        }
        let content = match (self.body, self.body_base64, self.json) {
            (None, None, None) => None,
            (Some(text), None, None) => Some(text.into_bytes()),
            (None, Some(text), None) => {
                let bytes = STANDARD.decode(text);
                Some(bytes.map_err(|error| format!("`body_base64`: {error}"))?)
            }
            (None, None, Some(value)) => {
                if !options.fields.contains("content-type") {
                    options =
                        options.field("content-type", b"application/json").map_err(refused)?;
                }
                Some(String::from(Box::<str>::from(value)).into_bytes())
            }
            _ => return Err("more than one of `body`, `body_base64` and `json`".to_owned()),
        };
        if let Some(name) = self.method {
            options = options.method(method(&name)?);
        } else if content.is_some() {
            options = options.method(Method::POST);
        }
        Ok(match content {
            Some(content) => options.content(content),
            None => options,
        })
    }
}

/// The method of that name.
///
/// # Errors
/// No URL can be fetched by it.
fn method(name: &str) -> Result<Method, String> {
    match Method::from_bytes(name.as_bytes()) {
        Err(_) => Err("`method` is none of HTTP".to_owned()),
        Ok(Method::CONNECT) => {
            Err("`method` CONNECT asks a proxy for a tunnel, and no server for a URL".to_owned())
        }
        Ok(method) => Ok(method),
    }
}

#[cfg(test)]
mod tests;
