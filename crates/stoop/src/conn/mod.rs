//! What drives protocol machines over transports, shared by the client and the server.

pub(crate) mod http2;
pub(crate) mod rate;
pub(crate) mod recycle;
pub(crate) mod tunnel;
pub(crate) mod wire;

use bytes::Bytes;
use stoop_io::Output;

/// Lets a machine write to a transport's output: neither crate knows the other.
pub(crate) struct OutputSink<'a>(pub(crate) &'a mut Output);

impl stoop_proto::Sink for OutputSink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }
    #[inline]
    fn share(&mut self, bytes: Bytes) {
        self.0.share(bytes);
    }
}
