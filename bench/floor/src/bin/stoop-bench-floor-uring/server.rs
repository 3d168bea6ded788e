//! The loop: completions are answered with new entries, and one call submits them and waits.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, Fixed};
use io_uring::{IoUring, cqueue, opcode};
use stoop_bench_floor::arguments::FloorMode;
use stoop_bench_floor::count::{Counter, HEAD_END};
use stoop_bench_floor::response::FixedResponse;
use stoop_bench_floor::sys;

use crate::buffers::{Buffers, GROUP};

const ENTRIES: u32 = 4096;
const COMPLETIONS: u32 = 4 * ENTRIES;
/// The ring's own table of files, bounded by the process's limit of descriptors too.
const FILES_MAX: u32 = 20_000;

/// The kinds of entries; the index in the table of files is in the low half of their data.
const ACCEPT: u64 = 1 << 32;
const RECEIVE: u64 = 2 << 32;
const SEND: u64 = 3 << 32;
const CLOSE: u64 = 4 << 32;

/// Serves until the process is killed.
pub(crate) fn serve(listen: SocketAddr, mode: FloorMode) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    sys::set_nodelay(listener.as_raw_fd())?;
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_cqsize(COMPLETIONS)
        .build(ENTRIES)?;
    ring.submitter().register_files_sparse(sys::descriptors_max().min(FILES_MAX))?;
    let buffers = Buffers::register(&ring.submitter())?;
    let accept = opcode::AcceptMulti::new(Fd(listener.as_raw_fd())).allocate_file_index(true);
    let accept = accept.build().user_data(ACCEPT);
    let mut ring_loop = RingLoop {
        buffers,
        response: FixedResponse::new(mode),
        counters: Vec::new(),
        mode,
        accept,
    };
    queue(&mut ring, &ring_loop.accept)?;
    let mut complete = Vec::with_capacity(COMPLETIONS as usize);
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => continue,
            result => result?,
        };
        ring_loop.response.refresh_date();
        complete.extend(ring.completion());
        for entry in complete.drain(..) {
            ring_loop.process(&mut ring, &entry)?;
        }
        ring_loop.buffers.publish();
    }
}

fn queue(ring: &mut IoUring, entry: &Entry) -> io::Result<()> {
    loop {
        // SAFETY: buffers and responses that entries point to live as long as the ring.
        if unsafe { ring.submission().push(entry) }.is_ok() {
            return Ok(());
        }
        ring.submit()?;
    }
}

/// The state of the loop.
struct RingLoop {
    buffers: Buffers,
    response: FixedResponse,
    /// Indexed as the table of files. Used only for pipelined requests.
    counters: Vec<Counter>,
    mode: FloorMode,
    accept: Entry,
}

impl RingLoop {
    fn process(&mut self, ring: &mut IoUring, entry: &cqueue::Entry) -> io::Result<()> {
        let index = entry.user_data() as u32;
        match entry.user_data() & !u64::from(u32::MAX) {
            ACCEPT => self.accepted(ring, entry),
            RECEIVE => self.received(ring, entry, index),
            // Only a send that failed has a completion. The receive of its connection ends too.
            _ => Ok(()),
        }
    }

    fn accepted(&mut self, ring: &mut IoUring, entry: &cqueue::Entry) -> io::Result<()> {
        if let Ok(index) = u32::try_from(entry.result()) {
            queue(ring, &receive(index))?;
        }
        // The multishot accept ends with an error, such as a full table of files.
        if cqueue::more(entry.flags()) { Ok(()) } else { queue(ring, &self.accept) }
    }

    fn received(
        &mut self,
        ring: &mut IoUring,
        entry: &cqueue::Entry,
        index: u32,
    ) -> io::Result<()> {
        let count = usize::try_from(entry.result()).unwrap_or(0);
        if let Some(id) = cqueue::buffer_select(entry.flags()) {
            let requests =
                if self.mode == FloorMode::Pipelined { self.heads_in(index, id, count) } else { 1 };
            self.buffers.push(id);
            if count > 0 && requests > 0 {
                self.answer(ring, index, requests)?;
            }
        }
        if cqueue::more(entry.flags()) {
            return Ok(());
        }
        // A receive also ends when there was no free buffer, and is then started again.
        if count > 0 || entry.result() == -libc::ENOBUFS {
            return queue(ring, &receive(index));
        }
        if let Some(counter) = self.counters.get_mut(index as usize) {
            *counter = Counter::default();
        }
        let close = opcode::Close::new(Fixed(index)).build().user_data(CLOSE);
        queue(ring, &close.flags(Flags::SKIP_SUCCESS))
    }

    fn answer(&self, ring: &mut IoUring, index: u32, requests: usize) -> io::Result<()> {
        let send = send(index, self.response.repeated(requests));
        if self.mode != FloorMode::Closing {
            return queue(ring, &send);
        }
        // The receive of the connection then ends, and closes it.
        let end = opcode::Shutdown::new(Fixed(index), libc::SHUT_RDWR).build();
        queue(ring, &send.flags(Flags::IO_LINK | Flags::SKIP_SUCCESS))?;
        queue(ring, &end.flags(Flags::SKIP_SUCCESS).user_data(SEND | u64::from(index)))
    }

    fn heads_in(&mut self, index: u32, id: u16, count: usize) -> usize {
        let index = index as usize;
        if self.counters.len() <= index {
            self.counters.resize_with(index + 1, Counter::default);
        }
        self.counters[index].count(HEAD_END, self.buffers.received(id, count))
    }
}

fn receive(index: u32) -> Entry {
    let entry = opcode::RecvMulti::new(Fixed(index), GROUP).build();
    entry.user_data(RECEIVE | u64::from(index))
}

/// An entry that sends. The date in `response` may change while a send waits for a slow peer, but the loads
/// here are not slow.
fn send(index: u32, response: &[u8]) -> Entry {
    let entry = opcode::Send::new(Fixed(index), response.as_ptr(), response.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build();
    entry.flags(Flags::SKIP_SUCCESS).user_data(SEND | u64::from(index))
}
