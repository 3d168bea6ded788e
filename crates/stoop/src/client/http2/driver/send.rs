//! Sending a request's content, and what the owners of exchanges have done.

use stoop_proto::h2::{ErrorCode, StreamKey};

use super::ClientDriver;
use crate::conn::http2::driver::SendFailure;
use crate::error::{Error, ErrorKind, Phase};

impl ClientDriver {
    /// Looks at what the owner of the exchange at that index has done, and polls the request's content.
    pub(super) fn run(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.at(index) else { return };
        let key = exchange.key;
        let changes = exchange.shared.look();
        if changes.goes_ahead {
            exchange.go_ahead();
        }
        self.credit(key, changes.taken);
        if changes.asks_if_idle {
            self.answer_if_idle(key);
        }
        if let Some(how) = changes.abandoned {
            self.abandoned(key, how);
        }
        if let Some(exchange) = self.exchanges.get(key)
            && let Some(upload) = &exchange.upload
            && upload.outflow.needs_poll()
            && !upload.is_held
        {
            self.poll_content(key);
        }
    }

    /// The owner of an upload has waited for `send_idle`: it is told whether to go on.
    fn answer_if_idle(&mut self, key: StreamKey) {
        let moved_at = self.upload_moved_at(key);
        if let Some(exchange) = self.exchanges.get(key) {
            exchange.shared.answer_if_idle(moved_at);
        }
    }

    /// A request cannot be completed: its content failed, or is not what was announced.
    pub(super) fn send_failed(&mut self, key: StreamKey, failure: SendFailure<Error>) {
        let Some(exchange) = self.abort(key, ErrorCode::CANCEL) else { return };
        exchange.shared.fail(|| match failure {
            SendFailure::Source(error) => error.into_request_body_error(),
            SendFailure::Panic => panicked(),
            SendFailure::Misuse(misuse) => Error::misuse(misuse, Phase::Send),
        });
    }

    /// A request was sent to its end.
    pub(super) fn sent(&mut self, key: StreamKey) {
        let now = self.now;
        self.role.uploads_moved_at = now;
        if let Some(exchange) = self.exchanges.get(key) {
            exchange.upload = None;
            exchange.shared.sending(None, Some(now));
            // The owner of the tunnel has left: it does not read what comes.
            if exchange.is_tunnel && exchange.abandoned_until.is_some() && !exchange.is_complete {
                self.abort(key, ErrorCode::CANCEL);
            }
        }
        self.remove_exchange(key);
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::RequestBody, Phase::Send).with_detail("the body's source panicked")
}
