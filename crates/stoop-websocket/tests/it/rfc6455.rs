//! RFC 6455: §5 to §8, whatever is not a matter of one header alone (see `frame.rs`).

use bytes::Bytes;
use stoop_websocket::machine::{Event, Machine, Payload};
use stoop_websocket::{CloseCode, CloseReason, Fault, Limits, MessageKind, Misuse};

use crate::kit::{
    binary, client, events, example_key, fed, flushed, masked, message, server, unmasked,
};

/// §5.1: who masks is part of the role, in both directions.
mod s5_1 {
    use super::*;

    #[test]
    fn a_server_must_close_upon_receiving_a_frame_that_is_not_masked() {
        let mut machine = server();
        let events = fed(&mut machine, &[b"\x81\x05Hello"]);
        assert_eq!(events, [Event::Fault(Fault::MaskMissing)]);
        assert!(!machine.may_send() && machine.has_received_all());
        let answer = flushed(&mut machine);
        let text = "a frame of a client is not masked (RFC 6455 §5.1)";
        assert_eq!(answer, unmasked(0x88, &[b"\x03\xea", text.as_bytes()].concat()));
    }

    #[test]
    fn a_client_must_close_if_it_detects_a_masked_frame() {
        let mut machine = client();
        let events = fed(&mut machine, &[&masked(0x81, b"Hello")]);
        assert_eq!(events, [Event::Fault(Fault::MaskForbidden)]);
        assert_eq!(flushed(&mut machine)[..2], [0x88, 0x80 | 48]);
    }

    #[test]
    fn a_client_must_mask_all_frames() {
        let (mut machine, mut out) = (client(), Vec::new());
        assert_eq!(machine.send(MessageKind::Text, b"Hello", &mut out), Ok(Payload::Written));
        machine.ping(b"Hello", &mut out).unwrap();
        machine.close(CloseCode::NORMAL, "", &mut out).unwrap();
        let frames = [masked(0x81, b"Hello"), masked(0x89, b"Hello"), masked(0x88, b"\x03\xe8")];
        assert_eq!(out, frames.concat());
    }
}

/// §5.4: fragmentation.
mod s5_4 {
    use super::*;

    #[test]
    fn an_unfragmented_message_is_a_single_frame() {
        assert_eq!(events(server, &masked(0x81, b"")), [message("")]);
        assert_eq!(events(server, &masked(0x82, &[0xFF; 126])), [binary(&[0xFF; 126])]);
        let two = [masked(0x81, b"one"), masked(0x82, b"two")].concat();
        assert_eq!(events(server, &two), [message("one"), binary(b"two")]);
    }

    #[test]
    fn a_fragmented_message_is_the_concatenation_of_its_frames() {
        let bytes = [masked(0x02, b"a"), masked(0x00, b""), masked(0x00, b"bc"), masked(0x80, b"")];
        assert_eq!(events(server, &bytes.concat()), [binary(b"abc")]);
    }

    #[test]
    fn control_frames_may_be_injected_in_the_middle_of_a_fragmented_message() {
        let bytes = [
            masked(0x01, b"Hel"),
            masked(0x89, b"1"),
            masked(0x00, b"l"),
            masked(0x8A, b"2"),
            masked(0x80, b"o"),
        ];
        let ping = Event::Ping(Bytes::from_static(b"1"));
        let pong = Event::Pong(Bytes::from_static(b"2"));
        assert_eq!(events(server, &bytes.concat()), [ping, pong, message("Hello")]);
    }

    #[test]
    fn the_fragments_of_one_message_must_not_be_interleaved_with_those_of_another() {
        let bytes = [masked(0x01, b"a"), masked(0x81, b"b")].concat();
        assert_eq!(events(server, &bytes), [Event::Fault(Fault::ContinuationMissing)]);
    }

