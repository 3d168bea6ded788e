//! §6.6 PUSH_PROMISE, §8.4 Server Push: neither our client nor our server supports it.

use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{client, client_after_get, server};
use stoop_test::frames::{block, flag, frame, kind, settings};

use super::kit::{GET, ManualMachine, breaks, post};

/// "PUSH_PROMISE MUST NOT be sent if the SETTINGS_ENABLE_PUSH setting of the peer endpoint is set to 0.
/// An endpoint that has set this setting and has received acknowledgment MUST treat the receipt of a
/// PUSH_PROMISE frame as a connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn a_client_takes_no_promise() {
    let promise = [&[0, 0, 0, 2][..], &block(GET)].concat();
    for (stream, flags) in [(1, flag::END_HEADERS), (1, 0), (3, 4), (0, 4), (2, 4)] {
        breaks(
            &client_after_get(),
            &frame(kind::PUSH_PROMISE, flags, stream, &promise),
            Fault::Push,
        );
    }
    breaks(&client(), &frame(kind::PUSH_PROMISE, 0, 1, b""), Fault::Push);
}

/// §8.4: "A client cannot push. Thus, servers MUST treat the receipt of a PUSH_PROMISE frame as a
/// connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn a_client_cannot_push() {
    let promise = frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]);
    breaks(&server(), &promise, Fault::Push);
    breaks(&server(), &[post(1), promise].concat(), Fault::Push);
}

/// §6.5.2: the client says so in its SETTINGS, and a server may say that it does not push either.
#[test]
fn push_is_switched_off() {
    let mut out = ManualMachine::new(
        stoop_proto::h2::Connection::client(stoop_proto::Limits::client()),
        stoop_proto::Limits::client(),
    );
    out.connection.transmit(out.now, &mut out.out);
    assert!(out.out.windows(6).any(|entry| entry == [0, 2, 0, 0, 0, 0]));
    assert_eq!(client().feed(&settings(&[(2, 0)])).fault, None);
    breaks(&client(), &settings(&[(2, 1)]), Fault::Setting);
}
