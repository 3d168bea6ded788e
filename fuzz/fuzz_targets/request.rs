//! The invariant is stated in `src/request.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::request::check(data));
