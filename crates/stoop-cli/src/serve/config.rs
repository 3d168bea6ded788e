//! The settings of `stoop serve`: those of a file, overridden by those of the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{ServeArgs, Settings};
use super::choices::{LogFormat, StatusFor};
use super::{config_file, places, secrets};
use crate::failure::CommandFailure;

/// The settings that hold: of the command line, and of the file that it names.
///
/// # Errors
/// [`CommandFailure::Io`] if the file cannot be read; [`CommandFailure::Usage`] if it is wrong, and if it has users
/// and is served itself.
pub(super) fn settings(args: &ServeArgs) -> Result<Settings, CommandFailure> {
    let mut typed = args.settings.clone();
    typed.begin_at(Path::new(""));
    let Some(path) = &args.config else { return Ok(typed) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandFailure::io(&format!("cannot read {}", path.display()), &error))?;
    let written = parse(&text, path)?;
    let has_users = !written.auth.is_empty();
    let settings = typed.over(written);
    if has_users {
        secrets::check("--config", path, "all clients could read its users", &settings)?;
    }
    Ok(settings)
}

fn parse(text: &str, path: &Path) -> Result<Settings, CommandFailure> {
    let mut settings =
        config_file::read(text, &path.display().to_string()).map_err(CommandFailure::Usage)?;
    settings.begin_at(path.parent().unwrap_or(Path::new("")));
    Ok(settings)
}

impl Settings {
    /// Has relative paths begin at `base`.
    fn begin_at(&mut self, base: &Path) {
        let paths = self.tls.iter_mut().chain(&mut self.directory);
        for path in paths.chain(&mut self.access_log_file).chain(&mut self.auth_file) {
            *path = base.join(&*path);
        }
        for place in &mut self.listen {
            *place = places::whole(place, base);
        }
    }

    /// These settings, and those of `below` where these say nothing.
    fn over(self, below: Self) -> Self {
        fn list<T>(typed: Vec<T>, written: Vec<T>) -> Vec<T> {
            if typed.is_empty() { written } else { typed }
        }
        // A certificate that was typed takes the place of one in the file.
        let has_tls = self.wants_tls();
        // And so do proxies.
        let trusts = self.trusts_proxies();
        Self {
            directory: self.directory.or(below.directory),
            listen: list(self.listen, below.listen),
            unix_mode: self.unix_mode.or(below.unix_mode),
            tls: if has_tls { self.tls } else { below.tls },
            tls_self_signed: match has_tls {
                true => self.tls_self_signed,
                false => self.tls_self_signed.or(below.tls_self_signed),
            },
            spa: self.spa.or(below.spa),
            not_found: self.not_found.or(below.not_found),
            listing: self.listing.or(below.listing),
            hidden: self.hidden.or(below.hidden),
            symlinks: self.symlinks.or(below.symlinks),
            cache_control: list(self.cache_control, below.cache_control),
            header: list(self.header, below.header),
            cors: self.cors.or(below.cors),
            compress: self.compress.or(below.compress),
            auth: list(self.auth, below.auth),
            auth_file: self.auth_file.or(below.auth_file),
            https_redirect: self.https_redirect.or(below.https_redirect),
            access_log: self.access_log.or(below.access_log),
            access_log_file: self.access_log_file.or(below.access_log_file),
            status: self.status.or(below.status),
            ready: self.ready.or(below.ready),
            drain_notice: self.drain_notice.or(below.drain_notice),
            workers: self.workers.or(below.workers),
            connections_per_address: self.connections_per_address.or(below.connections_per_address),
            lag_max: self.lag_max.or(below.lag_max),
            handler_timeout: self.handler_timeout.or(below.handler_timeout),
            proxy_protocol: list(self.proxy_protocol, below.proxy_protocol),
            trust_forwarded: if trusts { self.trust_forwarded } else { below.trust_forwarded },
            trust_x_forwarded: match trusts {
                true => self.trust_x_forwarded,
                false => below.trust_x_forwarded,
            },
            quiet: self.quiet.or(below.quiet),
        }
    }

    /// Whether TLS is asked for.
    pub(super) fn wants_tls(&self) -> bool {
        !self.tls.is_empty() || self.tls_self_signed == Some(true)
    }

    /// Whether nothing is to be printed but failures.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet == Some(true)
    }

    /// Who is shown the status, if a client is.
    pub(super) fn status_for(&self) -> Option<StatusFor> {
        self.status.filter(|who| *who != StatusFor::None)
    }

    /// How long the server goes on once it is to end, and says that it is not ready.
    pub(super) fn drain_notice(&self) -> Duration {
        self.drain_notice.unwrap_or_default()
    }

    /// Whether it says that it is ready, to those that ask.
    pub(super) fn tells_ready(&self) -> bool {
        self.ready.unwrap_or(!self.drain_notice().is_zero())
    }

    /// The format of the access log, if there is one: common where it has a file alone.
    pub(super) fn log_format(&self) -> Option<LogFormat> {
        let default = self.access_log_file.as_ref().map(|_| LogFormat::Common);
        self.access_log.or(default).filter(|format| *format != LogFormat::None)
    }

    /// The number of threads: as many as there are cores, unless it is said.
    pub(super) fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.workers.unwrap_or_else(cores)
    }

    /// The file with which 404 is answered, below the directory.
    pub(super) fn not_found_page(&self) -> Option<&str> {
        self.not_found.as_deref().map(|page| page.trim_start_matches('/'))
    }

    /// The directory that is served.
    pub(super) fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| PathBuf::from("."))
    }
}

#[cfg(test)]
mod tests;
