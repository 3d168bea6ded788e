//! The hand-over of listening sockets to a process that takes this one's place.
//!
//! The old process starts the command again with copies of all its listening sockets, and learns from a pipe that the new
//! one serves. Only then does it end, so that a command that cannot start changes nothing.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write, pipe};
use std::os::fd::{OwnedFd, RawFd};
use std::process::{Child, Command};
use std::time::Duration;

use stoop::{Binding, ServerHandle};
use stoop_io::{hand_descriptor, take_inherited_descriptor};

use crate::failure::CommandFailure;

/// The variable that names the sockets: for each place what was typed, and its descriptors, as JSON.
const SOCKETS: &str = "STOOP_HANDED_SOCKETS";

/// The variable that names the pipe's descriptor.
const READY: &str = "STOOP_HANDED_READY";

/// How long a new process may take to serve.
const START_MAX: Duration = Duration::from_secs(60);

/// What stands for the sockets of a service manager among the places that were typed.
pub(super) const MANAGER: &str = "LISTEN_FDS";

/// Where the server listens, as typed; [`MANAGER`] for the sockets of the service manager.
pub(super) type Typed = Vec<String>;

/// What the process before this one has handed over.
#[derive(Default)]
pub(super) struct Handed {
    places: Vec<(String, Vec<OwnedFd>)>,
    ready: Option<File>,
}

impl Handed {
    /// Takes what was handed to this process; nothing, mostly.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] if the variables name what is not there.
    pub(super) fn take() -> Result<Self, CommandFailure> {
        let (Ok(sockets), Ok(ready)) = (std::env::var(SOCKETS), std::env::var(READY)) else {
            return Ok(Self::default());
        };
        let failed =
            |error| CommandFailure::io("cannot take the sockets that were handed over", &error);
        let taken = Self::of(&sockets, &ready);
        taken.map_err(failed)
    }

    fn of(sockets: &str, ready: &str) -> io::Result<Self> {
        let places: Vec<(String, Vec<RawFd>)> = serde_json::from_str(sockets)?;
        let take = |(typed, numbers): (String, Vec<RawFd>)| {
            let sockets = numbers.into_iter().map(take_inherited_descriptor);
            Ok((typed, sockets.collect::<io::Result<_>>()?))
        };
        let ready = take_inherited_descriptor(ready.parse().map_err(io::Error::other)?)?;
        let places = places.into_iter().map(take).collect::<io::Result<_>>()?;
        Ok(Self { places, ready: Some(ready.into()) })
    }

    /// The sockets of a place that was typed, if they were handed over.
    pub(super) fn sockets(&mut self, typed: &str) -> Option<Vec<OwnedFd>> {
        let index = self.places.iter().position(|(place, _)| place == typed)?;
        Some(self.places.remove(index).1)
    }

    /// Tells the process before this one that this one serves. Sockets of places that were not asked for are closed.
    pub(super) fn finish(self) {
        if let Some(mut ready) = self.ready {
            // If it is gone, nothing is left to be told.
            let _ = ready.write_all(b"ready");
        }
    }
}

/// The binding of sockets that were handed over, which is spoken with as was typed.
///
/// # Errors
/// [`CommandFailure::Io`] if there is none of them.
pub(super) fn binding(typed: &str, sockets: Vec<OwnedFd>) -> Result<Binding, CommandFailure> {
    let binding = Binding::from_sockets(sockets);
    let binding = binding.map_err(|error| CommandFailure::Io(error.to_string()))?;
    Ok(if typed.starts_with("http://") { binding.cleartext() } else { binding })
}

/// Descriptors with small numbers, under which sockets are handed over.
pub(super) struct Reserve(Vec<OwnedFd>);

impl Reserve {
    /// Room for `count` sockets, and the pipe.
    pub(super) fn new(count: usize) -> io::Result<Self> {
        (0..=count)
            .map(|_| Ok(File::open("/dev/null")?.into()))
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// Starts the command again, and hands it the sockets of `server`. Returns its process, which serves.
    ///
    /// # Errors
    /// If it cannot be started, or does not come to serve; then nothing has changed.
    pub(super) async fn hand_over(
        &mut self,
        typed: &Typed,
        server: &ServerHandle,
    ) -> io::Result<u32> {
        let (reader, child) = self.start(typed, server)?;
        // Otherwise they would be open as long as this process runs.
        self.clear()?;
        let id = child.id();
        tokio::task::spawn_blocking(move || wait(reader, child))
            .await
            .map_err(io::Error::other)??;
        Ok(id)
    }

    fn start(&mut self, typed: &Typed, server: &ServerHandle) -> io::Result<(PipeReader, Child)> {
        let (reader, writer) = pipe()?;
        let sockets = server.sockets()?;
        let mut places = self.0.iter_mut();
        let mut hand = |descriptor: OwnedFd| {
            let place =
                places.next().ok_or_else(|| io::Error::other("there are too many sockets"))?;
            hand_descriptor(descriptor, place)
        };
        let ready = hand(writer.into())?;
        let mut named: Vec<(&str, Vec<RawFd>)> = Vec::new();
        for (typed, sockets) in typed.iter().zip(sockets) {
            let numbers = sockets.into_iter().map(&mut hand).collect::<io::Result<_>>()?;
            named.push((typed, numbers));
        }
        let mut arguments = std::env::args_os();
        let program = arguments.next().unwrap_or_else(|| "stoop".into());
        let child = Command::new(program)
            .args(arguments)
            .env(SOCKETS, serde_json::to_string(&named)?)
            .env(READY, ready.to_string())
            .env_remove("LISTEN_FDS")
            .env_remove("LISTEN_PID")
            .spawn()?;
        Ok((reader, child))
    }

    /// Makes the places those of nothing again.
    fn clear(&mut self) -> io::Result<()> {
        let nothing = File::open("/dev/null")?;
        self.0.iter_mut().try_for_each(|place| hand_descriptor(&nothing, place).map(drop))
    }
}

/// Waits until the new process says that it serves, or has ended.
fn wait(mut reader: PipeReader, mut child: Child) -> io::Result<()> {
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let read = reader.read_to_end(&mut text);
        // It is too late if there is no receiver.
        let _ = told.send(read.is_ok() && text == b"ready");
    })?;
    if let Ok(true) = heard.recv_timeout(START_MAX) {
        return Ok(());
    }
    let _ = child.kill();
    let ended = child.wait()?;
    Err(io::Error::other(format!("the new process does not serve: {ended}")))
}
