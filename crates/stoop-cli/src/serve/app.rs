//! The application that serves a directory as the settings say.

use std::fs::OpenOptions;
use std::time::Duration;

use stoop_web::{AccessLog, App, Compress, Cors, FileCoding, Files, LogHandle, Router, Sight};

use super::args::{LogFormat, Settings};
use super::redirect::ToHttps;
use super::status::Status;
use super::users;
use crate::failure::CommandFailure;
use crate::streams;

/// How long a browser may keep the answer to a preflight.
const CORS_MAX_AGE: Duration = Duration::from_secs(3_600);

/// Fields that scripts of other origins may read besides those that any may (Fetch standard, §2.2.2): of parts, and of whether a
/// file has changed.
const CORS_EXPOSED: [&str; 3] = ["accept-ranges", "content-range", "etag"];

/// How many entries of a directory are listed.
const LISTED_MAX: usize = 10_000;

/// What answers, and what has to be written before the process ends.
pub(super) struct Built {
    pub(super) app: App,
    pub(super) log: Option<LogHandle>,
}

/// Builds the application.
///
/// # Errors
/// [`CommandFailure::Io`] if the directory or the access log cannot be opened; [`CommandFailure::Usage`] for users that are
/// none.
pub(super) fn app(settings: &Settings, sight: &Sight) -> Result<Built, CommandFailure> {
    let mut router = Router::new().fallback(files(settings)?);
    let log = access_log(settings)?;
    let handle = log.as_ref().map(AccessLog::handle);
    if let Some(log) = log {
        router = router.layer(log);
    }
    let auth = users::auth(&settings.auth)?;
    if auth.is_some() && settings.wants_tls() {
        // No password is asked for in clear.
        router = router.layer(ToHttps);
    }
    if let Some(who) = settings.status {
        // Looking at the figures changes none of them, and pages of other origins do not read them.
        router = router.layer(Status::new(who, sight, auth.clone())?);
        router = router.layer(sight.clone());
    }
    if settings.cors {
        let cors = Cors::any_origin().expose(CORS_EXPOSED).max_age(CORS_MAX_AGE);
        // A script may send what it is let in by, if it has it.
        let allowed = auth.as_ref().map(|_| "authorization");
        router = router.layer(cors.headers(allowed));
    }
    if let Some(auth) = auth {
        router = router.layer(auth);
    }
    if settings.compress {
        router = router.layer(Compress::new());
    }
    let app = router.build();
    let app = app.map_err(|error| CommandFailure::Io(format!("cannot serve: {error}")))?;
    Ok(Built { app, log: handle })
}

fn files(settings: &Settings) -> Result<Files, CommandFailure> {
    let directory = settings.directory();
    let opened = Files::new(&directory);
    let mut files = opened.map_err(|error| {
        let what = format!("cannot serve {}", directory.display());
        match directory.to_str().filter(|name| name.parse::<u16>().is_ok()) {
            Some(port) => CommandFailure::Io(format!("{what}: {error}; a port is -l {port}")),
            None => CommandFailure::io(&what, &error),
        }
    })?;
    files = files.precompressed([FileCoding::Brotli, FileCoding::Zstd, FileCoding::Gzip]);
    if settings.spa {
        files = files.single_page("index.html");
    }
    if settings.listing {
        files = files.listing(LISTED_MAX);
    }
    Ok(files)
}

/// The log that is asked for: in the common format where it has a file alone.
fn access_log(settings: &Settings) -> Result<Option<AccessLog>, CommandFailure> {
    let writer = match (&settings.access_log_file, settings.access_log) {
        (Some(path), _) => {
            let opened = OpenOptions::new().create(true).append(true).open(path);
            opened.map_err(|error| {
                CommandFailure::io(&format!("cannot open {}", path.display()), &error)
            })?
        }
        (None, Some(_)) => {
            streams::check_output()?;
            streams::output().map_err(|error| CommandFailure::io(streams::CANNOT_WRITE, &error))?
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(match settings.access_log.unwrap_or(LogFormat::Common) {
        LogFormat::Common => AccessLog::common(writer),
        LogFormat::Combined => AccessLog::combined(writer),
        LogFormat::Json => AccessLog::json(writer),
    }))
}
