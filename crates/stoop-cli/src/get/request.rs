//! The request that the options describe.

use std::fs;
use std::path::Path;

use stoop::{Body, Client, Method, Netrc, Request};

use super::args::GetArgs;
use super::condition::TimeCondition;
use super::credentials::credentials;
use super::exit;
use super::failure::GetFailure;
use super::upload::upload;
use super::values::parse_offset;
use crate::request_options::Header;

/// Content of more bytes than this is sent when the server asks for it, or after a second: curl's figure.
const EXPECT_BYTES_MIN: u64 = 1024 * 1024;

/// What a request is for.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) url: &'a str,
    /// Where content is to go on.
    pub(super) offset: u64,
    /// Where credentials are looked up.
    pub(super) netrc: &'a Netrc,
    /// How new it is to be.
    pub(super) condition: Option<TimeCondition>,
}

/// The request for a target.
pub(super) async fn request(
    args: &GetArgs,
    headers: &[Header],
    client: &Client,
    target: Target<'_>,
) -> Result<Request, GetFailure> {
    let Target { url, offset, netrc, condition } = target;
    let method = method(args)?;
    // A header of that name takes their place.
    let (url, found) = match Header::names(headers, "authorization") {
        true => (url.to_owned(), None),
        false => credentials(args, url, netrc)?,
    };
    let mut builder = client.request(method, &url);
    if !Header::names(headers, "authorization") {
        builder = match (&args.oauth2_bearer, found) {
            (Some(token), _) => builder.bearer_auth(token),
            (None, Some((user, password))) if args.digest => builder.digest_auth(user, password),
            (None, Some((user, password))) => builder.basic_auth(user, password),
            (None, None) => builder,
        };
    }
    let mut request = builder.build()?;
    for header in headers {
        let Header::Sent(name, value) = header else { continue };
        if name.eq_ignore_ascii_case("transfer-encoding") {
            continue;
        }
        let fields = request.fields_mut();
        let added = match name.eq_ignore_ascii_case("host") {
            true => fields.set(name, value),
            false => fields.push(name, value),
        };
        added.map_err(|misuse| {
            GetFailure::new(exit::BAD_HEADER, format!("-H {name:?}: {misuse}"))
        })?;
    }
    add(&mut request, headers, "user-agent", || user_agent(args).map(str::to_owned))?;
    add(&mut request, headers, "referer", || {
        args.referer().filter(|referer| !referer.is_empty()).map(str::to_owned)
    })?;
    add(&mut request, headers, "range", || match (&args.range, offset) {
        // It is the file's range then.
        _ if args.upload_file.is_some() => None,
        (Some(range), _) if range.is_empty() || range.contains('-') => {
            Some(format!("bytes={range}"))
        }
        (Some(from), _) => Some(format!("bytes={from}-")),
        (None, 0) => None,
        (None, offset) => Some(format!("bytes={offset}-")),
    })?;
    if let Some((name, date)) = condition.map(TimeCondition::field) {
        add(&mut request, headers, name, || date)?;
    }
    let body = body(args, headers, &mut request).await?;
    let is_long = body.len().is_none_or(|bytes| bytes > EXPECT_BYTES_MIN);
    if !body.is_empty() && is_long && is_surely_http1(args, &url) {
        add(&mut request, headers, "expect", || Some("100-continue".to_owned()))?;
    }
    Ok(request.with_body(body))
}

/// Whether a header says that content goes in chunks, though its length is known. No other coding is made.
pub(super) fn asks_for_chunks(headers: &[Header]) -> bool {
    headers.iter().any(|header| {
        matches!(header, Header::Sent(name, value)
            if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case(b"chunked"))
    })
}

/// What the program calls itself, unless it says nothing.
pub(super) fn user_agent(args: &GetArgs) -> Option<&str> {
    let default = concat!("stoop/", env!("CARGO_PKG_VERSION"));
    Some(args.user_agent.as_deref().unwrap_or(default)).filter(|agent| !agent.is_empty())
}

