//! The hand-over of listening sockets to a process that takes this one's place.
//!
//! The old process starts the command again with copies of all its listening sockets, and learns from a pipe that the new
//! one serves. Only then does it end, so that a command that cannot start changes nothing.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write, pipe};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use stoop::ServerHandle;
use stoop_io::{INHERITED_DESCRIPTORS_MAX, hand_descriptor, take_inherited_descriptor};
use tokio::task::JoinHandle;

use crate::failure::CommandFailure;

/// The variable that names the sockets: for each place its name, and its descriptors, as JSON.
const SOCKETS: &str = "STOOP_HANDED_SOCKETS";

/// The variable that names the pipe's descriptor.
const READY: &str = "STOOP_HANDED_READY";

/// How long a new process may take to serve.
const START_MAX: Duration = Duration::from_secs(60);

/// How long a new process that does not serve may take to say why, and to end.
const END_MAX: Duration = Duration::from_secs(2);

const POLL_PERIOD: Duration = Duration::from_millis(5);

/// What stands for the sockets of a service manager among the names of places: those where what is spoken depends on the
/// certificate, and those for HTTP without TLS.
pub(super) const MANAGED: [&str; 2] = ["LISTEN_FDS", "http://LISTEN_FDS"];

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
        let take = |(name, numbers): (String, Vec<RawFd>)| {
            let sockets = numbers.into_iter().map(take_inherited_descriptor);
            Ok((name, sockets.collect::<io::Result<_>>()?))
        };
        let ready = take_inherited_descriptor(ready.parse().map_err(io::Error::other)?)?;
        let places = places.into_iter().map(take).collect::<io::Result<_>>()?;
        Ok(Self { places, ready: Some(ready.into()) })
    }

    /// The sockets of a place, if they were handed over.
    pub(super) fn sockets(&mut self, name: &str) -> Option<Vec<OwnedFd>> {
        let index = self.places.iter().position(|(place, _)| place == name)?;
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

/// Descriptors with small numbers, under which sockets are handed over.
pub(super) struct Reserve {
    /// As many as were asked for, or as have such numbers.
    places: Vec<OwnedFd>,
    nothing: File,
}

impl Reserve {
    /// Room for `count` sockets, and the pipe: as far as the next process can take them.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(count: usize) -> io::Result<Self> {
        let nothing = File::open("/dev/null")?;
        let mut places = Vec::new();
        while places.len() <= count {
            let place = OwnedFd::from(nothing.try_clone()?);
            if place.as_raw_fd() as usize >= INHERITED_DESCRIPTORS_MAX {
                break;
            }
            places.push(place);
        }
        Ok(Self { places, nothing })
    }

    /// Starts the command again, and hands it the sockets of `server`, whose places are called so.
    ///
    /// # Errors
    /// If it cannot be started; then nothing has changed.
    pub(super) fn hand_over(
        &mut self,
        names: &[String],
        server: &ServerHandle,
    ) -> io::Result<Handing> {
        let started = self.start(names, server);
        // Otherwise they would be open as long as this process runs: clients of a server that has ended would wait in them.
        self.clear()?;
        let (reader, child) = started?;
        let (process, (told, heard)) = (child.id(), channel());
        let hears = told.clone();
        if thread::Builder::new().spawn(move || listen(reader, &hears)).is_err() {
            // It is too late if there is no receiver.
            let _ = told.send(Told::Unheard);
        }
        let ended = tokio::task::spawn_blocking(move || wait(&heard, child));
        Ok(Handing { process, told, ended })
    }

    fn start(
        &mut self,
        names: &[String],
        server: &ServerHandle,
    ) -> io::Result<(PipeReader, Child)> {
        let (reader, writer) = pipe()?;
        let sockets = server.sockets()?;
        self.has_room_for(sockets.iter().map(Vec::len).sum())?;
        let mut places = self.places.iter_mut();
        let mut hand = |descriptor: OwnedFd| {
            let place = places.next().ok_or_else(|| io::Error::other("there is no room"))?;
            hand_descriptor(descriptor, place)
        };
        let ready = hand(writer.into())?;
        let mut named: Vec<(&str, Vec<RawFd>)> = Vec::new();
        for (name, sockets) in names.iter().zip(sockets) {
            let numbers = sockets.into_iter().map(&mut hand).collect::<io::Result<_>>()?;
            named.push((name, numbers));
        }
        let mut arguments = std::env::args_os();
        let program = arguments.next().unwrap_or_else(|| "stoop".into());
        let started = Command::new(&program)
            .args(arguments)
            .env(SOCKETS, serde_json::to_string(&named)?)
            .env(READY, ready.to_string())
            .env_remove("LISTEN_FDS")
            .env_remove("LISTEN_PID")
            .spawn();
        let failed =
            |error| io::Error::other(format!("cannot start {}: {error}", program.display()));
        Ok((reader, started.map_err(failed)?))
    }

    /// One of the places is for the pipe.
    fn has_room_for(&self, sockets: usize) -> io::Result<()> {
        let max = self.places.len().saturating_sub(1);
        if sockets <= max {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "it listens with {sockets} sockets, one for each worker and place, and another process can take \
             {max} at most: use fewer places, or fewer --workers"
        )))
    }

    /// Makes the places those of nothing again.
    fn clear(&mut self) -> io::Result<()> {
        let Self { places, nothing } = self;
        places.iter_mut().try_for_each(|place| hand_descriptor(&*nothing, place).map(drop))
    }
}

