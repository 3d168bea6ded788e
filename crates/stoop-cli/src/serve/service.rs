//! What is served: the application, its certificate and its log, as the settings say now.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;
use stoop::{Binding, Server, ServerHandle};

use super::app::{self, Kept};
use super::args::{ServeArgs, Settings};
use super::log::Log;
use super::swap::Swap;
use super::{config, manager, places, ready, status};
use crate::failure::CommandFailure;
use crate::stderr;

/// What is served.
pub(super) struct Service {
    args: ServeArgs,
    /// The settings that the process was started with.
    started: Settings,
    swap: Swap,
    log: Log,
    kept: Kept,
    #[cfg(feature = "tls")]
    tls: Option<stoop::ServerTls>,
    /// How long it goes on once it is to end.
    notice: Mutex<Duration>,
    is_ending: AtomicBool,
}

impl Service {
    /// Opens the directory, the log and the certificate.
    ///
    /// # Errors
    /// What keeps it from being served.
    pub(super) fn new(args: ServeArgs, started: Settings) -> Result<Self, CommandFailure> {
        #[cfg(not(feature = "tls"))]
        needs_no_tls(&started)?;
        let kept = Kept::new(&started);
        let log = Log::default();
        let next = log.open(&started)?;
        let app = app::app(&started, &kept, next.layer())?;
        log.put(next);
        Ok(Self {
            swap: Swap::new(app),
            log,
            kept,
            #[cfg(feature = "tls")]
            tls: super::certificate::tls(&started)?,
            notice: Mutex::new(started.drain_notice()),
            is_ending: AtomicBool::new(false),
            args,
            started,
        })
    }

    /// The settings that the process was started with.
    pub(super) fn started(&self) -> &Settings {
        &self.started
    }

    /// The access log.
    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// Serves it in these places.
    ///
    /// # Errors
    /// What keeps it from listening in one of them.
    pub(super) fn start(&self, bindings: Vec<Binding>) -> Result<ServerHandle, CommandFailure> {
        let failed = |error: stoop::Error| CommandFailure::Io(error.to_string());
        let mut listening: Option<Server> = None;
        for binding in bindings {
            let server = match listening {
                None => Server::listen(binding),
                Some(server) => server.also_listen(binding),
            };
            listening = Some(server.map_err(failed)?);
        }
        let nowhere = || CommandFailure::Usage("there is no place to listen".to_owned());
        let server = listening.ok_or_else(nowhere)?;
        let mut server = server.workers(self.started.workers()).limits(self.started.limits());
        // What is asked for when there is too much to do.
        server = server
            .never_shed(|head| matches!(head.path(), status::PAGE | status::METRICS | ready::PATH));
        if self.started.log_format().is_some() {
            // Otherwise nothing is told, which costs each request less.
            let log = self.log.clone();
            server = server.observe(move |peer, event| log.observe(peer, event));
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            server = server.tls(tls.clone());
        }
        let swap = self.swap.clone();
        let started = server.run_with(move || swap.handler());
        let server = started.map_err(|error| CommandFailure::Io(error.to_string()))?;
        if let Some(port) = &self.kept.secure_port {
            port.note(server.endpoints());
        }
        self.kept.sight.add_server(&server);
        Ok(server)
    }

    /// Says what is no failure, unless only those are asked for.
    pub(super) fn note(&self, text: impl Display) {
        if !self.started.is_quiet() {
            stderr::message(text);
        }
    }

    /// How long it goes on once it is to end, and says that it is not ready.
    pub(super) fn notice(&self) -> Duration {
        *self.locked_notice()
    }

    fn locked_notice(&self) -> MutexGuard<'_, Duration> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is read again from now on.
    pub(super) fn begin_end(&self) {
        self.is_ending.store(true, Relaxed);
    }

