//! Resolves names with one given server, by the resolver that reqwest offers as a feature. reqwest's own
//! integration reads only the system's configuration.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

pub(crate) struct ServerResolver {
    resolver: Arc<TokioResolver>,
}

impl ServerResolver {
    pub(crate) fn new(server: SocketAddr) -> io::Result<Self> {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
            .map(|mut connection| {
                connection.port = server.port();
                connection
            })
            .to_vec();
        let name_server = NameServerConfig::new(server.ip(), true, connections);
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![name_server]);
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        // Both address families, as in reqwest's own integration.
        builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        let resolver = builder.build().map_err(io::Error::other)?;
        Ok(Self { resolver: Arc::new(resolver) })
    }
}

impl Resolve for ServerResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.resolver);
        Box::pin(async move {
            let lookup = resolver.lookup_ip(name.as_str()).await?;
            let addresses: Vec<_> = lookup.iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
