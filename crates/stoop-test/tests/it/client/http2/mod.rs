//! The client over HTTP/2: against our own server in memory, against scripted ones, and against those
//! that others wrote.

mod bodies;
mod credit;
mod edge_cases;
mod error_texts;
mod floods;
mod handlers;
mod http1_servers;
mod kit;
mod losses;
mod queue;
mod repeats;
mod scripted;
mod servers;
mod slow_servers;
mod stream_shortage;
mod tunnels;
mod unsent_output;
mod windows;
