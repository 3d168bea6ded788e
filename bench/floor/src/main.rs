//! The floor: what answering costs when nothing is parsed.
//!
//! One thread, one epoll instance, and the fewest system calls a readiness loop can make. A real
//! server is judged by how close it comes to this, because everything below this line is the
//! kernel's. It is no HTTP server: it never looks at a method, a target or a field.
//!
//! The pattern of system calls is part of the figure and must not drift:
//!
//! ```text
//! a wake-up     epoll_wait(-1)                             one, however many sockets are ready
//! a connection  accept4(NONBLOCK|CLOEXEC) + epoll_ctl(ADD) accept4 until EAGAIN, edge-triggered
//! a request     recv(16 KiB) + send(response)              no second recv after a short one
//! ```
//!
//! TCP_NODELAY is set on the listener and inherited, so that a connection does not pay for it.
//! With `--pipelined` the heads in one `recv` are counted by their empty lines and answered by one
//! `send`; without it, one `recv` is taken for one request.

mod response;
mod server;

use std::net::SocketAddr;

fn main() {
    let arguments = Arguments::parse(std::env::args().skip(1)).unwrap_or_else(|problem| {
        eprintln!("floor: {problem}\nusage: stoop-bench-floor --listen ADDR [--pipelined]");
        std::process::exit(2);
    });
    if let Err(error) = server::serve(arguments.listen, arguments.pipelined) {
        eprintln!("floor: {error}; is {} free, and is this Linux?", arguments.listen);
        std::process::exit(1);
    }
}

struct Arguments {
    listen: SocketAddr,
    pipelined: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut listen = None;
        let mut pipelined = false;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--listen" => {
                    let text = words.next().ok_or("--listen wants an address")?;
                    let address = text.parse().map_err(|_| format!("{text} is not IP:PORT"))?;
                    listen = Some(address);
                }
                "--pipelined" => pipelined = true,
                other => return Err(format!("{other} is not an option")),
            }
        }
        Ok(Self { listen: listen.ok_or("--listen is missing")?, pipelined })
    }
}