    #[test]
    fn a_continuation_needs_a_message_to_continue() {
        for first in [0x00, 0x80] {
            let events = events(server, &masked(first, b"a"));
            assert_eq!(events, [Event::Fault(Fault::ContinuationUnexpected)]);
        }
        let bytes = [masked(0x81, b"a"), masked(0x80, b"b")].concat();
        let fault = Event::Fault(Fault::ContinuationUnexpected);
        assert_eq!(events(server, &bytes), [message("a"), fault]);
    }
}

/// §5.5.1: Close.
mod s5_5_1 {
    use super::*;

    fn reason(code: u16, text: &str) -> CloseReason {
        CloseReason { code: CloseCode::new(code).unwrap(), text: text.into() }
    }

    #[test]
    fn an_endpoint_must_send_a_close_frame_in_response_and_echoes_the_code() {
        let bytes = masked(0x88, b"\x03\xe9bye");
        assert_eq!(events(server, &bytes), [Event::Close(Some(reason(1001, "bye")))]);
        let mut machine = server();
        fed(&mut machine, &[&bytes]);
        assert!(machine.has_to_send());
        assert_eq!(flushed(&mut machine), b"\x88\x02\x03\xe9");
        assert_eq!(flushed(&mut machine), b"", "once");
    }

    #[test]
    fn the_close_frame_may_contain_no_body() {
        let mut machine = server();
        assert_eq!(fed(&mut machine, &[&masked(0x88, b"")]), [Event::Close(None)]);
        assert_eq!(flushed(&mut machine), b"\x88\x00");
    }

    #[test]
    fn an_answer_to_a_close_frame_is_not_answered() {
        let (mut machine, mut out) = (server(), Vec::new());
        machine.close(CloseCode::GOING_AWAY, "restart", &mut out).unwrap();
        assert_eq!(out, b"\x88\x09\x03\xe9restart");
        // What the peer had sent before still counts.
        let bytes = [masked(0x81, b"late"), masked(0x88, b"\x03\xe9")].concat();
        let events = fed(&mut machine, &[&bytes]);
        assert_eq!(events, [message("late"), Event::Close(Some(reason(1001, "")))]);
        assert_eq!(flushed(&mut machine), b"");
    }

    #[test]
    fn the_application_must_not_send_any_more_frames_after_a_close_frame() {
        let (mut machine, mut out) = (server(), Vec::new());
        machine.close(CloseCode::NORMAL, "", &mut out).unwrap();
        out.clear();
        let sent = machine.send(MessageKind::Text, b"a", &mut out);
        assert_eq!(sent, Err(Misuse::Closed));
        assert_eq!(machine.ping(b"", &mut out), Err(Misuse::Closed));
        assert_eq!(machine.pong(b"", &mut out), Err(Misuse::Closed));
        assert_eq!(machine.close(CloseCode::NORMAL, "", &mut out), Err(Misuse::Closed));
        assert_eq!(fed(&mut machine, &[&masked(0x89, b"x")]).len(), 1);
        machine.flush(&mut out);
        assert_eq!(out, b"", "nor the answer to a Ping");
    }

    #[test]
    fn nothing_is_read_behind_a_close_frame() {
        let bytes = [masked(0x88, b""), masked(0x81, b"x"), b"\xff\xff".to_vec()].concat();
        assert_eq!(events(server, &bytes), [Event::Close(None)]);
    }

    #[test]
    fn a_bad_payload_is_a_fault() {
        let cases: [(&[u8], Fault); 3] = [
            (b"\x03", Fault::CloseTooShort),
            (b"\x03\xee", Fault::CloseCode),
            (b"\x03\xe8\xc3", Fault::CloseReason),
        ];
        for (payload, fault) in cases {
            assert_eq!(events(server, &masked(0x88, payload)), [Event::Fault(fault)]);
        }
    }

    #[test]
    fn a_reason_has_room_for_123_bytes() {
        let (mut machine, mut out) = (server(), Vec::new());
        let long = "x".repeat(124);
        let closed = machine.close(CloseCode::NORMAL, &long, &mut out);
        assert_eq!((closed, out.len()), (Err(Misuse::ReasonTooLong), 0));
        machine.close(CloseCode::NORMAL, &long[1..], &mut out).unwrap();
        assert_eq!(out.len(), 2 + 125);
    }
}

