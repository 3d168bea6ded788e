//! The description of a run.

mod content;
mod earlier;
mod records;
mod start;
mod time_limits;

use std::sync::Arc;

use bytes::Bytes;
use stoop::{ClientBuilder, Method, Misuse, Redirects};

use crate::concurrency::Concurrency;
use crate::nested_sitemaps::{NestedSitemaps, RunLink};
use crate::politeness::{HostGroup, Politeness};
use crate::record::Record;
use crate::settings::Settings;
use crate::source::Shard;
use crate::stop::Stop;

/// The description of a run: how its jobs are fetched. [`run`](Self::run) fetches all jobs of a source.
///
/// A run never uses more connections at once than its concurrency, and 32 idle ones, if
/// [`idle_connections`](Self::idle_connections) says nothing else; each is a file descriptor, whose limit
/// is the caller's to raise.
#[derive(Debug, Default)]
#[must_use = "a description fetches nothing until `run` or `start`"]
pub struct Fetch {
    settings: Settings,
    misuse: Option<Misuse>,
    /// Where the sitemaps of the source find the run.
    sitemaps: Option<Arc<RunLink>>,
}

impl Fetch {
    /// A run with the defaults: plain GETs, 100 in flight at once, eight for each host, each within 5 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many jobs are in flight at once: a number, at least 1, or [`Concurrency::auto`], which finds one. By default
    /// 100.
    pub fn concurrency(mut self, concurrency: impl Into<Concurrency>) -> Self {
        self.settings.concurrency = concurrency.into();
        self
    }

    /// How much is asked of one host, and what it is given after a 429 or 503. By default eight jobs at once; none
    /// lifts all limits, for hosts of the caller's own.
    pub fn politeness(mut self, politeness: impl Into<Option<Politeness>>) -> Self {
        self.settings.politeness = politeness.into();
        self
    }

