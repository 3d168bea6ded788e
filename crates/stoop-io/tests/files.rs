//! Parts of files in the output of a socket, between other bytes.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stoop_io::{AnyTransport, FileError, FilePiece, Memory, Output, Tcp, Transport, Unix, from_io};
use tokio::net::UnixStream;

/// A file that is removed after the test.
struct TestFile(PathBuf, Arc<File>);

impl TestFile {
    fn with(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-io-{name}-{}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        Self(path, Arc::new(file))
    }

    fn piece(&self, offset: u64, len: usize) -> FilePiece {
        FilePiece::new(Arc::clone(&self.1), offset, len)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A transport, and the blocking socket at its other end.
async fn tcp_pair() -> (Tcp, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = Tcp::connect(listener.local_addr().unwrap()).await.unwrap();
    (ours, listener.accept().unwrap().0)
}

fn read_all(mut theirs: impl Read) -> Vec<u8> {
    let mut got = Vec::new();
    theirs.read_to_end(&mut got).unwrap();
    got
}

async fn flush(transport: &mut impl Transport, out: &mut Output) -> io::Result<()> {
    poll_fn(|cx| transport.poll_flush(cx, out)).await
}

fn pattern(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n % 249) as u8).collect()
}

/// Sends a head, three parts of files and what is between them, and returns what arrives; the reader
/// takes `read` bytes at a time.
async fn sent_over<T: Transport>(
    mut ours: T,
    mut theirs: impl Read + Send + 'static,
    read: usize,
    file: &TestFile,
) -> Vec<u8> {
    assert!(ours.sends_files());
    let reader = std::thread::spawn(move || {
        let (mut got, mut space) = (Vec::new(), vec![0; read]);
        loop {
            let n = theirs.read(&mut space).unwrap();
            got.extend_from_slice(&space[..n]);
            if n == 0 {
                return got;
            }
        }
    });
    let mut out = Output::default();
    out.put(b"HTTP/1.1 200 OK\r\n\r\n");
    out.put_file(file.piece(0, 1));
    out.put(b"--");
    out.share(vec![b'x'; 9_000].into());
    out.put_file(file.piece(1_000_000, 2_000_000));
    out.put(b"next");
    out.put_file(file.piece(7, 100));
    flush(&mut ours, &mut out).await.unwrap();
    assert!(out.is_empty() && !out.has_files());
    drop(ours);
    reader.join().unwrap()
}

#[tokio::test]
async fn bytes_and_files_arrive_in_their_order_whatever_the_reader_takes_at_a_time() {
    let content = pattern(3_000_000);
    let file = TestFile::with("order", &content);
    let expected = [
        b"HTTP/1.1 200 OK\r\n\r\n",
        &content[..1],
        b"--",
        &[b'x'; 9_000],
        &content[1_000_000..],
        b"next",
        &content[7..107],
    ]
    .concat();
    for read in [1 << 20, 997] {
        let (ours, theirs) = tcp_pair().await;
        assert!(sent_over(ours, theirs, read, &file).await == expected, "over TCP, by {read}");
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let ours = UnixStream::from_std(ours).unwrap();
        let got = sent_over(Unix::new(ours), theirs, read, &file).await;
        assert!(got == expected, "over a Unix socket, by {read}");
    }
}

/// One `recv` has the head and the file, though its thread waits for the first byte: they leave as one segment.
#[tokio::test]
async fn a_head_waits_for_the_file_behind_it() {
    let file = TestFile::with("segment", b"hello");
    for _ in 0..200 {
        let (mut ours, mut theirs) = tcp_pair().await;
        let reader = std::thread::spawn(move || {
            let mut space = [0; 100];
            let n = theirs.read(&mut space).unwrap();
            space[..n].to_vec()
        });
        let mut out = Output::default();
        out.put(b"head ");
        out.put_file(file.piece(0, 5));
        // The reader blocks meanwhile, as a rule; where it does not yet, the test says less.
        std::thread::yield_now();
        flush(&mut ours, &mut out).await.unwrap();
        assert_eq!(reader.join().unwrap(), b"head hello");
    }
}

#[tokio::test]
async fn a_file_that_is_cut_while_it_is_sent_fails_and_no_other_bytes_follow() {
    let file = TestFile::with("cut", &pattern(10_000));
    let (mut ours, theirs) = tcp_pair().await;
    let mut out = Output::default();
    out.put(b"head");
    out.put_file(file.piece(0, 10_000));
    out.put(b"next");
    file.1.set_len(6_000).unwrap();
    let error = flush(&mut ours, &mut out).await.unwrap_err();
    assert_eq!(FileError::of(&error), Some(FileError::Shorter));
    assert_eq!(out.len(), 4_004);
    drop(ours);
    assert!(read_all(theirs) == [b"head", &pattern(6_000)[..]].concat());
}

#[tokio::test]
async fn a_sparse_file_is_sent_from_beyond_four_gibibytes() {
    let file = TestFile::with("sparse", b"");
    let offset = (5 << 30) + 3;
    file.1.write_all_at(b"far away", offset).unwrap();
    let (mut ours, theirs) = tcp_pair().await;
    let mut out = Output::default();
    out.put_file(file.piece(offset - 2, 10));
    flush(&mut ours, &mut out).await.unwrap();
    drop(ours);
    assert_eq!(read_all(theirs), b"\0\0far away");
}

/// A reader that takes nothing holds up its own connection alone, and nothing of the file is in memory.
#[tokio::test]
async fn a_reader_that_takes_nothing_is_waited_for() {
    let file = TestFile::with("stall", b"");
    file.1.set_len(1 << 30).unwrap();
    let (mut ours, theirs) = tcp_pair().await;
    let mut out = Output::default();
    out.put_file(file.piece(0, 1 << 30));
    let waits = tokio::time::timeout(Duration::from_millis(50), flush(&mut ours, &mut out)).await;
    assert!(waits.is_err() && out.len() > 1 << 29 && out.has_files());
    drop(theirs);
    let error = flush(&mut ours, &mut out).await.unwrap_err();
    assert_eq!(FileError::of(&error), None, "the connection is at fault: {error}");
}

#[tokio::test]
async fn a_transport_that_sends_no_files_says_so() {
    let file = TestFile::with("refused", b"hello");
    let (memory, _theirs) = Memory::pair(100);
    let (socket, _theirs) = UnixStream::pair().unwrap();
    for mut transport in [AnyTransport::from(memory), from_io(socket)] {
        assert!(!transport.sends_files());
        let mut out = Output::default();
        out.put(b"head");
        out.put_file(file.piece(0, 5));
        let error = flush(&mut transport, &mut out).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
