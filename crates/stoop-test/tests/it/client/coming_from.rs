//! The tables of the guide's page `coming_from`: each row's code is run here, and there is no row that is not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use stoop::body::ContentCoding;
use stoop::{
    Body, Client, ClientBuilder, ClientLimits, CookieJar, Request, RequestBuilder, Response,
    Server, ServerHandle, StatusCode,
};

use super::kit::OK;
use super::tls::{TestAuthority, authority, certificate, serve_tls, server_tls};

/// Notes a row and runs its code, with the values named in brackets, which are methods of [`Rows`]. What the code
/// comes to is then checked.
macro_rules! row {
    ($rows:ident, [$($name:ident),*] $theirs:literal => { $($code:tt)* } $(, $made:pat => $check:expr)?) => {{
        $rows.note($theirs, stringify!($($code)*));
        $(
            #[allow(unused_mut, reason = "only some rows change it")]
            let mut $name = $rows.$name().await;
        )*
        let _made = { $($code)* };
        $(
            let $made = _made;
            $check;
        )?
    }};
}

mod curl;
mod hyper;
mod reqwest;

/// The page with the tables.
const PAGE: &str = include_str!("../../../../stoop/docs/coming_from.md");

type Outcome = Result<(), stoop::BoxError>;

/// The rows that have run, and what their code is surrounded by.
struct Rows {
    noted: Vec<(&'static str, &'static str)>,
    authority: TestAuthority,
    tls_port: u16,
    server: ServerHandle,
    folder: PathBuf,
}

impl Rows {
    async fn new(name: &str) -> Self {
        let authority = authority("ours");
        let identity = certificate(&authority, &["localhost"], false);
        let tls_port = serve_tls(server_tls(identity), |peer| peer.serve(OK)).await;
        let server = Server::listen("127.0.0.1:0").unwrap().workers(1).run(echo).unwrap();
        let folder = format!("stoop-coming-from-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file.txt"), "from a file").unwrap();
        Self { noted: Vec::new(), authority, tls_port, server, folder }
    }

    fn note(&mut self, theirs: &'static str, code: &'static str) {
        self.noted.push((theirs, code));
    }

    /// Compares the rows with the table below that heading, of which `columns` are those of theirs and of ours.
    fn compare(&self, heading: &str, columns: [usize; 2]) {
        let plain = |text: &str| text.replace("\\|", "|").replace(['`', ' ', '\n'], "");
        let ran = self.noted.iter().map(|row| (plain(row.0), plain(row.1)));
        let lines = PAGE.lines().skip_while(|line| *line != heading).skip(1);
        let lines = lines.take_while(|line| !line.starts_with("## "));
        let written = lines.filter(|line| line.starts_with("| `")).map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
            (plain(cells[columns[0]]), plain(cells[columns[1]]))
        });
        let (ran, written): (Vec<_>, Vec<_>) = (ran.collect(), written.collect());
        for row in &ran {
            assert!(written.contains(row), "not in the table: {row:?}");
        }
        for row in &written {
            assert!(ran.contains(row), "not tested: {row:?}");
        }
        assert_eq!(ran, written, "in another order");
    }

    async fn builder(&self) -> ClientBuilder {
        Client::builder()
    }

    async fn client(&self) -> Client {
        Client::builder().handler(echo).build().unwrap()
    }

    async fn url(&self) -> &'static str {
        "http://a.test/p"
    }

    async fn request(&self) -> RequestBuilder {
        self.client().await.post("http://a.test/p")
    }

    async fn response(&self) -> Response {
        self.client().await.get("http://a.test/json").await.unwrap()
    }

    async fn error(&self) -> stoop::Error {
        let response = self.client().await.get("http://a.test/status/404").await.unwrap();
        response.error_for_status().unwrap_err()
    }

    async fn limits(&self) -> ClientLimits {
        ClientLimits::default()
    }

    async fn limit(&self) -> Duration {
        Duration::from_millis(50)
    }

    async fn headers(&self) -> http::HeaderMap {
        http::HeaderMap::from_iter([(http::HeaderName::from_static("x-a"), "1".parse().unwrap())])
    }

    async fn jar(&self) -> CookieJar {
        CookieJar::new()
    }

    /// The CA of the server over TLS, as PEM.
    async fn ca(&self) -> String {
        self.authority.pem()
    }

    /// A certificate and its key, as PEM.
    async fn identity(&self) -> (String, String) {
        certificate(&self.authority, &["me"], false)
    }

    /// The URL of a server on TCP, which is a proxy too.
    async fn server_url(&self) -> String {
        self.server.endpoint().to_string()
    }

    async fn proxy_url(&self) -> String {
        self.server_url().await
    }

    async fn address(&self) -> SocketAddr {
        self.server_url().await.trim_start_matches("http://").parse().unwrap()
    }

    async fn ip(&self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    /// A file with content.
    async fn path(&self) -> PathBuf {
        self.folder.join("file.txt")
    }

    /// A path for a socket.
    async fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Asks the server over TLS.
    async fn over_tls(&self, builder: ClientBuilder) -> Result<String, stoop::Error> {
        let client = builder.build()?;
        client.get(format!("https://localhost:{}/", self.tls_port)).await?.text().await
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Answers with what it was asked: `/status/N` by N, `/to/URL` by a redirect, `/gzip` in a coding, `/json` in JSON, `/cookie`
/// with one, `/upgrade` by another protocol, and `/hang` never.
async fn echo(mut request: Request) -> Result<Response, stoop::Error> {
    let mut text = format!("{} {}\n", request.method(), request.target());
    for field in request.fields().iter() {
        text.push_str(&format!("{}: {}\n", field.name(), String::from_utf8_lossy(field.value())));
    }
    let content = std::mem::take(request.body_mut()).bytes(1 << 20).await?;
    text.push_str(&format!("\n{}", String::from_utf8_lossy(&content)));
    let path = request.path().strip_prefix('/').unwrap_or_default();
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    Ok(match first {
        "status" => Response::from_text(text).with_status(rest.parse().unwrap()),
        "to" => Response::from_status(StatusCode::FOUND).with_field("location", rest)?,
        "gzip" => {
            let coded = Body::from("decoded").encoded(ContentCoding::Gzip);
            Response::new(coded).with_field("content-encoding", "gzip")?
        }
        "json" => Response::from_json("{\"id\":17}").with_field("x-a", "1")?,
        "cookie" => Response::from_text(text).with_field("set-cookie", "s=1; Path=/")?,
        "upgrade" => {
            let (response, upgraded) = Response::upgrade("echo")?;
            tokio::spawn(async move {
                let mut stream = stoop::rt::stream(upgraded.await?);
                tokio::io::AsyncWriteExt::write_all(&mut stream, b"switched").await?;
                Ok::<(), stoop::BoxError>(())
            });
            response
        }
        "hang" => std::future::pending().await,
        _ => Response::from_text(text),
    })
}

/// What the server says that it was asked.
async fn seen(request: RequestBuilder) -> Result<String, stoop::Error> {
    request.await?.text().await
}

/// What a client of that builder is answered at a path of the handler.
async fn fetched(builder: ClientBuilder, path: &str) -> Result<String, stoop::Error> {
    seen(builder.handler(echo).build()?.get(format!("http://a.test{path}"))).await
}
