//! The stories of hpack-test-case: header blocks of a browser and of several servers, by the encoders of
//! other projects. They are in `hpack-test-case.tar.gz` in the folder that `STOOP_TEST_DATA` names; without
//! it, or without `tar`, the tests report that and pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Decoder, Encoder, Indexing};

use super::{FieldLine, hex, table};
use crate::corpora::json::JsonValue;
use crate::corpora::{entries, skipped, unpacked};

/// How much the archive has, so that nothing is left out unnoticed.
const ENCODERS: usize = 14;
const BLOCKS_OF_ENCODERS: usize = 47_142;
const RAW_BLOCKS: usize = 3_384;

/// A field section of a story, and its header block if the story has one.
struct StoryCase {
    /// The limit of the table that the encoder has acknowledged before it.
    table_bytes_max: Option<u32>,
    wire: Option<Vec<u8>>,
    fields: Vec<FieldLine>,
}

/// The folders of the archive, unpacked once.
fn folders(name: &str) -> Option<Vec<PathBuf>> {
    static UNPACKED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = UNPACKED.get_or_init(|| unpacked("hpack-test-case"));
    let folder = folder.as_ref().map_err(|reason| skipped(name, reason)).ok()?;
    Some(entries(folder).into_iter().filter(|path| path.is_dir()).collect())
}

/// The stories of one encoder.
fn stories(folder: &Path) -> Vec<Vec<StoryCase>> {
    let paths = entries(folder).into_iter();
    let paths = paths.filter(|path| path.extension().is_some_and(|name| name == "json"));
    paths.map(|path| story(&fs::read_to_string(path).expect("a story can be read"))).collect()
}

/// Reads a story.
fn story(text: &str) -> Vec<StoryCase> {
    let story = JsonValue::read(text);
    let cases = story.get("cases").expect("a story has cases").items();
    cases
        .iter()
        .map(|case| StoryCase {
            table_bytes_max: case.get("header_table_size").and_then(JsonValue::number),
            wire: case.get("wire").map(|wire| hex(wire.text())),
            fields: case
                .get("headers")
                .expect("a case has fields")
                .items()
                .iter()
                .map(field_of)
                .collect(),
        })
        .collect()
}

/// Reads a field, which is an object of one member.
fn field_of(field: &JsonValue) -> FieldLine {
    let [(name, value)] = field.members() else { panic!("{field:?}") };
    (name.clone(), value.text().to_owned())
}

/// Reads a block and compares its lines.
#[track_caller]
fn compare(decoder: &mut Decoder, wire: &[u8], fields: &[FieldLine]) {
    let (mut block, mut expected) = (decoder.block(wire), fields.iter());
    while let Some(line) = block.next().unwrap() {
        let (name, value) = expected.next().expect("there are no more lines");
        assert_eq!((line.name, line.value), (name.as_bytes(), value.as_bytes()));
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn stories_of_other_encoders_are_read() {
    let Some(folders) = folders("other encoders' stories") else { return };
    let (mut encoders, mut blocks) = (0, 0);
    for folder in &folders {
        let before = blocks;
        for story in stories(folder) {
            let mut decoder = Decoder::new(DEFAULT_TABLE_BYTES_MAX);
            for case in &story {
                if let Some(bytes) = case.table_bytes_max {
                    decoder.set_table_bytes_max(bytes);
                }
                let Some(wire) = &case.wire else { continue };
                compare(&mut decoder, wire, &case.fields);
                blocks += 1;
            }
        }
        encoders += usize::from(blocks > before);
    }
    assert_eq!((encoders, blocks), (ENCODERS, BLOCKS_OF_ENCODERS));
}

/// Settings of our encoder, and of the decoder that reads its blocks.
struct EncoderSetup {
    huffman: bool,
    own_bytes_max: u32,
    peer_bytes_max: u32,
    indexing: fn(&FieldLine) -> Indexing,
}

/// Indexing as a server or a client would choose it: changing values are not inserted, secrets are never
/// indexed.
fn usual_indexing((name, value): &FieldLine) -> Indexing {
    match name.as_str() {
        "authorization" | "set-cookie" => Indexing::Never,
        "cookie" if value.len() < 20 => Indexing::Never,
        ":path" | "content-length" | "etag" | "age" => Indexing::Without,
        _ => Indexing::Insert,
    }
}

const ENCODER_SETUPS: &[EncoderSetup] = &[
    EncoderSetup {
        huffman: false,
        own_bytes_max: 4096,
        peer_bytes_max: 4096,
        indexing: usual_indexing,
    },
    EncoderSetup {
        huffman: true,
        own_bytes_max: 512,
        peer_bytes_max: 65_536,
        indexing: usual_indexing,
    },
    EncoderSetup {
        huffman: true,
        own_bytes_max: 4096,
        peer_bytes_max: 4096,
        indexing: |_| Indexing::Insert,
    },
    EncoderSetup {
        huffman: false,
        own_bytes_max: 90,
        peer_bytes_max: 4096,
        indexing: |_| Indexing::Insert,
    },
    EncoderSetup {
        huffman: false,
        own_bytes_max: 4096,
        peer_bytes_max: 0,
        indexing: |_| Indexing::Insert,
    },
    EncoderSetup {
        huffman: true,
        own_bytes_max: u32::MAX,
        peer_bytes_max: 1 << 20,
        indexing: |_| Indexing::Insert,
    },
];

#[test]
fn stories_of_our_encoder_are_read() {
    let Some(folders) = folders("stories for our encoder") else { return };
    let raw = folders.iter().find(|folder| folder.ends_with("raw-data")).expect("the raw stories");
    let stories = stories(raw);
    for setup in ENCODER_SETUPS {
        let (mut blocks, mut out) = (0, Vec::new());
        for story in &stories {
            let mut encoder = Encoder::new(setup.own_bytes_max);
            let mut decoder = Decoder::new(DEFAULT_TABLE_BYTES_MAX);
            encoder.set_huffman(setup.huffman);
            encoder.set_peer_table_bytes_max(setup.peer_bytes_max);
            decoder.set_table_bytes_max(setup.peer_bytes_max);
            for case in story {
                out.clear();
                encoder.begin(&mut out);
                for field in &case.fields {
                    let (name, value) = (field.0.as_bytes(), field.1.as_bytes());
                    encoder.line(name, value, (setup.indexing)(field), &mut out);
                }
                compare(&mut decoder, &out, &case.fields);
                assert_eq!(encoder.table_bytes(), decoder.table_bytes());
                blocks += 1;
            }
            assert_eq!(table(encoder.entries()), table(decoder.entries()));
        }
        assert_eq!(blocks, RAW_BLOCKS);
    }
}
