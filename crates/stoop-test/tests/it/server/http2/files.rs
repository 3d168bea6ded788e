//! Responses from files to clients that open their windows slowly: what may not be sent is not read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use stoop::{Body, Request, Response, ServerLimits};
use stoop_test::frames::{
    HEADER_BYTES, PREFACE, flag, headers, kind, rst_stream, settings, settings_ack, split,
    window_update,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep};

use super::super::{connect_with, seconds};
use super::GET;
use crate::programs::TestFolder;

/// A client whose streams have that window, and the file that all its requests are answered with.
struct FileClient {
    stream: DuplexStream,
    unread: Vec<u8>,
    file: Arc<File>,
    _folder: TestFolder,
}

impl FileClient {
    /// Asks so many times for a file of `len` times `a`.
    async fn ask(name: &str, len: usize, window: u32, requests: u32) -> Self {
        let folder = TestFolder::new(name);
        let path = folder.write("file", vec![b'a'; len]);
        let file = Arc::new(File::options().read(true).write(true).open(path).unwrap());
        let served = file.clone();
        let (peer, _) = connect_with(ServerLimits::default(), move |_: Request| {
            Response::new(Body::from_file(served.clone(), 0..len as u64))
        });
        let mut begin = [PREFACE.to_vec(), settings(&[(4, window)]), settings_ack()].concat();
        for n in 0..requests {
            begin.extend(headers(2 * n + 1, flag::WHOLE, &GET));
        }
        let mut stream = peer.into_parts().0;
        stream.write_all(&begin).await.unwrap();
        // All that it may send was sent.
        sleep(seconds(1)).await;
        Self { stream, unread: Vec::new(), file, _folder: folder }
    }

    /// Replaces what is in the file from `from` on, in place.
    fn change(&self, len: usize, from: usize) {
        self.file.write_all_at(&vec![b'b'; len - from], from as u64).unwrap();
    }

    async fn send(&mut self, bytes: Vec<u8>) {
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// The next frame of that kind: its stream, flags and payload.
    async fn next(&mut self, wanted: u8) -> (u32, u8, Vec<u8>) {
        loop {
            while let Some((header, payload, _)) = split(&self.unread) {
                let payload = payload.to_vec();
                self.unread.drain(..HEADER_BYTES + payload.len());
                if header[3] == wanted {
                    let stream = u32::from_be_bytes(header[5..9].try_into().unwrap());
                    return (stream, header[4], payload);
                }
            }
            assert!(self.stream.read_buf(&mut self.unread).await.unwrap() > 0, "it is closed");
        }
    }

    /// The content of a stream, to its end.
    async fn content(&mut self) -> Vec<u8> {
        let mut content = Vec::new();
        loop {
            let (_, flags, payload) = self.next(kind::DATA).await;
            content.extend(payload);
            if flags & flag::END_STREAM != 0 {
                return content;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_is_not_read_for_a_window_that_is_closed() {
    for len in [1_000, 16 * 1024, 65_000] {
        let mut client = FileClient::ask("closed-window", len, 0, 1).await;
        client.change(len, 0);
        client.send(window_update(1, 100_000)).await;
        assert!(client.content().await == vec![b'b'; len], "{len}: it was read before");
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_of_a_file_is_read_than_the_window_has_room_for() {
    for len in [1_000, 65_000] {
        let mut client = FileClient::ask("narrow-window", len, 10, 1).await;
        client.change(len, 10);
        client.send(window_update(1, 100_000)).await;
        let content = client.content().await;
        assert_eq!(content[..10], [b'a'; 10]);
        assert!(content[10..] == vec![b'b'; len - 10], "{len}: it was read before");
    }
}

/// The window of the connection is used up by the first of them.
#[tokio::test(start_paused = true)]
async fn a_file_is_not_read_for_a_connection_whose_window_is_closed() {
    let len = 65_535;
    let mut client = FileClient::ask("closed-connection", len, 65_535, 40).await;
    client.change(len, 0);
    let mut contents = vec![Vec::new(); 40];
    client.send(window_update(0, 1 << 30)).await;
    for _ in 0..40 {
        loop {
            let (stream, flags, payload) = client.next(kind::DATA).await;
            contents[stream as usize / 2].extend(payload);
            if flags & flag::END_STREAM != 0 {
                break;
            }
        }
    }
    assert!(contents.iter().all(|content| content.len() == len));
    let old: usize =
        contents.iter().map(|content| content.iter().filter(|byte| **byte == b'a').count()).sum();
    assert!(old <= 3 * 65_535, "{old} bytes were read for a window of 65,535");
}

#[tokio::test(start_paused = true)]
async fn a_window_that_stays_closed_ends_a_response_from_a_file() {
    for (len, window) in [(65_000, 0), (65_000, 10), (1_000, 0)] {
        let begin = Instant::now();
        let mut client = FileClient::ask("no-window", len, window, 1).await;
        let (stream, _, code) = client.next(kind::RST_STREAM).await;
        assert_eq!((stream, &rst_stream(1, 8)[9..]), (1, &code[..]));
        let elapsed = begin.elapsed();
        assert!(elapsed > seconds(29) && elapsed < seconds(34), "{elapsed:?}");
        sleep(Duration::ZERO).await;
    }
}
