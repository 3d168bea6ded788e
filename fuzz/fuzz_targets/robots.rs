//! The invariant is stated in `src/robots.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::robots::check(data));
