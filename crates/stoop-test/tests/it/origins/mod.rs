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
//! | POST `/echo` | the request's content, where [`Kind::echoes`] |
//! | `/trailers` | `hello` and the trailer `x-sum: 5`, where [`Kind::sends_trailers`] |

mod checks;

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use stoop::ClientTls;

use crate::programs::{self, Folder, Started, are_missing, source};

/// How long `/big` is: more than a window.
const BIG_LEN: usize = 1 << 20;

/// Who serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nghttpd,
    Nginx,
    /// Go's net/http.
    Go,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Nghttpd, Self::Nginx, Self::Go];

    /// Whether POST `/echo` is answered with what was sent.
    pub(crate) fn echoes(self) -> bool {
        self != Self::Nginx
    }

    /// Whether `/trailers` has some.
    pub(crate) fn sends_trailers(self) -> bool {
        self != Self::Nginx
    }

    fn program(self) -> &'static str {
        match self {
            Self::Nghttpd => "nghttpd",
            Self::Nginx => "nginx",
            Self::Go => "go",
        }
    }
}

/// A running server, ended when it is dropped.
pub(crate) struct Origin {
    address: SocketAddrV4,
    certificate: Option<String>,
    _started: Started,
    folder: Folder,
}

impl Origin {
    /// Starts one, which speaks TLS with ALPN or expects its clients to know beforehand. None where
    /// the program is missing, which is said in the name of the test; or where it is older than
    /// HTTP/2 without TLS.
    pub(crate) async fn start(name: &str, kind: Kind, tls: bool) -> Option<Self> {
        if are_missing(name, &[kind.program()]) {
            return None;
        }
        let address = free_address();
        let folder = Folder::new(&format!("origin-{}", address.ip()));
        let made = rcgen::generate_simple_self_signed([address.ip().to_string()]).unwrap();
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        folder.write("ca.pem", &certificate);
        folder.write("key.pem", key);
        for (file, content) in
            [("index.html", b"hello".to_vec()), ("trailers", b"hello".to_vec()), ("big", big())]
        {
            folder.write(file, content);
        }
        let mut started = match kind {
            Kind::Nghttpd => nghttpd(&folder, address, tls),
            Kind::Nginx => nginx(&folder, address, tls),
            Kind::Go => go(&folder, address, tls).await?,
        };
        while TcpStream::connect(address).is_err() {
            assert!(started.is_running(), "{kind:?} ended; is it too old? TLS: {tls}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let certificate = tls.then_some(certificate);
        Some(Self { address, certificate, _started: started, folder })
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// What a client needs to trust it; what the platform trusts, where there is no TLS.
    pub(crate) fn trusted(&self) -> ClientTls {
        let builder = ClientTls::builder();
        match &self.certificate {
            Some(certificate) => builder.ca_pem(certificate.as_str()).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }

    /// The same as a file.
    pub(crate) fn certificate_file(&self) -> String {
        format!("{}/ca.pem", self.folder.path())
    }
}

/// What `/big` is.
pub(crate) fn big() -> Vec<u8> {
    b"0123456789abcde\n".repeat(BIG_LEN / 16)
}

/// No other test of this process, and hardly one of another, gets the same.
fn free_address() -> SocketAddrV4 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let number = NEXT.fetch_add(1, Ordering::Relaxed) as u8;
    let ip = Ipv4Addr::new(127, high | 1, low, number.max(1));
    let listener = TcpListener::bind((ip, 0)).unwrap();
    SocketAddrV4::new(ip, listener.local_addr().unwrap().port())
}

fn nghttpd(folder: &Folder, address: SocketAddrV4, tls: bool) -> Started {
    let ip = address.ip().to_string();
    let common = ["--address", &ip, "--htdocs", folder.path(), "--echo-upload", "--trailer"];
    let mut arguments: Vec<String> = common.map(str::to_owned).to_vec();
    arguments.extend(["x-sum: 5".to_owned()]);
    arguments.extend((!tls).then(|| "--no-tls".to_owned()));
    arguments.push(address.port().to_string());
    let files = ["key.pem", "ca.pem"].map(|file| format!("{}/{file}", folder.path()));
    arguments.extend(files.into_iter().filter(|_| tls));
    Started::new("nghttpd", &arguments)
}

fn nginx(folder: &Folder, address: SocketAddrV4, tls: bool) -> Started {
    let path = folder.path();
    let secure = if tls { " ssl" } else { "" };
    // In one process, so that nothing is left when it is killed. `http2 on` is younger than 1.22.
    let configuration = format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events {{ }}
http {{
    access_log off;
    ssl_certificate ca.pem;
    ssl_certificate_key key.pem;
    client_body_temp_path {path}/body;
    proxy_temp_path {path}/proxy;
    fastcgi_temp_path {path}/fastcgi;
    uwsgi_temp_path {path}/uwsgi;
    scgi_temp_path {path}/scgi;
    server {{
        listen {address}{secure} http2;
        root {path};
        location = / {{ return 200 'hello'; }}
    }}
}}
"
    );
    let file = folder.write("nginx.conf", configuration);
    let arguments = ["-p", path, "-e", "stderr", "-c", &file];
    Started::new("nginx", &arguments.map(str::to_owned))
}

/// Built and not `go run`, which outlives being killed.
async fn go(folder: &Folder, address: SocketAddrV4, tls: bool) -> Option<Started> {
    if !tls && !go_speaks_without_tls().await {
        return None;
    }
    let program = format!("{}/server", folder.path());
    let sources = ["server.go", "prior.go"].map(|file| source(&format!("origins/{file}")));
    let mut build: Vec<String> = ["build", "-o", &program].map(str::to_owned).to_vec();
    build.extend(sources);
    programs::run("go", &build, b"").await;
    let mut arguments = vec![address.to_string(), folder.path().to_owned()];
    arguments.extend(tls.then(|| "tls".to_owned()));
    Some(Started::new(&program, &arguments))
}

/// It does since 1.24.
async fn go_speaks_without_tls() -> bool {
    let version = programs::run("go", &["env".to_owned(), "GOVERSION".to_owned()], b"").await;
    let version = version.text();
    let minor = version.trim().strip_prefix("go1.").and_then(|rest| rest.split('.').next());
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_none_or(|minor| minor >= 24)
}
