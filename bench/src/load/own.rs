//! Our own load, `stoop-bench-load` in `floor/`.

use std::net::SocketAddr;

use super::{DEPTH, Load};

pub(super) fn arguments(
    load: &Load,
    address: SocketAddr,
    connections: u32,
    seconds: u32,
) -> Vec<String> {
    let mut words = vec![address.to_string(), connections.to_string(), seconds.to_string()];
    if load.asked.pipelined {
        words.extend([DEPTH.to_string(), load.file.display().to_string()]);
    }
    words
}
