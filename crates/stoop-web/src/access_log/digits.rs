//! Numbers and addresses of lines, written without the machinery of formatting.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Writes a number.
#[inline]
pub(super) fn put_number(number: u64, out: &mut Vec<u8>) {
    match number {
        0..10 => out.push(b'0' + number as u8),
        10..100 => out.extend_from_slice(&PAIRS[number as usize]),
        100..1_000 => {
            let [tens, ones] = PAIRS[(number % 100) as usize];
            out.extend_from_slice(&[b'0' + (number / 100) as u8, tens, ones]);
        }
        _ => put_large(number, out),
    }
}

fn put_large(number: u64, out: &mut Vec<u8>) {
    let (digits, start) = digits(number);
    out.extend_from_slice(&digits[start..]);
}

/// The digits of a number, at the end, and where they begin.
#[inline]
fn digits(mut number: u64) -> ([u8; 20], usize) {
    // As many as the largest has.
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while number >= 100 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    start -= 2;
    digits[start..start + 2].copy_from_slice(&PAIRS[number as usize]);
    (digits, start + usize::from(number < 10))
}

/// Writes milliseconds, with microseconds behind the point.
#[inline]
pub(super) fn put_millis(duration: Duration, out: &mut Vec<u8>) {
    let micros = duration.subsec_micros();
    if duration.as_secs() == 0 && micros < 10_000 {
        // As most are.
        let [tens, ones] = PAIRS[(micros % 100) as usize];
        let [millis, hundreds] = PAIRS[(micros / 100) as usize];
        return out.extend_from_slice(&[millis, b'.', hundreds, tens, ones]);
    }
    let (millis, micros) = (u64::from(micros / 1_000), micros % 1_000);
    put_number(duration.as_secs().saturating_mul(1_000).saturating_add(millis), out);
    let [tens, ones] = PAIRS[(micros % 100) as usize];
    out.extend_from_slice(&[b'.', b'0' + (micros / 100) as u8, tens, ones]);
}

/// An address of IPv4 and a port are that long at most.
const IPV4_BYTES_MAX: usize = 21;

/// Text that is written piece by piece, of an address of IPv4.
struct Ipv4Text {
    text: [u8; IPV4_BYTES_MAX],
    len: usize,
}

impl Ipv4Text {
    #[inline]
    fn of(ip: Ipv4Addr) -> Self {
        let mut text = Self { text: [0; IPV4_BYTES_MAX], len: 0 };
        for (index, octet) in ip.octets().into_iter().enumerate() {
            if index > 0 {
                text.push(b'.');
            }
            if octet >= 100 {
                text.push(b'0' + octet / 100);
            }
            let [tens, ones] = PAIRS[usize::from(octet % 100)];
            if octet >= 10 {
                text.push(tens);
            }
            text.push(ones);
        }
        text
    }

    #[inline]
    fn push_port(&mut self, port: u16) {
        if port < 10_000 {
            let (digits, start) = digits(port.into());
            return digits[start..].iter().for_each(|digit| self.push(*digit));
        }
        // As those of clients mostly are.
        let ([thousands, hundreds], [tens, ones]) =
            (PAIRS[usize::from(port / 100 % 100)], PAIRS[usize::from(port % 100)]);
        let digits = [b'0' + (port / 10_000) as u8, thousands, hundreds, tens, ones];
        self.text[self.len..self.len + 5].copy_from_slice(&digits);
        self.len += 5;
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.text[self.len] = byte;
        self.len += 1;
    }
}

/// Writes an address without a port.
pub(super) fn put_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => {
            let Ipv4Text { text, len } = Ipv4Text::of(ip);
            out.extend_from_slice(&text[..len]);
        }
        IpAddr::V6(ip) => {
            // A write into a vector does not fail.
            let _ = write!(out, "{ip}");
        }
    }
}

/// Writes an address with its port.
pub(super) fn put_address(address: SocketAddr, out: &mut Vec<u8>) {
    match address {
        SocketAddr::V4(address) => {
            let mut text = Ipv4Text::of(*address.ip());
            text.push(b':');
            text.push_port(address.port());
            out.extend_from_slice(&text.text[..text.len]);
        }
        SocketAddr::V6(address) => {
            let _ = write!(out, "{address}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_and_addresses_are_written_as_formatting_writes_them() {
        for number in (0..12_000).chain([65_535, 99_999, 100_000, u64::MAX - 1, u64::MAX]) {
            assert_eq!(text(|out| put_number(number, out)), number.to_string());
        }
        for octet in 0..=255 {
            let ip = IpAddr::from([255 - octet, 0, 100, octet]);
            assert_eq!(text(|out| put_ip(ip, out)), ip.to_string());
        }
        for address in [
            "1.2.3.4:80",
            "1.2.3.4:9999",
            "1.2.3.4:10000",
            "1.2.3.4:40608",
            "0.0.0.0:0",
            "255.10.0.199:65535",
            "255.255.255.255:65535",
            "[::1]:443",
            "[2001:db8::7]:1",
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(text(|out| put_address(address, out)), address.to_string());
            assert_eq!(text(|out| put_ip(address.ip(), out)), address.ip().to_string());
        }
    }

    #[test]
    fn durations_are_milliseconds_with_three_digits_behind_the_point() {
        for (nanos, written) in [
            (0, "0.000"),
            (999, "0.000"),
            (1_000, "0.001"),
            (9_999_999, "9.999"),
            (10_000_000, "10.000"),
            (1_234_567, "1.234"),
            (12_345_678, "12.345"),
            (3_000_070_000, "3000.070"),
        ] {
            assert_eq!(text(|out| put_millis(Duration::from_nanos(nanos), out)), written);
        }
        assert_eq!(text(|out| put_millis(Duration::MAX, out)), format!("{}.999", u64::MAX));
    }
}
