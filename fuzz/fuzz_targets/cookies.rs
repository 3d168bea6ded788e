//! The invariant is stated in `src/cookies.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::cookies::check(data));
