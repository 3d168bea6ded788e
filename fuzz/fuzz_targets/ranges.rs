//! The invariant is stated in `src/ranges.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::ranges::check(data));
