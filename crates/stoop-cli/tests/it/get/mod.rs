//! `stoop get`: one request with curl's options.

mod alone;
mod codes;
mod coming_from;
mod curl;
mod early;
mod files;
mod odd;
mod on_terminal;
mod pipes;
mod retry;
mod scripted;
mod tls;
mod told;
mod uploads;
mod waits;
