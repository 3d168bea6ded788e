//! The command as its users run it: the built binary, against small servers of raw bytes on
//! loopback.
//!
//! - `internet`: the synthetic one, from the plan to the table
//! - `http2`: which version is spoken with whom, and over how many connections
//! - `lines`: exactly one line for each URL, and what stands in it
//! - `input`: what counts as a URL, from where, and how many
//! - `ending`: signals, `--duration`, a reader that leaves, a disk that is full
//! - `bounds`: concurrency, deadlines, memory, a slow reader
//! - `options`: redirects, bodies, certificates, time limits, against origins that misbehave
//! - `machine`: what it runs out of
//! - `limits`: the limits of time, which are those that the help names
//! - `hops`: what is told of an exchange that failed behind its first answer
//! - `signals`: signals that end a run, stop it for a while, or are ignored
//! - `streams`: standard streams that are closed
//! - `terminal`: columns, colours, locales
//! - `variables`: settings from the environment
//! - `guesses`: what is typed wrongly
//! - `secrets`: passwords in URLs
//! - `report`: the same figures from lines
#![forbid(unsafe_code)]

mod bounds;
mod ending;
mod guesses;
mod hops;
mod http2;
mod input;
mod internet;
mod limits;
mod lines;
mod machine;
mod options;
mod report;
mod secrets;
mod server;
mod signals;
mod stoop;
mod streams;
mod terminal;
mod variables;
