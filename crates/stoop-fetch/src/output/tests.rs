//! Tests of the order of records, of the memory that they take, and of readers that are slow or gone.

use std::io::{BufRead, BufReader, ErrorKind};
use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;
use crate::sink::Plain;

fn pipe() -> (BufReader<io::PipeReader>, io::PipeWriter) {
    let (reader, writer) = io::pipe().expect("a pipe");
    (BufReader::new(reader), writer)
}

#[test]
fn lines_are_written_in_order_and_soon() {
    let output = Arc::new(OutputBuffer::default());
    let (mut reader, sink) = pipe();
    let writer = thread::spawn({
        let output = Arc::clone(&output);
        move || output.write_to(&mut Plain(sink), || ())
    });
    for n in 0..3 {
        output.append(RecordParts::borrowed(format!("{n}\n").as_bytes()), None, None);
        let mut line = String::new();
        reader.read_line(&mut line).expect("readable");
        assert_eq!(line, format!("{n}\n"), "before there is more");
    }
    output.append(RecordParts::borrowed(b"last\n"), None, None);
    output.close();
    assert_eq!(reader.lines().map(|l| l.expect("readable")).collect::<Vec<_>>(), ["last"]);
    writer.join().expect("no panic").expect("no error");
}

#[test]
fn a_slow_reader_fills_the_buffer_and_a_fast_one_empties_it() {
    let output = Arc::new(OutputBuffer::default());
    let (reader, sink) = pipe();
    let rooms = Arc::new(AtomicUsize::new(0));
    let writer = thread::spawn({
        let (output, rooms) = (Arc::clone(&output), Arc::clone(&rooms));
        move || {
            output.write_to(&mut Plain(sink), || {
                rooms.fetch_add(1, Relaxed);
            })
        }
    });
    let line = [b"x".repeat(1023), b"\n".to_vec()].concat();
    let mut appended = 0;
    // The lines that wait, that are being written, and that the pipe holds: then it stays full.
    while !output.is_full() || appended < 3 * Bounds::LINES.full / line.len() {
        output.append(RecordParts::borrowed(&line), None, None);
        appended += 1;
    }
    output.close();
    assert_eq!(reader.lines().count(), appended);
    writer.join().expect("no panic").expect("no error");
    assert!(!output.is_full());
    assert!(rooms.load(Relaxed) >= 1);
}

/// What is written, as it comes, and how much memory was reserved then.
struct Watched<'a> {
    parts: Vec<(Vec<u8>, usize)>,
    reserved: &'a dyn Fn() -> usize,
    flushes: usize,
}

impl RecordSink for Watched<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            self.parts.push((bytes.to_vec(), (self.reserved)()));
        }
        Ok(())
    }

    fn flush(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        self.flushes += 1;
        done.clear();
        Ok(())
    }

    fn end(&mut self, _: &[u8], _: bool) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn long_contents_are_written_in_their_places_and_give_back_their_memory_one_by_one() {
    let output = OutputBuffer::new(true);
    let reservations: Vec<_> = (0..4).map(|_| Arc::new(Reservation::default())).collect();
    let reserved = || reservations.iter().filter(|it| Arc::strong_count(it) > 1).count();
    let of = |n: usize| Some(Arc::clone(&reservations[n]));
    let split = |content: Vec<u8>| RecordParts { bytes: b"<>", content: Some((1, content.into())) };
    let long = vec![b'x'; COPIED_BYTES_MAX + 1];
    output.append(RecordParts::borrowed(b"first "), None, None);
    output.append(split(b"content".to_vec()), of(0), None);
    output.append(split(long.clone()), of(1), None);
    output.append(RecordParts::borrowed(b" short "), of(2), None);
    output.append(RecordParts::owned(long.clone()), of(3), None);
    output.close();
    let mut sink = Watched { parts: Vec::new(), reserved: &reserved, flushes: 0 };
    let rooms = AtomicUsize::new(0);
    output.write_to(&mut sink, || _ = rooms.fetch_add(1, Relaxed)).expect("no error");
    let expected: [(&[u8], usize); 4] =
        [(b"first <content><", 4), (&long, 4), (b"> short ", 3), (&long, 3)];
    let parts: Vec<_> = sink.parts.iter().map(|(part, reserved)| (&part[..], *reserved)).collect();
    assert!(
        parts == expected,
        "{:?}",
        parts.iter().map(|(part, _)| part.len()).collect::<Vec<_>>()
    );
    assert_eq!((sink.flushes, reserved(), rooms.load(Relaxed)), (1, 0, 3));
}

#[test]
fn long_contents_fill_the_buffer() {
    let output = OutputBuffer::new(true);
    let append = || {
        let record = RecordParts::owned(vec![b'x'; Bounds::CONTENT.full - 1]);
        output.append(record, None, None);
    };
    append();
    assert!(!output.is_full());
    append();
    assert!(output.is_full());
    let (reader, sink) = pipe();
    drop(reader);
    output.write_to(&mut Plain(sink), || ()).expect_err("the reader closed it");
    append();
    append();
    assert!(!output.is_full(), "discarded");
}

#[test]
fn a_reader_that_closes_the_output_ends_the_writing() {
    let output = OutputBuffer::default();
    let (reader, sink) = pipe();
    drop(reader);
    output.append(RecordParts::borrowed(b"a\n"), None, None);
    let error = output.write_to(&mut Plain(sink), || ()).expect_err("the reader closed it");
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    output.append(RecordParts::borrowed(&vec![b'\n'; 2 * Bounds::LINES.full]), None, None);
    assert!(!output.is_full(), "discarded");
}
