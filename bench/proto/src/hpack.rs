//! Cases of header blocks, which a connection over HTTP/2 reads and writes.

use std::hint::black_box;

use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Decoder, Encoder, Indexing};

use Indexing::{Insert, Never, Without};

type FieldList = [(&'static str, &'static str, Indexing)];

/// The request of a browser for a page: [`BROWSER`](crate::messages::BROWSER) in HTTP/2.
const BROWSER: &FieldList = &[
    (":method", "GET", Insert),
    (":path", "/articles/2026/11/how-falcons-dive?ref=front&page=2", Insert),
    (":authority", "www.example.com", Insert),
    (":scheme", "https", Insert),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        Insert,
    ),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Insert),
    ("accept-language", "en-US,en;q=0.5", Insert),
    ("accept-encoding", "gzip, deflate, br, zstd", Insert),
    ("referer", "https://www.example.com/", Insert),
    ("cookie", "session=0123456789abcdef0123456789abcdef; theme=dark; consent=essential", Insert),
    ("upgrade-insecure-requests", "1", Insert),
    ("sec-fetch-dest", "document", Insert),
    ("sec-fetch-mode", "navigate", Insert),
    ("sec-fetch-site", "same-origin", Insert),
    ("priority", "u=0, i", Insert),
];

/// The request of a program to an API, without use of the tables.
const API: &FieldList = &[
    (":method", "POST", Insert),
    (":scheme", "https", Insert),
    (":path", "/v2/orders?expand=items,customer&locale=en-GB", Without),
    (":authority", "api.example.com", Without),
    ("authorization", "Bearer 0123456789abcdef0123456789abcdef0123456789abcdef", Never),
    ("content-type", "application/json", Without),
    ("accept", "application/json", Without),
    ("user-agent", "orders/1.4", Without),
    ("x-request-id", "3f2b8c1e-77aa-4f0e-9d7c-5a1b2c3d4e5f", Without),
    ("content-length", "27", Without),
];

/// The response of a server, as it sends it again within a second.
const ANSWER: &FieldList = &[
    (":status", "200", Insert),
    ("content-type", "text/plain", Insert),
    ("content-length", "13", Without),
    ("date", "Sat, 21 Nov 2026 12:00:00 GMT", Insert),
    ("server", "example", Insert),
];

fn encode(encoder: &mut Encoder, fields: &FieldList, out: &mut Vec<u8>) {
    out.clear();
    encoder.begin(out);
    for (name, value, indexing) in fields {
        encoder.line(name.as_bytes(), value.as_bytes(), *indexing, out);
    }
}

/// The blocks that the peer sends the first time, in Huffman code, and the second time.
fn blocks(fields: &FieldList) -> [Vec<u8>; 2] {
    let mut encoder = Encoder::new(DEFAULT_TABLE_BYTES_MAX);
    encoder.set_huffman(true);
    [0, 1].map(|_| {
        let mut out = Vec::new();
        encode(&mut encoder, fields, &mut out);
        out
    })
}

fn decode(decoder: &mut Decoder, wire: &[u8]) -> usize {
    let (mut block, mut lines) = (decoder.block(black_box(wire)), 0);
    while let Some(line) = block.next().expect("the block is right") {
        black_box(line);
        lines += 1;
    }
    lines
}

pub(crate) fn browser_bytes(turn: usize) -> usize {
    blocks(BROWSER)[turn].len()
}

pub(crate) fn api_bytes() -> usize {
    blocks(API)[0].len()
}

/// A server reads a browser's first block on a new connection.
pub(crate) fn browser_first(count: usize) {
    let [wire, _] = blocks(BROWSER);
    for _ in 0..count {
        assert_eq!(decode(&mut Decoder::new(DEFAULT_TABLE_BYTES_MAX), &wire), BROWSER.len());
    }
}

/// A server reads the same block again, which consists of indices only.
pub(crate) fn browser_again(count: usize) {
    let [first, again] = blocks(BROWSER);
    let mut decoder = Decoder::new(DEFAULT_TABLE_BYTES_MAX);
    decode(&mut decoder, &first);
    for _ in 0..count {
        assert_eq!(decode(&mut decoder, &again), BROWSER.len());
    }
}

/// A server reads literals in Huffman code.
pub(crate) fn api(count: usize) {
    let [wire, _] = blocks(API);
    let mut decoder = Decoder::new(DEFAULT_TABLE_BYTES_MAX);
    for _ in 0..count {
        assert_eq!(decode(&mut decoder, &wire), API.len());
    }
}

/// A client writes literals, in Huffman code or not; returns their length.
pub(crate) fn send(count: usize, huffman: bool) -> usize {
    let (mut encoder, mut out) = (Encoder::new(DEFAULT_TABLE_BYTES_MAX), Vec::new());
    encoder.set_huffman(huffman);
    for _ in 0..count {
        encode(&mut encoder, black_box(API), &mut out);
        black_box(&out);
    }
    out.len()
}

/// A server writes the same response again, with names looked up; returns its length.
pub(crate) fn answer(count: usize) -> usize {
    let (mut encoder, mut out) = (Encoder::new(512), Vec::new());
    encode(&mut encoder, ANSWER, &mut out);
    for _ in 0..count {
        encode(&mut encoder, black_box(ANSWER), &mut out);
        black_box(&out);
    }
    out.len()
}

/// A server writes a response with known indices of the static table, as for its own fields, and with a
/// value that changes each time and is added to the dynamic table, where it evicts others.
pub(crate) fn answer_known(count: usize) -> usize {
    let (mut encoder, mut out) = (Encoder::new(512), Vec::new());
    for turn in 0..count {
        out.clear();
        encoder.begin(&mut out);
        let etag = [b'0' + (turn % 64) as u8; 16];
        encoder.static_line(8, &mut out);
        encoder.line_with_static_name(31, b"text/plain", Insert, &mut out);
        encoder.line_with_static_name(28, b"13", Without, &mut out);
        encoder.line_with_static_name(33, b"Sat, 21 Nov 2026 12:00:00 GMT", Insert, &mut out);
        encoder.line_with_static_name(34, black_box(&etag), Insert, &mut out);
        black_box(&out);
    }
    out.len()
}
