//! `--write-out`: a format with variables, written behind the content.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stoop::Fields;

use super::record::{Notes, version};
use crate::data::read_file;

/// What the format is filled with, besides what was noted.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) url: String,
    pub(super) final_url: Option<String>,
    pub(super) referer: String,
    pub(super) redirects: u16,
    /// The status that counts in place of the one that came.
    pub(super) status: Option<u16>,
    /// Where a redirect leads that was not followed.
    pub(super) redirect_url: String,
    /// Bytes of content as they came.
    pub(super) received: u64,
    pub(super) exit_code: u8,
    pub(super) error: String,
    pub(super) file: String,
    /// What verifying the server's certificate came to, as OpenSSL counts it.
    pub(super) verify_result: u32,
}

impl Outcome {
    /// Notes that a redirect may not be followed: as curl tells it, it was followed, and nothing came then.
    pub(super) fn was_denied(&mut self) {
        self.redirects += 1;
        let to = std::mem::take(&mut self.redirect_url);
        if to.starts_with("http:") || to.starts_with("https:") {
            self.final_url = Some(to);
        }
    }
}

/// A format, and the parts that it writes where.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    Output(String),
    Error(String),
}

/// The format that the option names: text, or a file's.
///
/// # Errors
/// Those of the file.
pub(super) fn format(option: &str) -> io::Result<String> {
    match option.strip_prefix('@') {
        // Its line ends are no part of it: a format of many lines has \n in them.
        Some(path) => Ok(String::from_utf8_lossy(&read_file(path)?).replace(['\r', '\n'], "")),
        None => Ok(option.to_owned()),
    }
}

/// Whether a format tells how much content was sent.
pub(super) fn tells_upload(format: &str) -> bool {
    ["size_upload", "speed_upload", "json"]
        .iter()
        .any(|name| format.contains(&format!("%{{{name}}}")))
}

