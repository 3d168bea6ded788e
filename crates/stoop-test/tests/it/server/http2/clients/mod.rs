//! Our server and the HTTP/2 clients of other projects, each over TLS, and without TLS by prior knowledge.

mod curl;
mod go;
mod hyper;
mod nghttp;

use std::time::Duration;

use stoop::{Body, Request, Response, Server, ServerHandle, ServerTls};
use stoop_proto::Fields;

use crate::programs::{self, ProgramOutput, TestFolder};

/// The size of the content that is sent and echoed: more than a window.
const CONTENT_LEN: usize = 1 << 20;

fn content() -> Vec<u8> {
    b"0123456789abcde\n".repeat(CONTENT_LEN / 16)
}

/// A handler that answers the version and the path, and has some paths of its own.
async fn handler(request: Request) -> Response {
    match request.path() {
        "/length" => match request.into_body().bytes(CONTENT_LEN).await {
            Ok(content) => Response::from_text(content.len().to_string()),
            Err(error) => Response::from_text(error.to_string()),
        },
        "/big" => Response::from_bytes(content()),
        "/echo" => Response::new(request.into_body()),
        "/field" => Response::from_bytes(request.field("x-field").unwrap_or_default().to_vec()),
        "/nothing" => Response::from_status(http::StatusCode::NO_CONTENT),
        "/refuse" => Response::from_text("no").with_status(http::StatusCode::PAYLOAD_TOO_LARGE),
        "/stream" => streaming(Some(100)),
        "/endless" => streaming(None),
        path => Response::from_text(format!("{:?} {path}", request.version())),
    }
}

/// A response of that many pieces without a length, with a trailer; without an end for `None`.
fn streaming(pieces: Option<usize>) -> Response {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        for _ in 0..pieces.unwrap_or(usize::MAX) {
            sender.send(vec![b'x'; 1_000]).await?;
        }
        let mut trailers = Fields::new();
        trailers.push("x-sum", b"100000").unwrap();
        sender.trailers(&trailers).await
    });
    Response::new(body)
}

/// A server without TLS and one with it, and a folder for files.
struct TestServers {
    plain: ServerHandle,
    secure: ServerHandle,
    folder: TestFolder,
}

impl TestServers {
    fn start(name: &str) -> Self {
        let folder = TestFolder::new(name);
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        folder.write("ca.pem", &certificate);
        folder.write("content", content());
        let tls = ServerTls::builder().certificate_pem(certificate, key).build().unwrap();
        let plain = Server::listen("127.0.0.1:0").unwrap().run_here(handler).unwrap();
        let secure = Server::listen("https://127.0.0.1:0").unwrap().tls(tls);
        Self { plain, secure: secure.run_here(handler).unwrap(), folder }
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder.path())
    }

    /// The URL of a server, without a path.
    fn origin(&self, tls: bool) -> String {
        if tls { self.secure.endpoint() } else { self.plain.endpoint() }.to_string()
    }

    /// Runs a program, with the server's URL in place of `@/`, and the file with the content in place of `%`.
    async fn run(&self, tls: bool, program: &str, arguments: &[&str]) -> ProgramOutput {
        let (origin, file) = (format!("{}/", self.origin(tls)), self.file("content"));
        let fill = |argument: &&str| match *argument {
            "%" => file.clone(),
            argument => argument.replace("@/", &origin),
        };
        let arguments: Vec<String> = arguments.iter().map(fill).collect();
        programs::run(program, &arguments, &content()).await
    }

    /// Stops both servers, and asserts that no exchange was running.
    async fn end(self) {
        for server in [self.plain, self.secure] {
            assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
        }
    }
}