    /// Reads everything again; what is wrong then is told, and changes nothing.
    pub(super) fn reload(&self) {
        if self.is_ending.load(Relaxed) {
            return;
        }
        manager::tell_reloading();
        match self.read_again() {
            Ok(later) => self.note(format_args!("read again what is served, and how{later}")),
            Err(CommandFailure::Usage(message) | CommandFailure::Io(message)) => {
                stderr::message(format_args!("{message}; everything stays as it was"));
            }
            Err(_) => {}
        }
        // A service that ends is not ready.
        if !self.is_ending.load(Relaxed) {
            manager::tell(&[NotifyState::Ready]);
        }
    }

    /// Opens the file of the access log anew, if there is one; what is wrong then is told, and changes nothing.
    pub(super) fn reopen_log(&self) {
        if self.is_ending.load(Relaxed) {
            return;
        }
        match self.log.reopen() {
            Ok(Some(path)) => self.note(format_args!("opened {} anew", path.display())),
            Err(CommandFailure::Usage(message) | CommandFailure::Io(message)) => {
                stderr::message(format_args!("{message}; the access log stays as it was"));
            }
            Ok(None) | Err(_) => {}
        }
    }

    /// Returns what to add to the message of success.
    fn read_again(&self) -> Result<String, CommandFailure> {
        let (settings, started) = (config::settings(&self.args)?, &self.started);
        places::check(&settings)?;
        let log = self.log.open(&settings)?;
        let app = app::app(&settings, &self.kept, log.layer())?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            super::certificate::read_again(tls, started, &settings)?;
        }
        self.swap.replace(app);
        self.log.put(log);
        *self.locked_notice() = settings.drain_notice();
        let later = changes_later(started, &settings);
        Ok(if later.is_empty() {
            String::new()
        } else {
            format!("; with the next process change: {}", later.join(", "))
        })
    }
}

/// # Errors
/// [`CommandFailure::Usage`] if TLS is asked for, which this command cannot speak.
#[cfg(not(feature = "tls"))]
pub(super) fn needs_no_tls(settings: &Settings) -> Result<(), CommandFailure> {
    match settings.wants_tls() {
        true => Err(CommandFailure::Usage("this stoop was built without TLS".to_owned())),
        false => Ok(()),
    }
}

/// What settings change that holds until the process ends.
fn changes_later(started: &Settings, settings: &Settings) -> Vec<&'static str> {
    let mut later = Vec::new();
    let mut note = |is_changed, what| {
        if is_changed {
            later.push(what);
        }
    };
    note(settings.listen != started.listen, "where it listens");
    note(settings.unix_mode != started.unix_mode, "--unix-mode");
    note(settings.wants_tls() != started.wants_tls(), "whether it speaks TLS");
    note(settings.workers() != started.workers(), "its workers");
    let per_address = settings.connections_per_address != started.connections_per_address;
    note(per_address, "--connections-per-address");
    note(settings.lag_max != started.lag_max, "--lag-max");
    note(settings.handler_timeout != started.handler_timeout, "--handler-timeout");
    note(settings.proxy_protocol != started.proxy_protocol, "--proxy-protocol");
    let logs_first = settings.log_format().is_some() && started.log_format().is_none();
    note(logs_first, "the lines of what is refused");
    later
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_running_process_cannot_change_is_named() {
        let started = Settings { workers: Some(2), ..Settings::default() };
        assert!(changes_later(&started, &started).is_empty());
        let settings = Settings {
            listen: vec!["1".to_owned()],
            unix_mode: Some(0o600),
            tls_self_signed: Some(true),
            workers: Some(3),
            connections_per_address: Some(4),
            lag_max: Some(Duration::from_secs(5)),
            handler_timeout: Some(Duration::MAX),
            proxy_protocol: vec!["10.0.0.0/8".parse().unwrap()],
            access_log_file: Some("log".into()),
            spa: Some(true),
            ..Settings::default()
        };
        let expected = [
            "where it listens",
            "--unix-mode",
            "whether it speaks TLS",
            "its workers",
            "--connections-per-address",
            "--lag-max",
            "--handler-timeout",
            "--proxy-protocol",
            "the lines of what is refused",
        ];
        assert_eq!(changes_later(&started, &settings), expected);
    }
}
