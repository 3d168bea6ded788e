//! §6.3 PRIORITY, which RFC 9113 has deprecated: it is read, checked, and ignored.

use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{frame, kind, priority};

use super::kit::{breaks, get, ignores, post, resets};

/// "The PRIORITY frame can be sent on a stream in any state"
#[test]
fn a_priority_frame_may_come_at_any_time_for_any_stream() {
    for stream in [1, 2, 3, 77, (1 << 31) - 1] {
        ignores(&server(), &priority(stream, 0));
        ignores(&client_after_get(), &priority(stream, 5));
    }
    ignores(&server(), b"\x00\x00\x05\x02\x00\x00\x00\x00\x01\x80\x00\x00\x03\xff");
    let outcome = server().feed(&[post(1), priority(1, 3), get(3), priority(1, 3)].concat());
    assert_eq!((outcome.streams, outcome.sent.len()), (1, 1));
}

/// "A PRIORITY frame with a length other than 5 octets MUST be treated as a stream error (Section
/// 5.4.2) of type FRAME_SIZE_ERROR." A stream that is idle cannot be reset.
#[test]
fn a_priority_frame_has_five_octets() {
    for size in [0, 1, 4, 6, 100] {
        let wire = frame(kind::PRIORITY, 0, 1, &vec![0; size]);
        resets(&server(), &[post(1), wire.clone()].concat(), 1, Fault::PrioritySize);
        resets(&server(), &[get(1), wire.clone()].concat(), 1, Fault::PrioritySize);
        breaks(&server(), &wire, Fault::PrioritySize);
        resets(&client_after_get(), &wire, 1, Fault::PrioritySize);
    }
}

/// "The stream identifier of a PRIORITY frame is not 0x00"; RFC 7540 §5.3.1: nor does a stream depend on
/// itself.
#[test]
fn a_priority_frame_names_two_streams() {
    breaks(&server(), &priority(0, 1), Fault::OnConnection);
    resets(&server(), &[post(1), priority(1, 1)].concat(), 1, Fault::PrioritySelf);
    resets(&server(), &[post(1), priority(1, 0x8000_0001)].concat(), 1, Fault::PrioritySelf);
    breaks(&server(), &priority(1, 1), Fault::PrioritySelf);
}
