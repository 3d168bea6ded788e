//! The command line every server contender understands, plus hyper's own timeout.

use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) const USAGE: &str =
    "usage: stoop-bench-hyper --listen ADDR [--tls CERT KEY] [--header-timeout SECONDS]";

pub(crate) struct Arguments {
    pub(crate) listen: SocketAddr,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) header_timeout_s: Option<u64>,
}

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut listen = None;
        let mut tls = None;
        let mut header_timeout_s = None;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--listen" => {
                    let text = value()?;
                    let address = text.parse().map_err(|_| format!("{text} is not IP:PORT"))?;
                    listen = Some(address);
                }
                "--tls" => tls = Some((PathBuf::from(value()?), PathBuf::from(value()?))),
                "--header-timeout" => {
                    let text = value()?;
                    let seconds =
                        text.parse().map_err(|_| format!("{text} is not a number of seconds"))?;
                    header_timeout_s = Some(seconds);
                }
                other => return Err(format!("{other} is not an option")),
            }
        }
        Ok(Self { listen: listen.ok_or("--listen is missing")?, tls, header_timeout_s })
    }
}
