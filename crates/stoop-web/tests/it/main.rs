//! What a service does with requests, over the real machines of both ends and without a socket.

mod access_log;
mod access_log_ends;
mod access_log_refused;
mod access_log_writers;
#[cfg(feature = "json")]
mod arguments;
mod events;
#[cfg(feature = "files")]
mod files;
#[cfg(feature = "multipart")]
mod forms;
mod kit;
mod layers;
mod proxies;
mod routing;
#[cfg(feature = "sessions")]
mod session_tokens;
#[cfg(feature = "sessions")]
mod sessions;
mod sight;
mod spellings;
mod traces;
mod trailers;
