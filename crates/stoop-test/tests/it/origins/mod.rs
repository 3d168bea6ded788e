//! Servers of HTTP/2 that others wrote, each on an address of its own in 127.0.0.0/8, for clients
//! to be tested with.
//!
//! ```ignore
//! let Some(origin) = Origin::start("client::http2::nginx", Kind::Nginx, true).await else { return };
//! let client = Client::builder().tls(origin.trusted()).build();
//! let response = client.get(&origin.url("/big")).await.unwrap();
//! ```
//!
//! | path | what each answers |
//! |---|---|
//! | `/` | `hello` |
//! | `/big` | [`BIG_LEN`] bytes of [`big`] |
//! | `/large` | [`LARGE_LEN`] bytes of [`large`] |
//! | `/missing` | 404 |
//! | POST `/echo` | the request's content, where [`Kind::echoes`] |
//! | `/trailers` | `hello` and the trailer `x-sum: 5` |
//!
//! What else Go can do stands in `server.go`.

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

/// Who serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginKind {
    Nghttpd,
    Nginx,
    /// Go's net/http.
    Go,
    /// In a thread of this process, and always there.
    Hyper,
}

impl OriginKind {
    pub(crate) const ALL: [Self; 4] = [Self::Nghttpd, Self::Nginx, Self::Go, Self::Hyper];

    /// Whether POST `/echo` is answered with what was sent.
    pub(crate) fn echoes(self) -> bool {
        self != Self::Nginx
    }

    fn program(self) -> Option<&'static str> {
        match self {
            Self::Nghttpd => Some("nghttpd"),
            Self::Nginx => Some("nginx"),
            Self::Go => Some("go"),
            Self::Hyper => None,
        }
    }
}

/// A server, ended when it is dropped.
pub(crate) struct OriginServer {
    pub(crate) kind: OriginKind,
    pub(crate) tls: bool,
    /// What it is told besides.
    more: &'static str,
    address: SocketAddrV4,
    /// With its key.
    certificate: (String, String),
    running: Option<RunningOrigin>,
    folder: TestFolder,
}

enum RunningOrigin {
    Program(RunningProgram),
    Thread { _server: hyper::HyperServer },
}

impl OriginServer {
    /// Starts one, which speaks TLS with ALPN or expects its clients to know beforehand. None where
    /// the program is missing, which is said in the name of the test; or where it is older than
    /// HTTP/2 without TLS.
    pub(crate) async fn start(name: &str, kind: OriginKind, tls: bool) -> Option<Self> {
        Self::start_with(name, kind, tls, "").await
    }

    /// The same with more to tell it: lines for nginx's server, arguments for nghttpd.
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

    /// Ends it as if the machine had lost its power: nobody is told.
    pub(crate) fn end(&mut self) {
        self.running = None;
    }

    /// Ends it and starts it at the same address. Nothing else of a test's runtime runs meanwhile.
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
            OriginKind::Nginx => RunningOrigin::Program(programs::nginx(self)),
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

    /// What a client needs to trust it; what the platform trusts, where there is no TLS.
    pub(crate) fn trusted(&self) -> ClientTls {
        let builder = ClientTls::builder();
        match self.tls {
            true => builder.ca_pem(self.certificate.0.as_str()).build().unwrap(),
            false => builder.build().unwrap(),
        }
    }

    /// The same as a file.
    pub(crate) fn certificate_file(&self) -> String {
        format!("{}/ca.pem", self.folder.path())
    }
}

impl fmt::Debug for OriginServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} TLS", self.kind, if self.tls { "with" } else { "without" })
    }
}

/// What `/big` is.
pub(crate) fn big() -> Vec<u8> {
    b"0123456789abcde\n".repeat(BIG_LEN / 16)
}

/// What `/large` is: numbered lines, so that none of them can be another.
pub(crate) fn large() -> Vec<u8> {
    (0..LARGE_LEN / 16).flat_map(|n| format!("{n:015}\n").into_bytes()).collect()
}

/// No other test of this process, and hardly one of another, gets the same.
fn free_address() -> SocketAddrV4 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 254 + 1;
    let ip = Ipv4Addr::new(127, high | 1, low, number as u8);
    let listener = TcpListener::bind((ip, 0)).unwrap();
    SocketAddrV4::new(ip, listener.local_addr().unwrap().port())
}
