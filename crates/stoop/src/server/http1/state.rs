//! What a connection keeps between its rounds: its stage, and the requests that are not answered to the end.

use std::time::Instant;

use stoop_proto::h1;

use super::ending::End;
use crate::body::file_content::FileContent;
use crate::body::request_body::RequestBodyWriter;
use crate::conn::linger::Linger;
use crate::conn::recycle::Recycle;
use crate::handler::Handler;
use crate::request::RequestParts;
use crate::request::interim::InterimQueue;
use crate::response::Response;
use crate::server::future_pool::FutureSlot;
use crate::server::polled_body::PolledBody;
use crate::upgrade::UpgradeSender;

/// The stage of a connection.
pub(super) enum Http1Stage {
    /// TLS; over at once where there is none. One that is refused is told so behind it.
    Handshake { is_refused: bool },
    /// Requests and responses.
    Open,
    /// Content that no handler wants is read, to get to the next request.
    Discarding { left: u64, by: Instant },
    /// All responses are written, and their bytes are still to be sent.
    Closing { linger: bool },
    /// We have closed; the client gets time to read the last response (RFC 9112 §9.6).
    Lingering(Linger),
    /// A response cannot be completed; the client must notice.
    Breaking,
    /// The connection is another protocol's once the head that says so was sent.
    Switching(UpgradeSender),
    /// The client has said that it speaks HTTP/2.
    Http2,
}

/// What follows a round.
pub(super) enum Http1Round {
    Again,
    Wait,
    End(End),
}

/// A request whose response is not finished.
pub(super) struct PipelinedExchange<H: Handler> {
    pub(super) answer: h1::ResponseContext,
    pub(super) response: PipelinedResponse<H>,
    /// Where the request's content goes, while there is some to come.
    pub(super) content: Option<RequestBodyWriter>,
    /// What its handler sends ahead of the response, if it may.
    pub(super) interim: Option<InterimQueue>,
    /// Safe and without content: others may run beside it (RFC 9112 §9.3.2).
    pub(super) parallel: bool,
    /// It was woken, or may have been.
    pub(super) due: bool,
    /// Since when its handler runs, where there is a limit for that.
    pub(super) since: Option<Instant>,
}

impl<H: Handler> PipelinedExchange<H> {
    /// Whether its handler is to be polled.
    pub(super) fn is_due(&self) -> bool {
        self.due && self.is_running()
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.response, PipelinedResponse::Running(_))
    }
}

/// How far the response is.
pub(super) enum PipelinedResponse<H: Handler> {
    Running(FutureSlot<H::Future>),
    There(Response<H::Body>),
    Sending(PolledBody<H::Body>),
    /// Content that is a file, which the transport may send itself.
    SendingFile(Box<FileContent>),
}

/// A request whose handler was not called yet.
pub(super) struct HeldRequest {
    pub(super) parts: Recycle<RequestParts>,
    /// Nothing follows its head.
    pub(super) end: bool,
}

/// What a round came to that reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// Something was read: there may be more to do.
    Moved,
    /// Nothing may be read now.
    Held,
    /// Nothing is to be read, but that the client is gone is to be noticed: by reading, at most what
    /// one call brings.
    Watches,
    /// The next request's bytes are needed.
    WantsHead,
    /// Bytes of content are needed, for which a handler waits.
    WantsContent,
}
