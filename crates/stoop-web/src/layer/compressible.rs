//! Which responses may be in a content coding, and which types get smaller in one.

use stoop::{Response, StatusCode};

/// What says that content must not be encoded, besides a Content-Range.
const AS_IT_IS: [&str; 4] = ["content-encoding", "content-digest", "repr-digest", "digest"];

/// Whether another request could have had the content of a response without content, or of one with a part of it, in a
/// coding (RFC 9110 §15.3.7, §15.4.5).
pub(super) fn may_vary(response: &Response) -> bool {
    let is_of_whole =
        matches!(response.status(), StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED);
    is_of_whole && !stays_as_it_is(response)
}

/// Whether the content may be changed at all.
pub(super) fn may_change(response: &Response) -> bool {
    let status = response.status();
    let has_content = !matches!(
        status,
        StatusCode::NO_CONTENT
            | StatusCode::RESET_CONTENT
            | StatusCode::PARTIAL_CONTENT
            | StatusCode::NOT_MODIFIED
    ) && !status.is_informational();
    has_content && !response.fields().contains("content-range") && !stays_as_it_is(response)
}

fn stays_as_it_is(response: &Response) -> bool {
    let fields = response.fields();
    AS_IT_IS.iter().any(|name| fields.contains(name))
        || fields.lists("cache-control", "no-transform")
}

/// The media type of a response in lower case, without parameters; empty if it has none.
pub(super) fn media_type(response: &Response) -> String {
    let media_type = response.field("content-type").unwrap_or_default();
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
    String::from_utf8_lossy(media_type.trim_ascii()).to_ascii_lowercase()
}

/// The types that coding makes smaller. Images, sound, video, archives and most fonts are compressed already, and a stream of
/// events has no end.
pub(super) fn gets_smaller(media_type: &str) -> bool {
    let Some((main, sub)) = media_type.split_once('/') else { return false };
    match main {
        "text" => sub != "event-stream",
        "application" => {
            let known = [
                "javascript",
                "json",
                "ld+json",
                "manifest+json",
                "rtf",
                "wasm",
                "x-javascript",
                "x-ndjson",
                "jsonl",
                "xml",
                "yaml",
                "graphql",
                "toml",
                "vnd.ms-fontobject",
            ];
            known.contains(&sub)
                || sub.ends_with("+json")
                || sub.ends_with("+xml")
                || sub.ends_with("+text")
        }
        "image" => matches!(sub, "svg+xml" | "bmp" | "x-icon" | "vnd.microsoft.icon"),
        "font" => matches!(sub, "ttf" | "otf" | "collection"),
        "model" => true,
        _ => false,
    }
}
