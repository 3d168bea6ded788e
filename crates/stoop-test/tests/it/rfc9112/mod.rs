//! RFC 9112, section by section.

mod close_reasons;
mod connections;
mod field_syntax;
mod incomplete;
mod message_body;
mod message_format;
mod request_line;
mod status_line;
mod transfer_codings;
