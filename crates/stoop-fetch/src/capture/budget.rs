//! The memory that the content of responses may take, over all workers of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is counted: pages of this many bytes, so that a budget of any size fits a semaphore.
const PAGE_BYTES: usize = 4096;

/// What part of the budget copies may take besides.
const COPIES_PART: usize = 4;

/// The budget of a run. Content is received while there is room in it. If there is none, the responses wait for
/// each other, all but one: it is received to its end whatever it takes, so that some always come to theirs, and the
/// memory of a run is at most the budget and one content.
///
/// So they never wait for each other for ever, though each keeps what it has: the one that may take more waits for its
/// server alone, which has a deadline, and then for the reader of the output. Once its record is written, all that it
/// took is free, and so is its place, which the one gets that has waited for it longest.
///
/// A format that writes content otherwise than it was received has a copy of it for a while. A quarter of the budget comes
/// on top for these copies, or one of them.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    pages: Arc<Semaphore>,
    pages_max: usize,
    copies: Arc<Semaphore>,
    copies_max: usize,
    /// The place of the one that may take more than there is.
    exemption: Arc<Semaphore>,
    is_short: AtomicBool,
}

/// The part of the budget that a content has.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    pages: Option<OwnedSemaphorePermit>,
    exemption: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

/// There is no room for a content now, which wants so many pages more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pages: u32,
}

impl Reservation {
    /// Whether it has the place of the one that may take more than there is.
    pub(crate) fn is_exempt(&self) -> bool {
        self.exemption.is_some()
    }
}

