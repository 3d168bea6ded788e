//! The invariant is stated in `src/h2_client.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::h2_client::check(data));
