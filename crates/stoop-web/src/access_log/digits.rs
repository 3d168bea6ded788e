//! Numbers and addresses of lines, written without the machinery of formatting.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Writes a number.
pub(super) fn put_number(mut number: u64, out: &mut Vec<u8>) {
    if number < 10 {
        return out.push(digit(number));
    }
    // As many as the largest has.
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = digit(number);
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[start..]);
        }
    }
}

/// Writes milliseconds, with microseconds behind the point.
pub(super) fn put_millis(duration: Duration, out: &mut Vec<u8>) {
    let micros = u64::from(duration.subsec_micros());
    put_number(duration.as_secs().saturating_mul(1_000).saturating_add(micros / 1_000), out);
    out.extend_from_slice(&[b'.', digit(micros / 100), digit(micros / 10), digit(micros)]);
}

fn digit(number: u64) -> u8 {
    b'0' + (number % 10) as u8
}

/// Writes an address without a port.
pub(super) fn put_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => {
            for (index, octet) in ip.octets().into_iter().enumerate() {
                if index > 0 {
                    out.push(b'.');
                }
                put_number(octet.into(), out);
            }
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
            put_ip(IpAddr::V4(*address.ip()), out);
            out.push(b':');
            put_number(address.port().into(), out);
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
        for number in [0, 7, 10, 200, 65_535, u64::MAX] {
            assert_eq!(text(|out| put_number(number, out)), number.to_string());
        }
        for address in
            ["1.2.3.4:80", "0.0.0.0:0", "255.10.0.199:65535", "[::1]:443", "[2001:db8::7]:1"]
        {
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
            (12_345_678, "12.345"),
            (3_000_070_000, "3000.070"),
        ] {
            assert_eq!(text(|out| put_millis(Duration::from_nanos(nanos), out)), written);
        }
        assert_eq!(text(|out| put_millis(Duration::MAX, out)), format!("{}.999", u64::MAX));
    }
}