/// A process that was started, and has not taken over yet.
pub(super) struct Handing {
    process: u32,
    told: Sender<Told>,
    ended: JoinHandle<io::Result<()>>,
}

/// What the wait for a process learns.
enum Told {
    Serves,
    /// The process has closed its pipe without a word, as it does when it ends.
    Ends,
    /// There is no thread that could listen to it.
    Unheard,
    GivenUp,
}

impl Handing {
    /// The number of the process.
    pub(super) fn process(&self) -> u32 {
        self.process
    }

    /// Waits until the process serves, and returns its number. It can be dropped, and called again until it has
    /// returned.
    ///
    /// # Errors
    /// If the process ends, takes too long, or is given up; then it is gone, and nothing has changed.
    pub(super) async fn ended(&mut self) -> io::Result<u32> {
        (&mut self.ended).await.map_err(io::Error::other)??;
        Ok(self.process)
    }

    /// Ends the process, if it does not serve yet.
    pub(super) fn give_up(&self) {
        // It is too late if there is no receiver.
        let _ = self.told.send(Told::GivenUp);
    }
}

/// Reads what a new process says, to its end.
fn listen(mut reader: PipeReader, told: &Sender<Told>) {
    let mut text = Vec::new();
    let serves = reader.read_to_end(&mut text).is_ok() && text == b"ready";
    // It is too late if there is no receiver.
    let _ = told.send(if serves { Told::Serves } else { Told::Ends });
}

/// Waits until the new process serves; one that does not is ended.
fn wait(heard: &Receiver<Told>, mut child: Child) -> io::Result<()> {
    let told = heard.recv_timeout(START_MAX);
    match told {
        Ok(Told::Serves) => return Ok(()),
        Ok(Told::Ends) => wait_for_end(heard, &mut child),
        Ok(Told::Unheard | Told::GivenUp) | Err(_) => {}
    }
    let _ = child.kill();
    let ended = child.wait()?;
    Err(io::Error::other(match told {
        Ok(Told::GivenUp) => "a second signal asked for the end".to_owned(),
        Ok(Told::Unheard) => "no thread can be started that listens to the new process".to_owned(),
        Err(RecvTimeoutError::Timeout) => "the new process did not serve within 60 s".to_owned(),
        _ => format!("the new process does not serve: {ended}"),
    }))
}

/// Leaves a process that has closed its pipe the time to say why, which it does last; less if it is given up.
fn wait_for_end(heard: &Receiver<Told>, child: &mut Child) {
    let began = Instant::now();
    while began.elapsed() < END_MAX && matches!(child.try_wait(), Ok(None)) {
        if !matches!(heard.recv_timeout(POLL_PERIOD), Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}
