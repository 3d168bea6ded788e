//! Targets that clients repeat, each made a URI once for a thread.

use http::Uri;

use super::digest::digest;

/// Targets that a thread keeps: a power of two.
const PLACES: usize = 16;

/// Bytes of a target that is kept.
const TARGET_BYTES_MAX: usize = 120;

/// The targets of a thread, in places as the [values](super::repeated::RepeatedValues): one that comes a second time with none
/// of its place between takes the place.
#[derive(Default)]
pub(super) struct RepeatedTargets {
    places: [Place; PLACES],
}

#[derive(Default)]
struct Place {
    /// The digest of what came last.
    last: u64,
    kept: Option<Uri>,
}

impl RepeatedTargets {
    /// The URI of a target, if it is kept.
    #[inline]
    pub(super) fn uri(&mut self, target: &str) -> Option<Uri> {
        let digest = digest(b"", target.as_bytes());
        let place = &mut self.places[(digest >> 60) as usize % PLACES];
        let was_last = std::mem::replace(&mut place.last, digest) == digest;
        let kept = place.kept.as_ref().and_then(Uri::path_and_query);
        let is_kept = kept.is_some_and(|kept| kept.as_str() == target);
        if is_kept || was_last && keep(place, target) { place.kept.clone() } else { None }
    }
}

/// Keeps a target that came twice. Returns whether it is one that is kept: a path alone, because queries differ, and may
/// have secrets in them.
#[cold]
fn keep(place: &mut Place, target: &str) -> bool {
    let is_path = target.starts_with('/') && !target.contains('?');
    if !is_path || target.len() > TARGET_BYTES_MAX {
        return false;
    }
    let Ok(uri) = target.parse::<Uri>() else { return false };
    place.kept = Some(uri);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_from_its_second_time_on() {
        let mut targets = RepeatedTargets::default();
        for target in ["/", "/a/b%20c", "//a", &format!("/{}", "p".repeat(TARGET_BYTES_MAX - 1))] {
            assert!(targets.uri(target).is_none());
            for _ in 0..3 {
                let (kept, parsed): (_, Uri) =
                    (targets.uri(target).unwrap(), target.parse().unwrap());
                assert_eq!((&kept, kept.to_string(), kept.host()), (&parsed, target.into(), None));
            }
        }
        let long = format!("/{}", "p".repeat(TARGET_BYTES_MAX));
        for target in ["/?a", "/a?token=b", "*", "http://a/", "a.test:80", &long] {
            for _ in 0..3 {
                assert!(targets.uri(target).is_none(), "{target}");
            }
        }
        for n in 0..1_000 {
            assert!(targets.uri(&format!("/{n}")).is_none());
        }
    }

    #[test]
    fn paths_of_one_place_do_not_share_it() {
        let mut targets = RepeatedTargets::default();
        let place = |target: &str| digest(b"", target.as_bytes()) >> 60;
        let mut paths = (0..).map(|n: u32| format!("/{n}"));
        let one = paths.next().unwrap();
        let other = paths.find(|other| place(other) == place(&one)).unwrap();
        for target in [&one, &one, &other, &one, &other, &other, &one] {
            let uri = targets.uri(target);
            assert!(uri.is_none_or(|uri| uri.path() == target));
        }
        assert_eq!(targets.uri(&one).unwrap().path(), one);
    }
}
