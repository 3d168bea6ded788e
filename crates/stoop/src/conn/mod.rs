//! What drives protocol machines over transports, shared by the client and the server.

pub(crate) mod http2;
pub(crate) mod linger;
pub(crate) mod rate;
pub(crate) mod recycle;
pub(crate) mod tunnel;
pub(crate) mod wire;

use bytes::Bytes;
use stoop_io::Output;

use crate::body::file_content::FileChunk;

/// Lets a machine write to a transport's output: neither crate knows the other.
pub(crate) struct OutputSink<'a>(pub(crate) &'a mut Output);

impl OutputSink<'_> {
    /// Appends what a machine was told of by its length.
    pub(crate) fn put_chunk(&mut self, chunk: FileChunk) {
        match chunk {
            FileChunk::Bytes(bytes) => self.0.share(bytes),
            FileChunk::Piece(piece) => self.0.put_file(piece),
        }
    }
}

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
