//! Fits a plan into the limit of open files: each connection is one, and a run that reaches the limit
//! would report errors for hosts that have none.

use stoop_fetch::HostGroup;

use super::concurrency::ceiling;
use super::plan::{FetchPlan, UrlSource};
use crate::failure::CommandFailure;
use crate::stderr;

/// The most files that a run needs besides one for each URL in flight: those that are opened once, idle
/// connections, and sockets for name servers. A lookup may go on, for the other address family, while
/// its URL connects, so there may be as many of those as URLs, up to this number.
const OTHER_FILES_MAX: u64 = 128;
/// The fewest of those: the files that are opened once, and a few idle connections.
const OTHER_FILES_MIN: u64 = 32;
const FILES_OPENED_ONCE: u64 = 24;
/// The files of each core's event loop.
const FILES_PER_CORE: u64 = 8;
/// Where there are few files, cores take at most one in this many.
const CORES_DIVISOR: u64 = 4;
/// Idle connections over all cores: enough for the next page of a host that was just visited. A run
/// never has more open than these and those in flight; servers that have not noticed a close yet may
/// see as many again.
const IDLE_CONNECTIONS_MAX: u64 = 32;
/// The most where the format writes content: what the library keeps by default.
const IDLE_CONNECTIONS_MAX_OF_CONTENT: u64 = 32 + 256;

/// Sockets for name servers by which names are looked up before their URLs are in flight.
const NAMES_FILES_MAX: u64 = 480;

/// Raises the limit of open files as far as allowed, and fits `plan` into it: with less concurrency and
/// fewer cores than by default, unless they were given.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what would fit.
pub(super) fn fit(plan: &mut FetchPlan) -> Result<(), CommandFailure> {
    // There cannot be more in flight than there are URLs.
    let urls = match &plan.source {
        UrlSource::Text(text) => text.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1,
        UrlSource::Stdin | UrlSource::File(_) => u64::MAX,
    };
    let urls_max = urls.min(plan.limit.unwrap_or(u64::MAX)).max(1);
    plan.concurrency = plan.concurrency.min(usize::try_from(urls_max).unwrap_or(usize::MAX));
    plan.cores = plan.cores.min(plan.concurrency);
    // A limit that can be neither raised nor read is taken to be the usual one.
    let limit = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
    let wanted = Parallelism {
        concurrency: plan.concurrency as u64,
        cores: plan.cores as u64,
        is_concurrency_given: plan.is_concurrency_given,
        is_cores_given: plan.is_cores_given,
    };
    let (concurrency, cores) = wanted.fit_into(limit).map_err(CommandFailure::Usage)?;
    if (concurrency, cores) != (wanted.concurrency, wanted.cores) && !plan.is_quiet {
        let fewer = [
            (concurrency, wanted.concurrency, "in flight at once"),
            (cores, wanted.cores, if cores == 1 { "thread" } else { "threads" }),
        ];
        let fewer = fewer.iter().filter(|(now, wanted, _)| now != wanted);
        let fewer = fewer.map(|(now, wanted, what)| format!("{now} {what}, not {wanted}"));
        let fewer = fewer.collect::<Vec<_>>().join("; ");
        stderr::message(format_args!("'ulimit -n' is {limit}: {fewer}; raise it for more"));
    }
    plan.concurrency = concurrency as usize;
    plan.cores = cores as usize;
    let left = limit.saturating_sub(FILES_OPENED_ONCE + FILES_PER_CORE * cores + 2 * concurrency);
    let is_enough = left >= IDLE_CONNECTIONS_MAX_OF_CONTENT;
    plan.idle_max = (!is_enough).then_some(left.clamp(1, IDLE_CONNECTIONS_MAX) as usize);
    if !plan.is_concurrency_given {
        // The idle connections have files of their own.
        let mut others = IDLE_CONNECTIONS_MAX;
        if plan.jobs.group == HostGroup::Address {
            others += NAMES_FILES_MAX.min(limit / 4);
        }
        let files = concurrency_max(limit.saturating_sub(others), cores);
        let most = files.unwrap_or(concurrency).min(urls_max);
        let (most, why) = ceiling(usize::try_from(most).unwrap_or(usize::MAX));
        (plan.concurrency, plan.ceiling) = (most.max(plan.concurrency), why);
    }
    Ok(())
}

