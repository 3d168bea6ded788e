//! The options that say which proxy is used, and how.

use std::ffi::OsString;

use clap::{ArgAction, Args};
use stoop::{Proxies, Proxy};

use super::exit;
use super::failure::GetFailure;
use super::password::user_and_password;
use crate::proxies::proxies;
use crate::request_options::Header;

/// Which proxy is used, and how.
#[derive(Args, Debug, Default)]
pub(crate) struct ProxyArgs {
    /// Go through this proxy: http, https, socks4, socks4a, socks5 or socks5h; '' for none
    #[arg(id = "proxy", short = 'x', long, value_name = "URL")]
    pub(super) url: Option<String>,

    /// Hosts to reach without a proxy, separated by commas; '*' for all
    #[arg(long, value_name = "HOSTS")]
    pub(super) noproxy: Option<String>,

    /// Credentials for the proxy, USER:PASSWORD; without a password it is asked for
    #[arg(short = 'U', long, value_name = "CREDENTIALS")]
    pub(super) proxy_user: Option<String>,

    /// Add a header, 'Name: value', for the proxy alone
    #[arg(long, value_name = "HEADER", action = ArgAction::Append)]
    pub(super) proxy_header: Vec<OsString>,
}

impl ProxyArgs {
    /// The proxies of the options, or of the variables.
    ///
    /// # Errors
    /// A proxy that is no URL of one, and what cannot be read or sent.
    pub(super) fn proxies(&self) -> Result<Proxies, GetFailure> {
        let usage = |why: String| GetFailure::new(exit::BAD_USE, why);
        let credentials = self.proxy_user.as_deref().filter(|_| self.url.as_deref() != Some(""));
        let credentials = credentials.map(|typed| user_and_password("proxy", typed)).transpose()?;
        let headers = Header::read_all(&self.proxy_header);
        let headers = headers.map_err(|error| GetFailure::headers(&error))?;
        let complete = |url: &str, mut proxy: Proxy| {
            // Those in the URL count.
            if let Some((user, password)) = credentials.as_ref().filter(|_| !url.contains('@')) {
                proxy = proxy.with_credentials(user, password);
            }
            for header in &headers {
                if let Header::Sent(name, value) = header {
                    proxy = proxy.with_header(name, value)?;
                }
            }
            Ok(proxy)
        };
        let variable = |name: &str| std::env::var_os(name);
        let (url, except) = (self.url.as_deref(), self.noproxy.as_deref());
        proxies(url, except, variable, complete).map_err(usage)
    }
}
