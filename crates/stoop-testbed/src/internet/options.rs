//! The options for running an internet.

use std::net::{Ipv4Addr, SocketAddr};

use crate::log::Log;

/// How the hosts of an internet get their addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostAddresses {
    /// Each one of 127.0.0.0/8 where the system allows it (Linux does), else all the same.
    #[default]
    BestPossible,
    /// 127.0.0.1 for all: hosts are told apart by name only. What macOS gets anyway.
    Shared,
}

/// Options for running an internet; its hosts are those of the [`Plan`](super::Plan).
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its name server listens, UDP and TCP; in 127.0.0.0/8. Default: a free port of
    /// 127.0.0.1.
    pub dns: SocketAddr,
    /// The port of plain HTTP. Default: 0, a free one.
    pub http_port: u16,
    /// The port of HTTPS. Default: 0, a free one.
    pub https_port: u16,
    /// How many connections are served at once; more wait to be accepted. Default: 12,000.
    pub connections_max: usize,
    /// Where the log goes. Default: nowhere.
    pub log: Log,
    /// How hosts get their addresses.
    pub addresses: HostAddresses,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dns: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            http_port: 0,
            https_port: 0,
            connections_max: 12_000,
            log: Log::none(),
            addresses: HostAddresses::default(),
        }
    }
}
