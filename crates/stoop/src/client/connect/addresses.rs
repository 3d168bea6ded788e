//! The addresses that a URL's host has, for connections and for callers that want to know them beforehand.

use std::net::IpAddr;

use stoop_io::{Addresses, is_public, now};
use url::{Host, Url};

use super::{Connector, Route, private_address};
use crate::client::Client;
use crate::client::deadlines::Due;
use crate::client::observe::{ClientEvent, RequestObserver};
use crate::client::shared::ClientShared;
use crate::client::terms::ConnectLimits;
use crate::error::{Error, ErrorKind, Hop, Phase, RequestFacts};
use crate::limits::after;
use crate::request::RequestDeadlines;
use crate::timings::{Stopwatch, Timings};

impl Client {
    /// Finds the addresses that a connection for `url` would be made to, and connects to none.
    ///
    /// They are in the order in which they are tried. `url` is what [`get`](Client::get) takes: a whole URL, or one
    /// relative to the [base URL](crate::ClientBuilder::base_url). The client does what precedes a connection:
    ///
    /// 1. It turns http into https if its [`Hsts`](crate::Hsts) has the host.
    /// 2. It replaces host and port as [`connect_to`](crate::ClientBuilder::connect_to) says.
    /// 3. It looks the name up: in what [`resolve`](crate::ClientBuilder::resolve) has set, and else by its
    ///    [resolver](crate::ClientBuilder::resolver). An address in the URL is the result itself.
    /// 4. It leaves out addresses that the [local address](crate::ClientBuilder::local_address) cannot reach, and
    ///    those that the [filter](crate::ClientBuilder::address_filter) denies.
    /// 5. It puts the address first that the host was connected to last (RFC 8305 §4).
    ///
    /// The result is a snapshot. A request may still go elsewhere: over an open connection, to the second address if
    /// the first does not answer in time, or to where a redirect leads or middleware sends it. A
    /// [`Resolver`](crate::Resolver) remembers what it finds, so that a request soon after does not wait for its name.
    ///
    /// A proxy changes nothing: the addresses are those of the URL's host, not of the proxy. The name is looked up
    /// from this machine, in the clear, even where requests leave that to the proxy (an HTTP proxy, `socks5h`).
    ///
    /// The nearest of three limits holds: [`ClientTime::dns`](crate::ClientTime::dns) (5 s),
    /// [`setup_timeout`](crate::ClientBuilder::setup_timeout) (none) and
    /// [`ClientTime::total`](crate::ClientTime::total) (none). With none of them it waits as long as the resolver does.
    ///
    /// It needs a tokio runtime with time and I/O, as requests do. The future may be dropped at any time: a lookup that
    /// a `Resolver` has begun goes on, and its result is remembered. A [closed](Client::close) client finds addresses,
    /// too.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::net::IpAddr;
    /// use stoop::{Client, ErrorKind, dns};
    ///
    /// let client = Client::builder()
    ///     .resolve("a.example", [[93, 184, 216, 34].into(), [10, 0, 0, 7].into()])
    ///     .resolve("inside.example", [[10, 0, 0, 8].into()])
    ///     .address_filter(dns::is_public)
    ///     .build()?;
    /// let addresses = client.addresses_of("https://a.example/page").await?;
    /// assert_eq!(addresses[..], [IpAddr::from([93, 184, 216, 34])]);
    ///
    /// let error = client.addresses_of("https://inside.example/").await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AddressDenied);
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// * [`InvalidUrl`](ErrorKind::InvalidUrl): `url` is no http or https URL, or it is a path and there is no base URL.
    /// * [`InvalidMessage`](ErrorKind::InvalidMessage): the client connects to no address, but to a
    ///   [Unix socket](crate::ClientBuilder::unix_socket), to a [handler](crate::ClientBuilder::handler) or by a
    ///   [connector](crate::rt::connector).
    /// * [`DnsNxdomain`](ErrorKind::DnsNxdomain), [`DnsServfail`](ErrorKind::DnsServfail) and
    ///   [`DnsOther`](ErrorKind::DnsOther): the name does not exist, the name servers could not answer, or the name has
    ///   no address.
    /// * [`DnsTimeout`](ErrorKind::DnsTimeout), [`ConnectTimeout`](ErrorKind::ConnectTimeout) and
    ///   [`TotalTimeout`](ErrorKind::TotalTimeout), each in [`Phase::Dns`]: the limit `ClientTime::dns`,
    ///   `setup_timeout` or `ClientTime::total` has passed.
    /// * [`AddressDenied`](ErrorKind::AddressDenied): the filter denies every address.
    /// * [`ConnectUnreachable`](ErrorKind::ConnectUnreachable): no address is of the family of the local address.
    ///
    /// A resolver of the caller's may return errors of other kinds. [`Error::url`] is the URL, but for `InvalidUrl`,
    /// and [`Error::elapsed`] how long it took.
    pub async fn addresses_of(&self, url: impl AsRef<str>) -> Result<Addresses, Error> {
        let url = self.0.url_of_get(url.as_ref())?;
        self.0.addresses_of(&url).await
    }
}

