//! The command line of every server contender in Rust.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The arguments of a server.
pub struct Arguments {
    pub listen: SocketAddr,
    /// The files of a certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// HTTP/2 only, for servers that need to know it.
    pub http2: bool,
    /// The time limit for a head, for servers that have it off by default.
    pub header_timeout: Option<Duration>,
    /// Sends each response by itself, for servers that gather them by default here.
    pub flush: bool,
    /// Sends WebSocket messages back instead of answering requests.
    pub websocket: bool,
    /// Small buffers instead of the default ones, for servers that have such an option.
    pub lean: bool,
}

impl Arguments {
    /// Parses the arguments of this process, which ends if they are wrong.
    pub fn of_process(name: &str) -> Self {
        Self::parse(std::env::args().skip(1)).unwrap_or_else(|problem| {
            let usage =
                "--listen ADDR [--tls CERT KEY] [--http2] [--header-timeout SECONDS] [--flush] [--websocket] [--lean]";
            eprintln!("{name}: {problem}\nusage: stoop-bench-{name} {usage}");
            std::process::exit(2);
        })
    }

    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut listen = None;
        let mut tls = None;
        let mut http2 = false;
        let mut header_timeout = None;
        let mut flush = false;
        let mut websocket = false;
        let mut lean = false;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--listen" => {
                    let text = value()?;
                    let address = text.parse().map_err(|_| format!("{text} is not IP:PORT"))?;
                    listen = Some(address);
                }
                "--tls" => tls = Some((PathBuf::from(value()?), PathBuf::from(value()?))),
                "--http2" => http2 = true,
                "--flush" => flush = true,
                "--websocket" => websocket = true,
                "--lean" => lean = true,
                "--header-timeout" => {
                    let text = value()?;
                    let seconds =
                        text.parse().map_err(|_| format!("{text} is not a number of seconds"))?;
                    header_timeout = Some(Duration::from_secs(seconds));
                }
                other => return Err(format!("{other} is not an option")),
            }
        }
        let listen = listen.ok_or("--listen is missing")?;
        Ok(Self { listen, tls, http2, header_timeout, flush, websocket, lean })
    }
}