/// The format filled in, in pieces for standard output and standard error. Variables that are unknown are told.
pub(super) fn fill(format: &str, notes: &Notes, outcome: &Outcome) -> (Vec<Written>, Vec<String>) {
    let variables = variables(notes, outcome);
    let (mut written, mut unknown) = (Vec::new(), Vec::new());
    let (mut text, mut is_error) = (String::new(), false);
    let mut rest = format;
    let mut flush = |text: &mut String, is_error: bool| {
        let text = std::mem::take(text);
        if !text.is_empty() {
            written.push(if is_error { Written::Error(text) } else { Written::Output(text) });
        }
    };
    while let Some(at) = rest.find(['%', '\\']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix('\\') {
            let next = behind.chars().next();
            match next {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            }
            rest = &behind[next.map_or(0, char::len_utf8)..];
        } else if let Some(behind) = rest.strip_prefix("%%") {
            text.push('%');
            rest = behind;
        } else if let Some((name, behind)) =
            rest.strip_prefix("%header{").and_then(|behind| behind.split_once('}'))
        {
            let value = notes.head.as_ref().and_then(|head| head.fields().first(name.trim()));
            text.push_str(&String::from_utf8_lossy(value.unwrap_or_default()));
            rest = behind;
        } else if let Some((name, behind)) =
            rest.strip_prefix("%{").and_then(|behind| behind.split_once('}'))
        {
            match name {
                "stdout" | "stderr" => {
                    flush(&mut text, is_error);
                    is_error = name == "stderr";
                }
                // What follows is for errors.
                "onerror" if outcome.exit_code == 0 => {
                    rest = "";
                    break;
                }
                "onerror" => {}
                "json" => text.push_str(&json!(variables).to_string()),
                "header_json" => {
                    let fields = notes.head.as_ref().map(|head| header_json(head.fields()));
                    text.push_str(&fields.unwrap_or_default());
                }
                name => match variables.get(name) {
                    Some(Value::String(value)) => text.push_str(value),
                    Some(Value::Null) => {}
                    Some(Value::Number(number)) if name.starts_with("time_") => {
                        text.push_str(&format!("{:.6}", number.as_f64().unwrap_or_default()));
                    }
                    Some(Value::Number(number))
                        if matches!(name, "http_code" | "http_connect" | "response_code") =>
                    {
                        text.push_str(&format!("{:03}", number.as_u64().unwrap_or_default()));
                    }
                    Some(value) => text.push_str(&value.to_string()),
                    None => unknown.push(name.to_owned()),
                },
            }
            rest = behind;
        } else {
            text.push('%');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    flush(&mut text, is_error);
    (written, unknown)
}

fn variables(notes: &Notes, outcome: &Outcome) -> BTreeMap<&'static str, Value> {
    // The time of a step that did not take place is 0, as curl has it.
    let since = |at: Option<Instant>| at.map_or(Duration::ZERO, |at| at - notes.begun);
    let total = notes.begun.elapsed();
    // A step that was over at once, such as connecting where a connection is used again, ends where the next begins.
    let connected = notes.connected.or(notes.sending);
    let resolved = notes.resolved.or(connected.map(|_| notes.begun + notes.redirecting));
    let head = notes.head.as_ref();
    let status = outcome.status.unwrap_or_else(|| head.map_or(0, |head| head.status().as_u16()));
    let url = outcome.final_url.as_deref().unwrap_or(&outcome.url);
    let rate = |bytes: u64| (bytes as f64 / total.as_secs_f64().max(1e-6)) as u64;
    let content_type = head
        .and_then(|head| head.fields().first("content-type"))
        .map(|value| String::from_utf8_lossy(value).into_owned());
    // What there is none of is null in JSON.
    let text = |text: &str| json!((!text.is_empty()).then_some(text));
    let seconds = |time: Duration| json!(time.as_secs_f64());
    BTreeMap::from([
        ("content_type", json!(content_type)),
        ("errormsg", text(&outcome.error)),
        ("exitcode", json!(outcome.exit_code)),
        ("filename_effective", json!(outcome.file)),
        ("http_code", json!(status)),
        ("http_connect", json!(notes.tunnel_status.unwrap_or(0))),
        ("http_version", json!(head.map_or("0", |head| version(head.version())))),
        ("local_ip", json!(notes.local.map_or(String::new(), |at| at.ip().to_string()))),
        ("local_port", json!(notes.local.map_or(0, |at| at.port()))),
        ("method", json!(notes.method.as_str())),
        ("num_connects", json!(notes.connects)),
        ("num_headers", json!(head.map_or(0, |head| head.fields().len()))),
        ("num_redirects", json!(outcome.redirects)),
        ("num_retries", json!(notes.retries)),
        ("proxy_ssl_verify_result", json!(0)),
        ("redirect_url", text(&outcome.redirect_url)),
        ("referer", text(&outcome.referer)),
        ("remote_ip", json!(notes.remote.map_or(String::new(), |at| at.ip().to_string()))),
        ("remote_port", json!(notes.remote.map_or(0, |at| at.port()))),
        ("response_code", json!(status)),
        (
            "scheme",
            json!(
                url.split_once("://")
                    .filter(|_| connected.is_some())
                    .map(|(scheme, _)| scheme.to_ascii_uppercase())
            ),
        ),
        ("size_download", json!(outcome.received)),
        ("size_header", json!(notes.head_bytes)),
        ("size_request", json!(notes.request_bytes)),
        ("size_upload", json!(notes.sent_bytes())),
        ("speed_download", json!(rate(outcome.received))),
        ("speed_upload", json!(rate(notes.sent_bytes()))),
        ("ssl_verify_result", json!(outcome.verify_result)),
        ("time_appconnect", seconds(since(notes.secured))),
        ("time_connect", seconds(since(connected))),
        ("time_namelookup", seconds(since(resolved))),
        ("time_pretransfer", seconds(since(notes.sending))),
        ("time_redirect", seconds(notes.redirecting)),
        ("time_starttransfer", seconds(since(notes.responded))),
        ("time_total", seconds(total)),
        ("url", json!(outcome.url)),
        ("url_effective", json!(url)),
        ("urlnum", json!(0)),
    ])
}

/// The fields as an object of lists, by their names in lower case, in the order in which they came.
fn header_json(fields: &Fields) -> String {
    let mut names: Vec<String> = Vec::new();
    for field in fields.iter() {
        let name = field.name().to_ascii_lowercase();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let members = names.iter().map(|name| {
        let values = fields.all(name).map(|value| String::from_utf8_lossy(value).into_owned());
        format!("{}:{}", json!(name), json!(values.collect::<Vec<_>>()))
    });
    format!("{{{}\n}}", members.collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::*;

    fn filled(format: &str) -> (Vec<Written>, Vec<String>) {
        let record = Record::new();
        let outcome = Outcome { url: "http://a/".to_owned(), received: 7, ..Outcome::default() };
        fill(format, &record.notes(), &outcome)
    }

    #[test]
    fn a_format_is_text_escapes_and_variables() {
        let (written, unknown) = filled("%{size_download} %{http_code}\\n100%% %{url}\\t\\x%");
        assert_eq!(written, [Written::Output("7 000\n100% http://a/\t\\x%".to_owned())]);
        assert!(unknown.is_empty());
        assert_eq!(filled("%{no_such}|").1, ["no_such"]);
        assert_eq!(filled("a%{onerror}b%{no_such}"), (vec![Written::Output("a".into())], vec![]));
        let (written, _) = filled("a%{stderr}b%{stdout}c");
        let texts =
            [Written::Output("a".into()), Written::Error("b".into()), Written::Output("c".into())];
        assert_eq!(written, texts);
        let (written, _) = filled("%{json}");
        let [Written::Output(text)] = &*written else { panic!("{written:?}") };
        let object: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!((&object["size_download"], &object["url"]), (&json!(7), &json!("http://a/")));
    }
}
