//! Fetches a URL, from its line of input to its line of output.

use std::error::Error;
use std::time::Instant;

use jiff::Timestamp;
use reqwest::Client;

use crate::line::FetchLine;

/// The URL of a line of input; none if it is blank or a comment.
pub(crate) fn target(line: &str) -> Option<String> {
    let trimmed = line.trim();
    (!trimmed.is_empty() && !trimmed.starts_with('#')).then(|| trimmed.to_owned())
}

pub(crate) async fn fetch(client: &Client, target: String) -> FetchLine {
    let started_at = Timestamp::now();
    let clock = Instant::now();
    let (code, length) = match exchange(client, &target).await {
        Ok((status, length)) => (status.to_string(), length),
        Err(error) => (error_name(&error), 0),
    };
    FetchLine { url: target, code, started_at, duration: clock.elapsed(), length }
}

async fn exchange(client: &Client, target: &str) -> reqwest::Result<(u16, u64)> {
    let mut response = match target.contains("://") {
        true => client.get(target).send().await?,
        false => client.get(format!("https://{target}")).send().await?,
    };
    let mut length = 0;
    while let Some(piece) = response.chunk().await? {
        length += piece.len() as u64;
    }
    Ok((response.status().as_u16(), length))
}

/// The kind of a failure, as far as reqwest distinguishes kinds, without commas.
fn error_name(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timeout".into();
    }
    if error.is_builder() {
        return "invalid_url".into();
    }
    if error.is_redirect() {
        return "redirect_limit".into();
    }
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    let first = text.split([':', ',', '\n', '"']).next().unwrap_or_default().trim();
    let phase = if error.is_connect() { "connect" } else { "exchange" };
    format!("{phase} {first}")
}
