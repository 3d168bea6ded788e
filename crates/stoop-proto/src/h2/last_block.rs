//! [`LastBlock`]: what the last header block of a request said, for the next one that is the same.
//!
//! A client that asks for the same again sends the same few bytes, each an index of the tables. As long as the decoder's
//! table is the same too, they say the same, and need not be decoded and checked line by line.

use std::fmt;

use crate::h2::section::Section;

/// The longest block that is kept. One that is all, or mostly, in the tables is much shorter.
const BLOCK_BYTES_MAX: usize = 256;

/// The largest section that is kept: names, values and 32 bytes for each line (RFC 9113 §6.5.2). A short block can say as
/// much as the limits allow, and a connection that is idle keeps it.
const SECTION_BYTES_MAX: usize = 1024;

/// The block of a request that came last and has left the decoder's table as it was.
#[derive(Default)]
pub(super) struct LastBlock {
    bytes: Vec<u8>,
    /// What it says, once it has come twice.
    section: Option<Box<Section>>,
}

impl LastBlock {
    /// What a block says, if it has come twice, and no other since.
    #[inline]
    pub(super) fn section_of(&self, block: &[u8]) -> Option<&Section> {
        self.section.as_deref().filter(|_| self.bytes == block)
    }

    /// Notes a block, and the section that was read from it, which has no fault. The decoder's table has not changed.
    #[inline]
    pub(super) fn note(&mut self, block: &[u8], section: &Section) {
        if self.bytes == block {
            self.section.get_or_insert_default().copy_from(section);
            return;
        }
        self.forget();
        if block.len() <= BLOCK_BYTES_MAX && section.list_bytes() <= SECTION_BYTES_MAX {
            self.bytes.extend_from_slice(block);
        }
    }

    /// Forgets the block: the same bytes may say something else from now on.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
        self.section = None;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let section = self.section.as_ref();
        let section = section.map_or(0, |section| size_of::<Section>() + section.heap_bytes());
        self.bytes.capacity() + section
    }
}