/// §5.5.2, §5.5.3: Ping and Pong.
mod s5_5_2 {
    use super::*;

    #[test]
    fn a_pong_must_have_identical_application_data() {
        for payload in [&b""[..], b"Hello", &[0xFE; 125]] {
            let mut machine = server();
            let events = fed(&mut machine, &[&masked(0x89, payload)]);
            assert_eq!(events, [Event::Ping(Bytes::copy_from_slice(payload))]);
            assert_eq!(flushed(&mut machine), unmasked(0x8A, payload));
            assert!(!machine.has_to_send());
        }
    }

    #[test]
    fn it_may_elect_to_send_a_pong_for_only_the_most_recently_processed_pings() {
        let mut machine = server();
        let pings: Vec<u8> = (0..1000).flat_map(|i: u32| masked(0x89, &i.to_be_bytes())).collect();
        assert_eq!(fed(&mut machine, &[&pings]).len(), 1000);
        let newest = (984..1000).flat_map(|i: u32| unmasked(0x8A, &i.to_be_bytes()));
        assert_eq!(flushed(&mut machine), newest.collect::<Vec<_>>());
    }

    #[test]
    fn it_should_respond_as_soon_as_is_practical() {
        let (mut machine, mut out) = (server(), Vec::new());
        fed(&mut machine, &[&masked(0x89, b"1"), &masked(0x89, b"2")]);
        assert_eq!(machine.send(MessageKind::Text, b"m", &mut out), Ok(Payload::Written));
        assert_eq!(out, b"\x8a\x011\x8a\x012\x81\x01m", "before a message that comes later");
    }

    #[test]
    fn a_pong_may_be_sent_unsolicited_and_needs_no_response() {
        let (mut machine, mut out) = (server(), Vec::new());
        machine.pong(b"alive", &mut out).unwrap();
        assert_eq!(out, b"\x8a\x05alive");
        assert_eq!(machine.ping(&[0; 126], &mut out), Err(Misuse::ControlTooLong));
        fed(&mut machine, &[&masked(0x8A, b"alive")]);
        assert_eq!(flushed(&mut machine), b"");
    }
}

/// §5.7: the examples, literally.
mod s5_7 {
    use super::*;

    const HELLO: [u8; 5] = *b"Hello";

    #[test]
    fn a_single_frame_unmasked_text_message() {
        let bytes = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        assert_eq!(events(client, &bytes), [message("Hello")]);
        let mut out = Vec::new();
        assert_eq!(server().send(MessageKind::Text, &HELLO, &mut out), Ok(Payload::Written));
        assert_eq!(out, bytes);
    }

    #[test]
    fn a_single_frame_masked_text_message() {
        let bytes = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(events(server, &bytes), [message("Hello")]);
        let mut out = Vec::new();
        assert_eq!(client().send(MessageKind::Text, &HELLO, &mut out), Ok(Payload::Written));
        assert_eq!(out, bytes);
    }

    #[test]
    fn a_fragmented_unmasked_text_message() {
        let bytes = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
        assert_eq!(events(client, &bytes), [message("Hello")]);
    }

    #[test]
    fn unmasked_ping_request_and_masked_ping_response() {
        let mut machine = client();
        let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        assert_eq!(fed(&mut machine, &[&ping]), [Event::Ping(Bytes::from_static(b"Hello"))]);
        let pong = [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(flushed(&mut machine), pong);
    }

    #[test]
    fn binary_messages_of_256_bytes_and_of_64_kib() {
        for (header, len) in
            [(&[0x82, 0x7E, 0x01, 0x00][..], 256), (&[0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0], 65536)]
        {
            let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let bytes = [header, &payload].concat();
            assert_eq!(events(client, &bytes), [binary(&payload)]);
            let mut out = Vec::new();
            let sent = server().send(MessageKind::Binary, &payload, &mut out).unwrap();
            if sent == Payload::Follows {
                out.extend(&payload);
            }
            assert_eq!(out, bytes);
        }
    }
}

/// §7.1.7, §10.4: a peer at fault, and limits.
mod s10_4 {
    use super::*;

