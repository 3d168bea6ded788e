//! The requests that servers answer, and the responses that each of them must send.
//!
//! | request | response |
//! |---|---|
//! | `GET /` | `Hello, world!`, with `content-type: text/plain`, `content-length` and `date` |
//! | `GET /820` | 820 bytes of the agreed text, with the same fields |
//! | `GET /1m` | 1 MiB of it from memory, with the same fields |
//! | `GET /stream` | the same 1 MiB in sixteen pieces, without `content-length` |
//! | `POST /` | reads the small content and answers as `GET /` |
//! | `POST /sink` | reads all of any content and answers as `GET /` |
//! | `POST /sink chunked` | the same, where the content is sent without `content-length` |
//!
//! Some servers answer these too, for works that need them:
//!
//! | request | response |
//! |---|---|
//! | `GET /spin` | as `GET /`, after 50 µs of processor time |
//! | `GET /drip` | endless content, in pieces of 1,000 bytes; its reader checks the head |
//!
//! A server of files answers `GET /hello.txt`, `GET /820.txt` and `GET /1m.txt` with the content of `GET /`, `GET /820`
//! and `GET /1m`.
//!
//! The agreed text is the alphabet, repeated. Over HTTP/2 the requests are the same, without
//! transfer-coding.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::exchange::{self, ByteStream, ServerConnector, Session};
use crate::http2;

/// The requests that a server may answer, as the files of contenders name them.
pub(crate) const PATHS: [&str; 7] =
    ["GET /", "GET /820", "GET /1m", "GET /stream", "POST /", "POST /sink", "POST /sink chunked"];

/// The requests that only some servers answer.
pub(crate) const MORE_PATHS: [&str; 2] = ["GET /spin", ENDLESS];
const ENDLESS: &str = "GET /drip";

/// The requests that a server of files answers, with the bytes above; the first has the agreed fields.
pub(crate) const FILE_PATHS: [&str; 3] = ["GET /hello.txt", "GET /820.txt", "GET /1m.txt"];
/// The folder of those files, in the directory of a start.
pub(crate) const FILES: &str = "files";

const MEBIBYTE: usize = 1 << 20;
/// More than socket buffers hold, so that a server that does not read is detected.
const UPLOAD_BYTES: usize = 16 * MEBIBYTE;

/// The first `bytes` of the agreed text.
pub(crate) fn text(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

/// Writes the files of [`FILE_PATHS`] to the folder [`FILES`] in `directory`.
pub(crate) fn write_files(directory: &Path) -> Result<()> {
    let folder = directory.join(FILES);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes);
    std::fs::create_dir(&folder)
        .and_then(|()| write("hello.txt", exchange::BODY.as_bytes()))
        .and_then(|()| write("820.txt", &text(820)))
        .and_then(|()| write("1m.txt", &text(MEBIBYTE)))
        .with_context(|| folder.display().to_string())
}

/// Checks that the server at `address` answers each of `paths` twice on one connection, without closing it
/// in between.
pub(crate) fn check(
    connector: &ServerConnector,
    address: SocketAddr,
    paths: &[String],
) -> Result<()> {
    for path in paths.iter().filter(|path| *path != ENDLESS) {
        let mut session = connector.session(connector.connect(address)?)?;
        for _ in 0..2 {
            check_one(&mut session, path).with_context(|| format!("the response to {path}"))?;
        }
    }
    Ok(())
}

fn check_one(session: &mut Session, path: &str) -> Result<()> {
    let (content, expected) = match path {
        "GET /" | "GET /spin" | "GET /hello.txt" => (0, exchange::BODY.into()),
        "GET /820" | "GET /820.txt" => (0, text(820)),
        "GET /1m" | "GET /stream" | "GET /1m.txt" => (0, text(MEBIBYTE)),
        "POST /" => (16, exchange::BODY.into()),
        "POST /sink" | "POST /sink chunked" => (UPLOAD_BYTES, exchange::BODY.into()),
        other => bail!("{other} is no known request"),
    };
    let (target, has_length) = match path.strip_suffix(" chunked") {
        Some(target) => (target, false),
        None => (path, true),
    };
    let content = (content > 0).then(|| text(content));
    let response = match session {
        Session::Http1(connection) | Session::Files(connection) => {
            http1(&mut **connection, target, content, has_length)?
        }
        Session::Http2(client) => {
            let (_, target) = target.split_once(' ').context("a path without a method")?;
            let content =
                content.as_deref().map(|bytes| http2::RequestContent { bytes, has_length });
            let http2::Http2Response { head, body } = client.request(target, content)?;
            ensure!(head.starts_with("HTTP/2 200 "), "not 200: {head:?}");
            Http1Response { head, body }
        }
        Session::WebSocket(_) => bail!("{path} is a request, and not a message"),
    };
    let head = &response.head;
    ensure!(response.body == expected, "{} bytes of other content: {head:?}", response.body.len());
    let has_length = head.to_ascii_lowercase().contains("\r\ncontent-length:");
    ensure!(has_length != (path == "GET /stream"), "content-length is wrong here: {head:?}");
    Ok(())
}

