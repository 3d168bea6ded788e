//! The invariant is stated in `src/websocket.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::websocket::check(data));