    fn small() -> Machine {
        let mut limits = Limits::default();
        limits.message_bytes_max = 300;
        limits.frame_bytes_max = 200;
        Machine::server(&limits, None)
    }

    #[test]
    fn a_message_at_the_limit_is_read_and_one_past_it_is_1009() {
        let parts = |last| [masked(0x02, &[1; 200]), masked(0x80, &vec![1; last])].concat();
        assert_eq!(events(small, &parts(100)), [binary(&[1; 300])]);
        assert_eq!(events(small, &parts(101)), [Event::Fault(Fault::MessageTooLarge)]);
        // The header says enough.
        let header = &parts(101)[..200 + 8 + 6];
        assert_eq!(events(small, header), [Event::Fault(Fault::MessageTooLarge)]);
        let mut machine = small();
        fed(&mut machine, &[&parts(101)]);
        assert_eq!(flushed(&mut machine)[2..4], 1009_u16.to_be_bytes());
    }

    #[test]
    fn a_frame_at_the_limit_is_read_and_one_past_it_is_1009() {
        assert_eq!(events(small, &masked(0x82, &[1; 200])), [binary(&[1; 200])]);
        let fault = Event::Fault(Fault::FrameTooLarge);
        assert_eq!(events(small, &masked(0x82, &[1; 201])), std::slice::from_ref(&fault));
        let endless = [0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4];
        assert_eq!(events(server, &endless), [fault]);
    }

    /// A header promises much, and little comes.
    #[test]
    fn memory_is_for_what_has_come() {
        let mut machine = server();
        let mut header = vec![0x82, 0xFF];
        header.extend((16_u64 << 20).to_be_bytes());
        header.extend(example_key());
        assert_eq!(fed(&mut machine, &[&header]), []);
        let (payload, missing) = machine.direct().unwrap();
        assert_eq!(missing, 16 << 20);
        assert!(payload.capacity() <= 64 * 1024, "{}", payload.capacity());
    }

    #[test]
    fn what_follows_a_fault_is_not_read() {
        let bytes = [masked(0x83, b"x"), masked(0x81, b"y")].concat();
        assert_eq!(events(server, &bytes), [Event::Fault(Fault::ReservedOpcode)]);
    }
}

/// §8.1: text is UTF-8.
mod s8_1 {
    use super::*;

    #[test]
    fn a_text_may_be_cut_within_a_character() {
        let text = "Hello-µ@ßöäüàá-UTF-8!! 😀";
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            let frames = [masked(0x01, first), masked(0x80, second)].concat();
            assert_eq!(events(server, &frames), [message(text)], "{cut}");
        }
    }

    #[test]
    fn invalid_text_must_fail_the_connection_with_1007() {
        let bad: [&[u8]; 4] = [b"\xc3", b"a\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"];
        for payload in bad {
            assert_eq!(events(server, &masked(0x81, payload)), [Event::Fault(Fault::Text)]);
            let (first, second) = payload.split_at(1);
            let frames = [masked(0x01, first), masked(0x80, second)].concat();
            assert_eq!(events(server, &frames), [Event::Fault(Fault::Text)]);
        }
        let mut machine = server();
        fed(&mut machine, &[&masked(0x81, b"\xff")]);
        assert_eq!(flushed(&mut machine)[2..4], 1007_u16.to_be_bytes());
    }

    /// As soon as a byte shows it, within a frame that is not complete.
    #[test]
    fn invalid_text_fails_before_its_frame_has_come() {
        let text = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80edited";
        let frame = masked(0x81, text);
        let mut machine = server();
        // The header, its key, and the text up to the byte behind F4.
        let pieces: Vec<&[u8]> = frame[..6 + 13].chunks(1).collect();
        assert_eq!(fed(&mut machine, &pieces), [Event::Fault(Fault::Text)]);
        let mut machine = server();
        assert_eq!(fed(&mut machine, &pieces[..6 + 12]), []);
    }
}
