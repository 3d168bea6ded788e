//! The life of the server: it starts, obeys signals, and ends.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;
use stoop::{Binding, Server, ServerHandle};
use stoop_web::{LogHandle, Sight};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::{ServeArgs, Settings, StatusFor};
use super::hand_over::{self, Handed, MANAGER, Reserve, Typed};
use super::losses::Losses;
use super::swap::Swap;
use super::{app, check, config, manager, places, redirect, status};
use crate::failure::CommandFailure;
use crate::{stderr, streams};

/// How long requests that run have to end.
const GRACE: Duration = Duration::from_secs(30);

/// How long a person at a terminal is left without a word, once it is to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the access log may take to write its last lines.
const LOG_PATIENCE: Duration = Duration::from_secs(2);

/// Serves until a signal ends it.
///
/// # Errors
/// What keeps it from serving.
pub(super) fn run(args: &ServeArgs) -> Result<(), CommandFailure> {
    let settings = config::settings(args)?;
    places::check(&settings)?;
    let service = Service::new(&settings)?;
    if args.check {
        check::places(&settings)?;
        let directory = settings.directory();
        let (directory, not_checked) = (directory.display(), check::NOT_CHECKED);
        return say(&settings, &format!("{directory} can be served as asked\n{not_checked}\n"));
    }
    // Each connection is a descriptor.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandFailure::io("cannot start", &error))?;
    let mut losses = Losses::default();
    let served = runtime.block_on(async {
        tokio::select! {
            served = service.serve(args, &settings) => served,
            never = losses.watch(&service.log) => match never {},
        }
    });
    losses.tell(&service.log);
    served
}

/// What is served.
struct Service {
    swap: Swap,
    /// The access log of now.
    log: Mutex<Option<LogHandle>>,
    sight: Sight,
    #[cfg(feature = "tls")]
    tls: Option<stoop::ServerTls>,
}

impl Service {
    fn new(settings: &Settings) -> Result<Self, CommandFailure> {
        #[cfg(not(feature = "tls"))]
        if settings.wants_tls() {
            return Err(CommandFailure::Usage("this stoop was built without TLS".to_owned()));
        }
        let sight = status::sight();
        let built = app::app(settings, &sight)?;
        Ok(Self {
            swap: Swap::new(built.app),
            log: Mutex::new(built.log),
            sight,
            #[cfg(feature = "tls")]
            tls: super::certificate::tls(settings)?,
        })
    }

    async fn serve(&self, args: &ServeArgs, settings: &Settings) -> Result<(), CommandFailure> {
        let failed = |error| CommandFailure::io("cannot start", &error);
        let mut signals = Signals::new().map_err(failed)?;
        let mut handed = Handed::take()?;
        let Places { typed, bindings, sockets_max } = listened(settings, &mut handed)?;
        let mut reserve = Reserve::new(sockets_max).map_err(failed)?;
        let server = self.start(bindings, settings)?;
        redirect::note(server.endpoints());
        self.sight.add_server(&server);
        announce(settings, &server)?;
        manager::tell(&[NotifyState::Ready]);
        handed.finish();
        let (is_replaced, is_asked) = loop {
            match signals.next().await {
                Order::Reload => self.reload(args, settings),
                Order::End => break (false, true),
                Order::HandOver => {
                    let handing = reserve.hand_over(&typed, &server);
                    let (taken, ends) =
                        self.obey_meanwhile(handing, &mut signals, args, settings).await;
                    match taken {
                        Ok(process) => {
                            stderr::message(format_args!("process {process} took over"));
                            manager::tell(&[NotifyState::MainPid(process)]);
                            break (true, ends);
                        }
                        Err(error) => {
                            let goes_on = if ends { "" } else { "; this one goes on" };
                            stderr::message(format_args!("cannot hand over: {error}{goes_on}"));
                        }
                    }
                    if ends {
                        break (false, true);
                    }
                }
            }
        };
        // Where another process has taken over, the service does not stop: the manager would end that one too.
        if !is_replaced {
            manager::tell(&[NotifyState::Stopping]);
        }
        end(&server, &mut signals, is_asked).await;
        self.end_log();
        Ok(())
    }

