//! Finds the received ciphertext of a session: in the socket's own buffer, or in a copy beside it.

use crate::any_transport::AnyTransport;
use crate::buffer::ReceiveBuffer;

/// Whether `inner` lends its receive buffer, to be decrypted in place.
pub(super) fn lends_buffer(inner: &AnyTransport) -> bool {
    matches!(inner, AnyTransport::Tcp(_) | AnyTransport::Unix(_))
}

/// The buffer that holds the received ciphertext.
pub(super) fn ciphertext<'a>(
    inner: &'a mut AnyTransport,
    copied: &'a mut ReceiveBuffer,
) -> &'a mut ReceiveBuffer {
    match inner {
        AnyTransport::Tcp(tcp) => tcp.buffer(),
        AnyTransport::Unix(unix) => unix.buffer(),
        AnyTransport::Tls(_) | AnyTransport::Custom(_) => copied,
    }
}
