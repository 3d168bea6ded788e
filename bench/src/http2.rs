//! A small HTTP/2 client for one request at a time, to check what a server answers.
//!
//! It writes its frames byte by byte, so that no code of this project is used to check it; a library reads
//! the header blocks of responses.

use std::io::{Read, Write};

use anyhow::{Context, Result, anyhow, bail, ensure};
use loona_hpack::Decoder;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The types of frames (RFC 9113 §6).
mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const WINDOW_UPDATE: u8 = 8;
}

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// Flags that change the layout of a frame: padding and priority, which no server here sends.
const PADDED_OR_PRIORITY: u8 = 0x28;

const INITIAL_WINDOW_SIZE: u16 = 4;
const INITIAL_WINDOW: i64 = 65_535;
const FRAME_BYTES_MAX: usize = 16_384;
/// The largest window, so that no server ever waits for it.
const WINDOW_MAX: u32 = (1 << 31) - 1;

/// A request's content, if it has any.
#[derive(Clone, Copy)]
pub(crate) struct RequestContent<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether it is sent with a Content-Length.
    pub(crate) has_length: bool,
}

pub(crate) struct Http2Response {
    /// The status and the fields, formatted as in HTTP/1.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Http2Client<C> {
    connection: C,
    scheme: Scheme,
    decoder: Decoder<'static>,
    stream: u32,
    /// How much may be sent, on the connection and on the stream.
    window: i64,
    stream_window: i64,
    /// The initial window of a stream.
    initial_window: i64,
}

/// The scheme, as its line of the static table (RFC 7541, Appendix A).
#[derive(Clone, Copy)]
pub(crate) enum Scheme {
    Http = 0x86,
    Https = 0x87,
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// The part of a response that has been received.
#[derive(Default)]
struct PartialResponse {
    head: Option<String>,
    body: Vec<u8>,
    is_complete: bool,
}

impl<C: Read + Write> Http2Client<C> {
    /// Begins HTTP/2 on `connection`; an error if the server does not speak it.
    pub(crate) fn open(connection: C, scheme: Scheme) -> Result<Self> {
        let mut client = Self {
            connection,
            scheme,
            decoder: Decoder::new(),
            stream: 0,
            window: INITIAL_WINDOW,
            stream_window: 0,
            initial_window: INITIAL_WINDOW,
        };
        let [high, low] = INITIAL_WINDOW_SIZE.to_be_bytes();
        let setting = [&[high, low], WINDOW_MAX.to_be_bytes().as_slice()].concat();
        let more = WINDOW_MAX - INITIAL_WINDOW as u32;
        let opening = [
            PREFACE,
            &frame(kind::SETTINGS, 0, 0, &setting),
            &frame(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes()),
        ];
        client.write(&opening.concat())?;
        let first = client.read()?;
        ensure!(first.kind == kind::SETTINGS, "its first frame is of type {}", first.kind);
        client.process(first, &mut PartialResponse::default())?;
        Ok(client)
    }

    /// Sends a GET for `path`, or a POST of `content`, and returns the response.
    pub(crate) fn request(
        &mut self,
        path: &str,
        content: Option<RequestContent<'_>>,
    ) -> Result<Http2Response> {
        self.stream = if self.stream == 0 { 1 } else { self.stream + 2 };
        self.stream_window = self.initial_window;
        let block = block(self.scheme, path, content);
        let flags = if content.is_some() { END_HEADERS } else { END_HEADERS | END_STREAM };
        self.write(&frame(kind::HEADERS, flags, self.stream, &block))?;
        let mut response = PartialResponse::default();
        if let Some(content) = content {
            self.send(content.bytes, &mut response)?;
        }
        while !response.is_complete {
            let frame = self.read()?;
            self.process(frame, &mut response)?;
        }
        let head = response.head.context("content without a head")?;
        Ok(Http2Response { head, body: response.body })
    }

