//! CRC32c (RFC 3720 §B.4), bit by bit: a header has some hundred bytes, and comes once a connection.

/// The polynomial of Castagnoli, reflected.
const POLYNOMIAL: u32 = 0x82f6_3b78;

pub(super) struct Crc32c(u32);

impl Default for Crc32c {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Crc32c {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..8 {
                let carry = self.0 & 1;
                self.0 = (self.0 >> 1) ^ (POLYNOMIAL * carry);
            }
        }
    }

    pub(super) fn value(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720 §B.4, and the check value of the catalogue of parametrised CRC algorithms.
    #[test]
    fn the_examples_of_the_rfc_are_computed() {
        let of = |bytes: &[u8]| {
            let mut crc = Crc32c::default();
            crc.update(bytes);
            crc.value()
        };
        assert_eq!(of(&[0; 32]).to_le_bytes(), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(of(&[0xff; 32]).to_le_bytes(), [0x43, 0xab, 0xa8, 0x62]);
        assert_eq!(of(b"123456789"), 0xe306_9283);
    }
}
