//! RFC 7692: permessage-deflate.

use stoop_websocket::machine::{Event, Machine, Payload};
use stoop_websocket::{AgreedDeflate, Deflate, Fault, Limits, MessageKind, NotAgreed};

use crate::kit::{deflating_client, events, fed, masked, message, unmasked};

/// With context takeover in both directions.
fn keeping() -> Deflate {
    let mut deflate = Deflate::default();
    deflate.server_context_takeover = true;
    deflate.client_context_takeover = true;
    deflate
}

fn accepted(deflate: &Deflate, offer: &str) -> Option<String> {
    deflate.accept([offer.as_bytes()]).unwrap().map(|(_, answer)| answer)
}

/// What a client and a server agree on.
fn agreed(client: &Deflate, server: &Deflate) -> (AgreedDeflate, AgreedDeflate) {
    let offer = client.offer();
    let (servers, answer) = server.accept([offer.as_bytes()]).unwrap().unwrap();
    (client.verify([answer.as_bytes()]).unwrap().unwrap(), servers)
}

/// §5.1, §7.1: negotiation.
mod s7_1 {
    use super::*;

    #[test]
    fn a_server_accepts_the_first_offer_that_it_can() {
        let server = keeping();
        for (offer, answer) in [
            ("permessage-deflate", "permessage-deflate"),
            ("Permessage-Deflate", "permessage-deflate"),
            ("x-other; a=1, permessage-deflate", "permessage-deflate"),
            (
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
            ),
            (
                "permessage-deflate; client_max_window_bits; server_max_window_bits=10",
                "permessage-deflate; server_max_window_bits=10",
            ),
            (
                "permessage-deflate; server_max_window_bits=\"15\"",
                "permessage-deflate; server_max_window_bits=15",
            ),
            (
                "permessage-deflate; client_max_window_bits=9",
                "permessage-deflate; client_max_window_bits=9",
            ),
            // §7.1.3: a fallback.
            (
                "permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=9",
                "permessage-deflate; server_max_window_bits=9",
            ),
        ] {
            assert_eq!(accepted(&server, offer).as_deref(), Some(answer), "{offer}");
        }
    }

    #[test]
    fn a_server_must_decline_an_offer_with_what_is_not_defined() {
        for parameters in [
            "unknown",
            "server_no_context_takeover=1",
            "client_no_context_takeover; client_no_context_takeover",
            "server_max_window_bits",
            "server_max_window_bits=7",
            "server_max_window_bits=16",
            "server_max_window_bits=010",
            "client_max_window_bits=0",
            "client_max_window_bits=+9",
            "client_max_window_bits; client_max_window_bits=9",
        ] {
            let offer = format!("permessage-deflate; {parameters}");
            assert_eq!(accepted(&keeping(), &offer), None, "{offer}");
        }
        assert_eq!(accepted(&keeping(), "x-webkit-deflate-frame"), None);
        assert_eq!(keeping().accept([&b"permessage-deflate;"[..]]), Err(NotAgreed::Malformed));
    }

    #[test]
    fn a_servers_own_terms_are_in_its_answer() {
        let mut server = Deflate::default();
        server.server_window_bits_max = 11;
        server.client_window_bits_max = 10;
        assert_eq!(accepted(&server, "permessage-deflate"), None, "it cannot limit that client");
        assert_eq!(
            accepted(
                &server,
                "permessage-deflate; client_max_window_bits; server_max_window_bits=12"
            )
            .unwrap(),
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
             server_max_window_bits=11; client_max_window_bits=10"
        );
    }

    #[test]
    fn a_client_must_fail_the_connection_upon_an_answer_that_it_did_not_ask_for() {
        let mut client = Deflate::default();
        client.server_window_bits_max = 12;
        let verify = |answer: &str| client.verify([answer.as_bytes()]);
        assert_eq!(client.verify([]), Ok(None));
        for (answer, error) in [
            ("x-other", NotAgreed::NotOffered),
            ("permessage-deflate, permessage-deflate", NotAgreed::NotOffered),
            ("permessage-deflate;;", NotAgreed::Malformed),
            ("permessage-deflate", NotAgreed::Parameter),
            ("permessage-deflate; server_max_window_bits=13", NotAgreed::Parameter),
            ("permessage-deflate; server_max_window_bits=12; x", NotAgreed::Parameter),
            (
                "permessage-deflate; server_max_window_bits=12; client_max_window_bits",
                NotAgreed::Parameter,
            ),
            (
                "permessage-deflate; server_max_window_bits=12; server_max_window_bits=12",
                NotAgreed::Parameter,
            ),
        ] {
            assert_eq!(verify(answer), Err(error), "{answer}");
        }
        let agreed = verify("permessage-deflate; server_max_window_bits=9").unwrap().unwrap();
        assert!(agreed.keeps_incoming_context() && !agreed.keeps_outgoing_context());
    }

