//! The invariant is stated in `src/proxy_protocol.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::proxy_protocol::check(data));
