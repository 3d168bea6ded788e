//! The order of what is sent, what is held of it, and parts of files among it.

use super::*;
use std::collections::VecDeque;

fn flat(out: &Output) -> Vec<u8> {
    if out.is_gathered() {
        out.with_slices(|slices| slices.iter().flat_map(|s| s.to_vec()).collect())
    } else {
        out.front().to_vec()
    }
}

#[test]
fn small_pieces_are_copied_into_one_run() {
    let mut out = Output::default();
    out.put(b"HTTP/1.1 200 OK\r\n");
    out.share(Bytes::from_static(b"\r\n"));
    assert!(!out.is_gathered());
    assert_eq!(out.front(), b"HTTP/1.1 200 OK\r\n\r\n");
}

#[test]
fn bytes_keep_their_order_however_they_are_sent() {
    let large: Vec<u8> = (0..5_000u32).map(|n| n as u8).collect();
    for step in [1, 7, 4_096, 100_000] {
        let mut out = Output::default();
        out.put(b"head one");
        out.share(large.clone().into());
        out.put(b"head two");
        out.put(b"!");
        out.share(large.clone().into());
        let expected = [b"head one", &large[..], b"head two!", &large[..]].concat();
        let mut sent = Vec::new();
        assert_eq!(flat(&out), expected);
        while !out.is_empty() {
            let n = step.min(out.front().len().max(1)).min(out.len());
            sent.extend_from_slice(&flat(&out)[..n]);
            out.advance(n);
            if sent.len() == 9 {
                assert_eq!(flat(&out), expected[9..]);
            }
        }
        assert_eq!(sent, expected, "in steps of {step}");
        assert_eq!((out.run.capacity(), out.held()), (0, 0));
    }
}

#[test]
fn a_file_keeps_its_place_between_what_is_put_before_and_behind_it() {
    let file = std::sync::Arc::new(std::fs::File::open("/dev/null").unwrap());
    let mut out = Output::default();
    out.put(b"head");
    out.put_file(FilePiece::new(file.clone(), 5, 0));
    assert!(!out.has_files() && !out.is_gathered());
    out.put_file(FilePiece::new(file.clone(), 5, 1_000));
    out.put(b"\r\n");
    out.put_file(FilePiece::new(file, 9, 10));
    assert_eq!((out.len(), out.held(), flat(&out)), (1_016, 1_016, b"head".to_vec()));
    out.advance(3);
    assert_eq!((flat(&out), out.front_file().is_none()), (b"d".to_vec(), true));
    out.advance(400);
    assert!(out.front().is_empty() && flat(&out).is_empty());
    let front = out.front_file().unwrap();
    assert_eq!((front.offset(), front.len(), out.len()), (404, 601, 613));
    out.advance(601);
    assert_eq!((flat(&out), out.front_file().is_none()), (b"\r\n".to_vec(), true));
    out.advance(3);
    assert_eq!((out.front_file().unwrap().offset(), out.has_files()), (10, true));
    out.advance(9);
    assert_eq!((out.len(), out.held(), out.has_files()), (0, 0, false));
    out.put(b"next");
    assert_eq!((out.front(), out.is_gathered()), (&b"next"[..], false));
}

/// Output that a slow reader never lets become empty: each turn puts a piece, and sends about as
/// much as there is beyond 1,000 bytes.
#[test]
fn sent_bytes_are_freed_though_some_always_wait() {
    let mut made = 0u8;
    for size in [1, 100, 1_000, 9_000] {
        let mut out = Output::default();
        let mut expected = VecDeque::new();
        let mut held_max = 0;
        for _ in 0..2_000 {
            made = made.wrapping_add(1);
            let piece = vec![made; size];
            out.put(b"size\r\n");
            expected.extend(b"size\r\n");
            expected.extend(&piece);
            out.share(piece.into());
            held_max = held_max.max(out.held());
            if out.len() > 1_000 {
                let n = out.len() - 1_000;
                let sent: Vec<u8> = flat(&out).into_iter().take(n).collect();
                assert!(sent.iter().copied().eq(expected.drain(..sent.len())));
                out.advance(sent.len());
            }
        }
        let bound = 1_000 + RUN_BYTES_MAX + 2 * (size + 6);
        assert!(held_max <= bound, "{held_max} bytes held of pieces of {size}");
        assert!(out.run.capacity() <= RUN_BYTES_MAX, "{}", out.run.capacity());
    }
}

#[test]
fn long_output_takes_many_runs_and_keeps_its_order() {
    let mut out = Output::default();
    let mut expected = Vec::new();
    for n in 0..30_000u32 {
        out.put(&n.to_be_bytes());
        expected.extend(n.to_be_bytes());
        if n % 10_000 == 7 {
            out.share(vec![n as u8; 5_000].into());
            expected.extend([n as u8; 5_000]);
        }
    }
    out.put(&[7; 100_000]);
    expected.extend([7; 100_000]);
    assert_eq!((out.len(), out.held()), (expected.len(), expected.len()));
    let mut sent = Vec::new();
    while !out.is_empty() {
        let some = flat(&out);
        let n = some.len().min(10_007);
        sent.extend_from_slice(&some[..n]);
        out.advance(n);
    }
    assert!(sent == expected && out.held() == 0);
}
