//! Scripted origins: servers with one behaviour each, right or wrong, on a port of their own.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use stoop_testbed::{Behaviour, Origin};
//!
//! let origin = Origin::start(Behaviour::TruncatedLength { sent: 10, announced: 100 }).await?;
//! println!("point your client at {}", origin.url());
//! // A behaviour can be named instead, as on a command line.
//! let slow = Origin::start("drip".parse().unwrap()).await?;
//! # Ok(())
//! # }
//! ```

mod behaviour;
mod context;
mod cuts;
mod floods;
mod handshakes;
mod http2;
mod names;
mod play;
mod polite;
mod redirects;
mod reuse;
mod sockets;
mod stalls;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

pub use behaviour::{BadChunk, BadLength, Behaviour, MalformedHead};
pub use http2::BadHttp2;
pub use names::UnknownBehaviour;

pub(crate) use context::ScriptSettings;
pub(crate) use http2::PREFACE;
pub(crate) use play::serve_behaviour;
pub(crate) use sockets::{BlackHole, Reach, Refused, listen};

use crate::certificates::Certificates;
use crate::connection::{Disconnected, OriginConnection};
use crate::log::{Log, LogEntry};
use crate::log_line::LogLine;
use crate::secure;
use crate::stats::{Counters, Stats};

/// More connections than this wait until one closes.
const CONNECTIONS_MAX: usize = 1_024;

/// The pause after a failure to accept, which is usually for want of file descriptors.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A server on 127.0.0.1, on a port of its own, with one [`Behaviour`] on every connection.
///
/// It runs on the runtime it was started on, serves up to 1,024 connections at once, and ends when
/// it is dropped, with all of them.
pub struct Origin {
    address: SocketAddr,
    scheme: &'static str,
    ca_pem: Option<String>,
    log: Log,
    counters: Counters,
    /// Absent where connections never succeed.
    accepting: Option<JoinHandle<()>>,
    /// A port that is refused: this origin's own, or the one it redirects to.
    _refused: Option<Refused>,
    _black_hole: Option<BlackHole>,
}

impl Origin {
    /// Starts an origin. It speaks TLS if the behaviour is about TLS ([`Behaviour::is_tls`]), and
    /// plain HTTP otherwise.
    ///
    /// # Errors
    /// If no socket can be had.
    pub async fn start(behaviour: Behaviour) -> io::Result<Self> {
        let tls = behaviour.is_tls();
        Self::begin(behaviour, tls).await
    }

    /// Starts an origin that speaks TLS, whatever the behaviour. Its certificate is for `127.0.0.1`
    /// and `localhost`, from an authority of its own: see [`Origin::ca_pem`].
    ///
    /// # Errors
    /// If no socket can be had, or no certificate be made.
    pub async fn start_tls(behaviour: Behaviour) -> io::Result<Self> {
        Self::begin(behaviour, true).await
    }

    async fn begin(behaviour: Behaviour, tls: bool) -> io::Result<Self> {
        let (log, counters) = (Log::memory(), Counters::default());
        let mut origin = Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            scheme: if tls { "https" } else { "http" },
            ca_pem: None,
            log: log.clone(),
            counters: counters.clone(),
            accepting: None,
            _refused: None,
            _black_hole: None,
        };
        match behaviour {
            Behaviour::BlackHole => {
                let bind = || BlackHole::bind(Reach::LOCALHOST, 0);
                let black_hole = tokio::task::spawn_blocking(bind).await??;
                origin.address = black_hole.address;
                origin._black_hole = Some(black_hole);
                return Ok(origin);
            }
            Behaviour::Refused => {
                let refused = Refused::bind(Reach::LOCALHOST, 0)?;
                origin.address = refused.address;
                origin._refused = Some(refused);
                return Ok(origin);
            }
            _ => {}
        }
        let mut settings = ScriptSettings::default();
        if behaviour == Behaviour::RedirectToDead {
            let refused = Refused::bind(Reach::LOCALHOST, 0)?;
            settings.dead_url = format!("{}://{}/", origin.scheme, refused.address);
            origin._refused = Some(refused);
        }
        let mut certificates = None;
        if tls {
            let made = Certificates::new(&["127.0.0.1".into(), "localhost".into()])?;
            origin.ca_pem = Some(made.ca_pem().to_owned());
            certificates = Some(made);
        }
        let listener = listen(Reach::LOCALHOST, 0)?;
        origin.address = listener.local_addr()?;
        let shared = Arc::new(OriginShared { behaviour, settings, certificates, log, counters });
        origin.accepting = Some(tokio::spawn(accept(listener, shared)));
        Ok(origin)
    }

    /// Its URL: `http://127.0.0.1:PORT/`, or `https` if it speaks TLS.
    pub fn url(&self) -> String {
        format!("{}://{}/", self.scheme, self.address)
    }

    /// Its address; that of a port that refuses connections or never answers as well.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The authority that clients must trust to accept its good certificate, as PEM; `None` without
    /// TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The log of the origin: see [`LogEntry`]. Exchanges that have not ended are not in it.
    pub fn log(&self) -> Vec<LogEntry> {
        self.log.entries()
    }

    /// The counters of connections and requests.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Closes every connection and the port, and returns once they are closed.
    pub async fn stop(mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            let _ = accepting.await;
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// The state that all connections of an origin share.
struct OriginShared {
    behaviour: Behaviour,
    settings: ScriptSettings,
    certificates: Option<Certificates>,
    log: Log,
    counters: Counters,
}

/// Accepts until it is aborted; its connections end with it.
async fn accept(listener: TcpListener, shared: Arc<OriginShared>) {
    let mut connections = JoinSet::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let shared = shared.clone();
        connections.spawn(async move {
            serve(&shared, stream, peer).await;
            drop(permit);
        });
    }
}

async fn serve(shared: &OriginShared, stream: TcpStream, peer: SocketAddr) {
    let open = shared.counters.accept();
    let mut line = LogLine::new(shared.log.clone(), shared.counters.clone(), open);
    if shared.behaviour.resets() {
        reset_on_close(&stream);
    }
    match &shared.certificates {
        Some(certificates) if !shared.behaviour.breaks_handshake() => {
            let tls = certificates.show(shared.behaviour.certificate());
            match secure::accept(tls, stream, peer).await {
                Ok(stream) => {
                    serve_behaviour(
                        &shared.behaviour,
                        &shared.settings,
                        &mut OriginConnection::new(stream, line),
                    )
                    .await;
                }
                Err(Disconnected(ended)) => line.end(ended),
            }
        }
        _ => {
            serve_behaviour(
                &shared.behaviour,
                &shared.settings,
                &mut OriginConnection::new(stream, line),
            )
            .await
        }
    }
}

/// Makes closing send RST. Where the kernel refuses, the connection is broken already.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
