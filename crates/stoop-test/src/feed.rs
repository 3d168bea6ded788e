//! Feeds one message to a machine in every way it can arrive: whole, in two pieces cut anywhere, byte by
//! byte, and with the next message behind it. The outcome must be the same for all of them.

use std::fmt::Debug;

pub mod h2;
mod requests;
mod responses;

pub use requests::{
    ReadRequest, ServerOutcome, accepted, accepted_within, refused, refused_within, serve,
    serve_once,
};
pub use responses::{ReadResponse, ResponseEnd, SentRequest, read_once};

/// A message of up to this many bytes is cut at every place, a longer one at some.
const CUT_EVERYWHERE_MAX: usize = 700;

/// The cuts of a message of `len` bytes that are fed, each as the lengths of its pieces.
pub fn every_cut(len: usize) -> impl Iterator<Item = Vec<usize>> {
    let step = (len / CUT_EVERYWHERE_MAX * 32).max(1);
    let near_ends = (1..len.min(8)).chain(len.saturating_sub(8).max(1)..len);
    let in_two = (1..len).step_by(step).chain(near_ends.filter(move |_| step > 1));
    let even = [1, 2, 3, 7, 64].into_iter().filter(move |size| *size < len);
    let whole = (len > 0).then(|| vec![len]);
    whole.into_iter().chain(in_two.map(move |cut| vec![cut, len - cut])).chain(even.map(
        move |size| {
            let mut pieces = vec![size; len / size];
            pieces.extend(Some(len % size).filter(|&rest| rest > 0));
            pieces
        },
    ))
}

/// Calls `feed` with every cut of `wire`, and asserts that the result is the same.
///
/// # Panics
/// If two results differ.
#[track_caller]
pub fn same_for_every_cut<T: PartialEq + Debug>(wire: &[u8], feed: impl Fn(&[&[u8]]) -> T) -> T {
    let whole = feed(&[wire]);
    for pieces in every_cut(wire.len()) {
        let mut rest = wire;
        let cut = pieces.iter().map(|&len| {
            let (piece, after) = rest.split_at(len);
            rest = after;
            piece
        });
        let cut: Vec<&[u8]> = cut.collect();
        let shown = &pieces[..pieces.len().min(3)];
        assert_eq!(feed(&cut), whole, "cut into {shown:?}…: {}", wire.escape_ascii());
    }
    whole
}
