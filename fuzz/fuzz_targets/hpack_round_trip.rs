//! The invariant is stated in `src/hpack_round_trip.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stoop_fuzz::hpack_round_trip::check(data));
