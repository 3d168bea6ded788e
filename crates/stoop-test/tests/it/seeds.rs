//! Runs the fuzz targets over the inputs that are checked in under `fuzz/seeds`, and over random changes of
//! them. `fuzz/README.md` says how to run the targets for longer.

use std::fs;
use std::path::Path;

use stoop_test::random::Random;

#[allow(unreachable_pub, reason = "public in the crate of the fuzz targets")]
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;

/// Runs `check` over the seeds of a target, and over random changes of them.
fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of seeds is there")
        .map(|entry| entry.expect("a seed can be read").path())
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 5, "{}", folder.display());
    for path in seeds {
        let seed = fs::read(&path).expect("a seed can be read");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        check_named(&name, &seed, check);
        for round in 0..300 {
            let mut random = Random::new(round);
            let mut changed = seed.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(changed.len() + 1);
                match random.below(4) {
                    0 => changed.insert(at, random.number() as u8),
                    1 => changed.truncate(at),
                    2 => changed.extend_from_within(at..),
                    _ => {
                        if let Some(byte) = changed.get_mut(at) {
                            *byte ^= 1 << random.below(8);
                        }
                    }
                }
            }
            check_named(&format!("{name}, changed by {round}"), &changed, check);
        }
    }
}

fn check_named(name: &str, input: &[u8], check: fn(&[u8])) {
    let checked = std::panic::catch_unwind(|| check(input));
    assert!(checked.is_ok(), "{name}: {}", input.escape_ascii());
}

#[test]
fn the_seeds_of_requests_pass() {
    run("request", fuzz::request::check);
}

#[test]
fn the_seeds_of_websockets_pass() {
    run("websocket", fuzz::websocket::check);
}

#[test]
fn the_seeds_of_responses_pass() {
    run("response", fuzz::response::check);
}

#[test]
fn the_seeds_of_chunked_bodies_pass() {
    run("chunked", fuzz::chunked::check);
}

#[test]
fn the_seeds_of_pairs_pass() {
    run("pair", fuzz::pair::check);
}

#[test]
fn the_seeds_of_header_blocks_pass() {
    run("hpack_decode", fuzz::hpack_decode::check);
}

#[test]
fn the_seeds_of_header_blocks_of_our_own_pass() {
    run("hpack_round_trip", fuzz::hpack_round_trip::check);
}

#[test]
fn the_seeds_of_http2_servers_pass() {
    run("h2_server", fuzz::h2_server::check);
}

#[test]
fn the_seeds_of_http2_clients_pass() {
    run("h2_client", fuzz::h2_client::check);
}

#[test]
fn the_seeds_of_http2_pairs_pass() {
    run("h2_pair", fuzz::h2_pair::check);
}

#[test]
fn the_seeds_of_proxy_headers_pass() {
    run("proxy_protocol", fuzz::proxy_protocol::check);
}

#[test]
fn the_seeds_of_forwarded_fields_pass() {
    run("forwarded", fuzz::forwarded::check);
}

#[test]
fn the_seeds_of_cookies_pass() {
    run("cookies", fuzz::cookies::check);
}

#[test]
fn the_seeds_of_forms_pass() {
    run("multipart", fuzz::multipart::check);
}

#[test]
fn the_seeds_of_ranges_pass() {
    run("ranges", fuzz::ranges::check);
}

#[test]
fn the_seeds_of_robots_files_pass() {
    run("robots", fuzz::robots::check);
}