/// The concurrency and the cores of a run, and whether they were given by the user.
#[derive(Clone, Copy)]
struct Parallelism {
    concurrency: u64,
    cores: u64,
    is_concurrency_given: bool,
    is_cores_given: bool,
}

impl Parallelism {
    /// How many URLs in flight and how many cores fit into `limit` files.
    fn fit_into(self, limit: u64) -> Result<(u64, u64), String> {
        let Self { concurrency, cores, .. } = self;
        if files_needed(concurrency, cores) <= limit {
            return Ok((concurrency, cores));
        }
        let for_cores = limit.saturating_sub(files_needed(concurrency, 0)) / FILES_PER_CORE;
        if !self.is_cores_given && for_cores >= 1 {
            return Ok((concurrency, for_cores));
        }
        if !self.is_concurrency_given {
            let few = (limit / CORES_DIVISOR / FILES_PER_CORE).clamp(1, cores);
            let cores = if self.is_cores_given { cores } else { few };
            if let Some(fits) = concurrency_max(limit, cores) {
                return Ok((fits.min(concurrency), cores.min(fits)));
            }
        }
        let fewest = if self.is_cores_given { cores } else { 1 };
        let advice = match concurrency_max(limit, fewest) {
            Some(fits) => format!("raise 'ulimit -n', or ask for {fits} at most"),
            None => "raise 'ulimit -n'".to_owned(),
        };
        let (what, needed) = match self.is_concurrency_given {
            true => (format!("a concurrency of {concurrency}"), files_needed(concurrency, fewest)),
            false => (String::from("even one URL at a time"), files_needed(1, fewest)),
        };
        Err(format!(
            "{what} needs {needed} open files, and this process may have {limit}: {advice}"
        ))
    }
}

/// The most files that a run opens.
fn files_needed(concurrency: u64, cores: u64) -> u64 {
    concurrency + OTHER_FILES_MAX.min(OTHER_FILES_MIN + concurrency) + FILES_PER_CORE * cores
}

/// The highest concurrency for which `limit` files are enough.
fn concurrency_max(limit: u64, cores: u64) -> Option<u64> {
    let left = limit.checked_sub(FILES_PER_CORE * cores)?;
    let most = left.saturating_sub(OTHER_FILES_MAX).max(left.saturating_sub(OTHER_FILES_MIN) / 2);
    Some(most).filter(|&most| most > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: Parallelism = Parallelism {
        concurrency: 100,
        cores: 2,
        is_concurrency_given: true,
        is_cores_given: true,
    };

    #[test]
    fn a_concurrency_that_cannot_fit_names_one_that_would() {
        let fit = |concurrency, limit| Parallelism { concurrency, ..GIVEN }.fit_into(limit);
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
    fn the_highest_concurrency_fits_and_one_more_does_not() {
        for limit in 42..1_000 {
            let fits = concurrency_max(limit, 1).expect("one at least");
            assert!(
                files_needed(fits, 1) <= limit && files_needed(fits + 1, 1) > limit,
                "{limit}: {fits}"
            );
        }
        assert_eq!(concurrency_max(41, 1), None);
    }

    #[test]
    fn values_that_were_not_given_shrink() {
        let usual = Parallelism { is_concurrency_given: false, is_cores_given: false, ..GIVEN };
        assert_eq!(usual.fit_into(244), Ok((100, 2)));
        assert_eq!(usual.fit_into(200), Ok((76, 2)));
        assert_eq!(usual.fit_into(64), Ok((8, 2)));
        assert_eq!(usual.fit_into(42), Ok((1, 1)));
        assert_eq!(Parallelism { cores: 64, ..usual }.fit_into(1024), Ok((100, 64)));
        assert_eq!(Parallelism { cores: 64, ..usual }.fit_into(512), Ok((100, 35)));
        assert_eq!(Parallelism { cores: 64, ..usual }.fit_into(200), Ok((60, 6)));
        // A given concurrency takes cores away, and given cores take concurrency away.
        let many = Parallelism { concurrency: 850, cores: 64, is_concurrency_given: true, ..usual };
        assert_eq!(many.fit_into(1024), Ok((850, 5)));
        assert_eq!(
            Parallelism { cores: 8, is_cores_given: true, ..usual }.fit_into(200),
            Ok((52, 8))
        );
        assert_eq!(
            usual.fit_into(41),
            Err("even one URL at a time needs 42 open files, and this process may have 41: \
                 raise 'ulimit -n'"
                .to_owned())
        );
    }
}
