//! The answer that a path asks for: `/WAIT/STATUS/REST`, after WAIT milliseconds.
//!
//! REST is the Retry-After of a 429 or 503, in seconds, and of a 302 where it leads, without `http://`. What is missing
//! is none, 200 and 0 ms. In front of WAIT may be other segments, which begin with a letter.

use std::time::Duration;

use stoop::{Request, Response, StatusCode};
use tokio::time::sleep;

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
struct WantedAnswer<'a> {
    wait: Duration,
    status: u16,
    rest: &'a str,
}

impl<'a> WantedAnswer<'a> {
    fn of(path: &'a str) -> Self {
        let mut path = path.trim_start_matches('/');
        while path.starts_with(|first: char| first.is_ascii_alphabetic()) {
            path = path.split_once('/').map_or("", |(_, rest)| rest);
        }
        let mut parts = path.splitn(3, '/');
        let mut next = || parts.next().unwrap_or_default();
        Self {
            wait: Duration::from_millis(next().parse().unwrap_or(0)),
            status: next().parse().unwrap_or(200),
            rest: next(),
        }
    }
}

/// Answers as the path of a request asks. A status that is none is 400.
pub(crate) async fn answer(request: &Request) -> Response {
    let wanted = WantedAnswer::of(request.path());
    if !wanted.wait.is_zero() {
        sleep(wanted.wait).await;
    }
    let status = StatusCode::from_u16(wanted.status).unwrap_or(StatusCode::BAD_REQUEST);
    let response = Response::from_text("Hello, world!").with_status(status);
    let (name, value) = match wanted.status {
        302 => ("location", location(wanted.rest, request.query())),
        429 | 503 if !wanted.rest.is_empty() => ("retry-after", wanted.rest.to_owned()),
        _ => return response,
    };
    response
        .with_field(name, value)
        .unwrap_or_else(|_| Response::from_status(StatusCode::BAD_REQUEST))
}

/// Where a redirect leads: the query goes along.
fn location(rest: &str, query: Option<&str>) -> String {
    match query {
        Some(query) => format!("http://{rest}?{query}"),
        None => format!("http://{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_asks_for_an_answer() {
        let wanted = |path| {
            let WantedAnswer { wait, status, rest } = WantedAnswer::of(path);
            (wait.as_millis(), status, rest)
        };
        assert_eq!(wanted("/"), (0, 200, ""));
        assert_eq!(wanted("/20"), (20, 200, ""));
        assert_eq!(wanted("/20/429/1"), (20, 429, "1"));
        assert_eq!(wanted("/private/20/404"), (20, 404, ""));
        assert_eq!(wanted("/5/302/127.1.0.2:80/7/200"), (5, 302, "127.1.0.2:80/7/200"));
        assert_eq!(location("127.1.0.2:80/7/200", Some("9")), "http://127.1.0.2:80/7/200?9");
    }
}
