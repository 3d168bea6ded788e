//! A server whose events are kept as lines, for the tests of what it tells.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Server, ServerHandle, ServerLimits, ServingEvent, StatusCode};

use crate::any_handler::IntoAny;

/// The lines of what a server has told.
#[derive(Clone, Default)]
pub(super) struct EventLog(Arc<Mutex<Vec<String>>>);

impl EventLog {
    /// What keeps the lines of a server.
    pub(super) fn observe(&self, server: Server) -> Server {
        let log = self.clone();
        server.observe(move |peer, event| {
            let is_of_no_client = matches!(event, ServingEvent::Paused { .. });
            assert_eq!(peer.is_none(), is_of_no_client, "{event:?}");
            log.0.lock().unwrap().push(line(event));
        })
    }

    /// The lines so far, and none of them again.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Stops the server. Returns what it has told, without the beginnings and ends of connections.
    pub(super) async fn between(&self, server: &ServerHandle) -> Vec<String> {
        server.drain(Duration::from_secs(100)).await;
        let mut lines = self.take();
        lines.retain(|line| line != "accepted" && !line.starts_with("closed"));
        lines
    }
}

fn line(event: &ServingEvent<'_>) -> String {
    let code = |status: &Option<StatusCode>| status.map_or(0, |status| status.as_u16());
    match event {
        ServingEvent::Accepted { .. } => "accepted".to_owned(),
        ServingEvent::Refused { reason, answer, .. } => {
            format!("refused {reason:?} {}", code(answer))
        }
        ServingEvent::Paused { reason, .. } => format!("paused {reason:?}"),
        ServingEvent::HandshakeFailed { error, .. } => format!("handshake {}", error.is_some()),
        ServingEvent::Malformed { version, violation, reason, answer, requests, .. } => {
            assert_eq!(
                violation
                    .map(|violation| violation.to_string())
                    .is_some_and(|text| text == *reason),
                *version == stoop::Version::HTTP_11
            );
            format!("{requests} over {version:?}: {reason}: {}", code(answer))
        }
        ServingEvent::Http2Fault { reason, is_abuse, .. } => format!("fault {is_abuse}: {reason}"),
        ServingEvent::TimedOut { timeout, answer, .. } => {
            format!("late {timeout:?} {}", code(answer))
        }
        ServingEvent::Shed { head, reason, .. } => format!("shed {}: {reason}", head.path()),
        ServingEvent::HandlerFailed { method, path, status, error, .. } => {
            format!("failed {method} {path} {}: {error}", status.as_u16())
        }
        ServingEvent::ContentFailed { error, answer, .. } => match error {
            Some(error) => format!("content failed {}: {error}", code(answer)),
            None => format!("content panicked {}", code(answer)),
        },
        ServingEvent::Panicked { method, path, message, .. } => {
            format!("panicked {method} {path}: {message}")
        }
        ServingEvent::Closed { reason, .. } => match reason {
            Some(reason) => format!("closed {reason:?}"),
            None => "closed".to_owned(),
        },
        _ => format!("{event:?}"),
    }
}

/// Starts a server on a port of its own, on the runtime of the test.
pub(super) fn observed<K>(
    limits: ServerLimits,
    handler: impl IntoAny<K>,
) -> (ServerHandle, EventLog) {
    let log = EventLog::default();
    let server = log.observe(Server::listen("127.0.0.1:0").unwrap().limits(limits));
    (server.run_here(handler.into_any()).unwrap(), log)
}
