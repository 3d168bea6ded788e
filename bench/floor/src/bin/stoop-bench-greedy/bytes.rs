//! HTTP/2: one endless upload, in DATA frames of one byte each. One thread sends as long as the windows
//! are open, and another reads the updates of the windows.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use stoop_bench_floor::frames::{self, Frame};
use stoop_bench_floor::sys;

use crate::GreedyCounts;

const PATH: &str = "/sink";
const STREAM: u32 = 1;
/// The most frames in one write.
const FRAMES_PER_WRITE: usize = 1_024;

/// The state that the reading thread changes for the sending one.
struct SendState {
    /// How much may be sent, on the connection and on the stream.
    window: i64,
    stream_window: i64,
    /// Frames to send in reply.
    replies: Vec<u8>,
    is_ended: bool,
}

/// An upload in frames of one byte.
struct ByteUpload {
    connection: TcpStream,
    state: Mutex<SendState>,
    changed: Condvar,
}

/// Uploads until the server ends the stream or the connection.
pub(crate) fn run(address: SocketAddr, counts: &GreedyCounts) -> io::Result<()> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.write_all(&frames::opening())?;
    let mut received = BufReader::new(connection.try_clone()?);
    let settings = Frame::read(&mut received)?;
    let window = settings.setting(frames::INITIAL_WINDOW_SIZE).unwrap_or(frames::INITIAL_WINDOW);
    let state = SendState {
        window: i64::from(frames::INITIAL_WINDOW),
        stream_window: i64::from(window),
        replies: [settings.reply().unwrap_or_default(), frames::post(STREAM, PATH)].concat(),
        is_ended: false,
    };
    let upload = ByteUpload { connection, state: Mutex::new(state), changed: Condvar::new() };
    thread::scope(|scope| {
        scope.spawn(|| {
            sys::lower_priority();
            while let Ok(frame) = Frame::read(&mut received) {
                upload.process(&frame, counts);
            }
            upload.state().is_ended = true;
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
    /// Processes a frame. The bytes by which the server increases a window count: those are the bytes that it
    /// has read.
    fn process(&self, frame: &Frame, counts: &GreedyCounts) {
        let mut state = self.state();
        if let Some(increment) = frame.increment() {
            match frame.stream {
                0 => state.window += i64::from(increment),
                _ => {
                    state.stream_window += i64::from(increment);
                    counts.add(increment as usize);
                }
            }
        }
        state.replies.extend(frame.reply().into_iter().flatten());
        state.is_ended |= frame.ends_stream() || frame.kind == frames::GOAWAY;
        self.changed.notify_one();
    }

    fn send(&self) -> io::Result<()> {
        let one = frames::frame(frames::DATA, 0, STREAM, b"x");
        let many = one.repeat(FRAMES_PER_WRITE);
        let mut connection = &self.connection;
        loop {
            let Some((replies, room)) = self.wait() else { return Ok(()) };
            connection.write_all(&replies)?;
            connection.write_all(&many[..one.len() * room])?;
        }
    }

    /// Waits until there is something to send: frames in reply, and how many frames the windows allow; none
    /// when the upload has ended.
    fn wait(&self) -> Option<(Vec<u8>, usize)> {
        let has_nothing = |state: &mut SendState| {
            let is_shut = state.window.min(state.stream_window) <= 0;
            !state.is_ended && state.replies.is_empty() && is_shut
        };
        let state = self.changed.wait_while(self.state(), has_nothing);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let room = state.window.min(state.stream_window).clamp(0, FRAMES_PER_WRITE as i64);
        state.window -= room;
        state.stream_window -= room;
        let replies = std::mem::take(&mut state.replies);
        (!state.is_ended).then_some((replies, room as usize))
    }

    fn state(&self) -> MutexGuard<'_, SendState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
