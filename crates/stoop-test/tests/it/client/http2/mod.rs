//! The client over HTTP/2: with our own server in memory, with scripted servers, and with those of other
//! projects.

mod bodies;
mod credit;
mod edge_cases;
mod error_texts;
mod floods;
mod go_aways;
mod handlers;
mod http1_servers;
mod kit;
mod losses;
mod queue;
mod repeats;
mod scripted;
mod servers;
mod shared_uploads;
mod slow_servers;
mod stream_shortage;
mod tunnels;
mod unsent_output;
mod windows;