    /// How many threads fetch, at least 1, and never more than the concurrency. By default as many as
    /// [`available_parallelism`](std::thread::available_parallelism) says.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.max(1);
        self
    }

    /// Writes only the records for which `keep` says so, and saves only their content. The others are counted in the
    /// figures, and nothing more. It is called on the worker threads, before content is worked on: digests, the file that
    /// content is saved in, and what is extracted from it are not there yet. A record at which it panics is written,
    /// and the run goes on: [`Finished::filtered`](crate::Finished::filtered) tells it. By default all are written.
    ///
    /// ```
    /// use stoop_fetch::{Fetch, summary::ResultCode};
    ///
    /// let errors = Fetch::new().filter(|record| matches!(record.outcome.code, ResultCode::Error(_)));
    /// # drop(errors);
    /// ```
    pub fn filter(mut self, keep: impl Fn(&Record<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.settings.filter = Some(Box::new(keep));
        self
    }

    /// How many connections are kept open while no job uses them, over all workers; at least one for each worker. By
    /// default 32, and where the format writes content as many more as may be in flight, up to 256: no job begins while its
    /// output takes no more.
    pub fn idle_connections(mut self, connections: usize) -> Self {
        self.settings.idle_max = Some(connections);
        self
    }

    /// Fetches the first `jobs` of the source only. By default all.
    pub fn limit(mut self, jobs: u64) -> Self {
        self.settings.limit = Some(jobs);
        self
    }

    /// Whether the run keeps [`Statistics`](crate::statistics::Statistics): how long each phase took, which hosts were slow
    /// or failed, and what came when. [`Run::statistics`](crate::Run::statistics) and
    /// [`Finished::statistics`](crate::Finished::statistics) have them. Off by default.
    ///
    /// They take up to 1 MiB of memory for each worker, and the details of each record are gathered for them, as for
    /// [`JsonLines`](crate::format::JsonLines).
    ///
    /// ```
    /// use stoop_fetch::{Fetch, format::Csv, source::Lines};
    ///
    /// let fetch = Fetch::new().statistics(true);
    /// let finished = fetch.run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), Csv::new(), std::io::sink())?;
    /// let statistics = finished.statistics.expect("they were asked for");
    /// let slowest = &statistics.slowest_hosts(10)[0];
    /// assert_eq!((slowest.host, slowest.urls), ("127.0.0.1", 1));
    /// # Ok::<(), stoop_fetch::FetchError>(())
    /// ```
    pub fn statistics(mut self, has_statistics: bool) -> Self {
        self.settings.has_statistics = has_statistics;
        self
    }

    /// The method of all requests. By default GET.
    pub fn method(mut self, method: Method) -> Self {
        self.settings.template.method = method;
        self
    }

    /// Adds a field to all requests. One that may not be sent fails [`start`](Self::start).
    pub fn field(mut self, name: &str, value: &[u8]) -> Self {
        if let Err(misuse) = self.settings.template.fields.push(name, value) {
            self.misuse.get_or_insert(misuse);
        }
        self
    }

    /// The content of all requests. By default none.
    pub fn content(mut self, content: impl Into<Bytes>) -> Self {
        self.settings.template.content = content.into();
        self
    }

    /// Which redirects are followed: by default up to 10.
    pub fn redirects(mut self, redirects: Redirects) -> Self {
        self.settings.redirects = redirects;
        self
    }

    /// Follows no redirect of a job to a host of another shard: the response is the job's, with its status and its Location.
    /// So no two runs over the shards of a list, as [`Sharded`](crate::source::Sharded) gives them, have a page of the same host.
    /// `group` is what is one host there. Sitemaps and robots.txt files are read wherever they are.
    pub fn stay_in_shard(mut self, shard: Shard, group: HostGroup) -> Self {
        self.settings.shard = Some((shard, group));
        self
    }

    /// Whether a URL without a scheme, which means https, is fetched over http where https is not spoken: no connection
    /// can be made, or the handshake of TLS fails, whatever the error is (`connect_refused`, `tls_handshake`,
    /// `closed_early`, `reset` and others, of the phases `connect` and `tls`). Where https does not answer, that is known
    /// after [`setup_timeout`](Self::setup_timeout).
    ///
    /// A certificate that is not accepted (`tls_cert_untrusted`, `tls_cert_name`, `tls_cert_expired`) is no such case,
    /// nor are errors of this machine (`too_many_files`, `no_local_ports`), of a proxy's credentials (`proxy_auth`), and
    /// of a URL that a redirect leads to. Both requests are within the deadline of the job. Where http is not spoken
    /// either, the record has the error of https. Off by default, and without effect where
    /// [robots.txt](crate::Politeness::robots) counts.
    pub fn http_fallback(mut self, falls_back: bool) -> Self {
        self.settings.falls_back_to_http = falls_back;
        self
    }

    /// Configures the client of each worker: proxies, cookies, retries, name servers and the like. Its limits, time
    /// limits and redirects are the run's, whatever is set here, and so is what its requests wait for
    /// ([`pace`](ClientBuilder::pace)), unless there is no [`politeness`](Self::politeness).
    ///
    /// Its [`Retries`](stoop::Retries) hold for content that breaks off, too, unless there is middleware: what has come
    /// of it is dropped, with its memory, and [`Details::attempts`](crate::Details::attempts) tells how often the request was
    /// sent. Of content of more than 1 MiB that is [saved](Self::save), the rest is asked for instead (RFC 9110 §14), where the
    /// response to a plain GET has a strong validator and no content coding: a strong ETag, or without any a Last-Modified that
    /// is a minute earlier than its Date. What comes is appended where it is the rest of the same content; otherwise that
    /// begins anew. The record tells the first response, and the length of all. What is longer than
    /// [`body_bytes_max`](Self::body_bytes_max) is not asked for again.
    ///
    /// ```
    /// use stoop::Retries;
    /// use stoop_fetch::Fetch;
    ///
    /// let fetch = Fetch::new().client(|client| client.retries(Retries::up_to(2)).user_agent("survey/1.0"));
    /// # drop(fetch);
    /// ```
    pub fn client(
        mut self,
        configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.settings.configure = Some(Arc::new(configure));
        self
    }

    /// The TLS of all workers' clients. It is made ready while the first jobs are read, so that no job pays
    /// for that, which it would if it were set by [`client`](Self::client).
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub fn tls(mut self, tls: stoop::tls::ClientTls) -> Self {
        self.settings.tls = Some(tls);
        self
    }

    /// What fetches the sitemaps of an index for this run, with the settings with which that begins, also those that are
    /// made later.
    ///
    /// ```
    /// use stoop_fetch::{Fetch, source::Sitemap};
    ///
    /// let index = "<sitemapindex><sitemap><loc>https://example.com/a.xml</loc></sitemap></sitemapindex>";
    /// let mut fetch = Fetch::new();
    /// let mut nested = fetch.nested_sitemaps();
    /// let source = Sitemap::new(index.as_bytes()).open_nested(move |url| nested.open(url));
    /// # drop(source);
    /// ```
    pub fn nested_sitemaps(&mut self) -> NestedSitemaps {
        let link = self.sitemaps.get_or_insert_default();
        NestedSitemaps::new(&mut self.settings, Arc::clone(link))
    }

    /// The request that ends the run early, where the source has to know it before the run starts. By default
    /// the run has one of its own.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.settings.stop = stop;
        self
    }
}