fn http1(
    connection: &mut dyn ByteStream,
    target: &str,
    content: Option<Vec<u8>>,
    has_length: bool,
) -> Result<Http1Response> {
    let (length, content) = match content {
        None => (String::new(), Vec::new()),
        Some(content) if has_length => (format!("content-length: {}\r\n", content.len()), content),
        Some(content) => ("transfer-encoding: chunked\r\n".into(), in_chunks(&content)),
    };
    let head = format!("{target} HTTP/1.1\r\nhost: 127.0.0.1\r\n{length}\r\n");
    connection
        .write_all(&[head.as_bytes(), &content].concat())
        .and_then(|()| connection.flush())
        .context("cannot send the request")?;
    Http1Response::read(&mut BufReader::new(connection))
}

/// The content in chunks.
fn in_chunks(content: &[u8]) -> Vec<u8> {
    const PIECE_BYTES: usize = 64 * 1024;
    let chunk =
        |piece: &[u8]| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    let mut chunks: Vec<u8> = content.chunks(PIECE_BYTES).flat_map(chunk).collect();
    chunks.extend_from_slice(b"0\r\n\r\n");
    chunks
}

struct Http1Response {
    head: String,
    body: Vec<u8>,
}

impl Http1Response {
    fn read(from: &mut impl BufRead) -> Result<Self> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let count = from.read_line(&mut head).context("no response")?;
            ensure!(count > 0, "closed before the end of the head: {head:?}");
        }
        ensure!(head.starts_with("HTTP/1.1 200 "), "not 200: {head:?}");
        let body = match (field(&head, "content-length"), field(&head, "transfer-encoding")) {
            (Some(length), None) => {
                let mut body = vec![0; length.parse().context("the length")?];
                from.read_exact(&mut body).context("incomplete content")?;
                body
            }
            (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => read_chunks(from)?,
            framing => bail!("framed neither by length nor by chunks: {framing:?}"),
        };
        Ok(Self { head, body })
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.split("\r\n").filter_map(|line| line.split_once(':'));
    fields.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// Reads content in chunks, without extensions or trailers, which no server here sends.
fn read_chunks(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        from.read_line(&mut size).context("a chunk's size")?;
        let size = usize::from_str_radix(size.trim_end(), 16).context("a chunk's size")?;
        let start = body.len();
        body.resize(start + size + 2, 0);
        from.read_exact(&mut body[start..]).context("an incomplete chunk")?;
        ensure!(body.ends_with(b"\r\n"), "a chunk that does not end in CRLF");
        body.truncate(start + size);
        if size == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(response: &str) -> Result<Http1Response> {
        Http1Response::read(&mut response.as_bytes())
    }

    #[test]
    fn responses_are_read_by_their_length_or_their_chunks() {
        let with_length = read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP").unwrap();
        assert_eq!(with_length.body, text(3));
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let streamed = read(&format!("{head}2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")).unwrap();
        assert_eq!(streamed.body, text(3));
    }

    #[test]
    fn content_survives_chunking() {
        let content = text(100_000);
        assert_eq!(read_chunks(&mut in_chunks(&content).as_slice()).unwrap(), content);
    }

    #[test]
    fn a_truncated_or_unframed_response_is_an_error() {
        assert!(read("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab").is_err());
        assert!(read("HTTP/1.1 200 OK\r\n\r\nabc").is_err());
        assert!(read("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").is_err());
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        assert!(read(&format!("{head}2\r\nabc\r\n0\r\n\r\n")).is_err());
    }
}
