//! RFC 9113, section by section, with what RFC 8441 and RFC 9218 add to it.

pub(crate) mod kit;

mod concurrency;
mod connect;
mod continuation;
mod control_data;
mod data;
mod exchanges;
mod faults;
mod fields;
mod floods;
mod flow_control;
mod framing;
mod go_away;
mod headers;
mod identifiers;
mod legitimate_load;
mod ping;
mod preface;
mod priorities;
mod priority;
mod push_promise;
mod rst_stream;
mod settings;
mod states;
