//! What is kept of a request besides its content, in memory that is used again.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Extensions;
use stoop_io::PeerAddress;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::{PeerCertificate, TlsSession};
use stoop_proto::RequestHead;
use url::Url;

use super::PastRedirect;
#[cfg(feature = "digest-auth")]
use super::digest::DigestCredentials;
use super::interim::InterimSender;
#[cfg(feature = "compression")]
use crate::body::ContentCoding;
use crate::conn::recycle::{FreeList, Recycled};
use crate::connection_info::{CarriedBytes, ConnectionFacts};
use crate::timings::Timings;
use crate::versions::Versions;

/// What is kept of a request besides its content.
#[derive(Clone)]
pub(crate) struct RequestParts {
    pub(crate) head: RequestHead,
    /// When a client was called with it.
    pub(crate) called: Option<Instant>,
    /// How often a client has sent it.
    pub(crate) attempts: u32,
    /// The address of the peer.
    pub(crate) peer: Option<PeerAddress>,
    /// The connection that it was sent over had served before, or others share it.
    pub(crate) is_reused: bool,
    /// What that connection had carried when the head of the response had come.
    pub(crate) carried: CarriedBytes,
    /// What TLS has agreed on for it.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
    /// The certificate that the server has shown a client that keeps it.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) certificate: Option<PeerCertificate>,
    /// What a server knows of the connection it came over.
    pub(crate) facts: Option<Arc<ConnectionFacts>>,
    /// By which its handler sends interim responses.
    pub(crate) interim: Option<InterimSender>,
    /// Where a client sends it.
    pub(crate) url: Option<Url>,
    /// A client has added the validators that it knows of its URL.
    pub(crate) has_validators: bool,
    /// What a client measured of it.
    pub(crate) timings: Timings,
    /// What it says of its deadlines.
    pub(crate) deadlines: RequestDeadlines,
    /// The versions it may be sent over, if not the client's.
    pub(crate) versions: Option<Versions>,
    /// It may be sent to public addresses alone.
    pub(crate) is_public_only: bool,
    /// Whether the content of its response is to be decoded, if it says so.
    #[cfg(feature = "compression")]
    pub(crate) decodes: Option<bool>,
    /// What was decoded of its response's content.
    #[cfg(feature = "compression")]
    pub(crate) codings: Vec<ContentCoding>,
    /// What a challenge of its origin is answered with.
    #[cfg(feature = "digest-auth")]
    pub(crate) digest: Option<Box<DigestCredentials>>,
    /// The redirects that were followed.
    pub(crate) history: Vec<PastRedirect>,
    /// What its owner keeps with it.
    pub(crate) extensions: Extensions,
}

/// What a request says of its deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum RequestDeadlines {
    /// Nothing: the client's hold.
    #[default]
    Default,
    /// So long in all.
    Total(Duration),
    /// Until then in all, as a call that has begun already says. The client's limit for the head holds too, if the
    /// request had no wish of its own.
    Until { total: Instant, is_default: bool },
    /// It has none.
    Endless,
}

thread_local! {
    static REQUESTS: FreeList<RequestParts> = const { RefCell::new(Vec::new()) };
}

impl Recycled for RequestParts {
    fn empty() -> Self {
        let (head, timings) = (RequestHead::default(), Timings::default());
        let (deadlines, extensions) = (RequestDeadlines::Default, Extensions::new());
        Self {
            head,
            called: None,
            attempts: 0,
            peer: None,
            is_reused: false,
            carried: CarriedBytes::default(),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: None,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            certificate: None,
            facts: None,
            interim: None,
            url: None,
            has_validators: false,
            timings,
            deadlines,
            versions: None,
            is_public_only: false,
            #[cfg(feature = "compression")]
            decodes: None,
            #[cfg(feature = "compression")]
            codings: Vec::new(),
            #[cfg(feature = "digest-auth")]
            digest: None,
            history: Vec::new(),
            extensions,
        }
    }
    fn clear(&mut self) {
        self.head.clear();
        (self.called, self.attempts, self.peer) = (None, 0, None);
        (self.is_reused, self.carried) = (false, CarriedBytes::default());
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        {
            self.tls = None;
            self.certificate = None;
        }
        self.facts = None;
        self.interim = None;
        self.url = None;
        self.has_validators = false;
        self.timings = Timings::default();
        self.deadlines = RequestDeadlines::Default;
        self.versions = None;
        self.is_public_only = false;
        #[cfg(feature = "compression")]
        {
            self.decodes = None;
            self.codings.clear();
        }
        #[cfg(feature = "digest-auth")]
        {
            self.digest = None;
        }
        self.history.clear();
        if !self.extensions.is_empty() {
            self.extensions = Extensions::new();
        }
    }
    fn free_list<R>(with: impl FnOnce(&mut Vec<Box<Self>>) -> R) -> Option<R> {
        REQUESTS.try_with(|free_list| with(&mut free_list.borrow_mut())).ok()
    }
}
