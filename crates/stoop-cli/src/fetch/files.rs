//! Open files: each connection is one, and running out of them in the middle of a run would make
//! errors of hosts that are well.

use super::plan::Plan;
use crate::failure::Failure;

/// What a run needs besides a file for each URL in flight: idle connections, name server sockets,
/// the event loops, and a little.
const RESERVE: u64 = 128;
const PER_CORE: u64 = 8;

/// Raises the limit as far as it may be, and checks that `plan` fits in it.
///
/// # Errors
/// [`Failure::Usage`], which says what would fit.
pub(super) fn make_room(plan: &Plan) -> Result<(), Failure> {
    // A limit that cannot be read or raised is the limit there is.
    let limit = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
    check(plan.concurrency as u64, plan.cores as u64, limit).map_err(Failure::Usage)
}

fn check(concurrency: u64, cores: u64, limit: u64) -> Result<(), String> {
    let others = RESERVE + PER_CORE * cores;
    if concurrency + others <= limit {
        return Ok(());
    }
    let advice = match limit.checked_sub(others) {
        Some(fits @ 1..) => format!("raise 'ulimit -n', or ask for {fits} at most"),
        _ => "raise 'ulimit -n'".to_owned(),
    };
    Err(format!(
        "a concurrency of {concurrency} needs {} open files, and this process may have {limit}: \
         {advice}",
        concurrency + others
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concurrency_that_cannot_fit_says_what_would() {
        assert_eq!(check(100, 2, 1024), Ok(()));
        assert_eq!(check(880, 2, 1024), Ok(()));
        assert_eq!(
            check(881, 2, 1024),
            Err("a concurrency of 881 needs 1025 open files, and this process may have 1024: \
                 raise 'ulimit -n', or ask for 880 at most"
                .to_owned())
        );
        assert!(check(1, 2, 100).is_err_and(|e| e.ends_with("raise 'ulimit -n'")));
    }
}
