//! The works, one module each, and the names of their contenders.

pub(crate) mod build;
pub(crate) mod client;
pub(crate) mod decode;
pub(crate) mod drain;
pub(crate) mod fairness;
pub(crate) mod features;
pub(crate) mod fetch;
pub(crate) mod handover;
pub(crate) mod internet;
pub(crate) mod memory;
pub(crate) mod proto;
pub(crate) mod requests;
pub(crate) mod resilience;
pub(crate) mod router;
pub(crate) mod server;
pub(crate) mod slow;

use crate::arguments::CommonOptions;
use crate::baseline::BASELINE;
use crate::contender::STOOP;

/// The contenders of a work: stoop and its baseline, if there is one; then those that the user named or
/// else, without a baseline, those of `defaults`, each once.
pub(crate) fn names(common: &CommonOptions, defaults: &[&str]) -> Vec<String> {
    let has_baseline = common.output.baseline.is_some();
    let defaults = if has_baseline { &[] } else { defaults };
    let others =
        common.against.clone().unwrap_or_else(|| defaults.iter().map(|&n| n.into()).collect());
    let mut names = vec![STOOP.to_owned()];
    names.extend(has_baseline.then(|| BASELINE.to_owned()));
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
