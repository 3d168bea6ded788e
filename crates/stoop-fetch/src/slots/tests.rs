use super::*;
use crate::job::{Extent, Job};

fn begin(slots: &mut SlotTable, index: usize, line: &[u8], extent: Extent) {
    let begun = slots.begin(index, |into| {
        into.put(Job::new(line).with_extent(extent), None);
        true
    });
    assert!(begun);
}

#[test]
fn a_line_is_answered_once() {
    let mut slots = SlotTable::new(1);
    let index = slots.open();
    assert!(slots.answer(index).is_none(), "nothing began");
    begin(&mut slots, index, b"line", Extent::Whole);
    let answered = slots.answer(index).expect("pending");
    assert_eq!(answered.job.url, b"line");
    slots.keep(index, answered);
    assert!(slots.answer(index).is_none());
    begin(&mut slots, index, b"next", Extent::Overlong);
    assert!(slots.answer(index).is_some());
}

#[test]
fn only_lines_without_an_answer_can_be_overdue() {
    let mut slots = SlotTable::new(1);
    let index = slots.open();
    begin(&mut slots, index, b"line", Extent::Whole);
    let limit = Duration::from_secs(60);
    let at_the_limit = slots.slot(index).start + limit;
    let later = at_the_limit + Duration::from_nanos(1);
    assert!(!slots.is_overdue(index, limit, at_the_limit));
    assert!(slots.is_overdue(index, limit, later));
    slots.answer(index);
    assert!(!slots.is_overdue(index, limit, later));
}

#[test]
fn slots_are_reused_and_the_memory_of_long_lines_is_freed() {
    let mut slots = SlotTable::new(1);
    let (first, second) = (slots.open(), slots.open());
    assert_eq!((first, second, slots.open_count()), (0, 1, 2));
    begin(&mut slots, first, &[b'x'; 60_000], Extent::Whole);
    begin(&mut slots, first, b"short", Extent::Whole);
    assert!(slots.slot(first).job.url.capacity() <= 2048);
    assert!(slots.close(first), "it had a permit");
    assert_eq!(slots.open(), first);
    assert_eq!(slots.indices(), 0..2);
}

#[test]
fn a_job_that_waits_has_no_permit_and_its_clock_stands_still() {
    let mut slots = SlotTable::new(1);
    let index = slots.open();
    begin(&mut slots, index, b"line", Extent::Whole);
    let (start, limit) = (slots.slot(index).start, Duration::from_secs(60));
    let later = start + Duration::from_secs(1);
    let left = slots.leave_flight(index, Some(later));
    assert_eq!(left, (true, true), "it had a permit, and was in flight");
    let left = slots.leave_flight(index, Some(later + limit));
    assert_eq!(left, (false, false), "it waits already");
    assert_eq!((slots.permits(), slots.waiting(), slots.open_count()), (0, 1, 1));
    assert!(!slots.is_overdue(index, limit, start + 2 * limit));
    let answered = slots.answer(index).expect("pending");
    assert_eq!((answered.duration, answered.was_in_flight), (Duration::from_secs(1), false));
    slots.keep(index, answered);
    assert!(!slots.is_crowded());
    slots.waiting_max = 1;
    assert!(slots.is_crowded());
    (slots.waiting_max, slots.waiting_bytes_max) = (2, 4);
    assert!(slots.is_crowded(), "by the bytes of the line");
    slots.waiting_bytes_max = 5;
    assert!(!slots.is_crowded());
    assert!(!slots.close(index), "it has no permit");
    assert_eq!((slots.permits(), slots.waiting(), slots.open_count()), (0, 0, 0));

    assert_eq!(slots.open(), index);
    begin(&mut slots, index, b"line", Extent::Whole);
    let start = slots.slot(index).start;
    // It waited for a minute, by now.
    assert_eq!(slots.leave_flight(index, Some(start - limit)), (true, true));
    assert!(slots.go_on(index, true), "it is in flight");
    assert!(slots.slot(index).start >= start + limit && slots.slot(index).sent >= start);
    assert_eq!((slots.permits(), slots.waiting(), slots.waiting_bytes), (1, 0, 0));
    assert!(slots.answer(index).expect("pending").was_in_flight);
    slots.give_permit_away(index);
    assert!(!slots.close(index), "it has no permit any more");
}

#[test]
fn a_job_whose_content_waits_for_memory_is_in_flight_and_not_overdue() {
    let mut slots = SlotTable::new(1);
    let index = slots.open();
    begin(&mut slots, index, b"line", Extent::Whole);
    let (start, limit) = (slots.slot(index).start, Duration::from_secs(60));
    slots.stop_clock(index);
    assert!(!slots.is_overdue(index, limit, start + 2 * limit));
    // It waited for a minute, by now.
    slots.all[index].stopped = start.checked_sub(limit);
    slots.start_clock(index);
    assert!(slots.slot(index).start >= start + limit);
    assert!(slots.is_overdue(index, limit, start + 3 * limit), "its clock goes on");
    slots.stop_clock(index);
    slots.all[index].stopped = Some(slots.slot(index).start);
    let answered = slots.answer(index).expect("pending");
    assert_eq!((answered.duration, answered.was_in_flight), (Duration::ZERO, true));
    assert!(answered.stood_still >= limit && answered.stood_still < 3 * limit);
    assert_eq!(answered.end_ms(), answered.start_ms + answered.stood_still.as_millis() as i64);
    begin(&mut slots, index, b"next", Extent::Whole);
    assert_eq!(slots.slot(index).begun, slots.slot(index).start, "the next has not stood still");
    assert!(slots.is_overdue(index, Duration::ZERO, Instant::now() + limit));
    assert!(slots.close(index), "it has its permit");
}

#[test]
fn the_clock_of_a_job_goes_on_during_the_delay_of_a_retry() {
    let mut slots = SlotTable::new(1);
    let index = slots.open();
    begin(&mut slots, index, b"line", Extent::Whole);
    let (start, limit) = (slots.slot(index).start, Duration::from_secs(60));
    assert_eq!(slots.leave_flight(index, None), (true, true));
    assert_eq!((slots.permits(), slots.waiting()), (0, 1));
    assert!(slots.is_overdue(index, limit, start + 2 * limit));
    // Then it waits for its turn.
    let later = start + Duration::from_secs(1);
    assert_eq!(slots.leave_flight(index, Some(later)), (false, false));
    assert!(!slots.is_overdue(index, limit, start + 2 * limit));
    let answered = slots.answer(index).expect("pending");
    assert_eq!((answered.duration, answered.was_in_flight), (Duration::from_secs(1), false));

    begin(&mut slots, index, b"line", Extent::Whole);
    assert!(slots.go_on(index, true));
    assert_eq!(slots.leave_flight(index, None), (true, true));
    let start = slots.slot(index).start;
    assert!(slots.go_on(index, true), "at once");
    assert_eq!((slots.slot(index).start, slots.waiting()), (start, 0));
}
