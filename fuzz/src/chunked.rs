//! Invariant: the machine decodes a chunked body as the decoder below does, which follows the
//! grammar of RFC 9112 §7.1 byte by byte over all of the input: the same content, the same trailer
//! section, the same end, or wrong for both.

use stoop_proto::h1::{Event, Server};
use stoop_proto::{Limits, RequestHead};

const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// More is only more of the same.
const INPUT_MAX: usize = 1_500;
const TRAILERS_MAX: usize = 900;

/// One byte chooses the cuts, the others are a body.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [seed, body @ ..] = data else { return };
    let body = super::settled(&body[..body.len().min(INPUT_MAX)]);
    assert_eq!(by_machine(&super::cut(&body, *seed)), by_grammar(&body));
}

#[derive(Debug, Default, PartialEq)]
struct Decoded {
    content: Vec<u8>,
    outcome: ChunkedOutcome,
}

#[derive(Debug, Default, PartialEq)]
enum ChunkedOutcome {
    /// More bytes are needed.
    #[default]
    Open,
    /// So many bytes were the body; these fields came behind it.
    Complete(usize, Vec<(String, Vec<u8>)>),
    Wrong,
}

fn by_machine(pieces: &[&[u8]]) -> Decoded {
    let mut limits = Limits::server();
    limits.fields_max = usize::MAX;
    limits.chunk_line_bytes_max = usize::MAX;
    limits.chunk_extensions_bytes_max = u64::MAX;
    limits.trailers_bytes_max = TRAILERS_MAX;
    let (mut server, mut head) = (Server::new(), RequestHead::default());
    let received = server.receive(HEAD, &mut head, &limits);
    assert_eq!((received.consumed, received.event), (HEAD.len(), Event::Head { end: false }));
    let (mut decoded, mut buffer, mut done) = (Decoded::default(), Vec::new(), 0);
    for piece in pieces {
        buffer.extend_from_slice(piece);
        while decoded.outcome == ChunkedOutcome::Open {
            let received = server.receive(&buffer, &mut head, &limits);
            let need_more = received.event == Event::NeedMore;
            match received.event {
                Event::Data(span) => decoded.content.extend_from_slice(&buffer[span]),
                Event::Violation(_) => decoded.outcome = ChunkedOutcome::Wrong,
                Event::End { .. } => {
                    let trailers = server.take_trailers().unwrap_or_default();
                    let lines = trailers
                        .iter()
                        .map(|field| (field.name().to_owned(), field.value().to_vec()));
                    let lines = lines.collect();
                    decoded.outcome = ChunkedOutcome::Complete(done + received.consumed, lines);
                }
                Event::NeedMore => {}
                event => panic!("{event:?}"),
            }
            buffer.drain(..received.consumed);
            done += received.consumed;
            if need_more {
                break;
            }
        }
    }
    decoded
}

fn by_grammar(body: &[u8]) -> Decoded {
    let mut rest = body;
    let mut content = Vec::new();
    let outcome = match decode(&mut rest, &mut content) {
        Ok(trailers) => ChunkedOutcome::Complete(body.len() - rest.len(), trailers),
        Err(ChunkedEnd::Open) => ChunkedOutcome::Open,
        Err(ChunkedEnd::Wrong) => ChunkedOutcome::Wrong,
    };
    Decoded { content, outcome }
}

enum ChunkedEnd {
    Open,
    Wrong,
}

