//! The invariant is stated in `src/response.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::response::check(data));
