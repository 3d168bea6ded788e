//! The thread that reads the settings again, and opens the access log anew.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::service::Service;

/// Reads everything again on a thread of its own. What is opened then may be on a network, and names of places are looked
/// up: that may stand still, and signals are obeyed meanwhile.
pub(super) struct Reloader {
    ask: SyncSender<()>,
    /// All is to be read, and not the log alone to be opened.
    reads_all: Arc<AtomicBool>,
}

impl Reloader {
    /// Starts the thread, which ends with this, or with the process.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start(service: Arc<Service>) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let reads_all = Arc::new(AtomicBool::new(false));
        let reads = reads_all.clone();
        let named = thread::Builder::new().name("stoop-reload".to_owned());
        named.spawn(move || {
            for () in asked {
                match reads.swap(false, AcqRel) {
                    true => service.reload(),
                    false => service.reopen_log(),
                }
            }
        })?;
        Ok(Self { ask, reads_all })
    }

    /// Asks for it. One that waits already will read what is there then.
    pub(super) fn ask(&self) {
        self.reads_all.swap(true, AcqRel);
        let _ = self.ask.try_send(());
    }

    /// Asks for the log alone, which is opened anew where all is read, too.
    pub(super) fn ask_for_log(&self) {
        let _ = self.ask.try_send(());
    }
}
