use super::*;
use crate::h2::window;

fn open(streams: &mut Streams, id: u32, urgency: u8, incremental: bool) -> StreamKey {
    let receive = ReceiveWindow::new(window::INITIAL);
    let mut stream = StreamEntry::new(id, SendWindow::new(1 << 30), receive);
    stream.step(StreamInput::ReceiveHead);
    stream.head_sent = true;
    stream.priority = Priority { urgency, incremental };
    streams.insert(stream)
}

/// The identifiers of those whose turn it is, `count` times, each sending `bytes`.
fn turns(streams: &mut Streams, count: usize, bytes: u32) -> Vec<u32> {
    let mut turn = || {
        let key = streams.next_to_send().unwrap();
        streams.sent(key, bytes);
        streams.get(key).unwrap().id
    };
    (0..count).map(|_| turn()).collect()
}

#[test]
fn places_are_used_again() {
    let mut streams = Streams::default();
    let first = open(&mut streams, 1, 3, true);
    let second = open(&mut streams, 3, 3, true);
    assert_eq!((streams.find(1), streams.find(3), streams.len()), (Some(first), Some(second), 2));
    streams.remove(first);
    assert_eq!((streams.find(1), streams.len()), (None, 1));
    assert!(streams.get(first).is_none());
    assert_eq!(open(&mut streams, 5, 3, true), first);
    assert_eq!(streams.keys().collect::<Vec<_>>(), [first, second]);
}

#[test]
fn only_a_stream_with_content_and_window_has_a_turn() {
    let mut streams = Streams::default();
    let key = open(&mut streams, 1, 3, true);
    assert_eq!(streams.next_to_send(), None);
    streams.set_wants_to_send(key, true);
    assert_eq!(streams.next_to_send(), Some(key));
    let all = streams.get(key).unwrap().send.available();
    streams.sent(key, all);
    assert_eq!(streams.next_to_send(), None);
    streams.get_mut(key).unwrap().send.grow(1).unwrap();
    streams.update_queue(key);
    assert_eq!(streams.next_to_send(), Some(key));
    streams.set_wants_to_send(key, false);
    assert_eq!(streams.next_to_send(), None);
    streams.set_wants_to_send(key, true);
    streams.remove(key);
    assert_eq!(streams.next_to_send(), None);
}

#[test]
fn incremental_streams_take_turns_and_others_go_one_after_the_other() {
    let mut streams = Streams::default();
    for id in [1, 3, 5] {
        let key = open(&mut streams, id, 3, true);
        streams.set_wants_to_send(key, true);
    }
    assert_eq!(turns(&mut streams, 6, 16_384), [1, 3, 5, 1, 3, 5]);
    let mut streams = Streams::default();
    for id in [1, 3] {
        let key = open(&mut streams, id, 3, false);
        streams.set_wants_to_send(key, true);
    }
    assert_eq!(turns(&mut streams, 4, 16_384), [1, 1, 1, 1]);
    let key = streams.find(1).unwrap();
    streams.set_wants_to_send(key, false);
    assert_eq!(turns(&mut streams, 2, 16_384), [3, 3]);
}

#[test]
fn no_stream_waits_for_an_endless_one() {
    let mut streams = Streams::default();
    for id in [1, 3] {
        let key = open(&mut streams, id, 3, false);
        streams.set_wants_to_send(key, true);
    }
    let ids = turns(&mut streams, 130, 16_384);
    assert_eq!(ids.iter().position(|&id| id == 3), Some(64));
    assert_eq!(ids.iter().rposition(|&id| id == 3), Some(127));
}

#[test]
fn more_urgent_streams_go_first_but_not_always() {
    let mut streams = Streams::default();
    for (id, urgency) in [(1, 6), (3, 1), (5, 1)] {
        let key = open(&mut streams, id, urgency, true);
        streams.set_wants_to_send(key, true);
    }
    let ids = turns(&mut streams, 170, 1_000);
    assert_eq!(ids[..4], [3, 5, 3, 5]);
    assert_eq!(ids.iter().filter(|&&id| id == 1).count(), 10);
}

#[test]
fn less_urgent_streams_do_not_starve() {
    let mut streams = Streams::default();
    for urgency in 0..8 {
        let key = open(&mut streams, 1 + 2 * u32::from(urgency), urgency, urgency % 2 == 0);
        streams.set_wants_to_send(key, true);
    }
    let ids = turns(&mut streams, 230, 1_000);
    for urgency in 1..8 {
        assert_eq!(ids.iter().filter(|&&id| id == 1 + 2 * urgency).count(), 10, "{ids:?}");
    }
}

#[test]
fn a_stream_that_has_not_begun_its_message_has_no_turn() {
    let mut streams = Streams::default();
    let key = open(&mut streams, 1, 3, true);
    streams.get_mut(key).unwrap().head_sent = false;
    streams.set_wants_to_send(key, true);
    assert_eq!(streams.next_to_send(), None);
    streams.get_mut(key).unwrap().head_sent = true;
    streams.update_queue(key);
    assert_eq!(streams.next_to_send(), Some(key));
}

#[test]
fn the_priority_of_a_waiting_stream_can_change() {
    let mut streams = Streams::default();
    for id in [1, 3] {
        let key = open(&mut streams, id, 3, true);
        streams.set_wants_to_send(key, true);
    }
    let last = streams.find(3).unwrap();
    streams.set_priority(last, Priority { urgency: 0, incremental: false });
    assert_eq!(turns(&mut streams, 3, 1), [3, 3, 3]);
    streams.remove(last);
    assert_eq!(turns(&mut streams, 2, 1), [1, 1]);
}

#[test]
fn a_stream_that_has_closed_is_there_until_it_is_removed() {
    let mut streams = Streams::default();
    let key = open(&mut streams, 1, 3, true);
    streams.get_mut(key).unwrap().step(StreamInput::Reset);
    assert!(streams.get(key).is_some());
    streams.remove(key);
    assert_eq!((streams.get(key).is_none(), streams.find(1), streams.len()), (true, None, 0));
    streams.remove(key);
    assert_eq!(streams.len(), 0);
}
