//! The command line of both floors.

use std::net::SocketAddr;

/// The arguments of a floor.
pub struct Arguments {
    pub listen: SocketAddr,
    pub mode: FloorMode,
}

/// The kind of load that the floor answers.
#[derive(Clone, Copy, PartialEq)]
pub enum FloorMode {
    /// The bytes of one receive are one request.
    Single,
    /// The bytes of one receive may be many requests, whose ends are counted.
    Pipelined,
    /// Each connection has one request, and is closed after its response.
    Closing,
}

impl Arguments {
    /// Parses the arguments of this process, which ends if they are wrong.
    pub fn of_process(name: &str) -> Self {
        Self::parse(std::env::args().skip(1)).unwrap_or_else(|problem| {
            eprintln!(
                "{name}: {problem}\nusage: stoop-bench-{name} --listen ADDR [--pipelined|--close]"
            );
            std::process::exit(2);
        })
    }

    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut listen = None;
        let mut mode = FloorMode::Single;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--listen" => {
                    let text = words.next().ok_or("--listen wants an address")?;
                    let address = text.parse().map_err(|_| format!("{text} is not IP:PORT"))?;
                    listen = Some(address);
                }
                "--pipelined" => mode = FloorMode::Pipelined,
                "--close" => mode = FloorMode::Closing,
                other => return Err(format!("{other} is not an option")),
            }
        }
        Ok(Self { listen: listen.ok_or("--listen is missing")?, mode })
    }
}
