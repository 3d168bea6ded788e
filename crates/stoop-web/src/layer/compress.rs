//! [`Compress`]: encodes responses in a content coding that the client accepts.

use std::sync::Arc;

use stoop::body::ContentCoding;
use stoop::{Answer, Body, Method, Request, Response, StatusCode};

use crate::coding::{AcceptEncoding, Choice};
use crate::etag::Tags;
use crate::layer::compressible::{gets_smaller, may_change, may_vary, media_type};
use crate::layer::encoders::{Encoders, Unsized};
use crate::layer::vary::add_vary;
use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::{Mode, map};

/// Content that is shorter is sent as it is: a head and a packet are that large anyway.
const BYTES_MIN: u64 = 1024;

/// Content in memory that is not longer is encoded at once, and its length is known: it takes a millisecond at most, and
/// no encoder outlasts it.
const AT_ONCE_BYTES_MAX: u64 = 32 * 1024;

/// Responses that are encoded as they are sent, at a time: with what an encoder holds, at most 2 MiB, they come to 128 MiB.
const ENCODERS_MAX: usize = 64;

/// Encodes the content of responses, in zstd, Brotli or gzip, as the client's Accept-Encoding weighs them, in this
/// order where it does not care.
///
/// Encoded are texts, JSON, XML, scripts and what else gets smaller, of 1 KiB or more, or of unknown length; not what has a
/// Content-Encoding, a Content-Range or a digest, not where Cache-Control says `no-transform`, and not streams of events
/// ([`Sse`](crate::Sse)), each of which would hold an encoder for as long as its reader stays, unless [`types`](Self::types)
/// names them. A strong ETag becomes a weak one: what answers If-None-Match has to compare weakly (RFC 9110 §13.1.2), as
/// [`Files`](crate::Files) does. A 304 has the ETag that the client holds, and it and a 206 vary as the whole response
/// does. What was encoded of a stream is sent whenever it pauses, so that nothing is held up. A client that takes
/// neither a coding nor none (`identity;q=0`) is answered 406.
///
/// What is longer than 32 KiB, or not in memory, is encoded as it is sent, which holds memory for as long as the client
/// takes to read it: 0.5 MiB for gzip, 1.5 for zstd, 2 for Brotli. Of these there are 64 at a time
/// ([`encoders_max`](Self::encoders_max)), and what comes beyond them goes out as it is. Each encodes for a
/// quarter of a millisecond before other connections have their turn, or a block of Brotli, of 64 KiB, which takes one
/// or two milliseconds.
///
/// A page that has a secret in it and repeats what the client sent tells, by its length, what the secret is (BREACH):
/// leave this away from such routes, or change the secret each time.
///
/// ```
/// use stoop_web::{Compress, Router, get};
///
/// let app = Router::new().route("/", get(|| "na ".repeat(1000))).layer(Compress::new()).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone)]
pub struct Compress {
    codings: Arc<[ContentCoding]>,
    bytes_min: u64,
    types: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    encoders_max: usize,
    encoders: Arc<Encoders>,
}

impl Default for Compress {
    fn default() -> Self {
        Self::new()
    }
}

impl Compress {
    /// With the defaults.
    pub fn new() -> Self {
        let codings = [ContentCoding::Zstd, ContentCoding::Brotli, ContentCoding::Gzip];
        Self {
            codings: Arc::new(codings),
            bytes_min: BYTES_MIN,
            types: Arc::new(gets_smaller),
            encoders_max: ENCODERS_MAX,
            encoders: Arc::default(),
        }
    }

    /// Only these codings, the preferred one first.
    pub fn codings(mut self, codings: impl IntoIterator<Item = ContentCoding>) -> Self {
        self.codings = codings.into_iter().collect();
        self
    }

    /// Only content of so many bytes or more, where its length is known: 1 KiB by default.
    pub fn bytes_min(mut self, bytes: u64) -> Self {
        self.bytes_min = bytes;
        self
    }

    /// Only these media types, given in lower case and without parameters, in place of the defaults.
    pub fn types(mut self, encodes: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.types = Arc::new(encodes);
        self
    }

    /// At most so many responses are encoded as they are sent at a time, on all threads together: 64 by default. One
    /// beyond them is sent as it is, or answered 503 with `Retry-After: 1` where the client takes it only encoded; both are
    /// counted in [`not_encoded`](Self::not_encoded). Clones of this value share the count. Its memory is that of
    /// the encoders, of which a slow client holds one for each response that it does not take; 0 is for content
    /// of up to 32 KiB in memory alone.
    ///
    /// ```
    /// use stoop_web::{Compress, Router, get};
    ///
    /// let compress = Compress::new().encoders_max(256);
    /// let app = Router::new().route("/", get(|| "na ".repeat(20_000))).layer(compress.clone()).build()?;
    /// // Later:
    /// println!("{} are encoded, {} were too many", compress.encoders(), compress.not_encoded());
    /// # Ok::<(), stoop_web::RouterError>(())
    /// ```
    pub fn encoders_max(mut self, encoders: usize) -> Self {
        self.encoders_max = encoders;
        self
    }

    /// How many responses are encoded as they are sent now.
    pub fn encoders(&self) -> usize {
        self.encoders.count()
    }

    /// How many responses were not encoded because [`encoders_max`](Self::encoders_max) others were.
    pub fn not_encoded(&self) -> u64 {
        self.encoders.refused()
    }

