//! The memory that a slow reader costs does not grow with the amount that is sent to it.
//!
//! The test is a process of its own, which measures its own memory. The exact bounds of output are tested
//! beside `stoop_io::Output`.
#![cfg(target_os = "linux")]

use std::net::{TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use bytes::Bytes;
use http_body::Frame;
use socket2::{Domain, SockRef, Socket, Type};
use stoop::{Body, Client, Request, Response, ServerLimits, Versions};
use stoop_io::Stream;
use stoop_io::sim::{Link, Sim, Split};
use stoop_test::frames::{
    PREFACE, WINDOW_MAX, flag, headers, settings, settings_ack, window_update,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How many bytes each test sends.
const SENT: u64 = 1 << 30;

/// How much the process may grow meanwhile: buffers of the limits' size, and their pools.
const GROWTH_KIB_MAX: u64 = 1_536;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

/// A body without an end, in pieces of this size.
struct EndlessBody(Bytes);

impl EndlessBody {
    fn of(bytes: usize) -> Self {
        Self(vec![b'x'; bytes].into())
    }
}

impl http_body::Body for EndlessBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;
    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

/// The frames of a client over HTTP/2 that sends a GET and opens its windows as far as possible.
fn http2_request() -> Vec<u8> {
    let get = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")];
    let windows = window_update(0, WINDOW_MAX - 65_535);
    let settings = settings(&[(4, WINDOW_MAX)]);
    [PREFACE, &settings, &windows, &settings_ack(), &headers(1, flag::WHOLE, &get)].concat()
}

/// The frames of a server over HTTP/2 that opens its windows as far as possible.
fn http2_welcome() -> Vec<u8> {
    let windows = window_update(0, WINDOW_MAX - 65_535);
    [settings(&[(4, WINDOW_MAX)]), windows, settings_ack()].concat()
}

/// A connection in memory that moves 3,000 bytes at a time, and holds 32 KiB.
fn slow_link() -> (Stream, Stream) {
    let slow = || Link {
        capacity: 32 * 1024,
        writes: Split::Each(3_000),
        ..Link::split(Split::Each(2_500))
    };
    let (ours, theirs, _) = Sim::pair(1, &slow(), &slow());
    (Stream::new(ours), Stream::new(theirs))
}

/// Sends `first` and reads `SENT` bytes. Returns by how many KiB the process grew after the first 4 MiB.
async fn read_behind(mut io: impl AsyncRead + AsyncWrite + Unpin, first: &[u8]) -> u64 {
    io.write_all(first).await.unwrap();
    let (mut read, mut next) = (0, 4 << 20);
    let mut some = vec![0; 4_096];
    let (mut before, mut most) = (0, 0);
    while read < SENT {
        let n = io.read(&mut some).await.unwrap();
        assert!(n > 0, "closed after {read} bytes");
        read += n as u64;
        if read >= next {
            let now = anonymous_kib();
            (before, most) = if before == 0 { (now, now) } else { (before, most.max(now)) };
            next += 4 << 20;
        }
    }
    most - before
}

/// The anonymous memory of this process, in KiB.
fn anonymous_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

fn handler(piece: usize) -> impl Fn(Request) -> Response {
    move |_: Request| Response::new(Body::stream(EndlessBody::of(piece)))
}

/// The growth of a server that sends a response to a slow reader in memory.
async fn responses(request: &[u8], piece: usize) -> u64 {
    let (ours, theirs) = slow_link();
    let serving = tokio::spawn(stoop::rt::serve(theirs, handler(piece), ServerLimits::default()));
    let grown = read_behind(ours, request).await;
    serving.abort();
    grown
}

/// The growth of a server that sends a response over a socket, to a client whose kernel takes little at a
/// time. The congestion control is the one that most machines use.
async fn responses_by_socket(request: Vec<u8>, piece: usize) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listening = SockRef::from(&listener);
    if listening.set_tcp_congestion(b"cubic").is_err() {
        eprintln!("this kernel has no cubic: only its default congestion control is tested");
    }
    listening.set_send_buffer_size(16 * 1024).unwrap();
    let address = listener.local_addr().unwrap();
    let reader = thread::spawn(move || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(16 * 1024).unwrap();
        socket.set_tcp_mss(536).unwrap();
        socket.connect(&address.into()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let stream = TcpStream::from(socket);
            stream.set_nonblocking(true).unwrap();
            read_behind(tokio::net::TcpStream::from_std(stream).unwrap(), &request).await
        })
    });
    let (accepted, _) = listener.accept().unwrap();
    accepted.set_nonblocking(true).unwrap();
    let accepted = tokio::net::TcpStream::from_std(accepted).unwrap();
    stoop::rt::serve(accepted, handler(piece), ServerLimits::default()).await;
    reader.join().unwrap()
}

/// The growth of a client that sends a request to a slow reader.
async fn uploads(versions: Versions, welcome: Vec<u8>, piece: usize) -> u64 {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let connect = move || {
        let (ours, theirs) = slow_link();
        sender.send(theirs).unwrap();
        ours
    };
    let builder = Client::builder().versions(versions);
    let client = stoop::rt::connections_from(builder, connect).build().unwrap();
    let request = Request::post("http://here/", Body::stream(EndlessBody::of(piece))).unwrap();
    let request = request.without_deadlines();
    let sending = tokio::spawn(async move { client.send(request).await.map(drop) });
    let grown = read_behind(receiver.recv().await.unwrap(), &welcome).await;
    sending.abort();
    grown
}

/// Measures with small and large pieces, and asserts the bound. One measurement runs at a time, since the
/// memory is that of the process.
fn assert_bounded<F: Future<Output = u64>>(growth: impl Fn(usize) -> F) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for piece in [1_000, 20_000] {
        let kib = runtime.block_on(growth(piece));
        assert!(kib <= GROWTH_KIB_MAX, "{kib} KiB more, in pieces of {piece} bytes");
    }
}

#[test]
fn a_response_over_http1_to_a_reader_that_is_always_behind_does_not_grow() {
    assert_bounded(|piece| responses(REQUEST, piece));
}

#[test]
fn a_response_over_http2_to_a_reader_that_is_always_behind_does_not_grow() {
    let request = http2_request();
    assert_bounded(|piece| responses(&request, piece));
}

#[test]
fn a_request_over_http1_to_a_reader_that_is_always_behind_does_not_grow() {
    assert_bounded(|piece| uploads(Versions::Http1, Vec::new(), piece));
}

#[test]
fn a_request_over_http2_to_a_reader_that_is_always_behind_does_not_grow() {
    assert_bounded(|piece| uploads(Versions::Http2, http2_welcome(), piece));
}

#[test]
fn a_response_over_http1_to_a_kernel_that_is_always_behind_does_not_grow() {
    assert_bounded(|piece| responses_by_socket(REQUEST.to_vec(), piece));
}

#[test]
fn a_response_over_http2_to_a_kernel_that_is_always_behind_does_not_grow() {
    assert_bounded(|piece| responses_by_socket(http2_request(), piece));
}
