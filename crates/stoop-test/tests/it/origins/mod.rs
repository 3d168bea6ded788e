//! Servers of other projects to test clients with, of HTTP/2 but for [`OriginKind::NginxHttp1`], each on an address of its own in 127.0.0.0/8.
//!
//! ```ignore
//! let origin = OriginServer::start("client::http2::nginx", OriginKind::Nginx, true).await;
//! let Some(origin) = origin else { return };
//! let client = Client::builder().tls(origin.trusted()).build();
//! let response = client.get(&origin.url("/big")).await.unwrap();
//! ```
//!
//! | path | response |
//! |---|---|
//! | `/` | `hello` |
//! | `/big` | [`BIG_LEN`] bytes of [`big`] |
//! | `/large` | [`LARGE_LEN`] bytes of [`large`] |
//! | `/missing` | 404 |
//! | POST `/echo` | the request's content, where [`OriginKind::echoes`] |
//! | `/trailers` | `hello` and the trailer `x-sum: 5` |
//!
//! Further paths of Go's server are in `server.go`.

mod checks;
mod hyper;
mod programs;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use stoop::{ClientTls, ServerTls};

use crate::programs::{RunningProgram, TestFolder, are_missing};

/// How long `/big` is: more than a window.
pub(crate) const BIG_LEN: usize = 1 << 20;

/// How long `/large` is.
pub(crate) const LARGE_LEN: usize = 10 << 20;

/// The program that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginKind {
    Nghttpd,
    Nginx,
    /// nginx with HTTP/1.1 alone, and with a process that takes [signals](OriginServer::signal).
    NginxHttp1,
    /// Go's net/http.
    Go,
    /// hyper in a thread of this process, which is always there.
    Hyper,
}

impl OriginKind {
    /// Those that speak HTTP/2.
    pub(crate) const ALL: [Self; 4] = [Self::Nghttpd, Self::Nginx, Self::Go, Self::Hyper];

    /// Whether POST `/echo` is answered with what was sent.
    pub(crate) fn echoes(self) -> bool {
        !matches!(self, Self::Nginx | Self::NginxHttp1)
    }

    fn program(self) -> Option<&'static str> {
        match self {
            Self::Nghttpd => Some("nghttpd"),
            Self::Nginx | Self::NginxHttp1 => Some("nginx"),
            Self::Go => Some("go"),
            Self::Hyper => None,
        }
    }
}

/// A server, ended when it is dropped.
pub(crate) struct OriginServer {
    pub(crate) kind: OriginKind,
    pub(crate) tls: bool,
    /// Further settings.
    more: &'static str,
    address: SocketAddrV4,
    /// The certificate and its key, as PEM.
    certificate: (String, String),
    running: Option<RunningOrigin>,
    folder: TestFolder,
}

/// The process or thread of a server.
enum RunningOrigin {
    Program(RunningProgram),
    Thread { _server: hyper::HyperServer },
}

impl OriginServer {
    /// Starts a server, with TLS and ALPN, or without TLS for clients with prior knowledge. `None` where the
    /// program is missing, which is reported with the name of the test, or too old for HTTP/2 without TLS.
    pub(crate) async fn start(name: &str, kind: OriginKind, tls: bool) -> Option<Self> {
        Self::start_with(name, kind, tls, "").await
    }

    /// The same with further settings: lines for nginx's `server` block, arguments for nghttpd.
    pub(crate) async fn start_with(
        name: &str,
        kind: OriginKind,
        tls: bool,
        more: &'static str,
    ) -> Option<Self> {
        if kind.program().is_some_and(|program| are_missing(name, &[program])) {
            return None;
        }
        if kind == OriginKind::Go && !programs::build_go(tls).await {
            return None;
        }
        let address = free_address();
        let folder = TestFolder::new(&format!("origin-{address}"));
        let made = rcgen::generate_simple_self_signed([address.ip().to_string()]).unwrap();
        let certificate = (made.cert.pem(), made.signing_key.serialize_pem());
        folder.write("ca.pem", &certificate.0);
        folder.write("key.pem", &certificate.1);
        let hello = || b"hello".to_vec();
        for (file, content) in
            [("index.html", hello()), ("trailers", hello()), ("big", big()), ("large", large())]
        {
            folder.write(file, content);
        }
        let mut origin = Self { kind, tls, more, address, certificate, running: None, folder };
        origin.restart();
        Some(origin)
    }

    /// Ends the server without closing its connections in order.
    pub(crate) fn end(&mut self) {
        let running = self.running.take();
        if let (OriginKind::NginxHttp1, Some(RunningOrigin::Program(mut program))) =
            (self.kind, running)
        {
            // Killed, it would leave the process that serves.
            self.signal("stop");
            for _ in 0..500 {
                if !program.is_running() {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Sends a signal to nginx: `reload` or `stop`. Returns whether it could be sent.
    pub(crate) fn signal(&self, signal: &str) -> bool {
        programs::nginx_signal(self, signal)
    }

    /// Ends the server and starts it at the same address. The tasks of the test's runtime do not run
    /// meanwhile.
    pub(crate) fn restart(&mut self) {
        self.end();
        let mut running = self.run();
        while TcpStream::connect(self.address).is_err() {
            if let RunningOrigin::Program(started) = &mut running {
                assert!(started.is_running(), "{self:?} ended; is it too old?");
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.running = Some(running);
    }

    fn run(&self) -> RunningOrigin {
        match self.kind {
            OriginKind::Nghttpd => RunningOrigin::Program(programs::nghttpd(self)),
            OriginKind::Nginx | OriginKind::NginxHttp1 => {
                RunningOrigin::Program(programs::nginx(self))
            }
            OriginKind::Go => RunningOrigin::Program(programs::go(self)),
            OriginKind::Hyper => {
                let (certificate, key) = self.certificate.clone();
                let tls = ServerTls::builder().certificate_pem(certificate, key).alpn(["h2"]);
                let tls = self.tls.then(|| tls.build().unwrap());
                RunningOrigin::Thread { _server: hyper::HyperServer::start(self.address, tls) }
            }
        }
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// TLS settings of a client that trusts the server; the platform's where there is no TLS.
    pub(crate) fn trusted(&self) -> ClientTls {
        let builder = ClientTls::builder();
        match self.tls {
            true => builder.ca_pem(self.certificate.0.as_str()).build().unwrap(),
            false => builder.build().unwrap(),
        }
    }

    /// The file with the certificate.
    pub(crate) fn certificate_file(&self) -> String {
        format!("{}/ca.pem", self.folder.path())
    }
}

impl Drop for OriginServer {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for OriginServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} TLS", self.kind, if self.tls { "with" } else { "without" })
    }
}

/// The content of `/big`.
pub(crate) fn big() -> Vec<u8> {
    b"0123456789abcde\n".repeat(BIG_LEN / 16)
}

/// The content of `/large`: numbered lines, so that each is unique.
pub(crate) fn large() -> Vec<u8> {
    (0..LARGE_LEN / 16).flat_map(|n| format!("{n:015}\n").into_bytes()).collect()
}

/// An address that no other test of this process gets, and hardly one of another process.
fn free_address() -> SocketAddrV4 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 254 + 1;
    let ip = Ipv4Addr::new(127, high | 1, low, number as u8);
    let listener = TcpListener::bind((ip, 0)).unwrap();
    SocketAddrV4::new(ip, listener.local_addr().unwrap().port())
}
