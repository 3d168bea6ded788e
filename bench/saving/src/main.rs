//! Pages of 10 KiB, served, and what codecs and the digest take for them alone.
//!
//! `stoop-bench-saving server` prints its port, and answers `GET /N` with page N. `stoop-bench-saving codecs PAGES` prints the CPU
//! nanoseconds of each for so many pages, `NAME NANOSECONDS`: `sha1` of each, `gzip` of each by zlib-rs' level 6, which is the
//! measure of an archive, `libdeflate` of each by its level 6, as an archive has them, and `zstd` of a hundred at a time by
//! level 3, as a table has them.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use libdeflater::{CompressionLvl, Compressor};
use sha1::{Digest, Sha1};

const PAGE_BYTES: usize = 10 << 10;
/// As many different ones are more than a window of zstd has.
const PAGES: usize = 2000;
/// Those that a page of a table has.
const TABLE_PAGE: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server"] => serve(),
        ["codecs", pages] => codecs(pages.parse()?),
        _ => Err("usage: stoop-bench-saving server | codecs PAGES".into()),
    }
}

/// The pages: words of a vocabulary of 2,000 in the order of a generator, between tags.
fn pages() -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let words: Vec<String> = (0..2000)
        .map(|_| {
            let length = 2 + next(9);
            (0..length).map(|_| char::from(b'a' + next(26) as u8)).collect()
        })
        .collect();
    let page = |_| {
        let mut text = "<!doctype html><html><head><title>".to_owned();
        while text.len() < PAGE_BYTES {
            match next(12) {
                0 => text.push_str("</p>\n<p class=\"text\">"),
                1 => {
                    let link = &words[next(2000) as usize];
                    text.push_str(&format!("<a href=\"/{link}/{}\">{link}</a> ", next(10_000)));
                }
                _ => {
                    // Some words come far more often than others.
                    let most = 1 + next(2000);
                    text.push_str(&words[next(most) as usize]);
                    text.push(' ');
                }
            }
        }
        text.truncate(PAGE_BYTES);
        text.into_bytes()
    };
    (0..PAGES).map(page).collect()
}

fn serve() -> Result<(), Box<dyn Error>> {
    let pages = Arc::new(pages());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        let (stream, pages) = (stream?, Arc::clone(&pages));
        thread::spawn(move || answer(&stream, &pages));
    }
    Ok(())
}

/// Answers the requests of a connection.
fn answer(mut stream: &TcpStream, pages: &[Vec<u8>]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let (mut line, mut answer) = (String::new(), Vec::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let number = line.split(['/', ' ']).nth(2).and_then(|number| number.parse::<usize>().ok());
        let page = &pages[number.ok_or(io::ErrorKind::InvalidData)? % PAGES];
        while line.trim_ascii() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        answer.clear();
        write!(
            answer,
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             server: bench\r\n\r\n",
            page.len()
        )?;
        answer.extend_from_slice(page);
        stream.write_all(&answer)?;
    }
}

fn codecs(count: usize) -> Result<(), Box<dyn Error>> {
    let pages = pages();
    let all = || (0..count).map(|number| &pages[number % PAGES]);
    timed("sha1", || all().map(|page| usize::from(Sha1::digest(page)[0])).sum())?;
    timed("gzip", || {
        let gzip = |page: &Vec<u8>| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
            encoder.write_all(page).and_then(|()| encoder.finish()).map_or(0, |bytes| bytes.len())
        };
        all().map(gzip).sum()
    })?;
    timed("libdeflate", || {
        let mut compressor = Compressor::new(CompressionLvl::default());
        let mut into = vec![0; compressor.gzip_compress_bound(PAGE_BYTES)];
        all().map(|page| compressor.gzip_compress(page, &mut into).unwrap_or(0)).sum()
    })?;
    timed("zstd", || {
        let mut compressor = zstd::bulk::Compressor::new(3).expect("a level");
        let (mut page, mut bytes) = (Vec::new(), 0);
        for (number, next) in all().enumerate() {
            page.extend_from_slice(next);
            if (number + 1) % TABLE_PAGE == 0 || number + 1 == count {
                bytes += compressor.compress(&page).map_or(0, |compressed| compressed.len());
                page.clear();
            }
        }
        bytes
    })
}

/// Prints the CPU time of a work, whose result is of no interest.
fn timed(name: &str, work: impl FnOnce() -> usize) -> Result<(), Box<dyn Error>> {
    let begun = cpu_time()?;
    std::hint::black_box(work());
    println!("{name} {}", cpu_time()? - begun);
    Ok(())
}

/// The CPU time of this process, in nanoseconds.
fn cpu_time() -> io::Result<i128> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live and writable.
    match unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } {
        0 => Ok(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)),
        _ => Err(io::Error::last_os_error()),
    }
}