    /// Waits for a hand-over, obeying signals, and says whether one of them asked for the end. It comes with that of the
    /// hand-over; the end of a server that is asked for twice is a hasty one.
    async fn obey_meanwhile(
        &self,
        handing: impl Future<Output = std::io::Result<u32>>,
        signals: &mut Signals,
        args: &ServeArgs,
        settings: &Settings,
    ) -> (std::io::Result<u32>, bool) {
        let mut handing = std::pin::pin!(handing);
        let mut ends = false;
        loop {
            tokio::select! {
                taken = &mut handing => return (taken, ends),
                order = signals.next() => match order {
                    Order::Reload => self.reload(args, settings),
                    Order::End => ends = true,
                    // One is under way.
                    Order::HandOver => {}
                },
            }
        }
    }

    /// Writes what is queued for the log, unless its writer stands still.
    fn end_log(&self) {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(log) = log else { return };
        let (told, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            log.flush();
            // It is too late if there is no receiver.
            let _ = told.send(());
        });
        if ended.recv_timeout(LOG_PATIENCE).is_err() {
            stderr::message("the access log takes no more lines: the last ones are lost");
        }
    }

    fn start(
        &self,
        bindings: Vec<Binding>,
        settings: &Settings,
    ) -> Result<ServerHandle, CommandFailure> {
        let failed = |error: stoop::Error| CommandFailure::Io(error.to_string());
        let mut bindings = bindings.into_iter();
        let first = bindings.next().map_or_else(|| places::binding(places::DEFAULT), Ok)?;
        let server = Server::listen(first).map_err(failed)?;
        let mut server = server.workers(settings.workers()).limits(settings.limits());
        for binding in bindings {
            server = server.also_listen(binding).map_err(failed)?;
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            server = server.tls(tls.clone());
        }
        let swap = self.swap.clone();
        let started = server.run_with(move || swap.handler());
        started.map_err(|error| CommandFailure::Io(error.to_string()))
    }

    /// Reads everything again; what is wrong then is told, and changes nothing.
    fn reload(&self, args: &ServeArgs, started: &Settings) {
        manager::tell_reloading();
        match self.read_again(args, started) {
            Ok(later) => stderr::message(format_args!("read again what is served, and how{later}")),
            Err(CommandFailure::Usage(message) | CommandFailure::Io(message)) => {
                stderr::message(format_args!("{message}; everything stays as it was"));
            }
            Err(_) => {}
        }
        manager::tell(&[NotifyState::Ready]);
    }
}

impl Service {
    /// Returns what to add to the message of success.
    fn read_again(&self, args: &ServeArgs, started: &Settings) -> Result<&str, CommandFailure> {
        let settings = config::settings(args)?;
        places::check(&settings)?;
        let built = app::app(&settings, &self.sight)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            super::certificate::read_again(tls, started, &settings)?;
        }
        self.swap.replace(built.app);
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = built.log;
        let is_at_start = settings.listen != started.listen
            || settings.workers() != started.workers()
            || settings.connections_per_address != started.connections_per_address
            || settings.wants_tls() != started.wants_tls();
        Ok(if is_at_start {
            "; where it listens, its workers and --connections-per-address change with the next process"
        } else {
            ""
        })
    }
}

/// Where to listen.
struct Places {
    typed: Typed,
    bindings: Vec<Binding>,
    /// The sockets that the server may have: those that were handed over, and one for each worker.
    sockets_max: usize,
}

/// What was asked for, with the sockets that were handed over, and those of the service manager. Without any the default.
fn listened(settings: &Settings, handed: &mut Handed) -> Result<Places, CommandFailure> {
    let workers = settings.workers();
    let mut places = Places { typed: Vec::new(), bindings: Vec::new(), sockets_max: 0 };
    let managed = manager::sockets()?.into_iter().map(|socket| vec![socket]);
    let inherited = std::iter::from_fn(|| handed.sockets(MANAGER));
    for sockets in managed.chain(inherited) {
        places.sockets_max += sockets.len().max(workers);
        places.typed.push(MANAGER.to_owned());
        places.bindings.push(hand_over::binding(MANAGER, sockets)?);
    }
    let default = [places::DEFAULT.to_owned()];
    let asked = match &*settings.listen {
        [] if places.typed.is_empty() => &default[..],
        asked => asked,
    };
    for place in asked {
        let sockets = handed.sockets(place);
        places.sockets_max += sockets.as_ref().map_or(0, Vec::len).max(workers);
        places.bindings.push(match sockets {
            Some(sockets) => hand_over::binding(place, sockets)?,
            None => places::binding(place)?,
        });
        places.typed.push(place.clone());
    }
    Ok(places)
}

