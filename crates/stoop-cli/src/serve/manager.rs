//! The service manager (systemd): takes the sockets that it opened, and tells it the states of the service.

use std::io;
use std::os::fd::OwnedFd;

use sd_notify::NotifyState;
use stoop_io::take_inherited_descriptor;

use super::hand_over::MANAGED;
use crate::failure::CommandFailure;
use crate::stderr;

/// The name that a unit gives to a socket for HTTP without TLS (FileDescriptorName=, systemd.socket(5)).
const CLEARTEXT: &str = "http";

/// The sockets that the manager has opened for this process, each as a place with one of the names in [`MANAGED`]
/// (LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID, sd_listen_fds(3)).
///
/// # Errors
/// [`CommandFailure::Io`] if the variables are wrong, or name what is not there.
pub(super) fn sockets() -> Result<Vec<(&'static str, Vec<OwnedFd>)>, CommandFailure> {
    let failed = |error| CommandFailure::io("cannot take the sockets of LISTEN_FDS", &error);
    // The names are those of another process's sockets where there are none for this one: after a hand-over.
    if sd_notify::listen_fds().map_err(failed)?.len() == 0 {
        return Ok(Vec::new());
    }
    let sockets = sd_notify::listen_fds_with_names().map_err(failed)?.map(|(number, name)| {
        let socket = take_inherited_descriptor(number)?;
        Ok((MANAGED[usize::from(name == CLEARTEXT)], vec![socket]))
    });
    sockets.collect::<io::Result<_>>().map_err(failed)
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
