//! Jobs of another source, of some hosts alone: one list for several runs.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::ops::ControlFlow;
use std::str::FromStr;

use super::{Extent, Job, JobSource, Take};
use crate::politeness::HostGroup;
use crate::schedule::host_key;

/// The jobs of another source whose hosts belong to one [`Shard`]. What is passed over has no record.
///
/// Several runs over the same list, one for each shard, fetch each job once, and all jobs of a host are in one of them. With
/// [`Fetch::stay_in_shard`](crate::Fetch::stay_in_shard) they follow no redirect to a host of another one.
///
/// ```
/// use stoop_fetch::source::{Lines, Shard, Sharded};
/// use stoop_fetch::{Fetch, HostGroup};
///
/// let shard: Shard = "1/4".parse()?;
/// let list = Lines::new(&b"https://a.example/\nhttps://b.example/\n"[..]);
/// let source = Sharded::new(list, shard, HostGroup::Host);
/// let fetch = Fetch::new().stay_in_shard(shard, HostGroup::Host);
/// # drop((source, fetch));
/// # Ok::<(), stoop_fetch::source::NoShard>(())
/// ```
#[derive(Debug)]
pub struct Sharded<S> {
    source: S,
    shard: Shard,
    group: HostGroup,
    /// The host of a job, kept for its memory.
    key: Vec<u8>,
}

/// One of several parts of a list, by its hosts: `2/5` is the second of five.
///
/// The shard of a host depends on nothing but its name or address, as [`HostGroup`] has it: in lower case, without port
/// and last dot, IDNs in their ASCII form. The hash of these bytes is FNV-1a of 64 bits, finished by the steps of
/// MurmurHash3 (`fmix64`); times the number of shards, its upper 64 bits of 128 are the shard, from 0 on. That stays
/// as it is in all versions and on all machines. By [`HostGroup::RegistrableDomain`], it depends on the list of public
/// suffixes too, which a version of this crate has as it was when that was published.
///
/// By [`HostGroup::Address`] it depends on the name alone, as by [`HostGroup::Host`]: hosts at one address may be in several
/// shards.
///
/// What leads to no host belongs to the first shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    shards: u32,
}

impl Shard {
    /// The shard with this number, from 1 on, of so many.
    ///
    /// # Errors
    /// There is no such shard.
    pub fn new(number: u32, shards: u32) -> Result<Self, NoShard> {
        match (1..=shards).contains(&number) {
            true => Ok(Self { number, shards }),
            false => Err(NoShard(())),
        }
    }

    /// It as a part of a name: `2of5`, or `02of12`, so that names sort by their shards.
    ///
    /// ```
    /// use stoop_fetch::source::Shard;
    ///
    /// assert_eq!(Shard::new(2, 12)?.label(), "02of12");
    /// # Ok::<(), stoop_fetch::source::NoShard>(())
    /// ```
    pub fn label(self) -> String {
        let digits = self.shards.to_string().len();
        format!("{:0digits$}of{}", self.number, self.shards)
    }

    /// Whether a job for `url`, as a line of a list has it, belongs to it.
    pub fn has(self, url: &[u8], group: HostGroup) -> bool {
        self.has_host_of(url, group, &mut Vec::new())
    }

    /// The same. `key` is memory for the host.
    fn has_host_of(self, url: &[u8], group: HostGroup, key: &mut Vec<u8>) -> bool {
        key.clear();
        let index = match host_key(url, group, key) {
            true => ((u128::from(hash(key)) * u128::from(self.shards)) >> 64) as u32,
            false => 0,
        };
        index + 1 == self.number
    }
}

/// FNV-1a, then the finalizer of MurmurHash3. It must stay as it is, and differ from what chooses the worker of a
/// host: otherwise all hosts of a shard could have the same one.
fn hash(host: &[u8]) -> u64 {
    let fnv = host.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

impl FromStr for Shard {
    type Err = NoShard;

    /// Reads `I/N`.
    fn from_str(text: &str) -> Result<Self, NoShard> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| NoShard(()));
        let (first, second) = text.split_once('/').ok_or(NoShard(()))?;
        Self::new(number(first)?, number(second)?)
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.shards)
    }
}

/// A text or numbers that are no [`Shard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoShard(());

impl Display for NoShard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a shard is I/N, with I from 1 to N: 1/4 is the first of four")
    }
}

impl Error for NoShard {}

impl<S: JobSource> Sharded<S> {
    /// The jobs of `source` that belong to `shard`, where `group` says what is one host.
    pub fn new(source: S, shard: Shard, group: HostGroup) -> Self {
        Self { source, shard, group, key: Vec::new() }
    }
}

impl<S: JobSource> JobSource for Sharded<S> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let Self { source, shard, group, key } = self;
        source.read(&mut |job| if_of_shard(job, *shard, *group, key, take))
    }

    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let Self { source, shard, group, key } = self;
        source.finish(extent, &mut |job| if_of_shard(job, *shard, *group, key, take));
    }

    fn position(&self) -> u64 {
        self.source.position()
    }
}

