//! The invariant is stated in `src/multipart.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::multipart::check(data));
