//! The CPU time of decoding content: by a client of stoop from a response, and by the library of the coding alone.
//!
//! `stoop-bench-decode ROUNDS` prints a line for each coding and round, `CODING STOOP_NS TRANSFER_NS LIBRARY_NS`: the
//! response decoded, the same response not decoded, and the content decoded by the library.

use std::io::{self, Read, Write};
use std::time::Duration;

use stoop::{Client, Request, Response};

/// The content decoded, in bytes.
const CONTENT_BYTES: usize = 16 << 20;
/// What a reader takes at once.
const READ_BYTES: usize = 64 * 1024;
/// A bound that the content does not reach.
const BOUND_BYTES: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize =
        std::env::args().nth(1).ok_or("usage: stoop-bench-decode ROUNDS")?.parse()?;
    let content = text();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let codings: [(&str, Vec<u8>); 3] = [
        ("gzip", gzip(&content)?),
        ("br", brotli(&content)?),
        ("zstd", zstd::encode_all(&content[..], 3)?),
    ];
    for (coding, encoded) in &codings {
        let client = client(coding, encoded)?;
        for round in 0..rounds {
            let by_client = |decodes| {
                let read = by_client(&client, decodes);
                runtime.block_on(read).map_err(io::Error::other)
            };
            let stoop = || timed(CONTENT_BYTES, || by_client(true));
            let transfer = || timed(encoded.len(), || by_client(false));
            let library = || timed(CONTENT_BYTES, || by_library(coding, encoded));
            // None always follows the same one.
            let (stoop, transfer, library) = match round % 2 {
                0 => (stoop()?, transfer()?, library()?),
                _ => {
                    let library = library()?;
                    (stoop()?, transfer()?, library)
                }
            };
            let [stoop, transfer, library] = [stoop, transfer, library].map(|time| time.as_nanos());
            println!("{coding} {stoop} {transfer} {library}");
        }
    }
    Ok(())
}

/// The CPU time of reading so many bytes.
fn timed(expected: usize, read: impl FnOnce() -> io::Result<usize>) -> io::Result<Duration> {
    let begun = cpu_time()?;
    let bytes = read()?;
    let took = cpu_time()? - begun;
    match bytes == expected {
        true => Ok(took),
        false => Err(io::Error::other(format!("{bytes} bytes instead of {expected}"))),
    }
}

fn cpu_time() -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to one `timespec`, which lives as long as the call.
    match unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } {
        0 => Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A client whose server, in this process, answers with the encoded content.
fn client(coding: &'static str, encoded: &[u8]) -> Result<Client, stoop::Error> {
    let encoded: &'static [u8] = encoded.to_vec().leak();
    let answer = move |_: Request| {
        let response = Response::from_bytes(encoded).with_field("content-encoding", coding);
        response.map_err(stoop::Error::from)
    };
    let mut limits = stoop::ClientLimits::default();
    limits.decoded_bytes_max = BOUND_BYTES;
    Client::builder().limits(limits).handler(answer).build()
}

async fn by_client(client: &Client, decodes: bool) -> Result<usize, stoop::Error> {
    let mut response = client.get("http://server.test/").decode_content(decodes).await?;
    let mut length = 0;
    while let Some(piece) = response.chunk().await? {
        length += piece.len();
    }
    Ok(length)
}

fn by_library(coding: &str, encoded: &[u8]) -> io::Result<usize> {
    match coding {
        "gzip" => read_all(flate2::read::GzDecoder::new(encoded)),
        "br" => read_all(brotli_decompressor::Decompressor::new(encoded, READ_BYTES)),
        _ => read_all(zstd::Decoder::new(encoded)?),
    }
}

fn read_all(mut reader: impl Read) -> io::Result<usize> {
    let (mut buffer, mut length) = (vec![0; READ_BYTES], 0);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(length),
            n => length += n,
        }
    }
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content)?;
    encoder.finish()
}

fn brotli(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoded = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
    brotli::BrotliCompress(&mut &content[..], &mut encoded, &parameters)?;
    Ok(encoded)
}

/// Text like that of pages: words of one vocabulary in lines with tags, to about a quarter compressible.
fn text() -> Vec<u8> {
    let mut random: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let words: Vec<String> = (0..4_000)
        .map(|_| (0..2 + next(9)).map(|_| char::from(b'a' + next(26) as u8)).collect())
        .collect();
    let mut text = Vec::with_capacity(CONTENT_BYTES + 1_000);
    while text.len() < CONTENT_BYTES {
        text.extend_from_slice(b"<li class=\"entry\"><a href=\"/");
        for _ in 0..4 + next(12) {
            // The smaller of two numbers makes some words more frequent than others.
            let at = next(4_000).min(next(4_000)) as usize;
            text.extend_from_slice(words[at].as_bytes());
            text.push(b' ');
        }
        text.extend_from_slice(b"</a></li>\n");
    }
    text.truncate(CONTENT_BYTES);
    text
}