/// Says where it listens.
fn announce(settings: &Settings, server: &ServerHandle) -> Result<(), CommandFailure> {
    let addresses = places::local_addresses();
    let urls = server.endpoints().iter().flat_map(|endpoint| places::urls(endpoint, &addresses));
    let urls: Vec<String> = urls.collect();
    let status = settings.status.and_then(|who| status::url(who, &urls));
    if status.is_none() && settings.status == Some(StatusFor::Local) {
        stderr::message(
            "--status is for clients that ask for a loopback address, and none of the places is one; \
             --status=all is for all",
        );
    }
    let status = status.map(|url| format!("  {url} shows how it does\n")).unwrap_or_default();
    let urls: String = urls.iter().map(|url| format!("  {url}\n")).collect();
    let directory = settings.directory();
    let directory = directory.canonicalize().unwrap_or(directory);
    let note = no_index(settings, &directory);
    say(settings, &format!("serving {} at\n{urls}{status}{note}", directory.display()))
}

/// A line that says what the first click will find, where that is nothing.
fn no_index(settings: &Settings, directory: &Path) -> &'static str {
    match directory.join("index.html").exists() {
        false if settings.spa => "there is no index.html in it, which --spa answers pages by\n",
        false if !settings.listing => "there is no index.html in it: / is 404 without --listing\n",
        _ => "",
    }
}

fn say(settings: &Settings, text: &str) -> Result<(), CommandFailure> {
    if settings.quiet {
        return Ok(());
    }
    match streams::print(text.as_bytes()) {
        // A server goes on without a reader of its first lines.
        Err(CommandFailure::OutputClosed) => Ok(()),
        said => said,
    }
}

/// Ends the server: what runs may end, until the time is over, or a signal asks for the end again. A hand-over asks for
/// nothing: after one `is_asked` says whether a signal has.
async fn end(server: &ServerHandle, signals: &mut Signals, mut is_asked: bool) {
    let again = async {
        loop {
            let ends = matches!(signals.next().await, Order::End);
            if ends && std::mem::replace(&mut is_asked, true) {
                return;
            }
        }
    };
    // Where it ends at once there is nothing to say.
    let waits = async {
        tokio::time::sleep(PATIENCE).await;
        let open = match server.connections() {
            1 => "1 connection".to_owned(),
            open => format!("{open} connections"),
        };
        stderr::message(format_args!("waits for {open} to end, 30 s at most, or another signal"));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = waits => {}
        aborted = server.drain(GRACE) => {
            if aborted > 0 {
                let s = if aborted == 1 { "" } else { "s" };
                stderr::message(format_args!("{aborted} connection{s} had not ended after 30 s"));
            }
        }
        () = again => server.close().await,
    }
}

/// What a signal asks for.
#[derive(Clone, Copy)]
enum Order {
    Reload,
    HandOver,
    End,
}

/// The signals of a server. Unlike a run that ends by itself, a server under `nohup` obeys SIGHUP: it reads its files again.
struct Signals(Vec<(Order, Signal)>);

impl Signals {
    fn new() -> std::io::Result<Self> {
        let orders = [
            (Order::Reload, SignalKind::hangup()),
            (Order::HandOver, SignalKind::user_defined2()),
            (Order::End, SignalKind::terminate()),
            (Order::End, SignalKind::interrupt()),
        ];
        let signals = orders.into_iter().map(|(order, kind)| Ok((order, signal(kind)?)));
        signals.collect::<std::io::Result<_>>().map(Self)
    }

    async fn next(&mut self) -> Order {
        std::future::poll_fn(|cx| {
            let mut signals = self.0.iter_mut();
            let come = signals
                .find_map(|(order, signal)| signal.poll_recv(cx).is_ready().then_some(*order));
            come.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        })
        .await
    }
}
