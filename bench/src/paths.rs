//! What servers can be asked for, and what each of them must answer to it.
//!
//! | path | answer |
//! |---|---|
//! | `GET /` | `Hello, world!`, with `content-type: text/plain`, `content-length` and `date`: so have all |
//! | `GET /820` | 820 bytes of the agreed text, likewise |
//! | `GET /1m` | 1 MiB of it from memory, likewise |
//! | `GET /stream` | the same 1 MiB in sixteen pieces, its length not told before |
//! | `POST /` | reads the small content and answers as `GET /` |
//! | `POST /sink` | reads all of any content and answers as `GET /` |
//! | `POST /sink chunked` | likewise, where the content's length is not told before |
//!
//! Some servers answer these too, for works that need them:
//!
//! | path | answer |
//! |---|---|
//! | `GET /spin` | as `GET /`, after 50 µs of processor time |
//! | `GET /drip` | content without an end, in pieces of 1,000 bytes; its reader checks the head |
//!
//! The agreed text is the alphabet over and over. Over HTTP/2 the paths are the same, and content whose
//! length is not told is just that.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};

use crate::exchange::{self, ByteStream, ServerConnector, Session};
use crate::http2;

/// Everything a server can be asked for, as contenders name it.
pub(crate) const PATHS: [&str; 7] =
    ["GET /", "GET /820", "GET /1m", "GET /stream", "POST /", "POST /sink", "POST /sink chunked"];

/// What only some servers can be asked for.
pub(crate) const MORE_PATHS: [&str; 2] = ["GET /spin", ENDLESS];
const ENDLESS: &str = "GET /drip";

const MEBIBYTE: usize = 1 << 20;
/// More than socket buffers hold, so that whoever does not read is found out.
const SUNK_BYTES: usize = 16 * MEBIBYTE;

/// So many bytes of the agreed text.
pub(crate) fn text(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

/// Asks the server at `address` for each of `paths` twice on one connection, which nobody may
/// close in between.
pub(crate) fn prove(
    connector: &ServerConnector,
    address: SocketAddr,
    paths: &[String],
) -> Result<()> {
    for path in paths.iter().filter(|path| *path != ENDLESS) {
        let mut session = connector.session(connector.connect(address)?)?;
        for _ in 0..2 {
            ask(&mut session, path).with_context(|| format!("asked for {path}"))?;
        }
    }
    Ok(())
}

fn ask(session: &mut Session, path: &str) -> Result<()> {
    let (content, expected) = match path {
        "GET /" | "GET /spin" => (0, exchange::BODY.into()),
        "GET /820" => (0, text(820)),
        "GET /1m" | "GET /stream" => (0, text(MEBIBYTE)),
        "POST /" => (16, exchange::BODY.into()),
        "POST /sink" | "POST /sink chunked" => (SUNK_BYTES, exchange::BODY.into()),
        other => bail!("no path is called {other}"),
    };
    let (target, is_told) = match path.strip_suffix(" chunked") {
        Some(target) => (target, false),
        None => (path, true),
    };
    let content = (content > 0).then(|| text(content));
    let answer = match session {
        Session::Http1(connection) => http1(&mut **connection, target, content, is_told)?,
        Session::Http2(client) => {
            let (_, target) = target.split_once(' ').context("a path without a method")?;
            let content = content.as_deref().map(|bytes| http2::RequestContent { bytes, is_told });
            let http2::Http2Response { head, body } = client.ask(target, content)?;
            ensure!(head.starts_with("HTTP/2 200 "), "not 200: {head:?}");
            Http1Response { head, body }
        }
    };
    let head = &answer.head;
    ensure!(answer.body == expected, "{} bytes that are others: {head:?}", answer.body.len());
    let is_told = head.to_ascii_lowercase().contains("\r\ncontent-length:");
    ensure!(is_told != (path == "GET /stream"), "length told or not: {head:?}");
    Ok(())
}

fn http1(
    connection: &mut dyn ByteStream,
    target: &str,
    content: Option<Vec<u8>>,
    is_told: bool,
) -> Result<Http1Response> {
    let (length, content) = match content {
        None => (String::new(), Vec::new()),
        Some(content) if is_told => (format!("content-length: {}\r\n", content.len()), content),
        Some(content) => ("transfer-encoding: chunked\r\n".into(), in_chunks(&content)),
    };
    let head = format!("{target} HTTP/1.1\r\nhost: 127.0.0.1\r\n{length}\r\n");
    connection
        .write_all(&[head.as_bytes(), &content].concat())
        .and_then(|()| connection.flush())
        .context("cannot send the request")?;
    Http1Response::read(&mut BufReader::new(connection))
}

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
            let count = from.read_line(&mut head).context("no answer")?;
            ensure!(count > 0, "closed before the head was over: {head:?}");
        }
        ensure!(head.starts_with("HTTP/1.1 200 "), "not 200: {head:?}");
        let body = match (field(&head, "content-length"), field(&head, "transfer-encoding")) {
            (Some(length), None) => {
                let mut body = vec![0; length.parse().context("the length")?];
                from.read_exact(&mut body).context("too little content")?;
                body
            }
            (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => chunked(from)?,
            framing => bail!("framed neither by length nor by chunks: {framing:?}"),
        };
        Ok(Self { head, body })
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.split("\r\n").filter_map(|line| line.split_once(':'));
    fields.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// Content in chunks, without extensions or trailers, which nobody here sends.
fn chunked(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        from.read_line(&mut size).context("a chunk's size")?;
        let size = usize::from_str_radix(size.trim_end(), 16).context("a chunk's size")?;
        let start = body.len();
        body.resize(start + size + 2, 0);
        from.read_exact(&mut body[start..]).context("too little of a chunk")?;
        ensure!(body.ends_with(b"\r\n"), "a chunk that ends in something else");
        body.truncate(start + size);
        if size == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Result<Http1Response> {
        Http1Response::read(&mut answer.as_bytes())
    }

    #[test]
    fn answers_are_read_by_their_length_or_their_chunks() {
        let told = read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP").unwrap();
        assert_eq!(told.body, text(3));
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let streamed = read(&format!("{head}2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")).unwrap();
        assert_eq!(streamed.body, text(3));
    }

    #[test]
    fn chunks_are_what_was_cut_into_them() {
        let content = text(100_000);
        assert_eq!(chunked(&mut in_chunks(&content).as_slice()).unwrap(), content);
    }

    #[test]
    fn what_is_cut_or_not_framed_is_no_answer() {
        assert!(read("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab").is_err());
        assert!(read("HTTP/1.1 200 OK\r\n\r\nabc").is_err());
        assert!(read("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").is_err());
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        assert!(read(&format!("{head}2\r\nabc\r\n0\r\n\r\n")).is_err());
    }
}
