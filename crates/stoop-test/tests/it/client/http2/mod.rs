//! The client over HTTP/2: against our own server in memory, and against scripted ones.

mod farewells;
mod few;
mod handlers;
mod kit;
mod rough;
mod scripted;
mod strangers;
mod tunnels;
mod windows;
