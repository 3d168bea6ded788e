use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;
use crate::turn::tests::ENDS_WITH;

const ALL: [ContentCoding; 4] =
    [ContentCoding::Gzip, ContentCoding::Deflate, ContentCoding::Brotli, ContentCoding::Zstd];

/// Content in these pieces, and a pause for each that is missing; counts the bytes that were asked for.
struct Script {
    pieces: VecDeque<Option<Bytes>>,
    read: Arc<AtomicUsize>,
}

impl http_body::Body for Script {
    type Data = Bytes;
    type Error = Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match self.pieces.pop_front() {
            Some(None) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Some(piece)) => {
                self.read.fetch_add(piece.len(), Ordering::Relaxed);
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            None => Poll::Ready(None),
        }
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn encoded(coding: ContentCoding, pieces: Vec<Option<Bytes>>) -> (Encoded, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let inner = Body::stream(Script { pieces: pieces.into(), read: read.clone() });
    let encoded = Encoded {
        inner,
        coding,
        encoder: None,
        turn: Turn::default(),
        input: Bytes::new(),
        holds_content: false,
        has_ended: false,
    };
    (encoded, read)
}

/// Polls it to its end: the output, and how many polls were Pending, each of which has to be followed by a wake-up.
fn run(encoded: &mut Encoded, mut polled: impl FnMut()) -> (Vec<u8>, usize) {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let (mut output, mut pauses) = (Vec::new(), 0);
    loop {
        let cx = &mut Context::from_waker(&waker);
        let frame = http_body::Body::poll_frame(Pin::new(&mut *encoded), cx);
        polled();
        match frame {
            Poll::Ready(None) => return (output, pauses),
            Poll::Ready(Some(frame)) => output.extend(frame.unwrap().into_data().unwrap()),
            Poll::Pending => {
                pauses += 1;
                assert!(wakes.0.load(Ordering::Relaxed) >= pauses, "not woken");
            }
        }
    }
}

async fn decoded(coding: ContentCoding, content: Vec<u8>) -> Bytes {
    Body::from(content).decoded(&[coding], 1 << 30, 1 << 30).bytes(1 << 30).await.unwrap()
}

/// Bytes that no coding makes smaller.
fn noise(length: usize) -> Bytes {
    let mut state = 1u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

#[tokio::test]
async fn a_poll_takes_64_kib_at_most_and_is_repeated_after_other_tasks() {
    let zeros = Bytes::from_static(&[0; 16 * 1024]);
    for coding in ALL {
        let (mut encoded, read) = encoded(coding, vec![Some(zeros.clone()); 64]);
        let mut before = 0;
        let polled = || {
            let now = read.load(Ordering::Relaxed);
            assert!(now - before <= 64 * 1024, "{coding}: {} bytes in a poll", now - before);
            before = now;
        };
        // There is no runtime's context in a thread of its own: a yield wakes at once.
        let (output, pauses) =
            std::thread::scope(|scope| scope.spawn(|| run(&mut encoded, polled)).join().unwrap());
        assert!(pauses >= 15, "{coding}: {pauses} pauses");
        assert_eq!(decoded(coding, output).await, vec![0; 1 << 20], "{coding}");
    }
}

/// As of a turn whose time has passed with its second step. Noise gives out pieces, after which its connection asks for more.
#[tokio::test]
async fn other_tasks_have_their_turn_when_its_time_has_passed_however_many_pieces_there_were() {
    for coding in ALL {
        let (mut encoded, _) = encoded(coding, vec![Some(noise(1 << 20))]);
        let in_short_turns = || {
            ENDS_WITH.set(Some(2));
            run(&mut encoded, || ())
        };
        let (output, pauses) =
            std::thread::scope(|scope| scope.spawn(in_short_turns).join().unwrap());
        assert!(pauses >= 64, "{coding}: {pauses} pauses");
        assert!(decoded(coding, output).await == noise(1 << 20), "{coding}");
    }
}

#[tokio::test]
async fn a_large_piece_is_taken_in_as_many_polls_as_small_ones() {
    for coding in ALL {
        let (mut encoded, _) = encoded(coding, vec![Some(vec![0; 1 << 20].into())]);
        let (output, pauses) =
            std::thread::scope(|scope| scope.spawn(|| run(&mut encoded, || ())).join().unwrap());
        assert!(pauses >= 15, "{coding}: {pauses} pauses");
        assert_eq!(decoded(coding, output).await, vec![0; 1 << 20], "{coding}");
    }
}

/// Within a block of a coding, at its end, and twice in a row.
#[tokio::test]
async fn pauses_end_nothing_wherever_they_are() {
    for (coding, piece) in ALL.into_iter().flat_map(|coding| {
        [1, 16 * 1024, 64 * 1024, 128 * 1024].map(|length| (coding, noise(length)))
    }) {
        let pieces = (0..3).flat_map(|_| [Some(piece.clone()), None, None]).collect();
        let (mut encoded, _) = encoded(coding, pieces);
        let (output, _) =
            std::thread::scope(|scope| scope.spawn(|| run(&mut encoded, || ())).join().unwrap());
        assert!(decoded(coding, output).await == piece.repeat(3), "{coding}, {}", piece.len());
    }
}

#[test]
fn an_encoder_is_there_from_the_first_content_to_the_last() {
    // However long it takes.
    ENDS_WITH.set(Some(u32::MAX));
    for coding in ALL {
        let pieces = vec![None, Some(Bytes::new()), Some("hello".into()), None];
        let (mut encoded, _) = encoded(coding, pieces);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(encoded.poll_piece(&mut cx).is_pending());
        assert!(encoded.encoder.is_none(), "{coding}: before there is content");
        assert!(
            matches!(encoded.poll_piece(&mut cx), Poll::Ready(Ok(output)) if !output.is_empty())
        );
        assert!(encoded.encoder.is_some(), "{coding}");
        assert!(
            matches!(encoded.poll_piece(&mut cx), Poll::Ready(Ok(output)) if !output.is_empty())
        );
        assert!(encoded.encoder.is_none(), "{coding}: after the end");
    }
}

/// RFC 8878 §3.1.1.1.2: 2^(10 + 7) bytes. RFC 7932 §9.1: the bit 0 for 2^16.
#[test]
fn a_stream_has_a_window_of_128_kib_at_most() {
    let start = |coding| {
        let (mut encoded, _) = encoded(coding, vec![Some(noise(100))]);
        run(&mut encoded, || ()).0
    };
    assert_eq!(start(ContentCoding::Zstd)[..6], *b"\x28\xb5\x2f\xfd\x00\x38");
    assert_eq!(start(ContentCoding::Brotli)[0] & 1, 0);
}

#[test]
fn a_buffer_has_the_window_that_its_length_needs() {
    let windows = [(0, 17), (65_536, 17), (131_071, 17), (131_072, 18), (1 << 30, 22)];
    for (length, window) in windows {
        assert_eq!(brotli_settings(Some(length)).1, window, "{length}");
    }
    // RFC 8878 §3.1.1.1: one segment, whose size is in two bytes, less 256.
    let encoded = encode(ContentCoding::Zstd, &[0; 1000]).unwrap();
    assert_eq!(encoded[..7], *b"\x28\xb5\x2f\xfd\x60\xe8\x02");
}
