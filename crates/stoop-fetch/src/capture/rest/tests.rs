//! A part of content of which no more is asked for.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use super::*;
use crate::capture::{BodyBudget, Capture, Clock, Collector, SpillSettings};
use crate::digests::Digests;

/// A clock that notes when it stands still.
#[derive(Default)]
struct Noted {
    told: RefCell<Vec<&'static str>>,
    is_stopped: Cell<bool>,
}

impl Clock for Noted {
    fn stop(&self) {
        self.told.borrow_mut().push("stop");
        self.is_stopped.set(true);
    }

    fn go_on(&self) {
        self.told.borrow_mut().push("go on");
        self.is_stopped.set(false);
    }

    fn gave_back(&self) {}

    fn received(&self, _: usize) {}

    fn due(&self) -> Option<Instant> {
        None
    }
}

/// The time in which the disk was waited for counted to the duration of the job.
#[tokio::test]
async fn the_clock_stands_still_while_content_that_is_given_up_is_written() {
    let digests = Digests { blake3: false, sha256: true };
    let settings = SpillSettings::new(None, digests, 2);
    let spilling = settings.of(200).expect("digests are work");
    let begun = spilling.begin(vec![Bytes::from_static(b"beginning")], || true).await;
    let whole = Whole {
        status: StatusCode::OK,
        url: "http://a/".to_owned(),
        fields: Fields::new(),
        validator: (*b"\"1\"").into(),
        length: Some(20),
    };
    let part = Part {
        spill: begun.expect("no file"),
        beginning: Bytes::from_static(b"be"),
        reservation: Reservation::default(),
        received: 9,
        whole,
    };
    let collector = Collector {
        budget: Arc::new(BodyBudget::new(1 << 20)),
        cut_at: None,
        has_exchanges: false,
        keep_max: usize::MAX,
        spilling: Some(settings.clone()),
    };
    let (mut capture, clock) =
        (Capture::new("http://a/", 200, Fields::new(), ""), Noted::default());
    collector.give_up(part, &mut capture, &clock).await;
    assert_eq!((&*clock.told.borrow(), clock.is_stopped.get()), (&vec!["stop", "go on"], false));
    assert_eq!(capture.spilled().map(|spilled| spilled.length), Some(9));
    assert_eq!(capture.content, "be");
}