/// Without what the block says: it may have a password.
impl fmt::Debug for LastBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastBlock").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::fault::Fault;
    use crate::h2::header_coding::HeaderCoding;
    use crate::h2::section::{SectionKind, SectionOptions};
    use crate::limits::Limits;

    const OPTIONS: SectionOptions = SectionOptions { extended_connect: true, equal_lengths: false };

    fn coding() -> HeaderCoding {
        HeaderCoding::new(&Limits::server().http2)
    }

    /// All that a request with this block is.
    fn read(coding: &mut HeaderCoding, block: &[u8]) -> Result<String, Fault> {
        let limits = Limits::default();
        coding.decode(block, SectionKind::Request, OPTIONS, &limits)?;
        let section = &mut coding.section;
        section.finish(SectionKind::Request, OPTIONS)?;
        let said = format!("{section:?}");
        // As its taker has done it: nothing may be left there for the next.
        *section = Section::default();
        Ok(said)
    }

    /// What is read of blocks, one after the other by the same decoder.
    fn read_all(blocks: &[&[u8]]) -> Vec<Result<String, Fault>> {
        let mut coding = coding();
        blocks.iter().map(|block| read(&mut coding, block)).collect()
    }

    /// GET, http and /, with an authority that is inserted.
    const INSERTS: &[u8] = b"\x82\x86\x84\x41\x06a.test";

    #[test]
    fn a_block_that_comes_again_says_the_same() {
        let blocks: [&[u8]; 5] = [
            b"\x82\x86\x84\xbe",
            // A path, cookies, a length, a priority and a secret that are not inserted.
            b"\x83\x86\x04\x02/p\xbe\x0f\x11\x03a=b\x0f\x11\x03c=d\x0f\x0d\x012\x00\x08priority\x03u=1\x1f\x08\x01s",
            // An extended CONNECT.
            b"\x02\x07CONNECT\x86\x84\xbe\x00\x09:protocol\x09websocket",
            b"\x02\x07OPTIONS\x86\x04\x01*\xbe",
            // Of :authority and Host, of which one is kept.
            b"\x82\x86\x84\xbe\x0f\x17\x06A.test",
        ];
        for block in blocks {
            let said = read_all(&[INSERTS, block, block, block, block]);
            assert!(said[1].is_ok() && said[2..].iter().all(|again| *again == said[1]), "{said:?}");
            let mut coding = coding();
            for block in [INSERTS, block, block] {
                assert!(coding.last_block.section_of(block).is_none());
                read(&mut coding, block).unwrap();
            }
            assert!(coding.last_block.section_of(block).is_some() && coding.heap_bytes() > 0);
            coding.shrink();
            assert!(coding.last_block.section_of(block).is_none());
        }
    }

    #[test]
    fn a_block_that_comes_again_says_something_else_of_another_table() {
        let (block, inserts_other) = (b"\x82\x86\x84\xbe", b"\x82\x86\x84\x41\x06b.test");
        let said = read_all(&[INSERTS, block, block, block, inserts_other, block, block, block]);
        for (at, host) in
            [(1, "a.test"), (3, "a.test"), (5, "b.test"), (6, "b.test"), (7, "b.test")]
        {
            assert!(said[at].as_ref().unwrap().contains(host), "{at}: {said:?}");
        }
        // A trailer section inserts a line ahead of the authority, or changes the size of the table.
        let cases: [(&[u8], _); 2] =
            [(b"\x40\x01x\x01y", Fault::PseudoMissing), (b"\x20", Fault::Compression)];
        for (trailers, fault) in cases {
            let mut coding = coding();
            for block in [INSERTS, block, block, block] {
                read(&mut coding, block).unwrap();
            }
            let limits = Limits::default();
            coding.decode(trailers, SectionKind::Trailers, OPTIONS, &limits).unwrap();
            assert_eq!(read(&mut coding, block), Err(fault));
        }
    }

    #[test]
    fn a_size_update_that_is_due_is_missed_in_a_block_that_comes_again() {
        let (mut coding, block) = (coding(), b"\x82\x86\x84\xbe");
        for block in [INSERTS, block, block, block] {
            read(&mut coding, block).unwrap();
        }
        coding.set_table_bytes_max(0);
        assert_eq!(read(&mut coding, block), Err(Fault::Compression));
    }

    #[test]
    fn blocks_that_insert_or_are_wrong_or_long_are_not_kept() {
        let long = [&b"\x82\x86\x84\xbe\x0f\x04\x7f\x81\x01"[..], &[b'a'; 256]].concat();
        let blocks: [(&[u8], _); 3] = [
            (INSERTS, None),
            (b"\x82\x86\x84\xbe\xbe", Some(Fault::PseudoRepeated)),
            (&long, None),
        ];
        for (block, fault) in blocks {
            let mut coding = coding();
            read(&mut coding, INSERTS).unwrap();
            for _ in 0..3 {
                assert_eq!(read(&mut coding, block).err(), fault);
                assert!(coding.last_block.section_of(block).is_none());
            }
        }
    }

    /// Beyond the tables, a connection that is idle keeps little of it.
    #[test]
    fn a_short_block_that_says_much_is_not_kept() {
        // A line of 400 bytes, which is 62 then, and :authority 63.
        let inserts = [INSERTS, b"\x40\x01x\x7f\x91\x02", &[b'v'; 400]].concat();
        for (lines, is_kept) in [(1, true), (2, false), (100, false)] {
            let block = [&b"\x82\x86\x84\xbf"[..], &vec![0xbe; lines]].concat();
            let mut coding = coding();
            for _ in 0..4 {
                read(&mut coding, &inserts).unwrap();
                let bytes = coding.heap_bytes();
                for _ in 0..4 {
                    read(&mut coding, &block).unwrap();
                }
                assert_eq!(coding.last_block.section_of(&block).is_some(), is_kept, "{lines}");
                assert!(coding.heap_bytes() < bytes + 3 * SECTION_BYTES_MAX, "{lines}");
            }
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let (mut coding, block) = (coding(), b"\x82\x86\x84\xbe\x1f\x08\x03abc");
        for block in [INSERTS, block, block] {
            coding.decode(block, SectionKind::Request, OPTIONS, &Limits::default()).unwrap();
            coding.section = Section::default();
        }
        let shown = format!("{coding:?}");
        assert!(!shown.contains("abc") && !shown.contains("97, 98, 99"), "{shown}");
    }
}
