//! A server that answers with what it was asked, and keeps it: one thread a connection.
//!
//! `/status/N` answers N, `/dated/N` and `/etag/N` do so with a Last-Modified or an ETag, `/undated` has no date as one, `/to/URL`
//! redirects, `/again/URL` with the same method, `/moved/N` by N to `/there`, `/nowhere` to no URL, `/choices` answers 300, `/cookie` sets one, `/gzip`
//! compresses, `/range` serves ten digits and parts of them, `/flaky` answers 503 the first time, `/digest` wants Digest
//! credentials, `/short` ends too early, `/trickle` sends a byte at a time, `/hang` never answers, `/binary` has a NUL,
//! `/trailers` has some behind its content, `/named/…` a Content-Disposition. No tunnel leads to `refused.test`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// `gzip -n` of `compressed`.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xce\xcf\x2d\x28\x4a\x2d\x2e\x4e\x4d\x01\x00\x1e\x4b\x56\x97\
    \x0a\x00\x00\x00";

/// A request, as far as two clients should send the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) content: String,
}

/// A server that runs until the test's process ends.
#[derive(Clone)]
pub(crate) struct EchoServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl EchoServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = Self { address, seen: Arc::default() };
        let state = Arc::new(AtomicUsize::new(0));
        let seen = server.seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, state) = (seen.clone(), state.clone());
                thread::spawn(move || {
                    let mut writer = stream.try_clone().expect("a descriptor");
                    serve(&stream, &mut writer, &seen, &state)
                });
            }
        });
        server
    }

    /// Serves on a Unix socket, too.
    pub(crate) fn listen_on(&self, path: &Path) {
        let listener = UnixListener::bind(path).expect("a free path");
        let seen = self.seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut writer = stream.try_clone().expect("a descriptor");
                serve(&stream, &mut writer, &seen, &AtomicUsize::new(0));
            }
        });
    }

    /// The requests since this was asked last.
    pub(crate) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().expect("no panic"))
    }
}

fn serve(
    reader: impl Read,
    writer: &mut impl Write,
    seen: &Mutex<Vec<Seen>>,
    state: &AtomicUsize,
) -> Option<()> {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let mut fields = BTreeMap::new();
        loop {
            let mut field = String::new();
            reader.read_line(&mut field).ok().filter(|n| *n > 0)?;
            let Some((name, value)) = field.trim_end().split_once(':') else { break };
            fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        if fields.contains_key("expect") {
            writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        let content = content(&mut reader, &fields)?;
        let line = line.trim_end().to_owned();
        let request = Seen { line, fields, content };
        seen.lock().expect("no panic").push(request.clone());
        if !answer(writer, &request, state)? {
            return None;
        }
    }
}

fn content(reader: &mut impl BufRead, fields: &BTreeMap<String, String>) -> Option<String> {
    let mut all = Vec::new();
    if let Some(length) = fields.get("content-length") {
        all.resize(length.parse().ok()?, 0);
        reader.read_exact(&mut all).ok()?;
    } else if fields.contains_key("transfer-encoding") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            all.extend(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    }
    Some(String::from_utf8_lossy(&all).into_owned())
}

/// Answers, and returns whether the connection goes on.
fn answer(writer: &mut impl Write, request: &Seen, state: &AtomicUsize) -> Option<bool> {
    let mut words = request.line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    // As a proxy it answers for the server.
    let path = target
        .strip_prefix("http://")
        .map_or(target, |rest| rest.find('/').map_or("/", |at| &rest[at..]));
    let mut status = "200 OK".to_owned();
    let mut fields = String::new();
    let mut content = format!("{method} {path}\n").into_bytes();
    if method == "CONNECT" && target.starts_with("refused.") {
        status = "403 No".to_owned();
    }
    let part = |at: usize| path.split(['/', '?']).nth(at).filter(|part| !part.is_empty());
    let said = |default: &str| part(2).unwrap_or(default).to_owned() + " Said";
    match part(1).unwrap_or_default() {
        "status" => status = said("200"),
        "dated" => {
            status = said("200");
            fields = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n".to_owned();
        }
        "undated" => fields = "Last-Modified: soon\r\n".to_owned(),
        "dated-empty" => {
            fields = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n".to_owned();
            content.clear();
        }
        "etag" => {
            status = said("200");
            fields = "eTag: W/\"a b\"\r\n".to_owned();
        }
        "nowhere" => {
            status = "302 Found".to_owned();
            fields = "Location:\r\n".to_owned();
        }
        "trickle" => {
            writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n").ok()?;
            for _ in 0..99 {
                writer.write_all(b"x").ok()?;
                thread::sleep(std::time::Duration::from_millis(200));
            }
            return Some(true);
        }
        "choices" => {
            status = "300 Multiple Choices".to_owned();
            fields = "Location: /there\r\n".to_owned();
        }
        "to" => {
            status = "302 Found".to_owned();
            fields = format!("Location: {}\r\n", path.strip_prefix("/to/")?);
        }
        "again" => {
            status = "307 Again".to_owned();
            fields = format!("Location: {}\r\n", path.strip_prefix("/again/")?);
        }
        "moved" => {
            status = format!("{} Moved", path.split('/').nth(2)?);
            fields = "Location: /there\r\n".to_owned();
        }
        "cookie" => fields = "Set-Cookie: s=1; Path=/; HttpOnly\r\n".to_owned(),
        "gzip" => {
            fields = "Content-Encoding: gzip\r\n".to_owned();
            content = COMPRESSED.to_vec();
        }
        "range" => {
            content = b"0123456789".to_vec();
            if let Some(range) = request.fields.get("range") {
                let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
                let from: usize = from.parse().ok()?;
                let to = to.parse().unwrap_or(9).min(9);
                if from > 9 {
                    status = "416 No".to_owned();
                    fields = "Content-Range: bytes */10\r\n".to_owned();
                    content.clear();
                } else {
                    status = "206 Partial".to_owned();
                    fields = format!("Content-Range: bytes {from}-{to}/10\r\n");
                    content = content[from..=to].to_vec();
                }
            }
        }
        "flaky" if state.fetch_add(1, SeqCst).is_multiple_of(2) => status = "503 Later".to_owned(),
        "digest" if !request.fields.contains_key("authorization") => {
            status = "401 Who".to_owned();
            fields =
                "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n".to_owned();
        }
        "binary" => content = b"a\0b".to_vec(),
        "short" => {
            writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort").ok()?;
            return Some(false);
        }
        "named" => {
            let name = match path.split('/').nth(2)? {
                "plain" => "server.txt",
                "quoted" => "\"with blank; and more\"; size=1",
                "path" => "\"/tmp/no/../up.txt\"",
                "taken" => "data",
                _ => return None,
            };
            fields = format!("Content-Disposition: attachment; filename={name}\r\n");
        }
        "unnamed" => fields = "Content-Disposition: inline\r\n".to_owned(),
        "trailers" => {
            let all = "HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n\
                       4\r\nall\n\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n";
            return writer.write_all(all.as_bytes()).ok().map(|()| true);
        }
        "hang" => thread::sleep(std::time::Duration::from_secs(5)),
        "empty" => return Some(false),
        _ => {}
    }
    let length = content.len();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\nX-Two: a\r\n\r\n");
    let mut all = head.into_bytes();
    if method != "HEAD" {
        all.extend(content);
    }
    writer.write_all(&all).ok()?;
    Some(true)
}
