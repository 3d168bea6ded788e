//! The invariant is stated in `src/pair.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::pair::check(data));
