//! The application that serves a directory as the settings say.

use std::time::Duration;

use stoop::files::Symlinks;
use stoop_web::{AccessLog, App, Compress, Cors, FileCoding, Files, Router, Sight};

use super::args::Settings;
use super::cache_control::CacheControl;
use super::choices::LinkPolicy;
use super::headers::Headers;
use super::other_names;
use super::ready::Ready;
use super::redirect::{self, SecurePort, ToHttps};
use super::status::{self, Status};
use super::users::{self, Users};
use crate::failure::CommandFailure;

/// How long a browser may keep the answer to a preflight.
const CORS_MAX_AGE: Duration = Duration::from_secs(3_600);

/// Fields of a request that a page of another origin may send: conditions and ranges, and what a script sends with each
/// fetch that is to pass by the cache.
const CORS_REQUEST_FIELDS: [&str; 8] = [
    "cache-control",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "pragma",
    "range",
];

/// Fields of a response that such a page may read, beside those that every page may (Fetch standard, §2.2.2).
const CORS_RESPONSE_FIELDS: [&str; 7] = [
    "accept-ranges",
    "content-encoding",
    "content-length",
    "content-range",
    "date",
    "etag",
    "retry-after",
];

/// The page that `--spa` answers by.
pub(super) const PAGE: &str = "index.html";

/// How many entries of a directory are listed.
const LISTED_MAX: usize = 10_000;

/// What stays when the settings are read again.
pub(super) struct Kept {
    pub(super) sight: Sight,
    /// Where TLS is spoken, if the process speaks it.
    pub(super) secure_port: Option<SecurePort>,
    pub(super) users: Users,
}

impl Kept {
    /// What a process that is started with these settings keeps.
    pub(super) fn new(started: &Settings) -> Self {
        let secure_port = started.wants_tls().then(SecurePort::default);
        Self { sight: status::sight(), secure_port, users: Users::default() }
    }
}

/// Builds the application, which logs by `log`.
///
/// # Errors
/// [`CommandFailure::Io`] if the directory cannot be opened; [`CommandFailure::Usage`] for users and fields that are
/// none, and for `--https-redirect` without a certificate.
pub(super) fn app(
    settings: &Settings,
    kept: &Kept,
    log: Option<AccessLog>,
) -> Result<App, CommandFailure> {
    redirect::check(settings)?;
    let mut router = Router::new().fallback(files(settings)?);
    if let Some(proxies) = settings.trusted_proxies() {
        // Around all that asks who the client is.
        router = router.layer(proxies);
    }
    if let Some(log) = log {
        router = router.layer(log);
    }
    if settings.tells_ready() {
        // A balancer has no password, and may ask over HTTP without TLS.
        router = router.layer(Ready::new()?);
    }
    let auth = kept.users.auth(&users::given(settings)?)?;
    if let Some(port) = &kept.secure_port
        && settings.https_redirect.unwrap_or(auth.is_some())
    {
        // Around the users: no password is asked for in clear.
        let mut challenges = opened(settings)?;
        if auth.is_some() {
            // A link could lead to what needs a password.
            challenges = challenges.symlinks(Symlinks::Refuse);
        }
        router = router.layer(ToHttps::new(port.clone(), challenges));
    }
    if let Some(headers) = Headers::parse(&settings.header)? {
        // Not around the redirect: what is meant for https is not sent with it.
        router = router.layer(headers);
    }
    if let Some(who) = settings.status_for() {
        // Looking at the figures changes none of them, and pages of other origins do not read them.
        router = router.layer(Status::new(who, &kept.sight, auth.clone())?);
        router = router.layer(kept.sight.clone());
    }
    if settings.cors == Some(true) {
        router = router.layer(cors(auth.is_some()));
    }
    if let Some(auth) = auth {
        router = router.layer(auth);
    }
    if settings.compress == Some(true) {
        router = router.layer(Compress::new());
    }
    router.build().map_err(|error| CommandFailure::Io(format!("cannot serve: {error}")))
}

/// Pages of all origins read the answers. A browser sends none of the passwords that it knows, and so only a page that
/// knows one itself reads what has a password.
fn cors(has_users: bool) -> Cors {
    let cors = Cors::any_origin().max_age(CORS_MAX_AGE);
    let cors = cors.headers(CORS_REQUEST_FIELDS).expose(CORS_RESPONSE_FIELDS);
    if has_users { cors.headers(["authorization"]) } else { cors }
}

/// The files of the directory.
///
/// # Errors
/// [`CommandFailure::Io`] if it cannot be opened; [`CommandFailure::Usage`] for a Cache-Control that is none.
pub(super) fn files(settings: &Settings) -> Result<Files, CommandFailure> {
    let mut files = opened(settings)?;
    files = files.precompressed([FileCoding::Brotli, FileCoding::Zstd, FileCoding::Gzip]);
    let cache_control = CacheControl::parse(&settings.cache_control)?;
    if !cache_control.is_empty() {
        files = files.cache_control_by(move |path| cache_control.of(path));
    }
    if settings.spa == Some(true) {
        files = files.single_page(PAGE);
    }
    if let Some(page) = settings.not_found_page() {
        files = files.not_found_page(page);
    }
    if settings.hidden == Some(true) {
        files = files.hidden_files();
    }
    if settings.listing == Some(true) {
        files = files.listing(LISTED_MAX);
    }
    Ok(files)
}

/// The files alone, without a page or a listing where there is none. What a CA looks for is answered by these, without a
/// password.
///
/// # Errors
/// [`CommandFailure::Io`] if the directory cannot be opened.
fn opened(settings: &Settings) -> Result<Files, CommandFailure> {
    let directory = settings.directory();
    let opened = Files::new(&directory).map_err(|error| {
        let what = format!("cannot serve {}", directory.display());
        match directory.to_str().filter(|name| other_names::looks_like_place(name)) {
            Some(place) => {
                CommandFailure::Io(format!("{what}: {error}; did you mean '-l {place}'?"))
            }
            None => CommandFailure::io(&what, &error),
        }
    })?;
    Ok(opened.symlinks(symlinks(settings)))
}

/// The rule for symbolic links.
pub(super) fn symlinks(settings: &Settings) -> Symlinks {
    match (settings.symlinks, settings.hidden) {
        (Some(LinkPolicy::Refuse), _) => Symlinks::Refuse,
        (_, Some(true)) => Symlinks::Within,
        _ => Symlinks::WithinVisible,
    }
}
