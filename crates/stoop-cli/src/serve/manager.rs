//! The service manager (systemd): takes the sockets that it opened, and tells it the states of the service.

use std::os::fd::OwnedFd;

use sd_notify::NotifyState;
use stoop_io::take_inherited_descriptor;

use crate::failure::CommandFailure;
use crate::stderr;

/// The sockets that the manager has opened for this process (LISTEN_FDS and LISTEN_PID, sd_listen_fds(3)).
///
/// # Errors
/// [`CommandFailure::Io`] if the variables are wrong, or name what is not there.
pub(super) fn sockets() -> Result<Vec<OwnedFd>, CommandFailure> {
    let failed = |error| CommandFailure::io("cannot take the sockets of LISTEN_FDS", &error);
    let numbers = sd_notify::listen_fds().map_err(failed)?;
    numbers.map(|number| take_inherited_descriptor(number).map_err(failed)).collect()
}

/// Tells the manager of a state, if there is one (NOTIFY_SOCKET, sd_notify(3)).
pub(super) fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        stderr::message(format_args!("cannot tell the service manager: {error}"));
    }
}

/// The certificates and the file of options are read again.
pub(super) fn tell_reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => stderr::message(format_args!("cannot tell the service manager: {error}")),
    }
}
