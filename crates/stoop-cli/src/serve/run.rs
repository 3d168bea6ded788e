//! The life of the server: it starts, obeys signals, and ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use stoop::ServerHandle;

use super::args::ServeArgs;
use super::hand_over::{Handed, Reserve};
use super::listening::{Listening, listening};
use super::losses::Losses;
use super::reload::Reloader;
use super::service::Service;
use super::signals::{Order, Signals};
use super::{announce, check, config, manager, places};
use crate::failure::CommandFailure;
use crate::stderr;

/// How long requests that run have to end.
const GRACE: Duration = Duration::from_secs(30);

/// How long a person at a terminal is left without a word, once it is to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Serves until a signal ends it.
///
/// # Errors
/// What keeps it from serving.
pub(super) fn run(args: ServeArgs) -> Result<(), CommandFailure> {
    let settings = config::settings(&args)?;
    if args.check {
        return check::check(&settings);
    }
    places::check(&settings)?;
    let service = Arc::new(Service::new(args, settings)?);
    // Each connection is a descriptor.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandFailure::io("cannot start", &error))?;
    let mut losses = Losses::default();
    let served = runtime.block_on(async {
        tokio::select! {
            served = serve(&service) => served,
            never = losses.watch(service.log()) => match never {},
        }
    });
    losses.tell(service.log());
    served
}

async fn serve(service: &Arc<Service>) -> Result<(), CommandFailure> {
    let failed = |error| CommandFailure::io("cannot start", &error);
    let settings = service.started();
    let signals = Signals::new().map_err(failed)?;
    let mut handed = Handed::take()?;
    let Listening { names, bindings, sockets_max, socket_files } =
        listening(settings, &mut handed)?;
    let reserve = Reserve::new(sockets_max).map_err(failed)?;
    let reloader = Reloader::start(service.clone()).map_err(failed)?;
    let server = service.start(bindings)?;
    announce::announce(settings, &server)?;
    // The last that can fail: a process that does not come to serve has changed nothing.
    settings.unix_mode.map_or(Ok(()), |mode| socket_files.set_mode(mode))?;
    manager::tell(&[NotifyState::Ready]);
    handed.finish();
    let mut life = Life { service, server, names, reserve, reloader, signals };
    let ending = life.until_end().await;
    service.begin_end();
    // Where another process has taken over, the service does not stop: the manager would end that one too.
    if !ending.is_replaced {
        manager::tell(&[NotifyState::Stopping]);
    }
    life.end(ending).await;
    service.log().end();
    Ok(())
}

/// A server that runs, and by what it obeys signals.
struct Life<'a> {
    service: &'a Service,
    server: ServerHandle,
    /// What its places are called, for the process that takes over.
    names: Vec<String>,
    reserve: Reserve,
    reloader: Reloader,
    signals: Signals,
}

/// Why a server ends.
#[derive(Default)]
struct Ending {
    /// Another process has taken over.
    is_replaced: bool,
    /// How many signals have asked for the end: of a server that is asked for it twice it is a hasty one. A hand-over asks
    /// for nothing.
    asked: u32,
}

impl Life<'_> {
    /// Obeys signals until the server is to end.
    async fn until_end(&mut self) -> Ending {
        loop {
            let ending = match self.signals.next().await {
                Order::Reload => {
                    self.reloader.ask();
                    continue;
                }
                Order::Reopen => {
                    self.reloader.ask_for_log();
                    continue;
                }
                Order::End => Ending { is_replaced: false, asked: 1 },
                Order::HandOver => self.hand_over().await,
            };
            if ending.is_replaced || ending.asked > 0 {
                return ending;
            }
        }
    }

    /// Hands over to another process, and says what became of it. A first signal that asks for the end leaves that
    /// process its time; a second one gives it up.
    async fn hand_over(&mut self) -> Ending {
        let mut ending = Ending::default();
        let taken = self.wait_for_hand_over(&mut ending.asked).await;
        match taken {
            Ok(process) => {
                self.service.note(format_args!("process {process} took over"));
                manager::tell(&[NotifyState::MainPid(process)]);
                ending.is_replaced = true;
            }
            Err(error) => {
                let goes_on = if ending.asked > 0 { "" } else { "; this one goes on" };
                stderr::message(format_args!("cannot hand over: {error}{goes_on}"));
            }
        }
        ending
    }

    /// Starts another process and waits until it serves, obeying signals. Adds how many of them ask for the end.
    async fn wait_for_hand_over(&mut self, asked: &mut u32) -> io::Result<u32> {
        let mut handing = self.reserve.hand_over(&self.names, &self.server)?;
        loop {
            tokio::select! {
                taken = handing.ended() => return taken,
                order = self.signals.next() => match order {
                    Order::Reload => self.reloader.ask(),
                    Order::Reopen => self.reloader.ask_for_log(),
                    // One is under way.
                    Order::HandOver => {}
                    Order::End if *asked == 0 => {
                        *asked = 1;
                        let process = handing.process();
                        self.service.note(format_args!(
                            "waits for process {process} to take over, 60 s at most, or another signal"
                        ));
                    }
                    Order::End => {
                        *asked += 1;
                        handing.give_up();
                    }
                },
            }
        }
    }

    /// Ends the server: what runs may end, until the time is over, or so many signals have asked for the end that it is a
    /// hasty one. Load balancers have notice of it, unless another process serves their clients now.
    async fn end(&mut self, Ending { is_replaced, mut asked }: Ending) {
        let (server, service, signals) = (&self.server, self.service, &mut self.signals);
        let notice = if is_replaced { Duration::ZERO } else { service.notice() };
        let again = async {
            while asked < 2 {
                asked += u32::from(matches!(signals.next().await, Order::End));
            }
        };
        // Where it ends at once there is nothing to say.
        let waits = async {
            if !notice.is_zero() {
                let seconds = notice.as_secs_f64();
                service.note(format_args!(
                    "is not ready, and goes on for {seconds} s, or until another signal"
                ));
            }
            tokio::time::sleep(notice + PATIENCE).await;
            let open = match server.connections() {
                1 => "1 connection".to_owned(),
                open => format!("{open} connections"),
            };
            service.note(format_args!("waits for {open} to end, 30 s at most, or another signal"));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // It is announced before it is told.
            biased;
            aborted = server.drain_after(notice, GRACE) => {
                if aborted > 0 {
                    let s = if aborted == 1 { "" } else { "s" };
                    stderr::message(format_args!("{aborted} connection{s} had not ended after 30 s"));
                }
            }
            () = again => server.close().await,
            () = waits => {}
        }
    }
}