    /// zlib has no such window: nothing says that a message has to be compressed.
    #[test]
    fn a_client_that_is_told_a_window_of_8_bits_sends_uncompressed() {
        let answer = b"permessage-deflate; client_max_window_bits=8";
        let agreed = keeping().verify([&answer[..]]).unwrap().unwrap();
        let mut out = Vec::new();
        let payload = [b'a'; 1000];
        let sent = deflating_client(agreed).send(MessageKind::Text, &payload, &mut out);
        assert_eq!(sent, Ok(Payload::Written));
        assert_eq!(out, masked(0x81, &payload));
    }
}

/// §7.2.3: the examples, literally; the client receives.
mod s7_2_3 {
    use super::*;

    fn keeping_client() -> Machine {
        deflating_client(agreed(&keeping(), &keeping()).0)
    }

    fn forgetting_client() -> Machine {
        deflating_client(agreed(&Deflate::default(), &Deflate::default()).0)
    }

    #[test]
    fn a_message_compressed_using_one_compressed_deflate_block() {
        let bytes = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(events(keeping_client, &bytes), [message("Hello")]);
        let fragments = [0x41, 0x03, 0xf2, 0x48, 0xcd, 0x80, 0x04, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(events(keeping_client, &fragments), [message("Hello")]);
    }

    #[test]
    fn sharing_lz77_sliding_window() {
        let first = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        let second = [0xc1, 0x05, 0xf2, 0x00, 0x11, 0x00, 0x00];
        let both = [&first[..], &second].concat();
        assert_eq!(events(keeping_client, &both), [message("Hello"), message("Hello")]);
        // Without the window of the first the second means nothing.
        let fault = Event::Fault(Fault::Deflate);
        assert_eq!(events(forgetting_client, &both), [message("Hello"), fault]);
    }

    #[test]
    fn a_deflate_block_with_no_compression() {
        let bytes = [0xc1, 0x0b, 0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00];
        assert_eq!(events(keeping_client, &bytes), [message("Hello")]);
    }

    #[test]
    fn a_deflate_block_with_bfinal_set_to_1() {
        let bytes = [0xc1, 0x08, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
        assert_eq!(events(keeping_client, &bytes), [message("Hello")]);
        let twice = [bytes, bytes].concat();
        assert_eq!(events(keeping_client, &twice), [message("Hello"), message("Hello")]);
    }

    #[test]
    fn two_deflate_blocks_in_one_message() {
        let bytes = [
            0xc1, 0x0d, 0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07,
            0x00,
        ];
        assert_eq!(events(keeping_client, &bytes), [message("Hello")]);
    }

    #[test]
    fn generating_an_empty_fragment() {
        assert_eq!(events(keeping_client, &[0xc1, 0x01, 0x00]), [message("")]);
        let uncompressed = unmasked(0x81, b"Hello");
        assert_eq!(events(keeping_client, &uncompressed), [message("Hello")]);
    }
}

/// §7.2.1, §7.2.2: what one end compresses the other reads.
mod s7_2_1 {
    use super::*;

    /// Texts that resemble each other, of all sizes around those of buffers.
    fn texts() -> Vec<String> {
        let line = "{\"id\":12345,\"name\":\"WebSocket\",\"values\":[1,2,3]}\n";
        let sizes = [0, 1, 49, 255, 256, 300, 4_096, 16_383, 16_384, 16_385, 70_000, 300_000];
        sizes.iter().map(|size| line.repeat(size / line.len() + 1)[..*size].to_owned()).collect()
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    fn framed(machine: &mut Machine, kind: MessageKind, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if machine.send(kind, payload, &mut out).unwrap() == Payload::Follows {
            out.extend(payload);
        }
        out
    }

    #[test]
    fn what_is_compressed_is_read_on_all_terms() {
        for bits in [9, 12, 15] {
            for keeps in [false, true] {
                let mut terms = Deflate::default();
                terms.server_context_takeover = keeps;
                terms.client_context_takeover = keeps;
                terms.server_window_bits_max = bits;
                terms.client_window_bits_max = bits;
                let (clients, servers) = agreed(&terms, &terms);
                let mut client = deflating_client(clients);
                let mut server = Machine::server(&Limits::default(), Some(servers));
                for text in texts() {
                    let bytes = framed(&mut client, MessageKind::Text, text.as_bytes());
                    assert!(text.len() < 256 || bytes.len() < text.len() / 3, "{}", bytes.len());
                    assert_eq!(fed(&mut server, &[&bytes]), [message(&text)]);
                    let bytes = framed(&mut server, MessageKind::Text, text.as_bytes());
                    let pieces: Vec<&[u8]> = bytes.chunks(1000).collect();
                    assert_eq!(fed(&mut client, &pieces), [message(&text)]);
                }
                for len in [300, 20_000, 100_000] {
                    let noise = noise(len);
                    let bytes = framed(&mut server, MessageKind::Binary, &noise);
                    let events = fed(&mut client, &[&bytes]);
                    assert_eq!(events, [Event::Message(noise.into())]);
                }
            }
        }
    }

    #[test]
    fn what_would_not_become_smaller_is_sent_as_it_is() {
        let (clients, _) = agreed(&Deflate::default(), &Deflate::default());
        let noise = noise(1_000);
        let bytes = framed(&mut deflating_client(clients), MessageKind::Binary, &noise);
        assert_eq!(bytes, masked(0x82, &noise));
        // With a window of messages before it that would leave it out of the peer's.
        let (clients, _) = agreed(&keeping(), &keeping());
        let bytes = framed(&mut deflating_client(clients), MessageKind::Binary, &noise);
        assert_eq!(bytes[0], 0xC2);
    }

    #[test]
    fn what_is_no_deflate_is_1007() {
        let (_, servers) = agreed(&keeping(), &keeping());
        let server = || Machine::server(&Limits::default(), Some(servers));
        let bytes = masked(0xC1, b"\xff\xff\xff\xff");
        assert_eq!(events(server, &bytes), [Event::Fault(Fault::Deflate)]);
        let not_text = masked(0xC1, b"\x00\x01\x00\xfe\xff\xff\x00");
        assert_eq!(events(server, &not_text), [Event::Fault(Fault::Text)]);
    }

    /// A thousand times larger than what is sent.
    #[test]
    fn a_message_that_inflates_past_the_limit_is_1009_before_it_is_inflated() {
        let (clients, servers) = agreed(&Deflate::default(), &Deflate::default());
        let mut limits = Limits::default();
        limits.message_bytes_max = 100_000;
        let server = || Machine::server(&limits, Some(servers));
        let at_limit = framed(&mut deflating_client(clients), MessageKind::Binary, &[0; 100_000]);
        assert_eq!(events(server, &at_limit).len(), 1);
        assert!(matches!(events(server, &at_limit)[0], Event::Message(_)));
        let past = framed(&mut deflating_client(clients), MessageKind::Binary, &[0; 100_001]);
        assert_eq!(events(server, &past), [Event::Fault(Fault::MessageTooLarge)]);
        let bomb = framed(&mut deflating_client(clients), MessageKind::Binary, &[0; 10_000_000]);
        assert!(bomb.len() < 200_000, "{}", bomb.len());
        assert_eq!(fed(&mut server(), &[&bomb]), [Event::Fault(Fault::MessageTooLarge)]);
        let tenth = &bomb[..bomb.len() / 10];
        assert_eq!(fed(&mut server(), &[tenth]), [Event::Fault(Fault::MessageTooLarge)]);
    }

    /// A message that is sent as it is has another limit: its sender pays for each byte.
    #[test]
    fn a_compressed_message_has_a_limit_of_its_own() {
        let mut terms = Deflate::default();
        terms.level = 9;
        let (clients, servers) = agreed(&terms, &terms);
        let limits = Limits::default();
        let received = |bytes: &[u8]| fed(&mut Machine::server(&limits, Some(servers)), &[bytes]);
        for (len, fits) in [(1 << 20, true), ((1 << 20) + 1, false)] {
            let payload = vec![0; len];
            let compressed = framed(&mut deflating_client(clients), MessageKind::Binary, &payload);
            assert!(compressed.len() < 2_000, "{}", compressed.len());
            let expected = match fits {
                true => Event::Message(payload.clone().into()),
                false => Event::Fault(Fault::MessageTooLarge),
            };
            assert_eq!(received(&compressed), [expected]);
            assert_eq!(received(&masked(0x82, &payload)), [Event::Message(payload.into())]);
        }
    }
}