    fn send(&mut self, mut rest: &[u8], response: &mut PartialResponse) -> Result<()> {
        loop {
            let room = self.window.min(self.stream_window).max(0) as usize;
            let (piece, others) = rest.split_at(rest.len().min(room).min(FRAME_BYTES_MAX));
            if piece.is_empty() && !rest.is_empty() {
                let frame = self.read()?;
                self.process(frame, response)?;
                ensure!(!response.is_complete, "answered before all of the content was sent");
                continue;
            }
            rest = others;
            let flags = if rest.is_empty() { END_STREAM } else { 0 };
            self.write(&frame(kind::DATA, flags, self.stream, piece))?;
            self.window -= piece.len() as i64;
            self.stream_window -= piece.len() as i64;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn process(&mut self, received: Frame, response: &mut PartialResponse) -> Result<()> {
        let Frame { kind, flags, stream, payload } = received;
        let is_ours = stream == self.stream && stream != 0;
        match kind {
            kind::SETTINGS if flags & ACK == 0 => {
                self.settings(&payload)?;
                self.write(&frame(kind::SETTINGS, ACK, 0, &[]))?;
            }
            kind::PING if flags & ACK == 0 => self.write(&frame(kind::PING, ACK, 0, &payload))?,
            kind::WINDOW_UPDATE if stream == 0 => self.window += number(&payload)?,
            kind::WINDOW_UPDATE if is_ours => self.stream_window += number(&payload)?,
            kind::GOAWAY => bail!("it closed the connection: {payload:?}"),
            // The server does not read the rest of a request that it has answered.
            kind::RST_STREAM if is_ours && response.is_complete => {}
            kind::RST_STREAM if is_ours => bail!("it reset the stream: {}", number(&payload)?),
            kind::HEADERS if is_ours => {
                ensure!(flags & PADDED_OR_PRIORITY == 0, "HEADERS with flags {flags:x}");
                ensure!(flags & END_HEADERS != 0, "a header block in several frames");
                ensure!(response.head.is_none(), "a second header block");
                response.head = Some(self.head(&payload)?);
                response.is_complete = flags & END_STREAM != 0;
            }
            kind::DATA if is_ours => {
                ensure!(flags & PADDED_OR_PRIORITY == 0, "DATA with flags {flags:x}");
                response.body.extend_from_slice(&payload);
                response.is_complete = flags & END_STREAM != 0;
            }
            _ => {}
        }
        Ok(())
    }

    fn settings(&mut self, payload: &[u8]) -> Result<()> {
        for setting in payload.chunks(6) {
            let (name, value) = setting.split_at_checked(2).context("half a setting")?;
            if name == INITIAL_WINDOW_SIZE.to_be_bytes() {
                let value = number(value)?;
                self.stream_window += value - self.initial_window;
                self.initial_window = value;
            }
        }
        Ok(())
    }

    fn head(&mut self, block: &[u8]) -> Result<String> {
        let fields = self.decoder.decode(block).map_err(|e| anyhow!("a header block: {e:?}"))?;
        let mut lines = fields.iter().map(|(name, value)| {
            [name, value].map(|text| String::from_utf8_lossy(text).into_owned())
        });
        let Some([name, status]) = lines.next() else { bail!("an empty header block") };
        ensure!(name == ":status", "a header block that begins with {name}");
        let fields: String = lines.map(|[name, value]| format!("\r\n{name}: {value}")).collect();
        Ok(format!("HTTP/2 {status} {fields}"))
    }

    fn read(&mut self) -> Result<Frame> {
        let mut head = [0; 9];
        self.connection.read_exact(&mut head).context("no frame")?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        ensure!(length <= FRAME_BYTES_MAX, "no HTTP/2, or a frame of {length} bytes");
        let mut payload = vec![0; length];
        self.connection.read_exact(&mut payload).context("half a frame")?;
        Ok(Frame { kind, flags, stream: u32::from_be_bytes(stream) & WINDOW_MAX, payload })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.connection.write_all(bytes).and_then(|()| self.connection.flush());
        sent.context("cannot send a frame")
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [&length, [kind, flags].as_slice(), &stream.to_be_bytes(), payload].concat()
}

fn number(payload: &[u8]) -> Result<i64> {
    let bytes = payload.try_into().context("not four bytes")?;
    Ok(i64::from(u32::from_be_bytes(bytes)))
}

/// The header block of a request. Lines that are the same in all requests are added to the server's
/// dynamic table, as all clients do.
fn block(scheme: Scheme, path: &str, content: Option<RequestContent<'_>>) -> Vec<u8> {
    const METHOD_GET: u8 = 0x82;
    const METHOD_POST: u8 = 0x83;
    let line = |start: &[u8], value: &str| [start, &[value.len() as u8], value.as_bytes()].concat();
    let length = content.filter(|content| content.has_length).map(|content| {
        // The name is entry 28 of the static table.
        line(&[0x0f, 0x0d], &content.bytes.len().to_string())
    });
    let lines = [
        vec![if content.is_some() { METHOD_POST } else { METHOD_GET }, scheme as u8],
        // Authority and user agent, with indexed names, to be added to the dynamic table.
        line(&[0x40 | 1], "127.0.0.1"),
        line(&[0x04], path),
        line(&[0x40 | 58], "stoop-bench"),
        length.unwrap_or_default(),
    ];
    lines.concat()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A server that sends the same bytes to every request, and keeps those that it receives.
    struct ScriptedServer(Cursor<Vec<u8>>, Vec<u8>);

    impl Read for ScriptedServer {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Write for ScriptedServer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn client(frames: &[Vec<u8>]) -> Result<Http2Client<ScriptedServer>> {
        let sent = [vec![frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 5])], frames.to_vec()];
        Http2Client::open(
            ScriptedServer(Cursor::new(sent.concat().concat()), Vec::new()),
            Scheme::Http,
        )
    }

    /// `:status: 200` and `content-length: 3`.
    const HEAD: &[u8] = &[0x88, 0x0f, 0x0d, 1, b'3'];

    #[test]
    fn a_response_is_a_head_and_the_content_on_its_stream() {
        let frames = [
            frame(kind::PING, 0, 0, &[7; 8]),
            frame(kind::HEADERS, END_HEADERS, 1, HEAD),
            frame(kind::DATA, 0, 1, b"ab"),
            frame(kind::DATA, END_STREAM, 1, b"c"),
        ];
        let mut client = client(&frames).unwrap();
        let response = client.request("/", None).unwrap();
        assert_eq!(response.head, "HTTP/2 200 \r\ncontent-length: 3");
        assert_eq!(response.body, b"abc");
        let sent = client.connection.1;
        assert!(sent.ends_with(&frame(kind::PING, ACK, 0, &[7; 8])), "{sent:?}");
    }

    #[test]
    fn content_is_sent_as_the_windows_allow() {
        let frames = [
            frame(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 9]),
            frame(kind::HEADERS, END_HEADERS | END_STREAM, 1, HEAD),
        ];
        let mut client = client(&frames).unwrap();
        let content = RequestContent { bytes: b"hello, world", has_length: false };
        client.request("/sink", Some(content)).unwrap();
        let sent = client.connection.1;
        let rest = frame(kind::DATA, END_STREAM, 1, b", world");
        assert!(sent.ends_with(&[frame(kind::DATA, 0, 1, b"hello"), rest].concat()), "{sent:?}");
    }

    #[test]
    fn anything_but_a_response_is_an_error() {
        let error = |frames: &[Vec<u8>]| client(frames).unwrap().request("/", None).err();
        assert!(error(&[frame(kind::RST_STREAM, 0, 1, &[0, 0, 0, 7])]).is_some());
        assert!(error(&[frame(kind::DATA, END_STREAM, 1, b"abc")]).is_some());
        assert!(error(&[]).is_some());
        let http1 =
            ScriptedServer(Cursor::new(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Vec::new());
        assert!(Http2Client::open(http1, Scheme::Http).is_err());
    }
}
