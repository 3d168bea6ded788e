use super::*;

#[test]
fn one_core_may_take_all_permits() {
    let permits = Permits::new(5, 2);
    assert_eq!(permits.take(0, 1, 3), 3);
    assert_eq!(permits.take(0, 1, 9), 2);
    assert!(!permits.is_wanted_elsewhere(0, 5), "no other worker waits");
    assert_eq!(permits.give_back(Some(0)), Some(0), "no other worker waits, so it gets its own");
}

#[test]
fn a_permit_that_is_given_back_goes_to_another_core_that_waits() {
    let permits = Permits::new(2, 2);
    assert_eq!(permits.take(0, 1, 9), 2);
    assert!(!permits.is_wanted_elsewhere(0, 2));
    assert_eq!(permits.take(1, 1, 1), 0);
    assert!(permits.is_wanted_elsewhere(0, 2), "more than its share of one");
    assert!(!permits.is_wanted_elsewhere(0, 1));
    assert_eq!(permits.give_back(Some(0)), Some(1), "though worker 0 waited first");
    assert_eq!(permits.take(0, 1, 1), 0, "passed on, and not free");
    assert_eq!(permits.take(1, 1, 1), 1);
}

#[test]
fn a_core_without_lines_declines_its_permits() {
    let permits = Permits::new(1, 3);
    assert_eq!(permits.take(0, 1, 1), 1);
    assert_eq!(permits.take(1, 1, 1), 0);
    assert_eq!(permits.take(2, 1, 1), 0);
    assert_eq!(permits.give_back(Some(0)), Some(1));
    assert_eq!(permits.decline(1), Some(2));
    assert_eq!(permits.decline(1), None);
    assert_eq!(permits.take(2, 1, 1), 1);
    assert_eq!(permits.give_back(Some(2)), None);
    assert_eq!(permits.take(0, 1, 5), 1);
}

#[test]
fn a_core_is_queued_once_and_may_leave_the_queue() {
    let permits = Permits::new(1, 2);
    assert_eq!(permits.take(0, 1, 1), 1);
    assert_eq!(permits.take(1, 1, 4), 0);
    assert_eq!(permits.take(1, 1, 4), 0);
    assert_eq!(permits.decline(1), None);
    assert_eq!(permits.give_back(Some(0)), None);
    assert_eq!(permits.take(1, 1, 1), 1);
}

#[test]
fn a_higher_limit_wakes_all_that_wait_and_the_rest_is_free() {
    let permits = Permits::new(2, 3);
    assert_eq!(permits.take(0, 1, 2), 2);
    assert_eq!((permits.take(1, 1, 4), permits.take(2, 1, 1)), (0, 0));
    assert!(permits.is_short());
    let mut woken = Vec::new();
    permits.resize(7, |worker| woken.push(worker));
    assert_eq!((woken, permits.limit()), (vec![1, 2], 7));
    assert!(!permits.is_short());
    assert_eq!((permits.take(1, 1, 4), permits.take(2, 1, 1)), (3, 1));
    assert_eq!(permits.decline(2), Some(1), "worker 2 was passed on two");
    assert_eq!(permits.take(1, 1, 1), 1);
    permits.resize(9, |_| panic!("no worker waits"));
    assert_eq!(permits.take(0, 1, 9), 2);
}

#[test]
fn a_lower_limit_takes_what_is_free_and_then_what_is_given_back() {
    let permits = Permits::new(6, 2);
    assert_eq!((permits.take(0, 1, 2), permits.take(1, 1, 2)), (2, 2));
    permits.resize(3, |_| panic!("none are passed on"));
    assert!(permits.is_wanted_elsewhere(0, 1), "one is owed");
    assert_eq!(permits.take(0, 1, 1), 0);
    assert_eq!(permits.give_back(Some(1)), None);
    assert!(!permits.is_wanted_elsewhere(0, 1));
    assert_eq!(permits.give_back(Some(1)), Some(0), "from here on they are passed on again");
    // What is owed is paid by a higher limit first.
    permits.resize(1, |_| panic!("none are passed on"));
    permits.resize(3, |_| panic!("none are passed on"));
    assert_eq!(permits.take(0, 1, 2), 1);
}

#[test]
fn a_core_that_has_none_is_given_one_though_no_other_has_more_than_its_share() {
    let permits = Permits::new(4, 3);
    assert_eq!((permits.take(0, 0, 2), permits.take(1, 0, 2)), (2, 2));
    assert_eq!(permits.held(), 4);
    assert!(!permits.is_wanted_elsewhere(0, 2));
    assert_eq!(permits.take(2, 0, 5), 0);
    assert!(permits.is_wanted_elsewhere(0, 2) && permits.is_wanted_elsewhere(1, 2));
    assert_eq!(permits.give_back(Some(0)), Some(2));
    assert!(!permits.is_wanted_elsewhere(1, 2), "each has one");
    assert_eq!(permits.take(2, 0, 5), 1);
    assert!(!permits.is_wanted_elsewhere(1, 2), "it waits for more, and has one");
    // Whichever waits longest has one that belongs to no worker.
    assert_eq!(permits.take(0, 1, 5), 0);
    assert_eq!(permits.give_back(None), Some(2));
    assert_eq!(permits.held(), 3, "one was passed on");
}
