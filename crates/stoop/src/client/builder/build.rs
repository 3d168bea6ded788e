//! A client, of what was said of it.

use std::sync::Arc;

#[cfg(feature = "proxy")]
use stoop_io::PeerAddress;

use super::ClientBuilder;
use crate::client::Client;
#[cfg(feature = "proxy")]
use crate::client::Switch;
use crate::client::backoff::Backoff;
use crate::client::connect::Connector;
#[cfg(feature = "proxy")]
use crate::client::connect::Proxied;
use crate::client::names::Names;
#[cfg(feature = "proxy")]
use crate::client::observe::ClientEvent;
use crate::client::observe::Observers;
use crate::client::pool::Pool;
#[cfg(feature = "proxy")]
use crate::client::proxy::{OpenTunnel, declined};
#[cfg(feature = "proxy")]
use crate::client::send::switch_observed;
use crate::client::shared::ClientShared;
use crate::error::Error;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::error::{ErrorKind, Phase};
#[cfg(feature = "proxy")]
use crate::limits::PoolLimits;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::tls::ClientTls;

impl ClientBuilder {
    /// Makes the client.
    ///
    /// # Errors
    /// [`InvalidMessage`](crate::ErrorKind::InvalidMessage) for a default field that may not be sent;
    /// [`InvalidUrl`](crate::ErrorKind::InvalidUrl) for a base URL that is none, and for a host given to
    /// [`resolve`](Self::resolve) that no URL can have;
    /// [`TlsHandshake`](crate::ErrorKind::TlsHandshake) where the platform's root certificates cannot be
    /// loaded.
    pub fn build(mut self) -> Result<Client, Error> {
        let names = Arc::new(std::mem::take(&mut self.names).with_defaults());
        if self.accepts_any && !self.default_fields.contains("accept") {
            self.default_fields.push("accept", b"*/*")?;
        }
        self.build_with(names, true)
    }

    /// The client that asks proxies for tunnels: it finds them as this one finds servers, and adds nothing of its own
    /// to what they are asked for but the User-Agent.
    #[cfg(feature = "proxy")]
    fn build_proxied(&mut self, names: &Arc<Names>) -> Result<Option<Proxied>, Error> {
        if self.proxies.is_none() {
            return Ok(None);
        }
        let mut limits = self.limits.clone();
        limits.pool = PoolLimits::default();
        if limits.time.connect.is_some() || self.connect_timeout.is_some() {
            // A proxy that connects for long is within the limit for that.
            limits.time.head_wait = None;
        }
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        let tls = match self.proxy_tls.take().or_else(|| self.tls.clone()) {
            Some(tls) => tls,
            None => default_tls()?,
        };
        let builder = Self {
            limits,
            connect_timeout: self.connect_timeout,
            #[cfg(feature = "compression")]
            decodes: false,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: Some(tls.clone()),
            ..Self::default()
        };
        let builder = match self.default_fields.first("user-agent") {
            Some(agent) => builder.default_header("user-agent", agent),
            None => builder,
        };
        let client = builder.build_with(names.clone(), false)?;
        Ok(Some(Proxied {
            proxies: std::mem::take(&mut self.proxies),
            open_tunnel: tunnels(client),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls,
        }))
    }

    #[cfg_attr(not(feature = "proxy"), expect(unused_mut, reason = "proxies are taken"))]
    fn build_with(mut self, names: Arc<Names>, is_to_servers: bool) -> Result<Client, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        #[cfg(feature = "proxy")]
        let proxied = self.build_proxied(&names)?;
        let base_url = self.base_url.as_deref().map(crate::url::parse).transpose()?;
        let connector = Connector {
            names,
            is_to_servers,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: self.tls.map_or_else(default_tls, Ok)?,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            keeps_certificates: self.keeps_certificates,
            route: self.route,
            versions: self.versions,
            setup: self.setup,
            #[cfg(feature = "proxy")]
            proxied,
        };
        let mut limits = self.limits;
        if let Some(total) = self.timeout {
            limits.time.total = Some(total);
        }
        limits.time.connect = self.connect_timeout.or(limits.time.connect);
        let pool = Pool::new(limits.pool.clone());
        let observers = Observers::new(self.observers);
        #[cfg(feature = "metrics")]
        let observers = observers.counted(self.are_counted);
        Ok(Client(Arc::new(ClientShared {
            connector,
            pool,
            backoff: Backoff::default(),
            wire_limits: Arc::new(limits.wire.clone()),
            limits: Arc::new(limits),
            #[cfg(feature = "cookies")]
            cookies: self.cookies,
            validators: self.validators,
            netrc: self.netrc,
            hsts: self.hsts,
            redirects: self.redirects,
            retries: self.retries,
            retry_budget: self.retry_budget,
            pace: self.pace,
            default_fields: self.default_fields,
            #[cfg(feature = "compression")]
            decodes: self.decodes,
            base_url,
            observers,
            allow_private: self.allow_private,
            middleware: self.middleware,
        })))
    }
}

/// The platform's roots, and no certificate of one's own.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
fn default_tls() -> Result<ClientTls, Error> {
    ClientTls::builder()
        .build()
        .map_err(|error| Error::new(ErrorKind::TlsHandshake, Phase::Request).with_source(error))
}

/// Has tunnels opened by a client that knows no proxies, and shares the connections to those that speak HTTP/2.
#[cfg(feature = "proxy")]
fn tunnels(client: Client) -> OpenTunnel {
    Box::new(move |request, observer| {
        let client = client.clone();
        Box::pin(async move {
            match switch_observed(&client.0, request, observer.for_tunnel()).await? {
                Switch::Accepted(upgraded) => {
                    if let Some(head) = &upgraded.head {
                        observer.tell(&ClientEvent::TunnelAnswered { head });
                    }
                    Ok(upgraded.io)
                }
                Switch::Declined(response) => {
                    let error = declined(response.status(), response.fields());
                    Err(match response.remote_address() {
                        Some(address) => error.with_peer(PeerAddress::Inet(address)),
                        None => error,
                    })
                }
            }
        })
    })
}
