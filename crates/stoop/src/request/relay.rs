//! Extensions of requests, on their way to a handler in this process.
//!
//! Values cannot cross a connection, not even one over memory: they wait here, under a number that the
//! request carries in a field. The handler's end takes the field away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Extensions;
use stoop_proto::{Fields, Misuse};

use super::Request;

/// The field with the number. It never leaves this process: other clients do not add it, and a value that
/// a caller has set is replaced.
const FIELD: &str = "stoop-extensions";

/// The extensions of requests that are under way to a handler.
#[derive(Default)]
pub(crate) struct ExtensionRelay(Mutex<Relayed>);

#[derive(Default)]
struct Relayed {
    last: u64,
    waiting: HashMap<u64, Extensions>,
}

/// Extensions that wait for their request, as long as this is kept: the request may be sent again.
pub(crate) struct RelayTicket {
    relay: Arc<ExtensionRelay>,
    number: u64,
}

impl ExtensionRelay {
    /// Has the extensions wait for a request with these fields.
    pub(crate) fn send(
        self: &Arc<Self>,
        extensions: &Extensions,
        fields: &mut Fields,
    ) -> Result<Option<RelayTicket>, Misuse> {
        fields.remove(FIELD);
        if extensions.is_empty() {
            return Ok(None);
        }
        let mut relayed = self.relayed();
        relayed.last += 1;
        let number = relayed.last;
        relayed.waiting.insert(number, extensions.clone());
        drop(relayed);
        let ticket = RelayTicket { relay: self.clone(), number };
        fields.push(FIELD, number.to_string().as_bytes())?;
        Ok(Some(ticket))
    }

    /// Gives a request that was received its extensions.
    pub(crate) fn receive(&self, request: &mut Request) {
        let Some(value) = request.field(FIELD) else { return };
        let number = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
        let extensions =
            number.and_then(|number: u64| self.relayed().waiting.get(&number).cloned());
        request.fields_mut().remove(FIELD);
        if let Some(extensions) = extensions {
            *request.extensions_mut() = extensions;
        }
    }

    fn relayed(&self) -> MutexGuard<'_, Relayed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RelayTicket {
    /// Takes the field away from a request that will not be sent again.
    pub(crate) fn remove_field(fields: &mut Fields) {
        fields.remove(FIELD);
    }
}

impl Drop for RelayTicket {
    fn drop(&mut self) {
        let extensions = self.relay.relayed().waiting.remove(&self.number);
        // Not under the lock: their destructors are the caller's code.
        drop(extensions);
    }
}
