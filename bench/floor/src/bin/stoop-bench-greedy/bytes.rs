//! HTTP/2: one upload without an end, in DATA frames of one byte each. One thread sends for as long
//! as the windows are open, another reads by how much the server opens them.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use stoop_bench_floor::frames::{self, Frame};
use stoop_bench_floor::sys;

use crate::GreedyCounts;

const PATH: &str = "/sink";
const STREAM: u32 = 1;
/// Frames in one write.
const FRAMES: usize = 1_024;

/// What the reading thread tells the sending one.
struct SendState {
    /// What may be sent, on the connection and on the stream.
    window: i64,
    stream_window: i64,
    replies: Vec<u8>,
    is_over: bool,
}

struct ByteUpload {
    connection: TcpStream,
    told: Mutex<SendState>,
    changed: Condvar,
}

/// Until the server ends the stream or the connection.
pub(crate) fn run(address: SocketAddr, had: &GreedyCounts) -> io::Result<()> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.write_all(&frames::opening())?;
    let mut received = BufReader::new(connection.try_clone()?);
    let settings = Frame::read(&mut received)?;
    let window = settings.setting(frames::INITIAL_WINDOW_SIZE).unwrap_or(frames::INITIAL_WINDOW);
    let told = SendState {
        window: i64::from(frames::INITIAL_WINDOW),
        stream_window: i64::from(window),
        replies: [settings.reply().unwrap_or_default(), frames::post(STREAM, PATH)].concat(),
        is_over: false,
    };
    let upload = ByteUpload { connection, told: Mutex::new(told), changed: Condvar::new() };
    thread::scope(|scope| {
        scope.spawn(|| {
            sys::give_way();
            while let Ok(frame) = Frame::read(&mut received) {
                upload.take(&frame, had);
            }
            upload.told().is_over = true;
            upload.changed.notify_one();
            let _ = upload.connection.shutdown(Shutdown::Both);
        });
        let sent = upload.send();
        // The reading thread ends when the connection does.
        let _ = upload.connection.shutdown(Shutdown::Both);
        sent
    })
}

impl ByteUpload {
    /// What the server opens a window by is what it has taken: what was sent may never be.
    fn take(&self, frame: &Frame, had: &GreedyCounts) {
        let mut told = self.told();
        if let Some(increment) = frame.increment() {
            match frame.stream {
                0 => told.window += i64::from(increment),
                _ => {
                    told.stream_window += i64::from(increment);
                    had.add(increment as usize);
                }
            }
        }
        told.replies.extend(frame.reply().into_iter().flatten());
        told.is_over |= frame.ends_stream() || frame.kind == frames::GOAWAY;
        self.changed.notify_one();
    }

    fn send(&self) -> io::Result<()> {
        let one = frames::frame(frames::DATA, 0, STREAM, b"x");
        let many = one.repeat(FRAMES);
        let mut connection = &self.connection;
        loop {
            let Some((replies, room)) = self.wait() else { return Ok(()) };
            connection.write_all(&replies)?;
            connection.write_all(&many[..one.len() * room])?;
        }
    }

    /// What is owed, and how many frames may be sent; none when it is over.
    fn wait(&self) -> Option<(Vec<u8>, usize)> {
        let has_nothing = |told: &mut SendState| {
            let is_shut = told.window.min(told.stream_window) <= 0;
            !told.is_over && told.replies.is_empty() && is_shut
        };
        let told = self.changed.wait_while(self.told(), has_nothing);
        let mut told = told.unwrap_or_else(PoisonError::into_inner);
        let room = told.window.min(told.stream_window).clamp(0, FRAMES as i64);
        told.window -= room;
        told.stream_window -= room;
        let replies = std::mem::take(&mut told.replies);
        (!told.is_over).then_some((replies, room as usize))
    }

    fn told(&self) -> MutexGuard<'_, SendState> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
