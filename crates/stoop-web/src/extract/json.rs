//! JSON as the content of a request.

use serde::de::DeserializeOwned;
use stoop::{Request, StatusCode};

use crate::extract::argument::FromContent;
use crate::extract::content::{media_type, read, wrong_type};
use crate::extract::rejection::{Place, Problem, Rejection};
use crate::respond::Json;

impl<T: DeserializeOwned + Send + 'static> FromContent for Json<T> {
    const IS_TRIED_ALWAYS: bool = true;

    async fn from_content(request: Request, body_bytes_max: u64) -> Result<Self, Rejection> {
        let found = media_type(&request);
        if !is_json(found) {
            return Err(wrong_type(found, "application/json"));
        }
        let bytes = read(request.into_body(), body_bytes_max).await?;
        parse(&bytes).map(Self)
    }
}

/// `application/json`, or a type of that suffix (RFC 6839 §3.1).
fn is_json(media_type: &str) -> bool {
    let is_suffixed = || {
        let (main, sub) = media_type.split_once('/')?;
        let suffix = sub.get(sub.len().checked_sub(5)?..)?;
        Some(main.eq_ignore_ascii_case("application") && suffix.eq_ignore_ascii_case("+json"))
    };
    media_type.eq_ignore_ascii_case("application/json") || is_suffixed() == Some(true)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Rejection> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let name = if path == "." { String::new() } else { path };
        malformed(name, error.inner())
    })?;
    reader.end().map_err(|error| malformed(String::new(), &error))?;
    Ok(value)
}

fn malformed(name: String, error: &serde_json::Error) -> Rejection {
    // It ends with line and column.
    let problem = Problem::new(Place::Content, name, error.to_string());
    Rejection::new(StatusCode::BAD_REQUEST, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_that_are_json() {
        for (media_type, is) in [
            ("application/json", true),
            ("Application/JSON", true),
            ("application/merge-patch+json", true),
            ("application/+json", true),
            ("text/json", false),
            ("text/x+json", false),
            ("json", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            assert_eq!(is_json(media_type), is, "{media_type}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_path_line_and_column() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is never made")]
        struct Order {
            items: Vec<u8>,
        }
        for (json, told) in [
            (
                "{\"items\": [1,\n 300]}",
                "body `items[1]`: invalid value: integer `300`, expected u8 at line 2 column 4",
            ),
            ("{}", "body: missing field `items` at line 1 column 2"),
            ("{\"items\": []} x", "body: trailing characters at line 1 column 15"),
            ("", "body: EOF while parsing a value at line 1 column 0"),
        ] {
            let rejection = parse::<Order>(json.as_bytes()).unwrap_err();
            assert_eq!(rejection.problems()[0].to_string(), told);
        }
    }
}
