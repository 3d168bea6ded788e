//! The invariant is stated in `src/forwarded.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::forwarded::check(data));