impl BodyBudget {
    /// A budget of `bytes`.
    pub(crate) fn new(bytes: usize) -> Self {
        let pages_max = bytes.div_ceil(PAGE_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        let copies_max = pages_max.div_ceil(COPIES_PART);
        Self {
            pages: Arc::new(Semaphore::new(pages_max)),
            pages_max,
            copies: Arc::new(Semaphore::new(copies_max)),
            copies_max,
            exemption: Arc::new(Semaphore::new(1)),
            is_short: AtomicBool::new(false),
        }
    }

    /// Whether so much of it is taken that no job should start: more than half.
    pub(crate) fn is_short(&self) -> bool {
        let is_short = || self.pages.available_permits() < self.pages_max / 2;
        if !is_short() {
            return false;
        }
        self.is_short.store(true, SeqCst);
        // What was given back before that was noted wakes no worker.
        is_short()
    }

    /// Whether jobs may start again that were held back.
    pub(crate) fn take_relief(&self) -> bool {
        self.is_short.load(SeqCst) && !self.is_short() && self.is_short.swap(false, SeqCst)
    }

    /// Makes room for `bytes` more of a content.
    ///
    /// # Errors
    /// There is none, and [`wait`](Self::wait) is to be called.
    pub(crate) fn grow(&self, reservation: &mut Reservation, bytes: usize) -> Result<(), NoRoom> {
        let had = reservation.bytes.div_ceil(PAGE_BYTES);
        reservation.bytes += bytes;
        let wanted = reservation.bytes.div_ceil(PAGE_BYTES) - had;
        if wanted == 0 || reservation.exemption.is_some() {
            return Ok(());
        }
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        match Arc::clone(&self.pages).try_acquire_many_owned(wanted) {
            Ok(pages) => reservation.add(pages),
            Err(_) => return Err(NoRoom { pages: wanted }),
        }
        Ok(())
    }

    /// Whether so little of it is taken that content may have `bytes` more for speed: with them no more than
    /// half, so that jobs start.
    pub(crate) fn is_ample(&self, bytes: usize) -> bool {
        self.pages.available_permits() >= self.pages_max / 2 + bytes.div_ceil(PAGE_BYTES)
    }

    /// Whether more than a quarter of it is taken, so that content goes to its file before it is long.
    pub(crate) fn is_burdened(&self) -> bool {
        self.pages.available_permits() < self.pages_max / 4 * 3
    }

    /// Has a content take `bytes` from now on, which is mostly less than before.
    ///
    /// # Errors
    /// It is more, there is no room for that, and [`wait`](Self::wait) is to be called.
    pub(crate) fn resize(&self, reservation: &mut Reservation, bytes: usize) -> Result<(), NoRoom> {
        reservation.bytes = bytes;
        let wanted = bytes.div_ceil(PAGE_BYTES);
        let had = reservation.pages.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if let Some(pages) = &mut reservation.pages {
            drop(pages.split(had.saturating_sub(wanted)));
        }
        if wanted > had {
            let missing = u32::try_from(wanted - had).unwrap_or(u32::MAX);
            match Arc::clone(&self.pages).try_acquire_many_owned(missing) {
                Ok(pages) => reservation.add(pages),
                Err(_) if reservation.exemption.is_some() => return Ok(()),
                Err(_) => return Err(NoRoom { pages: missing }),
            }
        }
        // All of it has room now.
        reservation.exemption = None;
        Ok(())
    }

    /// Waits for room for a copy of content of `bytes`, which is there once others were made.
    pub(crate) async fn copy(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let pages = bytes.div_ceil(PAGE_BYTES).min(self.copies_max);
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        Arc::clone(&self.copies).acquire_many_owned(pages).await.ok()
    }

    /// Waits for the room that there was not, however long that takes: a reader of the output may stop for a while.
    pub(crate) async fn wait(&self, reservation: &mut Reservation, missing: NoRoom) {
        tokio::select! {
            biased;
            pages = Arc::clone(&self.pages).acquire_many_owned(missing.pages) => {
                pages.into_iter().for_each(|pages| reservation.add(pages));
            }
            exemption = Arc::clone(&self.exemption).acquire_owned() => {
                reservation.exemption = exemption.ok();
            }
        }
    }
}

impl Reservation {
    fn add(&mut self, pages: OwnedSemaphorePermit) {
        match &mut self.pages {
            Some(all) => all.merge(pages),
            None => self.pages = Some(pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn grow(budget: &BodyBudget, reservation: &mut Reservation, bytes: usize) {
        if let Err(missing) = budget.grow(reservation, bytes) {
            budget.wait(reservation, missing).await;
        }
    }

    #[tokio::test]
    async fn content_waits_for_room_and_one_does_not() {
        let budget = BodyBudget::new(3 * PAGE_BYTES);
        let (mut first, mut second, mut third) = Default::default();
        assert_eq!(budget.grow(&mut first, 2 * PAGE_BYTES), Ok(()));
        assert_eq!(budget.grow(&mut second, PAGE_BYTES), Ok(()));
        // The first that waits for room is exempt, to its end.
        assert_eq!(budget.grow(&mut second, 100 * PAGE_BYTES), Err(NoRoom { pages: 100 }));
        budget.wait(&mut second, NoRoom { pages: 100 }).await;
        assert_eq!(budget.grow(&mut second, 100 * PAGE_BYTES), Ok(()));
        let missing = budget.grow(&mut third, 1).expect_err("all is taken");
        let mut waiting = Box::pin(budget.wait(&mut third, missing));
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, waiting.as_mut()).await.is_err());
        drop(second);
        waiting.await;
        assert_eq!(budget.pages.available_permits(), 0);
        drop((first, third));
        assert_eq!(budget.pages.available_permits(), 3);
        assert_eq!(budget.exemption.available_permits(), 1);
    }

    #[tokio::test]
    async fn all_that_wait_come_to_their_end_one_after_the_other() {
        let budget = Arc::new(BodyBudget::new(PAGE_BYTES));
        let receivers: Vec<_> = (0..20)
            .map(|_| {
                let budget = Arc::clone(&budget);
                tokio::spawn(async move {
                    let mut reservation = Reservation::default();
                    for _ in 0..5 {
                        grow(&budget, &mut reservation, PAGE_BYTES).await;
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for receiver in receivers {
            receiver.await.expect("no panic");
        }
        assert_eq!(budget.pages.available_permits(), 1);
    }

    #[tokio::test]
    async fn content_gives_back_what_it_does_not_take_any_more() {
        let budget = BodyBudget::new(8 * PAGE_BYTES);
        let (mut first, mut second) = Default::default();
        assert_eq!(budget.grow(&mut first, 7 * PAGE_BYTES), Ok(()));
        assert!(!budget.is_ample(1));
        let missing = budget.grow(&mut second, 3 * PAGE_BYTES).expect_err("one page is left");
        budget.wait(&mut second, missing).await;
        assert!(second.exemption.is_some());
        // What has no room stays exempt, and what has is not.
        assert_eq!(budget.resize(&mut second, 2 * PAGE_BYTES), Ok(()));
        assert!(second.exemption.is_some());
        assert_eq!(budget.resize(&mut second, PAGE_BYTES), Ok(()));
        assert!(second.exemption.is_none());
        assert_eq!(budget.resize(&mut second, 2 * PAGE_BYTES), Err(NoRoom { pages: 1 }));
        assert_eq!(budget.resize(&mut first, 1), Ok(()));
        assert_eq!(budget.pages.available_permits(), 6);
        assert_eq!(budget.resize(&mut second, 2 * PAGE_BYTES), Ok(()));
        assert!(budget.is_ample(PAGE_BYTES) && !budget.is_ample(2 * PAGE_BYTES));
        assert_eq!(budget.resize(&mut second, 0), Ok(()));
        assert_eq!(budget.grow(&mut first, PAGE_BYTES), Ok(()));
        assert_eq!(budget.pages.available_permits(), 6);
        drop((first, second));
        assert_eq!(budget.pages.available_permits(), 8);
    }

    #[tokio::test]
    async fn copies_wait_for_each_other_beyond_a_quarter() {
        let budget = BodyBudget::new(16 * PAGE_BYTES);
        let first = budget.copy(PAGE_BYTES).await;
        let second = budget.copy(3 * PAGE_BYTES - 1).await;
        // Longer than all of the quarter: alone.
        let mut third = Box::pin(budget.copy(100 * PAGE_BYTES));
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, third.as_mut()).await.is_err());
        drop(first);
        assert!(tokio::time::timeout(soon, third.as_mut()).await.is_err());
        drop(second);
        assert!(third.await.is_some());
        assert_eq!(budget.copies.available_permits(), 4);
    }

    #[tokio::test]
    async fn small_pieces_share_a_page() {
        let budget = BodyBudget::new(2 * PAGE_BYTES);
        let mut reservation = Reservation::default();
        for _ in 0..PAGE_BYTES {
            budget.grow(&mut reservation, 1).expect("room");
        }
        assert_eq!(budget.pages.available_permits(), 1);
        assert!(!budget.is_short());
        budget.grow(&mut reservation, 1).expect("room");
        assert!(budget.is_short());
        assert!(!budget.take_relief());
        drop(reservation);
        assert!(budget.take_relief());
        assert!(!budget.take_relief(), "told once");
    }
}
