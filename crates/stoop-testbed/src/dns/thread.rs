//! Runs a DNS server on a thread of its own.

use std::io;
use std::net::SocketAddr;
use std::thread;

use tokio::sync::oneshot;

use super::records::Zone;
use super::server::DnsServer;
use crate::log::Log;
use crate::stats::Counters;

/// A DNS server on a thread of its own, which runs until this is dropped.
///
/// A thousand clients that start at once send a thousand queries within milliseconds, and the kernel
/// keeps only some hundreds of them: a server that reads them late loses the others, and their senders
/// wait for seconds before they ask again. A thread that does nothing else is not late.
pub(crate) struct DnsThread {
    address: SocketAddr,
    /// Dropped, it tells the thread to stop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl DnsThread {
    pub(crate) async fn start(
        zone: impl Zone,
        address: SocketAddr,
        log: Log,
        counters: Counters,
    ) -> io::Result<Self> {
        let (stop, stopping) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = async move {
            match DnsServer::serve(zone, address, log, counters).await {
                Ok(server) => {
                    let _ = tell.send(Ok(server.address()));
                    let _ = stopping.await;
                }
                Err(error) => {
                    let _ = tell.send(Err(error));
                }
            }
        };
        let thread = thread::Builder::new().name("stoop-names".into());
        let thread = thread.spawn(move || runtime.block_on(run))?;
        let address = told.await.map_err(io::Error::other)??;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for DnsThread {
    /// Returns when the sockets are closed; what the thread still does takes microseconds.
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
