//! Waits until a file descriptor is free for a connection.
//!
//! A process without free descriptors has them all in use, and some will be free in a moment. Without the
//! wait, requests to healthy hosts would fail. So idle connections are closed first, and then the request
//! waits.

use std::time::{Duration, Instant};

use stoop_io::now;

use crate::client::pool::Pool;
use crate::error::{Error, ErrorKind};
use crate::limits::after;

/// The first pause, and the longest. Nothing tells when a descriptor comes free: other code has some too.
const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(80);

/// How long is waited where neither connecting nor the exchange has a limit.
const PATIENCE: Duration = Duration::from_secs(5);

/// The waiting of one request.
#[derive(Debug, Default)]
pub(crate) struct DescriptorWait {
    until: Option<Instant>,
    pause: Duration,
}

impl DescriptorWait {
    /// Returns when it is worth another try: at once, if closing an idle connection of `pool` has
    /// made room, and otherwise after a pause.
    ///
    /// # Errors
    /// `error`, if it is not for want of a descriptor, or when the time is up: that of `connect`,
    /// counted from the first time this was called, or of the exchange.
    pub(crate) async fn wait(
        &mut self,
        error: Error,
        pool: &Pool,
        connect: Option<Duration>,
        total: Option<Instant>,
    ) -> Result<(), Error> {
        if error.kind() != ErrorKind::TooManyFiles {
            return Err(error);
        }
        let now = now();
        let until = *self.until.get_or_insert_with(|| {
            let own =
                connect.or(total.is_none().then_some(PATIENCE)).map(|limit| after(now, limit));
            own.into_iter().chain(total).min().unwrap_or(now)
        });
        if now >= until {
            return Err(error);
        }
        if pool.shed() {
            return Ok(());
        }
        self.pause = (self.pause * 2).clamp(FIRST, LONGEST);
        tokio::time::sleep_until((now + self.pause).min(until).into()).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Phase;
    use crate::limits::PoolLimits;

    fn starving() -> Error {
        Error::new(ErrorKind::TooManyFiles, Phase::Connect)
    }

    /// How long is waited, in ms, and how often.
    async fn waits(connect: Option<u64>, total: Option<u64>) -> (u128, u32) {
        let (pool, begin) = (Pool::new(PoolLimits::default()), now());
        let connect = connect.map(Duration::from_millis);
        let total = total.map(|ms| begin + Duration::from_millis(ms));
        let (mut descriptor_wait, mut times) = (DescriptorWait::default(), 0);
        while descriptor_wait.wait(starving(), &pool, connect, total).await.is_ok() {
            times += 1;
        }
        ((now() - begin).as_millis(), times)
    }

    #[tokio::test(start_paused = true)]
    async fn one_waits_in_growing_pauses_and_as_long_as_connecting_may_take() {
        // 5, 10, 20, 40, and then 80 ms each.
        assert_eq!(waits(Some(155), None).await, (155, 5));
        assert_eq!(waits(Some(1000), Some(75)).await, (75, 4));
        assert_eq!(waits(None, Some(315)).await, (315, 7));
        assert_eq!(waits(None, None).await.0, PATIENCE.as_millis());
        assert_eq!(waits(Some(1000), Some(0)).await, (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn connecting_without_a_limit_waits_like_any_other() {
        let (pool, forever) = (Pool::new(PoolLimits::default()), Some(Duration::MAX));
        DescriptorWait::default().wait(starving(), &pool, forever, None).await.unwrap();
    }

    #[tokio::test]
    async fn another_error_is_no_reason_to_wait() {
        let other = Error::new(ErrorKind::ConnectRefused, Phase::Connect);
        let pool = Pool::new(PoolLimits::default());
        let error = DescriptorWait::default().wait(other, &pool, None, None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectRefused);
    }
}
