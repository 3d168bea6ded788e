//! An intake and lanes between which jobs are sorted, and lookups that the tests answer.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::addresses::AddressFinder;
use crate::addresses::book::LookedUp;
use crate::addresses::finder::LookingUp;
use crate::addresses::sort::sort_by_address;
use crate::job::Job;
use crate::lane::{Batch, Lane, Refill};
use crate::stop::Stop;

/// The address of all names that begin with `one`.
pub(super) const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 7, 1));

/// An intake and lanes, and lookups: `oneN` and `slowN` have the address [`ONE`], the latter once the test lets them,
/// `noneN` have none, `panicN` panic, and addresses are their own.
pub(super) struct Test {
    pub(super) intake: Lane,
    pub(super) lanes: Vec<Lane>,
    pub(super) finder: Arc<AddressFinder>,
    pub(super) stop: Stop,
    /// The slow lookups that may end.
    pub(super) permits: Arc<Semaphore>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Test {
    pub(super) fn new(lanes: usize) -> Self {
        let (permits, asked) = (Arc::new(Semaphore::new(0)), Arc::<Mutex<Vec<String>>>::default());
        let (slow, noted) = (Arc::clone(&permits), Arc::clone(&asked));
        let test = Self::with_finder(lanes, move |url| {
            let slow = Arc::clone(&slow);
            let host = url.split('/').nth(2).expect("a host").to_owned();
            noted.lock().expect("no panic").push(host.clone());
            Box::pin(async move {
                if host.starts_with("slow") {
                    slow.acquire().await.expect("never closed").forget();
                }
                assert!(!host.starts_with("panic"), "a resolver's defect");
                let has_one = host.starts_with("one") || host.starts_with("slow");
                let address = if has_one { Some(ONE) } else { host.parse().ok() };
                address.map_or(LookedUp::Nothing, LookedUp::Address)
            })
        });
        Self { permits, asked, ..test }
    }

    pub(super) fn with_finder(
        lanes: usize,
        look_up: impl Fn(Box<str>) -> LookingUp + Send + Sync + 'static,
    ) -> Self {
        Self {
            intake: Lane::default(),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            finder: Arc::new(AddressFinder::new(look_up)),
            stop: Stop::new(),
            permits: Arc::new(Semaphore::new(0)),
            asked: Arc::default(),
        }
    }

    /// Has jobs come in for as long as there is room, and returns how many.
    pub(super) fn receive(&self, urls: impl IntoIterator<Item = String>) -> usize {
        let mut count = 0;
        for url in urls {
            let mut batch = Batch::default();
            batch.push(Job::new(url.as_bytes()));
            if !self.intake.try_push(&mut batch).expect("open") {
                break;
            }
            count += 1;
        }
        count
    }

    /// Sorts, and does something meanwhile. Sorting must not end by that.
    pub(super) async fn while_sorting<T>(&self, meanwhile: impl Future<Output = T>) -> T {
        let mut meanwhile = std::pin::pin!(meanwhile);
        tokio::select! {
            done = &mut meanwhile => done,
            () = sort_by_address(&self.intake, &self.lanes, &self.finder, &self.stop) => {
                panic!("sorting has ended")
            }
        }
    }

    /// Sorts to the end of what has come in.
    pub(super) async fn sort_to_the_end(&self) {
        self.intake.close();
        sort_by_address(&self.intake, &self.lanes, &self.finder, &self.stop).await;
    }

    /// Takes all jobs of a lane, and wakes the sorter as a worker does.
    pub(super) fn drain(&self, lane: usize) -> Vec<(String, Option<IpAddr>)> {
        let (mut all, mut batch) = (Vec::new(), Batch::default());
        while self.lanes[lane].refill(&mut batch) == Refill::Lines {
            while let Some(job) = batch.pop() {
                all.push((String::from_utf8_lossy(job.url).into_owned(), job.address));
            }
        }
        self.intake.wake_worker();
        all
    }

    /// Sorts meanwhile until that many jobs were drained from a lane, or a long time is over.
    pub(super) async fn drain_many(
        &self,
        lane: usize,
        count: usize,
    ) -> Vec<(String, Option<IpAddr>)> {
        let mut all = Vec::new();
        let limit = Instant::now() + Duration::from_secs(60);
        while all.len() < count && Instant::now() < limit {
            sleep(Duration::from_millis(10)).await;
            all.append(&mut self.drain(lane));
        }
        all
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.lock().expect("no panic").len()
    }
}

/// Lets all tasks do what they can do now.
pub(super) async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

pub(super) fn urls(name: &str, numbers: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    numbers.map(move |n| format!("http://{name}{n}/"))
}