impl ClientShared {
    /// The addresses that a connection for a URL would be made to, within the limits for a name.
    async fn addresses_of(&self, url: &Url) -> Result<Addresses, Error> {
        let (called, time) = (now(), &self.limits.time);
        let wish = time.total.map_or(RequestDeadlines::Endless, RequestDeadlines::Total);
        let terms = ConnectLimits {
            time,
            due: Due::new(wish, time, called),
            setup_by: self.connector.setup.map(|limit| after(called, limit)),
            public_only: None,
            observer: &RequestObserver::SILENT,
            #[cfg(feature = "proxy")]
            via: None,
        };
        let mut watch = Stopwatch::new(Timings::default(), called);
        let found = self.connector.addresses_of(url, terms, &mut watch).await;
        found.map_err(|error| {
            watch.lap(error.phase());
            // Nothing was sent, and asking again does no harm.
            let facts =
                RequestFacts { elapsed: watch.since - called, attempts: 0, is_idempotent: true };
            let error = error.with_timings(watch.timings).with_facts(facts);
            error.with_hop(Some(Hop::new(url, 0)))
        })
    }
}

impl Connector {
    /// The addresses that a connection for a URL would be made to, if one is made to an address at all.
    async fn addresses_of(
        &self,
        url: &Url,
        terms: ConnectLimits<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Addresses, Error> {
        let (to, by) = match self.route {
            Route::Network => {
                let replaced = self.replaced(url);
                let to = replaced.as_ref().unwrap_or(url);
                return self.addresses_in_order(to, self.is_to_servers, terms, watch).await;
            }
            Route::Unix(_) => ("to a Unix socket", "ClientBuilder::unix_socket"),
            Route::Made(_) => ("by a connector", "a connector"),
            Route::Handler(..) => ("to a handler", "ClientBuilder::handler"),
        };
        Err(Error::new(ErrorKind::InvalidMessage, Phase::Request).with_text(format_args!(
            "the client connects {to}, so that a URL has no addresses: ask a client that was built without {by}"
        )))
    }

    /// A URL with the host and port that are connected to in place of its own.
    pub(super) fn replaced(&self, url: &Url) -> Option<Url> {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        let (host, port) = self.names.replacement(host, port).filter(|_| self.is_to_servers)?;
        let mut replaced = url.clone();
        // None of these fails: what is connected to was checked when it was set.
        match host.parse() {
            Ok(address) => replaced.set_ip_host(address).ok()?,
            Err(_) => replaced.set_host(Some(&host)).ok()?,
        }
        replaced.set_port(Some(port)).ok()?;
        Some(replaced)
    }

    /// The addresses of a URL's host that may be connected to, in the order in which they are tried.
    pub(super) async fn addresses_in_order(
        &self,
        url: &Url,
        is_filtered: bool,
        terms: ConnectLimits<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Addresses, Error> {
        let addresses = self.addresses(url, is_filtered, terms, watch).await?;
        Ok(self.names.winner_first(url.host_str().unwrap_or_default(), addresses))
    }

    /// The addresses of a URL's host that may be connected to, in the order of the resolver.
    pub(super) async fn addresses(
        &self,
        url: &Url,
        is_filtered: bool,
        terms: ConnectLimits<'_>,
        watch: &mut Stopwatch,
    ) -> Result<Addresses, Error> {
        let addresses: Addresses = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address).into(),
            Some(Host::Ipv6(address)) => IpAddr::V6(address).into(),
            Some(Host::Domain(name)) => {
                let port = url.port_or_known_default().unwrap_or(80);
                let looking_up = self.names.lookup(name, port);
                let found = terms.within(terms.time.dns, Phase::Dns, looking_up).await;
                let found = found.map_err(|error| match error.kind() {
                    ErrorKind::DnsTimeout => error.with_detail(name),
                    _ => error,
                })??;
                watch.lap(Phase::Dns);
                terms.observer.tell(&ClientEvent::Resolved { host: name, addresses: &found });
                found
            }
            None => return Err(Error::new(ErrorKind::InvalidUrl, Phase::Request)),
        };
        // Checked on the very addresses that are connected to, so that a name cannot change its mind.
        if let Some(why) = terms.public_only
            && let Some(private) = addresses.iter().find(|address| !is_public(**address))
        {
            return Err(private_address(url, *private, why));
        }
        self.names.permitted(addresses, is_filtered)
    }
}
