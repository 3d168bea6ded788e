//! What all clones of a client share.

use std::sync::Arc;

use stoop_proto::Limits;

use crate::client::connect::Connector;
use crate::client::pool::Pool;
use crate::client::redirect::Redirects;
use crate::limits::ClientLimits;

/// The connections of a client, and how it uses them.
pub(crate) struct Shared {
    pub(super) connector: Connector,
    pub(super) pool: Arc<Pool>,
    pub(super) limits: Arc<ClientLimits>,
    /// [`ClientLimits::wire`], as each HTTP/2 machine holds it.
    pub(super) wire_limits: Arc<Limits>,
    pub(super) redirects: Redirects,
    pub(super) user_agent: Option<Box<str>>,
    pub(super) allow_private: bool,
}