/// Whether the request goes over HTTP/1.1: a stream of HTTP/2 is reset at little cost when its content is not wanted.
fn is_surely_http1(args: &GetArgs, url: &str) -> bool {
    let is_https = url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    args.http1 || !(is_https || args.http2_prior_knowledge)
}

/// Adds a field, unless the options have one of that name, or say that there is to be none.
fn add(
    request: &mut Request,
    headers: &[Header],
    name: &str,
    value: impl FnOnce() -> Option<String>,
) -> Result<(), GetFailure> {
    if request.field(name).is_some() || Header::removes(headers, name) {
        return Ok(());
    }
    let Some(value) = value() else { return Ok(()) };
    let added = request.fields_mut().push(name, value.as_bytes());
    added.map_err(|misuse| GetFailure::new(exit::BAD_HEADER, format!("{name}: {misuse}")))
}

fn method(args: &GetArgs) -> Result<Method, GetFailure> {
    let has_data = !args.data.is_empty();
    let kinds = [
        ("-I", args.head),
        ("-T", args.upload_file.is_some()),
        ("-F", !args.form.is_empty()),
        ("-d", has_data && !args.get),
        ("-G", has_data && args.get && !args.head),
    ];
    let mut asked = kinds.iter().filter(|(_, is_asked)| *is_asked).map(|(option, _)| option);
    if let (Some(one), Some(other)) = (asked.next(), asked.next()) {
        let why = format!("{one} and {other} ask for requests of different kinds");
        return Err(GetFailure::new(exit::BAD_USE, why));
    }
    if let Some(typed) = &args.request {
        let method = Method::from_bytes(typed.as_bytes());
        return method
            .map_err(|_| GetFailure::new(exit::BAD_USE, format!("-X {typed:?} is no method")));
    }
    let posts = has_data || !args.form.is_empty();
    Ok(match () {
        () if args.head => Method::HEAD,
        () if args.get => Method::GET,
        () if args.upload_file.is_some() => Method::PUT,
        () if posts => Method::POST,
        () => Method::GET,
    })
}

pub(super) fn content(args: &GetArgs) -> Result<Vec<u8>, GetFailure> {
    args.data.content().map_err(|error| GetFailure::read("the data", &error))
}

async fn body(
    args: &GetArgs,
    headers: &[Header],
    request: &mut Request,
) -> Result<Body, GetFailure> {
    if args.upload_file.is_some() {
        let (body, range) = upload(args).await?;
        add(request, headers, "content-range", || range)?;
        return Ok(body);
    }
    if !args.form.is_empty() {
        let form = args.form.form(args.silent).await?;
        let content_type = form.content_type();
        add(request, headers, "content-type", || Some(content_type))?;
        return Ok(form.into_body());
    }
    if args.data.is_empty() || args.get {
        return Ok(Body::empty());
    }
    let is_json = args.data.is_json();
    let content_type =
        if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
    add(request, headers, "content-type", || Some(content_type.to_owned()))?;
    if is_json {
        add(request, headers, "accept", || Some("application/json".to_owned()))?;
    }
    Ok(content(args)?.into())
}

/// Where content is to go on.
///
/// # Errors
/// What is no offset.
pub(super) fn offset(args: &GetArgs, output: Option<&Path>) -> Result<u64, GetFailure> {
    match (args.continue_at.as_deref(), output) {
        (None, _) => Ok(0),
        // It is where the upload goes on.
        (Some(_), _) if args.upload_file.is_some() => Ok(0),
        // Of standard output nothing is known: all of it is fetched.
        (Some("-"), None) => Ok(0),
        (Some("-"), Some(path)) if path.as_os_str() == "-" => Ok(0),
        (Some("-"), Some(path)) => Ok(fs::metadata(path).map_or(0, |file| file.len())),
        (Some(offset), _) => parse_offset(offset),
    }
}
