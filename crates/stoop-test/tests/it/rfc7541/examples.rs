//! Appendix C: its examples, read and written, with the tables after each.

use stoop_proto::hpack::{Decoder, Encoder, Indexing};

use super::{accepted, decoder, encoder, field, fields, hex, table};

/// A decoder and an encoder for the blocks of one direction of a connection.
struct BlockSequence {
    decoder: Decoder,
    encoder: Encoder,
}

impl BlockSequence {
    fn new(table_bytes_max: u32, huffman: bool) -> Self {
        let (mut decoder, mut encoder) = (decoder(), encoder());
        encoder.set_huffman(huffman);
        if table_bytes_max != 4096 {
            // The examples do not show the size updates.
            decoder = Decoder::new(table_bytes_max);
            encoder.set_peer_table_bytes_max(table_bytes_max);
            encoder.begin(&mut Vec::new());
        }
        Self { decoder, encoder }
    }

    /// Writes and reads a block, and asserts that both tables are then as shown.
    #[track_caller]
    fn block(&mut self, wire: &str, lines: &str, entries: &str, size: usize) {
        assert_eq!(self.written(lines), hex(wire));
        self.read(wire, lines, entries, size);
    }

    #[track_caller]
    fn read(&mut self, wire: &str, lines: &str, entries: &str, size: usize) {
        assert_eq!(accepted(&mut self.decoder, wire), fields(lines));
        assert_eq!(table(self.decoder.entries()), fields(entries));
        assert_eq!(table(self.encoder.entries()), fields(entries));
        assert_eq!((self.decoder.table_bytes(), self.encoder.table_bytes()), (size, size));
    }

    fn written(&mut self, lines: &str) -> Vec<u8> {
        let mut out = Vec::new();
        self.encoder.begin(&mut out);
        for (name, value) in fields(lines) {
            self.encoder.line(name.as_bytes(), value.as_bytes(), Indexing::Insert, &mut out);
        }
        out
    }
}

/// Writes and reads one line that is not inserted.
#[track_caller]
fn single(wire: &str, line: &str, indexing: Indexing) {
    let (mut decoder, mut out) = (decoder(), Vec::new());
    let (name, value) = fields(line).remove(0);
    encoder().line(name.as_bytes(), value.as_bytes(), indexing, &mut out);
    assert_eq!(out, hex(wire));
    let mut block = decoder.block(&out);
    let read = block.next().unwrap().unwrap();
    assert_eq!(field(read.name, read.value), (name, value));
    assert_eq!(read.never_indexed, indexing == Indexing::Never);
    assert_eq!(block.next(), Ok(None));
    assert_eq!(decoder.table_bytes(), 0);
}

/// §C.2.1 Literal Header Field with Indexing
#[test]
fn example_c_2_1_literal_with_indexing_is_read_and_written() {
    let line = "custom-key: custom-header";
    let wire = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    BlockSequence::new(4096, false).block(wire, line, line, 55);
}

/// §C.2.2 Literal Header Field without Indexing
#[test]
fn example_c_2_2_literal_without_indexing_is_read_and_written() {
    let wire = "040c 2f73 616d 706c 652f 7061 7468";
    single(wire, ":path: /sample/path", Indexing::Without);
}

/// §C.2.3 Literal Header Field Never Indexed
#[test]
fn example_c_2_3_literal_never_indexed_is_read_and_written() {
    let wire = "1008 7061 7373 776f 7264 0673 6563 7265 74";
    single(wire, "password: secret", Indexing::Never);
}

/// §C.2.4 Indexed Header Field
#[test]
fn example_c_2_4_indexed_is_read_and_written() {
    single("82", ":method: GET", Indexing::Without);
}

const REQUESTS: [&str; 3] = [
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com",
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache",
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n\
     custom-key: custom-value",
];

const AFTER_REQUESTS: [(&str, usize); 3] = [
    (":authority: www.example.com", 57),
    ("cache-control: no-cache\n:authority: www.example.com", 110),
    ("custom-key: custom-value\ncache-control: no-cache\n:authority: www.example.com", 164),
];

fn requests(wires: [&str; 3], huffman: bool) {
    let mut connection = BlockSequence::new(4096, huffman);
    for ((wire, lines), (entries, size)) in wires.into_iter().zip(REQUESTS).zip(AFTER_REQUESTS) {
        connection.block(wire, lines, entries, size);
    }
}

/// §C.3 Request Examples without Huffman Coding
#[test]
fn examples_c_3_requests_without_huffman_coding_are_read_and_written() {
    requests(
        [
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        ],
        false,
    );
}

/// §C.4 Request Examples with Huffman Coding
#[test]
fn examples_c_4_requests_with_huffman_coding_are_read_and_written() {
    requests(
        [
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ],
        true,
    );
}

const RESPONSES: [&str; 3] = [
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
     location: https://www.example.com",
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
     location: https://www.example.com",
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
     location: https://www.example.com\ncontent-encoding: gzip\n\
     set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
];

const AFTER_RESPONSES: [(&str, usize); 3] = [
    (
        "location: https://www.example.com\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
         cache-control: private\n:status: 302",
        222,
    ),
    (
        ":status: 307\nlocation: https://www.example.com\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
         cache-control: private",
        222,
    ),
    (
        "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n\
         content-encoding: gzip\ndate: Mon, 21 Oct 2013 20:13:22 GMT",
        215,
    ),
];

/// §C.5 Response Examples without Huffman Coding: a table of 256 bytes, so that entries are evicted.
#[test]
fn examples_c_5_responses_without_huffman_coding_are_read_and_written() {
    let wires = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a \
         3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 \
         677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 \
         553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let mut connection = BlockSequence::new(256, false);
    for ((wire, lines), (entries, size)) in wires.into_iter().zip(RESPONSES).zip(AFTER_RESPONSES) {
        connection.block(wire, lines, entries, size);
    }
}

/// §C.6 Response Examples with Huffman Coding. The example has "307" in Huffman code, which is no
/// shorter, so that our encoder writes it plainly.
#[test]
fn examples_c_6_responses_with_huffman_coding_are_read_and_written() {
    let wires = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
         919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
         4ee5 b106 3d50 07",
    ];
    let mut connection = BlockSequence::new(256, true);
    for ((wire, lines), (entries, size)) in wires.into_iter().zip(RESPONSES).zip(AFTER_RESPONSES) {
        let ours = if wire.starts_with("4883") { "4803 3330 37c1 c0bf" } else { wire };
        assert_eq!(connection.written(lines), hex(ours));
        connection.read(wire, lines, entries, size);
    }
}