    /// A response whose content stays as it is, with the fields that a 200 in its place would have.
    fn unchanged(&self, mut response: Response, asked: &Asked) -> Response {
        let media_type = media_type(&response);
        // A 304 need not have a type, and several parts have their own.
        let is_known = !media_type.is_empty() && media_type != "multipart/byteranges";
        if !may_vary(&response) || (is_known && !(self.types)(&media_type)) {
            return response;
        }
        add_vary(&mut response, "accept-encoding");
        let is_held = response.field("etag").is_some_and(|etag| asked.holds_weak(etag));
        if response.status() == StatusCode::NOT_MODIFIED && is_held {
            weaken_etag(&mut response);
        }
        response
    }

    fn is_wanted(&self, response: &Response, length: Option<u64>) -> bool {
        length.is_none_or(|length| length >= self.bytes_min) && (self.types)(&media_type(response))
    }

    fn encode(&self, mut response: Response, asked: &Asked) -> Response {
        let Asked { is_head, choice, takes_plain, .. } = *asked;
        if !may_change(&response) {
            return self.unchanged(response, asked);
        }
        let length = response.body_mut().len();
        if length == Some(0) && !is_head {
            return response;
        }
        if takes_plain && !self.is_wanted(&response, length) {
            return response;
        }
        add_vary(&mut response, "accept-encoding");
        let coding = match choice {
            Choice::Plain => return response,
            Choice::Neither => return not_acceptable(),
            Choice::Coded(coding) => coding,
        };
        let encoded = match is_head {
            // The length that it would have is not known.
            true => Some(Body::stream(Unsized { inner: Body::empty(), slot: None })),
            false => encoded_at_once(&mut response, length, coding),
        };
        let body = match encoded {
            Some(body) => body,
            None => match self.encoders.enter(self.encoders_max) {
                slot @ Some(_) => {
                    let inner = std::mem::take(response.body_mut());
                    Body::stream(Unsized { inner, slot }).encoded(coding)
                }
                None if takes_plain => return response,
                None => return no_encoder(),
            },
        };
        *response.body_mut() = body;
        weaken_etag(&mut response);
        let fields = response.fields_mut();
        fields.remove("content-length");
        fields.remove("accept-ranges");
        let _ = fields.set("content-encoding", coding.as_str().as_bytes());
        response
    }
}

/// The content encoded, if it is short and in memory.
fn encoded_at_once(
    response: &mut Response,
    length: Option<u64>,
    coding: ContentCoding,
) -> Option<Body> {
    if length.is_none_or(|length| length > AT_ONCE_BYTES_MAX) || response.is_streamed() {
        return None;
    }
    let encoded = response.body_mut().try_clone()?.encoded(coding);
    // What is read from a file is encoded as it is sent, and then its length is not known.
    encoded.len().is_some().then_some(encoded)
}

/// What a request says of the coding of its response.
struct Asked {
    is_head: bool,
    choice: Choice<ContentCoding>,
    /// Whether it takes content as it is.
    takes_plain: bool,
    /// The lines of If-None-Match.
    held: Vec<Vec<u8>>,
}

impl Asked {
    /// Whether the client holds what was encoded and had this strong tag before, which is not that of the content as it is.
    fn holds_weak(&self, etag: &[u8]) -> bool {
        let tags = self.held.iter().flat_map(|line| Tags(line)).filter(|tag| tag.opaque == etag);
        let (weak, strong): (Vec<_>, Vec<_>) = tags.partition(|tag| tag.is_weak);
        // A cache may hold both; it is told of the one that it would get.
        let is_encoded = matches!(self.choice, Choice::Coded(_));
        !weak.is_empty() && (strong.is_empty() || is_encoded)
    }
}

/// 406, with Vary, because another client is answered otherwise.
fn not_acceptable() -> Response {
    let why = "406 Not Acceptable: there is this content in zstd, br, gzip and as it is\n";
    let mut response = text(StatusCode::NOT_ACCEPTABLE, why);
    add_vary(&mut response, "accept-encoding");
    response
}

/// 503, for a client that takes no content as it is while there is no encoder for it.
fn no_encoder() -> Response {
    let why = "503 Service Unavailable: too much content is being encoded\n";
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, why);
    let _ = response.fields_mut().set("retry-after", b"1");
    add_vary(&mut response, "accept-encoding");
    response
}

/// RFC 9110 §8.8.1: the content in another coding is not the same, byte by byte.
fn weaken_etag(response: &mut Response) {
    let weak = match response.field("etag") {
        Some(etag) if etag.starts_with(b"\"") => [b"W/", etag].concat(),
        _ => return,
    };
    let _ = response.fields_mut().set("etag", &weak);
}

impl<M: Mode> Middleware<M> for Compress {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        if request.method() == Method::CONNECT {
            return next.answer(request);
        }
        let fields = request.fields();
        let accepted = AcceptEncoding::of(fields);
        let offered = self.codings.iter().map(|coding| (*coding, coding.as_str()));
        let held = fields.all("if-none-match").map(<[u8]>::to_vec);
        let asked = Asked {
            is_head: request.method() == Method::HEAD,
            choice: accepted.choose(offered),
            takes_plain: accepted.takes_plain(),
            held: held.collect(),
        };
        let compress = self.clone();
        map::<M>(next.answer(request), move |response| compress.encode(response, &asked))
    }
}
