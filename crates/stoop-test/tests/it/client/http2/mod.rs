//! The client over HTTP/2: against our own server in memory, against scripted ones, and against those
//! that others wrote.

mod bodies;
mod credit;
mod farewells;
mod few;
mod floods;
mod handlers;
mod kit;
mod life;
mod losses;
mod queue;
mod repeats;
mod rough;
mod scripted;
mod servers;
mod strangers;
mod tunnels;
mod windows;
mod words;