fn if_of_shard(
    job: Job<'_>,
    shard: Shard,
    group: HostGroup,
    key: &mut Vec<u8>,
    take: &mut Take<'_>,
) -> ControlFlow<()> {
    match shard.has_host_of(job.url, group, key) {
        true => take(job),
        false => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Lines;
    use super::*;
    use crate::target::{worker_of, worker_of_key};

    fn shard(text: &str) -> Shard {
        text.parse().expect("a shard")
    }

    fn shards_of(url: &str, of: u32, group: HostGroup) -> Vec<u32> {
        let has = |n: &u32| Shard::new(*n, of).expect("one").has(url.as_bytes(), group);
        (1..=of).filter(has).collect()
    }

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!(shard("2/5"), Shard::new(2, 5).expect("one"));
        assert_eq!(shard("1/1").to_string(), "1/1");
        for text in
            ["", "1", "/", "0/4", "5/4", "0/0", "1/0", "-1/4", "1/4/4", "a/b", "1/99999999999"]
        {
            let no = text.parse::<Shard>().expect_err(text);
            assert!(no.to_string().contains("1/4 is the first of four"));
        }
    }

    #[test]
    fn the_shard_of_a_host_stays_as_it_is() {
        assert_eq!(hash(b""), 0xefd0_1f60_ba99_2926);
        assert_eq!(hash(b"example.com"), 0x9591_d642_1994_d599);
        for (host, of_5, of_1000) in [
            ("example.com", 3, 585),
            ("a.example", 1, 106),
            ("127.0.0.1", 5, 809),
            ("[::1]", 1, 187),
            ("xn--bcher-kva.example", 1, 185),
        ] {
            let of = |shards| shards_of(host, shards, HostGroup::Host);
            assert_eq!((of(5), of(1000)), (vec![of_5], vec![of_1000]), "{host}");
        }
    }

    #[test]
    fn all_spellings_ports_and_schemes_of_a_host_belong_to_one_shard() {
        for (urls, group) in [
            (
                &[
                    "example.com",
                    "http://Example.COM:8080/x",
                    "https://me@example.com./?y",
                    "//EXAMPLE.com:1",
                ][..],
                HostGroup::Host,
            ),
            (&["http://127.0.0.1/", "http://127.1:99/"], HostGroup::Host),
            (&["b\u{fc}cher.example", "http://xn--bcher-kva.example/"], HostGroup::Host),
            (
                &["a.example.co.uk", "http://b.c.example.co.uk", "example.co.uk"],
                HostGroup::RegistrableDomain,
            ),
        ] {
            let first = shards_of(urls[0], 1009, group);
            assert_eq!(first.len(), 1);
            for url in urls {
                assert_eq!(shards_of(url, 1009, group), first, "{url}");
            }
        }
    }

    #[test]
    fn each_job_belongs_to_one_shard_and_what_has_no_host_to_the_first() {
        let mut input = b"\n# no\n/path\n\xff\xfe\nmailto:a@b\n8\n".to_vec();
        input.extend((0..500).flat_map(|n| format!("host-{}.example/{n}\n", n % 50).into_bytes()));
        let mut all = 0;
        for n in 1..=4 {
            let shard = Shard::new(n, 4).expect("one");
            let mut source = Sharded::new(Lines::new(&input[..]), shard, HostGroup::Host);
            let (mut jobs, mut without_host) = (0, 0);
            let mut take = |job: Job<'_>| {
                jobs += 1;
                without_host += usize::from(!job.url.starts_with(b"host"));
                ControlFlow::Continue(())
            };
            while source.read(&mut take).expect("readable") {}
            source.finish(Extent::Whole, &mut take);
            assert_eq!(without_host, if n == 1 { 4 } else { 0 });
            assert_eq!(source.position(), input.len() as u64);
            all += jobs;
        }
        assert_eq!(all, 504);
    }

    #[test]
    fn what_was_read_in_part_belongs_to_a_shard_too() {
        let mut seen = 0;
        for n in 1..=3 {
            let shard = Shard::new(n, 3).expect("one");
            let mut source =
                Sharded::new(Lines::new(&b"http://a.example/x"[..]), shard, HostGroup::Host);
            let mut take = |job: Job<'_>| {
                assert_eq!(job.extent, Extent::Interrupted);
                seen += 1;
                ControlFlow::Continue(())
            };
            while source.read(&mut take).expect("readable") {}
            source.finish(Extent::Interrupted, &mut take);
        }
        assert_eq!(seen, 1);
    }

    #[test]
    fn hosts_spread_evenly_over_shards_and_those_of_a_shard_over_workers() {
        for (shards, workers) in [(2, 2), (4, 4), (4, 2), (3, 8), (8, 3)] {
            let mut counts = vec![vec![0_usize; workers]; shards as usize];
            let mut by_line = counts.clone();
            for n in 0..20_000 {
                let host = format!("host-{n}.example");
                let shard = shards_of(&host, shards, HostGroup::Host)[0] as usize - 1;
                counts[shard][worker_of_key(host.as_bytes(), workers)] += 1;
                by_line[shard][worker_of(format!("https://{host}/").as_bytes(), workers)] += 1;
            }
            let fair = 20_000 / shards as usize / workers;
            for count in counts.iter().chain(&by_line).flatten() {
                assert!(count.abs_diff(fair) < fair / 6, "{shards}, {workers}: {counts:?}");
            }
        }
    }
}
