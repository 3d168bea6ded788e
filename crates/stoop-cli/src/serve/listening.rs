//! The places where the process listens: those that were asked for, with the sockets that it was given for them.

use stoop::Binding;

use super::args::Settings;
use super::hand_over::{Handed, MANAGED};
use super::socket_files::SocketFiles;
use super::{manager, places};
use crate::failure::CommandFailure;

/// Where to listen.
#[derive(Default)]
pub(super) struct Listening {
    /// What each place is called when its sockets are handed over.
    pub(super) names: Vec<String>,
    /// One for each name, and one at least.
    pub(super) bindings: Vec<Binding>,
    /// The sockets that the server may have: those that it was given, and one for each worker.
    pub(super) sockets_max: usize,
    /// The files of handed sockets that are to have the permissions of `--unix-mode`, once the server has started.
    pub(super) socket_files: SocketFiles,
}

/// What was asked for, with the sockets that were handed over, and those of the service manager. Without any the default.
///
/// # Errors
/// If a place is none, or a socket is not there.
pub(super) fn listening(
    settings: &Settings,
    handed: &mut Handed,
) -> Result<Listening, CommandFailure> {
    let workers = settings.workers();
    let mut listening = Listening::default();
    let mut managed = manager::sockets()?;
    for name in MANAGED {
        managed.extend(std::iter::from_fn(|| Some((name, handed.sockets(name)?))));
    }
    for (name, sockets) in managed {
        listening.sockets_max += sockets.len().max(workers);
        listening.names.push(name.to_owned());
        let binding = places::with_sockets(name, sockets)?;
        listening.bindings.push(settings.behind_balancers(binding));
    }
    let default = [places::DEFAULT.to_owned()];
    let asked = match &*settings.listen {
        [] if listening.names.is_empty() => &default[..],
        asked => asked,
    };
    for typed in asked {
        let name = places::name(typed)?;
        let sockets = handed.sockets(&name);
        listening.sockets_max += sockets.as_ref().map_or(0, Vec::len).max(workers);
        listening.names.push(name);
        let binding = match sockets {
            Some(sockets) => {
                if settings.unix_mode.is_some()
                    && let Some(path) = places::unix_path(typed)?
                {
                    listening.socket_files.add(&path)?;
                }
                places::with_sockets(typed, sockets)?
            }
            None => places::binding(typed)?,
        };
        let binding = match settings.unix_mode {
            Some(mode) => binding.mode(mode),
            None => binding,
        };
        listening.bindings.push(settings.behind_balancers(binding));
    }
    Ok(listening)
}
