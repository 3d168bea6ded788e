//! JSON as the content of a request.

use serde::de::DeserializeOwned;
use stoop::{Request, StatusCode};

use crate::extract::argument::FromContent;
use crate::extract::content::{media_type, plain_content, read, wrong_type};
use crate::extract::json_problems::{further, shown};
use crate::extract::problem::{Place, Problem};
use crate::extract::rejection::Rejection;
use crate::respond::Json;

impl<T: DeserializeOwned + Send + 'static> FromContent for Json<T> {
    const IS_TRIED_ALWAYS: bool = true;

    async fn from_content(request: Request, body_bytes_max: u64) -> Result<Self, Rejection> {
        let found = media_type(&request);
        if !is_json(found) {
            return Err(wrong_type(found, "application/json"));
        }
        plain_content(&request)?;
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
        let first = located(shown(&error), error.inner());
        let mut problems = vec![first];
        if error.inner().is_data() {
            problems.extend(further::<T>(bytes, &problems[0]));
        }
        Rejection::of(StatusCode::BAD_REQUEST, problems)
    })?;
    reader
        .end()
        .map_err(|error| Rejection::new(StatusCode::BAD_REQUEST, located(String::new(), &error)))?;
    Ok(value)
}

/// What is wrong, with line and column at its end.
fn located(name: String, error: &serde_json::Error) -> Problem {
    Problem::new(Place::Content, name, error.to_string())
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
            assert_eq!(rejection.problems().len(), 1, "{rejection:?}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_and_not_only_the_first() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Size {
            Small,
        }
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is never made")]
        struct Buyer {
            name: String,
            age: std::num::NonZeroU8,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "it is never made")]
        struct Order {
            buyer: Buyer,
            seller: Buyer,
            size: Size,
            items: Vec<u8>,
            note: Option<String>,
            paid: bool,
        }
        let all = |json: &str| {
            let rejection = parse::<Order>(json.as_bytes()).unwrap_err();
            rejection.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            all(
                "{\"size\":\"large\",\"items\":[1,true,\"x\"],\n\"seller\":{},\"noet\":1,\"note\":2}"
            ),
            "body `size`: unknown variant `large`, expected `small` at line 1 column 15\n\
             body `items[1]`: invalid type: boolean `true`, expected u8\n\
             body `items[2]`: invalid type: string \"x\", expected u8\n\
             body `noet`: unknown field `noet`, expected one of `buyer`, `seller`, `size`, `items`, `note`, `paid`\n\
             body `note`: invalid type: integer `2`, expected a string\n\
             body `seller`: missing field `name`\n\
             body `seller`: missing field `age`\n\
             body: missing field `buyer`\n\
             body: missing field `paid`"
        );
        assert_eq!(all("[]").lines().count(), 1);
        let many = format!("{{\"items\":[{}0]}}", "-1,".repeat(1_000));
        assert!(all(&many).lines().count() <= 32);
        let large = format!("{{\"items\":[{}0]}}", "-1,".repeat(10_000));
        assert_eq!(all(&large).lines().count(), 1, "it would take long");
    }

    /// Each value that is wrong is read again with others in its place, and all that is in front of it too.
    #[test]
    fn content_is_read_again_as_often_as_it_is_small() {
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

        use serde::Deserialize;

        static READS: AtomicUsize = AtomicUsize::new(0);
        fn counted<'de, D: serde::Deserializer<'de>>(value: D) -> Result<u8, D::Error> {
            READS.fetch_add(1, Relaxed);
            u8::deserialize(value)
        }
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is never made")]
        struct Order {
            #[serde(deserialize_with = "counted")]
            first: u8,
            items: Vec<u8>,
        }
        for (items, reads) in [(20, 41..60), (300, 64..131), (5_000, 15..20)] {
            let json = format!("{{\"first\":1,\"items\":[{}0]}}", "-1,".repeat(items));
            assert!(json.len() < 16 * 1024);
            READS.store(0, Relaxed);
            let told = parse::<Order>(json.as_bytes()).unwrap_err().problems().len();
            let read = READS.load(Relaxed);
            assert!(reads.contains(&read) && told > 1, "{items}: {read} reads tell {told}");
        }
    }
}
