//! The floor: the cost of answering requests without parsing them.
//!
//! One thread, one epoll instance, and the fewest system calls that a readiness loop can make. A real
//! server is compared with it, because its remaining cost is that of the kernel. It is no HTTP server: it
//! never reads a method, a target or a field.
//!
//! The pattern of system calls is part of the figure and must not drift:
//!
//! ```text
//! a wake-up     epoll_wait(-1)                             one for any number of ready sockets
//! a connection  accept4(NONBLOCK|CLOEXEC) + epoll_ctl(ADD) accept4 until EAGAIN, edge-triggered
//! a request     recv(16 KiB) + send(response)              no second recv after a short one
//! ```
//!
//! TCP_NODELAY is set on the listener and inherited, so that a connection does not pay for it.
//! With `--pipelined` the heads in one `recv` are counted by their empty lines and answered by one
//! `send`; without it, one `recv` is taken for one request. With `--close` a connection is for one
//! request, and `send` is followed by `close`.

mod server;

use stoop_bench_floor::arguments::Arguments;

fn main() {
    let arguments = Arguments::of_process("floor");
    if let Err(error) = server::serve(arguments.listen, arguments.mode) {
        eprintln!("floor: {error}; is {} free, and is this Linux?", arguments.listen);
        std::process::exit(1);
    }
}
