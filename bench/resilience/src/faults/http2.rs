//! Servers over HTTP/2 that go away, or refuse a request, at every moment of an exchange.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stoop_test::frames::{self, HEADER_BYTES, PREFACE, flag, kind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const LAST_OF_ALL: u32 = (1 << 31) - 1;

/// When a server goes away or refuses. Of its connections every other one does; the rest are as they should be,
/// so that a request that may be sent again succeeds in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A GOAWAY in the place of SETTINGS, which is an error (RFC 9113 §3.4), and the end.
    GoAwayBeforeSettings,
    /// A GOAWAY that names no stream when a request comes, and the end.
    GoAwayAtRequest,
    /// A GOAWAY that names the stream, then its response, and the end.
    GoAwayBeforeHead,
    /// A GOAWAY between head and content, and the end behind the content.
    GoAwayAfterHead,
    /// A GOAWAY in the middle of the content, and the end there.
    GoAwayMidBody,
    /// A GOAWAY behind the response, and the end.
    GoAwayAfterEnd,
    /// A GOAWAY that announces another, as RFC 9113 §6.8 asks for, and then that one.
    GoAwayTwice,
    /// The request is refused.
    RefusedAtRequest,
    /// The stream is reset by REFUSED_STREAM between head and content.
    RefusedAfterHead,
    /// The connection is closed without a GOAWAY when a request comes.
    ClosedAtRequest,
}

impl Moment {
    /// All of them, with their names and the outcomes that a client may have.
    pub(super) const ALL: &[(Self, &'static str, &'static [&'static str])] = &[
        (Self::GoAwayBeforeSettings, "goaway-before-settings", &["200", "h2_protocol@wait"]),
        (Self::GoAwayAtRequest, "goaway-at-request", &["200", "h2_goaway@wait"]),
        (Self::GoAwayBeforeHead, "goaway-before-head", &["200", "h2_goaway@wait"]),
        (Self::GoAwayAfterHead, "goaway-after-head", &["200"]),
        (
            Self::GoAwayMidBody,
            "goaway-mid-body",
            &["200", "closed_early@receive", "h2_goaway@receive"],
        ),
        (Self::GoAwayAfterEnd, "goaway-after-end", &["200"]),
        (Self::GoAwayTwice, "goaway-twice", &["200"]),
        (
            Self::RefusedAtRequest,
            "refused-at-request",
            &["200", "h2_refused@wait", "total_timeout@wait", "total_timeout@receive"],
        ),
        (Self::RefusedAfterHead, "refused-after-head", &["200", "h2_refused@receive"]),
        (Self::ClosedAtRequest, "closed-at-request", &["200", "closed_early@wait"]),
    ];
}

/// Starts the server.
pub(super) async fn start(moment: Moment) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let made = Arc::new(AtomicU64::new(0));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let is_faulty = made.fetch_add(1, Ordering::Relaxed) % 2 == 0;
            tokio::spawn(answer(stream, is_faulty.then_some(moment)));
        }
    });
    Ok(address)
}

/// Answers each request with 200 and 13 bytes, until the moment comes.
async fn answer(mut stream: TcpStream, moment: Option<Moment>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = Vec::new();
    while input.len() < PREFACE.len() {
        read(&mut stream, &mut input).await?;
    }
    input.drain(..PREFACE.len());
    let mut output = Vec::new();
    if moment == Some(Moment::GoAwayBeforeSettings) {
        output.extend(frames::go_away(0, NO_ERROR, ""));
        stream.write_all(&output).await?;
        return linger(stream).await;
    }
    output.extend(frames::settings(&[]));
    loop {
        let mut ends = false;
        while let Some((header, used)) = whole_frame(&input) {
            let (frame, flags) = (header[3], header[4]);
            let id = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            input.drain(..used);
            match frame {
                kind::SETTINGS if flags & flag::ACK == 0 => output.extend(frames::settings_ack()),
                kind::HEADERS => {
                    ends = respond(moment, id, &mut output);
                    if ends {
                        break;
                    }
                }
                _ => {}
            }
        }
        stream.write_all(&output).await?;
        output.clear();
        if ends {
            return linger(stream).await;
        }
        read(&mut stream, &mut input).await?;
    }
}

/// Writes the response to stream `id`; true if the connection ends behind it.
fn respond(moment: Option<Moment>, id: u32, output: &mut Vec<u8>) -> bool {
    let go_away = |last| frames::go_away(last, NO_ERROR, "");
    let head = || frames::headers(id, flag::END_HEADERS, &[(":status", "200")]);
    let content = || frames::data(id, flag::END_STREAM, b"Hello, world!");
    let pieces: (Vec<Vec<u8>>, bool) = match moment {
        None | Some(Moment::GoAwayBeforeSettings) => (vec![head(), content()], false),
        Some(Moment::GoAwayAtRequest) => (vec![go_away(id.saturating_sub(2))], true),
        Some(Moment::GoAwayBeforeHead) => (vec![go_away(id), head(), content()], true),
        Some(Moment::GoAwayAfterHead) => (vec![head(), go_away(id), content()], true),
        Some(Moment::GoAwayMidBody) => {
            (vec![head(), frames::data(id, 0, b"Hello"), go_away(id)], true)
        }
        Some(Moment::GoAwayAfterEnd) => (vec![head(), content(), go_away(id)], true),
        Some(Moment::GoAwayTwice) => {
            (vec![go_away(LAST_OF_ALL), head(), content(), go_away(id)], true)
        }
        Some(Moment::RefusedAtRequest) => (vec![frames::rst_stream(id, REFUSED_STREAM)], false),
        Some(Moment::RefusedAfterHead) => {
            (vec![head(), frames::rst_stream(id, REFUSED_STREAM)], false)
        }
        Some(Moment::ClosedAtRequest) => (Vec::new(), true),
    };
    output.extend(pieces.0.concat());
    pieces.1
}

/// The header of the first frame if all of it is there, and how long the frame is.
fn whole_frame(input: &[u8]) -> Option<([u8; HEADER_BYTES], usize)> {
    let header: [u8; HEADER_BYTES] = input.get(..HEADER_BYTES)?.try_into().ok()?;
    let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
    (input.len() >= HEADER_BYTES + length).then_some((header, HEADER_BYTES + length))
}

async fn read(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<()> {
    match stream.read_buf(input).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Ends the connection in order: what the client still sends is read, so that no reset takes the last frames.
pub(super) async fn linger(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}