/// chunked-body = *chunk last-chunk trailer-section CRLF
fn decode(rest: &mut &[u8], content: &mut Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, ChunkedEnd> {
    loop {
        let size = chunk_size(rest, content.len())?;
        chunk_extensions(rest)?;
        crlf(rest)?;
        if size == 0 {
            return trailers(rest);
        }
        for _ in 0..size {
            content.push(take(rest)?);
        }
        crlf(rest)?;
    }
}

fn take(rest: &mut &[u8]) -> Result<u8, ChunkedEnd> {
    let (first, after) = rest.split_first().ok_or(ChunkedEnd::Open)?;
    *rest = after;
    Ok(*first)
}

fn peek(rest: &[u8]) -> Result<u8, ChunkedEnd> {
    rest.first().copied().ok_or(ChunkedEnd::Open)
}

fn expect(rest: &mut &[u8], byte: u8) -> Result<(), ChunkedEnd> {
    if take(rest)? == byte { Ok(()) } else { Err(ChunkedEnd::Wrong) }
}

fn crlf(rest: &mut &[u8]) -> Result<(), ChunkedEnd> {
    expect(rest, b'\r')?;
    expect(rest, b'\n')
}

/// chunk-size = 1*HEXDIG, of which we take sixteen, and with what came before 63 bits.
fn chunk_size(rest: &mut &[u8], before: usize) -> Result<u128, ChunkedEnd> {
    let (mut size, mut digits) = (0, 0);
    while let Some(digit) = char::from(peek(rest)?).to_digit(16) {
        take(rest)?;
        digits += 1;
        size = size * 16 + u128::from(digit);
        if digits > 16 || size + before as u128 >= 1 << 63 {
            return Err(ChunkedEnd::Wrong);
        }
    }
    if digits == 0 { Err(ChunkedEnd::Wrong) } else { Ok(size) }
}

/// chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ); whitespace that nothing
/// follows is none.
fn chunk_extensions(rest: &mut &[u8]) -> Result<(), ChunkedEnd> {
    while peek(rest)? != b'\r' {
        spaces(rest)?;
        expect(rest, b';')?;
        spaces(rest)?;
        token(rest)?;
        let spaced = *rest;
        spaces(rest)?;
        if peek(rest)? != b'=' {
            // It may be that before the next semicolon.
            *rest = spaced;
            continue;
        }
        take(rest)?;
        spaces(rest)?;
        if peek(rest)? == b'"' { quoted(rest)? } else { token(rest)? }
    }
    Ok(())
}

fn spaces(rest: &mut &[u8]) -> Result<(), ChunkedEnd> {
    while matches!(peek(rest)?, b' ' | b'\t') {
        take(rest)?;
    }
    Ok(())
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn token(rest: &mut &[u8]) -> Result<(), ChunkedEnd> {
    if !is_tchar(peek(rest)?) {
        return Err(ChunkedEnd::Wrong);
    }
    while is_tchar(peek(rest)?) {
        take(rest)?;
    }
    Ok(())
}

/// quoted-string = DQUOTE *( qdtext / quoted-pair ) DQUOTE
fn quoted(rest: &mut &[u8]) -> Result<(), ChunkedEnd> {
    expect(rest, b'"')?;
    loop {
        match take(rest)? {
            b'"' => return Ok(()),
            b'\\' => match take(rest)? {
                b'\t' | b' '..=b'~' | 0x80.. => {}
                _ => return Err(ChunkedEnd::Wrong),
            },
            b'\t' | b' '..=b'~' | 0x80.. => {}
            _ => return Err(ChunkedEnd::Wrong),
        }
    }
}

/// trailer-section = *( field-line CRLF ), and the CRLF behind it. Some names are dropped.
fn trailers(rest: &mut &[u8]) -> Result<Vec<(String, Vec<u8>)>, ChunkedEnd> {
    let from = rest.len();
    let mut lines = Vec::new();
    let mut count = 0;
    loop {
        if let Err(end) = trailer(rest, &mut lines, &mut count) {
            // An incomplete section beyond its limit is wrong.
            return Err(if from >= TRAILERS_MAX { ChunkedEnd::Wrong } else { end });
        }
        let used = from - rest.len();
        if used > TRAILERS_MAX || count > stoop_proto::FIELDS_CEILING {
            return Err(ChunkedEnd::Wrong);
        }
        if lines.last().is_some_and(|(name, _): &(String, _)| name.is_empty()) {
            lines.pop();
            return Ok(lines);
        }
    }
}

/// One field line, or an empty name for the end.
fn trailer(
    rest: &mut &[u8],
    lines: &mut Vec<(String, Vec<u8>)>,
    count: &mut usize,
) -> Result<(), ChunkedEnd> {
    if peek(rest)? == b'\r' {
        crlf(rest)?;
        lines.push(Default::default());
        return Ok(());
    }
    let mut name = String::new();
    while peek(rest)? != b':' {
        let byte = take(rest)?;
        if !is_tchar(byte) {
            return Err(ChunkedEnd::Wrong);
        }
        name.push(char::from(byte));
    }
    if name.is_empty() {
        return Err(ChunkedEnd::Wrong);
    }
    expect(rest, b':')?;
    let mut value = Vec::new();
    while peek(rest)? != b'\r' {
        let byte = take(rest)?;
        if byte < b' ' && byte != b'\t' || byte == 0x7f {
            return Err(ChunkedEnd::Wrong);
        }
        value.push(byte);
    }
    crlf(rest)?;
    // A fold, or whitespace before a name.
    if matches!(peek(rest)?, b' ' | b'\t') {
        return Err(ChunkedEnd::Wrong);
    }
    *count += 1;
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_space(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    if !DROPPED.contains(&&*name.to_ascii_lowercase()) {
        lines.push((name, value[start..end].to_vec()));
    }
    Ok(())
}

/// RFC 9110 §6.5.1: what frames, routes, authenticates or controls; and how content is to be read.
const DROPPED: [&str; 35] = [
    "transfer-encoding",
    "content-length",
    "trailer",
    "host",
    "connection",
    "keep-alive",
    "te",
    "upgrade",
    "proxy-connection",
    "cache-control",
    "expect",
    "max-forwards",
    "pragma",
    "range",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
    "authorization",
    "proxy-authenticate",
    "proxy-authorization",
    "www-authenticate",
    "cookie",
    "set-cookie",
    "age",
    "expires",
    "date",
    "location",
    "retry-after",
    "vary",
    "warning",
    "content-encoding",
    "content-type",
    "content-range",
];
