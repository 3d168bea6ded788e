//! The invariant is stated in `src/hpack_decode.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::hpack_decode::check(data));
