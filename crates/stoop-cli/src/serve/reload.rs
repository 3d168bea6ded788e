//! The thread that reads the settings again.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::service::Service;

/// Reads everything again on a thread of its own. What is opened then may be on a network, and names of places are looked
/// up: that may stand still, and signals are obeyed meanwhile.
pub(super) struct Reloader(SyncSender<()>);

impl Reloader {
    /// Starts the thread, which ends with this, or with the process.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start(service: Arc<Service>) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let named = thread::Builder::new().name("stoop-reload".to_owned());
        named.spawn(move || {
            for () in asked {
                service.reload();
            }
        })?;
        Ok(Self(ask))
    }

    /// Asks for it. One that waits already will read what is there then.
    pub(super) fn ask(&self) {
        let _ = self.0.try_send(());
    }
}
