//! Open files: each connection is one, and running out of them in the middle of a run would make
//! errors of hosts that are well.

use super::plan::{Plan, Source};
use crate::failure::Failure;
use crate::stderr;

/// What a run needs besides a file for each URL in flight: what is opened once, idle connections, and
/// sockets of name servers. A lookup may go on, for the other family of addresses, while its URL
/// connects, so there may be as many of those as URLs; beyond this there never are.
const RESERVE: u64 = 128;
/// Of that, what is opened once, and a few idle connections.
const FEWEST: u64 = 32;
const OPENED_ONCE: u64 = 24;
/// The event loop of each core.
const PER_CORE: u64 = 8;
/// Where there are few files, cores take a quarter of them at most.
const CORES_SHARE: u64 = 4;
/// Idle connections over all cores: enough for the next page of a host that was just visited. With
/// those in flight that is all a run ever has open; as many again may still be open in the eyes of
/// servers that did not notice our close yet.
const IDLE_MAX: u64 = 32;

/// Raises the limit as far as it may be, and makes `plan` fit in it: with fewer in flight and fewer
/// cores than usual, unless they were asked for.
///
/// # Errors
/// [`Failure::Usage`], which says what would fit.
pub(super) fn make_room(plan: &mut Plan) -> Result<(), Failure> {
    // No more than there are URLs can be in flight.
    let urls = match &plan.source {
        Source::Text(text) => text.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1,
        Source::Stdin | Source::File(_) => u64::MAX,
    };
    let most = urls.min(plan.limit.unwrap_or(u64::MAX)).max(1);
    plan.concurrency = plan.concurrency.min(usize::try_from(most).unwrap_or(usize::MAX));
    plan.cores = plan.cores.min(plan.concurrency);
    // A limit that cannot be read or raised is the limit there is.
    let limit = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
    let asked = Asked {
        concurrency: plan.concurrency as u64,
        cores: plan.cores as u64,
        concurrency_given: plan.concurrency_given,
        cores_given: plan.cores_given,
    };
    let (concurrency, cores) = asked.fit(limit).map_err(Failure::Usage)?;
    if (concurrency, cores) != (asked.concurrency, asked.cores) {
        let fewer = [
            (concurrency, asked.concurrency, "in flight at once"),
            (cores, asked.cores, if cores == 1 { "thread" } else { "threads" }),
        ];
        let fewer = fewer.iter().filter(|(now, asked, _)| now != asked);
        let fewer = fewer.map(|(now, asked, what)| format!("{now} {what}, not {asked}"));
        let fewer = fewer.collect::<Vec<_>>().join("; ");
        stderr::say(format_args!("'ulimit -n' is {limit}: {fewer}; raise it for more"));
    }
    plan.concurrency = concurrency as usize;
    plan.cores = cores as usize;
    let left = limit.saturating_sub(OPENED_ONCE + PER_CORE * cores + 2 * concurrency);
    plan.idle_max = left.clamp(1, IDLE_MAX) as usize;
    Ok(())
}

/// What a run wants, and what of that was typed.
#[derive(Clone, Copy)]
struct Asked {
    concurrency: u64,
    cores: u64,
    concurrency_given: bool,
    cores_given: bool,
}

impl Asked {
    /// How many URLs in flight and how many cores fit into `limit` files.
    fn fit(self, limit: u64) -> Result<(u64, u64), String> {
        let Self { concurrency, cores, .. } = self;
        if needs(concurrency, cores) <= limit {
            return Ok((concurrency, cores));
        }
        let for_cores = limit.saturating_sub(needs(concurrency, 0)) / PER_CORE;
        if !self.cores_given && for_cores >= 1 {
            return Ok((concurrency, for_cores));
        }
        if !self.concurrency_given {
            let few = (limit / CORES_SHARE / PER_CORE).clamp(1, cores);
            let cores = if self.cores_given { cores } else { few };
            if let Some(fits) = most(limit, cores) {
                return Ok((fits.min(concurrency), cores.min(fits)));
            }
        }
        let fewest = if self.cores_given { cores } else { 1 };
        let advice = match most(limit, fewest) {
            Some(fits) => format!("raise 'ulimit -n', or ask for {fits} at most"),
            None => "raise 'ulimit -n'".to_owned(),
        };
        let (what, needed) = match self.concurrency_given {
            true => (format!("a concurrency of {concurrency}"), needs(concurrency, fewest)),
            false => (String::from("even one URL at a time"), needs(1, fewest)),
        };
        Err(format!(
            "{what} needs {needed} open files, and this process may have {limit}: {advice}"
        ))
    }
}

/// The files that a run may open.
fn needs(concurrency: u64, cores: u64) -> u64 {
    concurrency + RESERVE.min(FEWEST + concurrency) + PER_CORE * cores
}

/// The most URLs in flight for which `limit` files are enough.
fn most(limit: u64, cores: u64) -> Option<u64> {
    let left = limit.checked_sub(PER_CORE * cores)?;
    let most = left.saturating_sub(RESERVE).max(left.saturating_sub(FEWEST) / 2);
    Some(most).filter(|&most| most > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: Asked =
        Asked { concurrency: 100, cores: 2, concurrency_given: true, cores_given: true };

    #[test]
    fn a_concurrency_that_cannot_fit_says_what_would() {
        let fit = |concurrency, limit| Asked { concurrency, ..GIVEN }.fit(limit);
        assert_eq!(fit(100, 1024), Ok((100, 2)));
        assert_eq!(fit(880, 1024), Ok((880, 2)));
        assert_eq!(
            fit(881, 1024),
            Err("a concurrency of 881 needs 1025 open files, and this process may have 1024: \
                 raise 'ulimit -n', or ask for 880 at most"
                .to_owned())
        );
        assert_eq!(fit(76, 200), Ok((76, 2)));
        assert!(fit(77, 200).is_err_and(|e| e.ends_with("ask for 76 at most")));
        assert!(fit(1, 20).is_err_and(|e| e.ends_with("raise 'ulimit -n'")));
    }

    #[test]
    fn as_many_fit_as_are_said_to() {
        for limit in 42..1_000 {
            let fits = most(limit, 1).expect("one at least");
            assert!(needs(fits, 1) <= limit && needs(fits + 1, 1) > limit, "{limit}: {fits}");
        }
        assert_eq!(most(41, 1), None);
    }

    #[test]
    fn what_was_not_asked_for_shrinks() {
        let usual = Asked { concurrency_given: false, cores_given: false, ..GIVEN };
        assert_eq!(usual.fit(244), Ok((100, 2)));
        assert_eq!(usual.fit(200), Ok((76, 2)));
        assert_eq!(usual.fit(64), Ok((8, 2)));
        assert_eq!(usual.fit(42), Ok((1, 1)));
        assert_eq!(Asked { cores: 64, ..usual }.fit(1024), Ok((100, 64)));
        assert_eq!(Asked { cores: 64, ..usual }.fit(512), Ok((100, 35)));
        assert_eq!(Asked { cores: 64, ..usual }.fit(200), Ok((60, 6)));
        // Cores for what was asked for, and the other way round.
        let many = Asked { concurrency: 850, cores: 64, concurrency_given: true, ..usual };
        assert_eq!(many.fit(1024), Ok((850, 5)));
        assert_eq!(Asked { cores: 8, cores_given: true, ..usual }.fit(200), Ok((52, 8)));
        assert_eq!(
            usual.fit(41),
            Err("even one URL at a time needs 42 open files, and this process may have 41: \
                 raise 'ulimit -n'"
                .to_owned())
        );
    }
}
