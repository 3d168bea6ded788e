//! The works, one module each, and the names of their contenders.

pub(crate) mod build;
pub(crate) mod client;
pub(crate) mod concurrency;
pub(crate) mod decode;
pub(crate) mod drain;
pub(crate) mod fairness;
pub(crate) mod features;
pub(crate) mod fetch;
pub(crate) mod handover;
pub(crate) mod internet;
pub(crate) mod many_hosts;
pub(crate) mod memory;
pub(crate) mod politeness;
pub(crate) mod proto;
pub(crate) mod requests;
pub(crate) mod resilience;
pub(crate) mod resume;
pub(crate) mod router;
pub(crate) mod saving;
pub(crate) mod server;
pub(crate) mod slow;

use anyhow::{Result, bail};

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

/// Those of `works` that the user has named, in their own order; all of them without names.
pub(crate) fn chosen<'w, W>(
    works: &'w [W],
    named: Option<&[String]>,
    name: impl Fn(&W) -> &str,
) -> Result<Vec<&'w W>> {
    let Some(named) = named else { return Ok(works.iter().collect()) };
    for wanted in named {
        if !works.iter().any(|work| name(work) == wanted) {
            bail!("no work {wanted}; there are: {}", listed(works, name));
        }
    }
    Ok(works.iter().filter(|work| named.iter().any(|wanted| wanted == name(work))).collect())
}

/// The names of all `works`.
pub(crate) fn listed<W>(works: &[W], name: impl Fn(&W) -> &str) -> String {
    works.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_chosen_by_their_names_and_an_unknown_name_lists_them() {
        let works = [("one", 1), ("two", 2), ("three", 3)];
        let chosen = |named: Option<&[&str]>| {
            let named: Option<Vec<String>> =
                named.map(|named| named.iter().map(|name| (*name).to_owned()).collect());
            let chosen = chosen(&works, named.as_deref(), |work| work.0);
            chosen.map(|works| works.into_iter().map(|work| work.1).collect::<Vec<_>>())
        };
        assert_eq!(chosen(None).unwrap(), [1, 2, 3]);
        assert_eq!(chosen(Some(&["three", "one"])).unwrap(), [1, 3]);
        let error = chosen(Some(&["one", "four"])).unwrap_err().to_string();
        assert_eq!(error, "no work four; there are: one, two, three");
    }
}
