//! The floor without readiness: what answering costs when nothing is parsed and every system call
//! but one is an entry in a ring.
//!
//! One thread, one ring. The pattern is part of the figure and must not drift:
//!
//! ```text
//! a wake-up     io_uring_enter(submit what is queued, wait for 1)  and nothing else, ever
//! a connection  one completion of a multishot accept into the ring's own table of files,
//!               and one entry that begins a multishot receive
//! a request     one completion with a buffer of the ring's, and one entry that sends the answer;
//!               a send that succeeds leaves no completion
//! ```
//!
//! The ring is made for a single thread that does the kernel's deferred work itself when it waits
//! (`SINGLE_ISSUER`, `DEFER_TASKRUN`), which is the strongest form there is without a thread of the
//! kernel's that polls. TCP_NODELAY is set on the listener and inherited. As in the other floor, a
//! receive is taken for one request unless `--pipelined` has heads counted; with `--close` a second
//! entry, linked to the one that sends, ends the connection.

mod buffers;
mod server;

use stoop_bench_floor::arguments::Arguments;

fn main() {
    let arguments = Arguments::of_process("floor-uring");
    if let Err(error) = server::serve(arguments.listen, arguments.mode) {
        let listen = arguments.listen;
        eprintln!("floor-uring: {error}; is {listen} free, and does the kernel allow io_uring?");
        std::process::exit(1);
    }
}
