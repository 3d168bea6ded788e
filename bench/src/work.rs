//! The works, one module each, and the contenders that take part in a work.

pub(crate) mod client;
pub(crate) mod fairness;
pub(crate) mod fetch;
pub(crate) mod internet;
pub(crate) mod memory;
pub(crate) mod proto;
pub(crate) mod requests;
pub(crate) mod server;

use crate::arguments::CommonOptions;
use crate::baseline::BASELINE;
use crate::contender::STOOP;

/// Stoop first and its baseline, if there is one; then those that the user named or else, without a
/// baseline, the `usual`, each once.
pub(crate) fn names(common: &CommonOptions, usual: &[&str]) -> Vec<String> {
    let has_baseline = common.output.baseline.is_some();
    let usual = if has_baseline { &[] } else { usual };
    let others =
        common.against.clone().unwrap_or_else(|| usual.iter().map(|&n| n.into()).collect());
    let mut names = vec![STOOP.to_owned()];
    names.extend(has_baseline.then(|| BASELINE.to_owned()));
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
