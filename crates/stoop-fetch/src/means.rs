//! What this process may use bounds a concurrency that is found: descriptors and memory.

use std::fs;
use std::path::Path;

use stoop::ClientLimits;

use crate::concurrency::Concurrency;
use crate::progress::Bottleneck;

/// What a job in flight takes of memory, here and in the kernel, with TLS and a page on its way.
const BYTES_PER_JOB: u64 = 64 << 10;

/// A run takes this part of the memory that is free at its start.
const MEMORY_SHARE: u64 = 4;

/// What this process may use for jobs in flight, as far as the system tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// Connections, of which each is a descriptor.
    pub(crate) connections: usize,
    /// Memory that is free, in bytes.
    pub(crate) free_bytes: Option<u64>,
}

impl Means {
    /// Those of this process, of whose connections so many may be idle ones: four fifths of its descriptors.
    pub(crate) fn of_process(idle_max: usize) -> Self {
        let connections = ClientLimits::default().pool.total_max.saturating_sub(idle_max);
        Self { connections, free_bytes: free_bytes() }
    }

    /// A concurrency that is found, within these means, and what keeps it from a higher one. One that was given stays.
    pub(crate) fn fit(self, concurrency: Concurrency) -> (Concurrency, Bottleneck) {
        if !concurrency.is_auto() {
            return (concurrency, Bottleneck::Concurrency);
        }
        let by_memory =
            self.free_bytes.map_or(u64::MAX, |free| free / MEMORY_SHARE / BYTES_PER_JOB);
        let by_memory = usize::try_from(by_memory).unwrap_or(usize::MAX);
        let bounds = [
            (concurrency.max(), Bottleneck::Concurrency),
            (self.connections.max(1), Bottleneck::OpenFiles),
            (by_memory.max(1), Bottleneck::Memory),
        ];
        let least = bounds.into_iter().min_by_key(|(jobs, _)| *jobs);
        least.map_or((concurrency, Bottleneck::Concurrency), |(jobs, why)| {
            (concurrency.at_most(jobs), why)
        })
    }
}

/// The memory that is free, where the system tells: of the machine, and of what contains this process.
fn free_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let in_groups = groups_free_bytes(Path::new("/sys/fs/cgroup"), &groups);
    machine_free_bytes().into_iter().chain(in_groups).min()
}

fn machine_free_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// What is left of the limits of the control groups of this process, those of version 2 below `root`. Each is within those
/// above it.
fn groups_free_bytes(root: &Path, groups: &str) -> Option<u64> {
    let own = root.join(groups.lines().find_map(|line| line.strip_prefix("0::/"))?);
    let all = own.ancestors().take_while(|group| group.starts_with(root));
    all.filter_map(group_free_bytes).min()
}

/// What is left of the limit of a control group, if it has one. Files that were read are dropped when memory is wanted.
fn group_free_bytes(group: &Path) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let (max, used) = (number("memory.max")?, number("memory.current")?);
    let files = text("memory.stat").and_then(|stat| {
        let of_files = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
        of_files?.parse().ok()
    });
    Some(max.saturating_sub(used.saturating_sub(files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concurrency_that_is_found_stays_within_descriptors_and_memory() {
        let fit = |concurrency: Concurrency, connections, mib: Option<u64>| {
            let means = Means { connections, free_bytes: mib.map(|mib| mib << 20) };
            let (concurrency, why) = means.fit(concurrency);
            (concurrency.min(), concurrency.start(), concurrency.max(), why)
        };
        let auto = Concurrency::auto();
        assert_eq!(fit(auto, 50_000, Some(8_000)), (10, 100, 10_000, Bottleneck::Concurrency));
        assert_eq!(fit(auto, 50_000, None), (10, 100, 10_000, Bottleneck::Concurrency));
        assert_eq!(fit(auto, 784, Some(8_000)), (10, 100, 784, Bottleneck::OpenFiles));
        assert_eq!(fit(auto, 784, Some(64)), (10, 100, 256, Bottleneck::Memory));
        assert_eq!(fit(auto, 0, Some(64)), (1, 1, 1, Bottleneck::OpenFiles));
        assert_eq!(fit(auto, 9, Some(0)), (1, 1, 1, Bottleneck::Memory));
        assert_eq!(fit(auto.at_most(50), 784, None), (10, 50, 50, Bottleneck::Concurrency));
        let given = Concurrency::fixed(5_000);
        assert_eq!(fit(given, 784, Some(64)), (5_000, 5_000, 5_000, Bottleneck::Concurrency));
    }

    /// A container with less memory than its machine was taken for the machine.
    #[test]
    fn the_least_that_is_left_of_the_limits_of_control_groups_counts() {
        let root = std::env::temp_dir().join(format!("stoop-means-{}", std::process::id()));
        let own = root.join("pod/one");
        fs::create_dir_all(&own).expect("a folder");
        let write = |group: &Path, max: &str, current: &str| {
            fs::write(group.join("memory.max"), max).expect("written");
            fs::write(group.join("memory.current"), current).expect("written");
        };
        let free = |groups| groups_free_bytes(&root, groups);
        write(&own, "max\n", "700\n");
        assert_eq!(
            (free("0::/pod/one\n"), free("1:memory:/pod/one\n"), free("")),
            (None, None, None)
        );
        write(&root.join("pod"), "1000\n", "900\n");
        assert_eq!(free("0::/pod/one\n"), Some(100));
        fs::write(root.join("pod/memory.stat"), "anon 600\ninactive_file 300\n").expect("written");
        assert_eq!(free("3:x:/\n0::/pod/one\n"), Some(400));
        write(&own, "750\n", "700\n");
        assert_eq!((free("0::/pod/one\n"), free("0::/pod\n")), (Some(50), Some(400)));
        write(&own, "600\n", "700\n");
        assert_eq!((free("0::/pod/one\n"), free("0::/\n")), (Some(0), None));
        fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn this_process_has_some() {
        let means = Means::of_process(32);
        assert!(means.connections > 0 && means.free_bytes.is_none_or(|free| free > 0), "{means:?}");
    }
}
