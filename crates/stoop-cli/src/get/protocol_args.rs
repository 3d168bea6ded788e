//! The options that say which of http and https may be spoken, and which one a URL without a scheme is of.

use clap::Args;
use stoop::RedirectAction;

use super::exit;
use super::failure::GetFailure;
use super::protocols::{Protocols, is_protocol};
use crate::stderr;

/// Which protocols may be spoken.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProtocolArgs {
    /// Speak these protocols only: '=https' is https alone, '-http' all but http; '+' adds one
    #[arg(long, value_name = "LIST", value_parser = Protocols::read, allow_hyphen_values = true)]
    proto: Option<Protocols>,

    /// Follow redirects to these protocols only, as --proto has them
    #[arg(long, value_name = "LIST", value_parser = Protocols::read, allow_hyphen_values = true)]
    proto_redir: Option<Protocols>,

    /// The protocol of a URL without a scheme [default: http]
    #[arg(long, value_name = "PROTOCOL")]
    proto_default: Option<String>,
}

impl ProtocolArgs {
    /// Checks the names of protocols.
    ///
    /// # Errors
    /// That of `--proto-default`. One that is in a list and unknown is told, and means nothing.
    pub(super) fn check(&self, is_silent: bool) -> Result<(), GetFailure> {
        if let Some(name) = self.proto_default.as_deref().filter(|name| !is_protocol(name)) {
            let why = format!("--proto-default {name:?} is no protocol: https or http is one");
            return Err(GetFailure::new(exit::UNKNOWN_SCHEME, why));
        }
        let lists = [("--proto", &self.proto), ("--proto-redir", &self.proto_redir)];
        for (option, list) in lists.into_iter().filter(|_| !is_silent) {
            for name in list.iter().flat_map(Protocols::unknown) {
                stderr::message(format_args!("{option}: {name:?} is no protocol, and left out"));
            }
        }
        Ok(())
    }

    /// The scheme of a URL that has none.
    pub(super) fn default_scheme(&self) -> String {
        self.proto_default.as_deref().unwrap_or("http").to_ascii_lowercase()
    }

    /// Whether `--proto` lets a URL of that scheme be fetched.
    pub(super) fn allows(&self, scheme: &str) -> bool {
        self.proto.as_ref().is_none_or(|list| list.allows(scheme))
    }

    /// What becomes of a redirect to a URL.
    pub(super) fn redirect(&self, to: &str) -> RedirectAction {
        let scheme = to.split_once(':').map_or(to, |(scheme, _)| scheme);
        let lists = [("--proto", &self.proto), ("--proto-redir", &self.proto_redir)];
        for (option, list) in lists {
            if list.as_ref().is_some_and(|list| !list.allows(scheme)) {
                return RedirectAction::Deny(format!("{option} does not have {scheme}"));
            }
        }
        RedirectAction::Follow
    }
}
