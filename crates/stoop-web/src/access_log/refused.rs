//! Lines of requests that a server refuses before a handler is called, and so no middleware sees.

use std::net::SocketAddr;

use stoop::{ServerTimeout, ServingEvent, StatusCode, Version};

use super::collect::RefusedRequest;
use super::entry::LogEntry;
use super::writer::LogHandle;

impl LogHandle {
    /// Writes a line for what a server has answered without a handler, which middleware does not see: 400, 408, 413, 431 and
    /// their like for what is malformed, too large or too late, 429 for an address with too many connections, 503 for
    /// what is shed. Of all other events it writes none: for [`Server::observe`](stoop::Server::observe).
    ///
    /// Of a request whose head has not come whole, the line has no method, target and host. Those of one connection of
    /// HTTP/2 that are refused together have one line.
    ///
    /// ```
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use stoop_web::{AccessLog, Router, get};
    ///
    /// let log = AccessLog::combined(std::io::stdout());
    /// let refused = log.handle();
    /// let app = Router::new().route("/", get(|| "hello")).layer(log).build()?;
    /// let server = stoop::Server::listen("127.0.0.1:0")?
    ///     .observe(move |peer, event| refused.observe(peer, event))
    ///     .run(app)?;
    /// # Ok(()) }
    /// ```
    pub fn observe(&self, peer: Option<SocketAddr>, event: &ServingEvent<'_>) {
        let text;
        let (head, version, status, reason) = match event {
            ServingEvent::Refused { answer: Some(status), reason, .. } => {
                text = reason.to_string();
                (None, Version::HTTP_11, *status, &*text)
            }
            ServingEvent::Malformed {
                version,
                answer: Some(status),
                reason,
                is_handled: false,
                ..
            } => (None, *version, *status, *reason),
            // The others are those of a request that a handler was called for.
            ServingEvent::TimedOut {
                timeout: timeout @ ServerTimeout::Head,
                answer: Some(status),
                ..
            } => {
                text = timeout.to_string();
                (None, Version::HTTP_11, *status, &*text)
            }
            ServingEvent::Shed { head, reason, .. } => {
                text = reason.to_string();
                (Some(*head), head.version(), StatusCode::SERVICE_UNAVAILABLE, &*text)
            }
            _ => return,
        };
        let refused = RefusedRequest { head, version, status, reason };
        self.0.shared.put(LogEntry::refused_by_server(peer, &refused));
    }
}
