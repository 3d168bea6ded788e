//! An exchange, as its connection's driver has it.

use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};

use stoop_proto::h2::StreamKey;

use super::upload::{Http2Upload, SendProgress};
use crate::body::Body;
use crate::client::deadlines::Waiting;
use crate::client::http2::shared_exchange::SharedExchange;
use crate::conn::http2::driver::SendingExchange;
use crate::conn::http2::outflow::{Outflow, Polled};
use crate::error::{Error, Phase};
use crate::limits::{ClientTime, after};

/// What the connection keeps of an exchange whose request has a stream.
pub(super) struct ClientExchange {
    pub(super) key: StreamKey,
    pub(super) shared: Arc<SharedExchange>,
    /// The request's content, if some of it is still to be sent.
    pub(super) upload: Option<Http2Upload>,
    /// The head of the final response has come.
    pub(super) has_head: bool,
    /// The response has come to its end.
    pub(super) is_complete: bool,
    /// The request is a CONNECT.
    pub(super) is_tunnel: bool,
    /// The deadline of everything. The owner keeps it itself as long as it waits.
    pub(super) until: Option<Instant>,
    /// Set once the owner has left, or may not come back: when what is left of the exchange is given up.
    pub(super) abandoned_until: Option<Instant>,
    /// Bytes of content that came since.
    pub(super) abandoned_bytes: u64,
}

impl ClientExchange {
    /// What its owner waits for.
    pub(super) fn phase(&self) -> Phase {
        if self.has_head { Phase::Receive } else { Phase::Wait }
    }

    /// Content need not wait for a 100 any more.
    pub(super) fn go_ahead(&mut self) {
        if let Some(upload) = &mut self.upload {
            upload.is_held = false;
        }
    }

    /// A part of the request's content was written, up to that position of the output, and more follows.
    pub(super) fn piece_sent(&mut self, position: i64, now: Instant, time: &ClientTime) {
        if let Some(upload) = &mut self.upload {
            upload.progress = SendProgress::written_to(position);
        }
        self.shared.sending(Some(Waiting::Sending), Some(now));
        if self.until.is_none() && self.abandoned_until.is_some() {
            self.abandoned_until = Some(after(now, time.send_idle.unwrap_or(Duration::MAX)));
        }
    }
}

impl SendingExchange for ClientExchange {
    type Source = Body;

    #[inline]
    fn outflow(&mut self) -> Option<&mut Outflow<Body>> {
        self.upload.as_mut().map(|upload| &mut upload.outflow)
    }

    /// The exchange's owner is told what sending waits for.
    fn poll_source(&mut self, cx: &mut Context<'_>, _: usize) -> Option<Polled<Error>> {
        let polled = self.upload.as_mut()?.outflow.poll_piece(cx);
        match polled {
            Polled::Pending => self.shared.sending(Some(Waiting::Caller), None),
            Polled::Piece | Polled::Unread => self.shared.sending(Some(Waiting::Sending), None),
            Polled::End | Polled::Failed(_) | Polled::Panicked => {}
        }
        Some(polled)
    }
}
