//! The options that say how TLS is spoken, and who is trusted.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

/// How TLS is spoken, and who is trusted.
#[derive(Args, Debug, Default)]
pub(crate) struct TlsArgs {
    /// Accept any certificate: an attacker on the network can then read and change everything
    #[arg(short = 'k', long)]
    pub(super) insecure: bool,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE")]
    pub(super) cacert: Option<PathBuf>,

    /// Show the certificate in this PEM file to the server
    #[arg(short = 'E', long, value_name = "FILE")]
    pub(super) cert: Option<PathBuf>,

    /// The key of --cert, if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(super) key: Option<PathBuf>,

    /// Speak TLS 1.2 or later, which is the default
    #[arg(long = "tlsv1.2")]
    pub(super) tls12: bool,

    /// Speak TLS 1.3 or later
    #[arg(long = "tlsv1.3")]
    pub(super) tls13: bool,

    /// Speak no later TLS than this: 1.2 or 1.3 [default: 1.3]
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(["default", "1.0", "1.1", "1.2", "1.3"]), hide_possible_values = true)]
    pub(super) tls_max: Option<String>,

    /// Accept only a server with one of these public keys: sha256//BASE64[;sha256//BASE64...], or a file with one
    #[arg(long, value_name = "KEYS")]
    pub(super) pinnedpubkey: Option<String>,
}

impl TlsArgs {
    /// Whether TLS is to be spoken in another way than by default.
    #[cfg(not(feature = "tls"))]
    pub(super) fn is_given(&self) -> bool {
        self.insecure || self.cacert.is_some() || self.cert.is_some() || self.pinnedpubkey.is_some()
    }
}
