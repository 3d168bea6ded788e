//! The invariant is stated in `src/chunked.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::chunked::check(data));
