//! The floor without readiness: the cost of answering requests without parsing them, where every system
//! call but one is an entry in a ring.
//!
//! One thread, one ring. The pattern is part of the figure and must not drift:
//!
//! ```text
//! a wake-up     io_uring_enter(submit the queue, wait for 1)  and no other call
//! a connection  one completion of a multishot accept into the ring's own table of files,
//!               and one entry that begins a multishot receive
//! a request     one completion with a buffer of the ring's, and one entry that sends the response;
//!               a send that succeeds leaves no completion
//! ```
//!
//! The ring is made for a single thread that does the kernel's deferred work itself when it waits
//! (`SINGLE_ISSUER`, `DEFER_TASKRUN`), which is the fastest form without a polling thread of the
//! kernel. TCP_NODELAY is set on the listener and inherited. As in the other floor, a
//! receive is taken for one request unless heads are counted by `--pipelined`; with `--close` a second
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
