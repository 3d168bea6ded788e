//! The secrets of sessions, written to a file for those who look into recordings of the network.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;

use super::config_error::TlsConfigError;

/// A file that secrets are appended to, in NSS' key log format.
#[derive(Debug)]
pub(super) struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    pub(super) fn open(path: &Path) -> Result<Self, TlsConfigError> {
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened
            .map(|file| Self(Mutex::new(file)))
            .map_err(|error| TlsConfigError::new(Some(path), error.to_string()))
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        // Whole lines, so that several processes may share a file. A disk that is full costs the log, not the session.
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(line.as_bytes());
    }
}
