//! [`AccessLog`]: the middleware that logs each exchange.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use stoop::{Answer, Body, Request, Response};

use super::entry::LogEntry;
use super::format::LogFormat;
use super::writer::{LogHandle, LogOwner, LogShared, QUEUE_BYTES_MAX, Writer};
use crate::exchange::{End, Watch, watch};
use crate::route::middleware::{Middleware, Next, Rest};
use crate::route::mode::Mode;

/// Writes a line for each exchange, once its response was sent or given up.
///
/// No core waits for the writer: lines are queued, 1 MiB for each core at most, and written by a thread of the log's
/// own, at least once a second. Beyond that they are dropped, and [counted](LogHandle::dropped_lines). Lines of several
/// cores are not in the order of their times. The log ends when it and its handles are dropped, and the exchanges that it
/// has seen begin are over: what is queued is then written by its thread. A program that ends does not wait for that thread, and
/// loses the lines of its last second, unless it calls [`LogHandle::flush`] last: after
/// [`drain`](stoop::ServerHandle::drain), in which the last exchanges end.
///
/// | format | a line |
/// |---|---|
/// | [`common`](Self::common) | Apache's `%h %l %u %t "%r" %>s %b`, `%l` always `-` |
/// | [`combined`](Self::combined) | the same with `"%{Referer}i" "%{User-Agent}i"` |
/// | [`json`](Self::json) | an object, see there |
/// | [`custom`](Self::custom) | what a function writes |
///
/// Layers are around those that are added after them, and the log reads the request as it reaches it: behind proxies add
/// [`TrustedProxies`](crate::TrustedProxies) before it, so that the client's address and host are in the lines and not
/// the proxy's. [`BasicAuth`](crate::BasicAuth) and [`BearerAuth`](crate::BearerAuth) belong after it: what they refuse is
/// logged too, and the user whom they let in is in the line.
///
/// What a server refuses before a handler is called, middleware does not see: [`LogHandle::observe`] writes its lines.
///
/// What clients sent is escaped as Apache does it. A client that left before it was answered has status 499 in the first
/// two, as nginx has it; one whose handler panicked has 500, and one whose handler took longer than the router allows 503,
/// which is what was answered then. What the server's own limit for handlers ends has 499 too.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::Client;
/// use stoop_web::{AccessLog, Router, get};
///
/// let path = std::env::temp_dir().join(format!("access-{}.log", std::process::id()));
/// let log = AccessLog::json(std::fs::File::create(&path)?);
/// let handle = log.handle();
/// let app = Router::new().route("/", get(|| "hello")).layer(log).build()?;
/// let client = Client::builder().handler(app).build()?;
/// client.get("http://a.test/").await?.text().await?;
/// # drop(client);
/// # tokio::time::sleep(std::time::Duration::from_millis(50)).await;
/// handle.flush();
/// let line = std::fs::read_to_string(&path)?;
/// assert!(line.contains(r#""method":"GET","target":"/","host":"a.test""#), "{line}");
/// // After logrotate has renamed it:
/// handle.replace(std::fs::File::create(&path)?);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct AccessLog(Arc<LogOwner>);

impl AccessLog {
    /// Lines in Apache's common format.
    pub fn common(writer: impl Write + Send + 'static) -> Self {
        Self::start(LogFormat::Common, QUEUE_BYTES_MAX, Box::new(writer))
    }

    /// Lines in Apache's combined format.
    pub fn combined(writer: impl Write + Send + 'static) -> Self {
        Self::start(LogFormat::Combined, QUEUE_BYTES_MAX, Box::new(writer))
    }

    /// Lines that are objects of JSON.
    ///
    /// | name | value |
    /// |---|---|
    /// | `time` | when the request came, RFC 3339 in UTC with milliseconds |
    /// | `method`, `target`, `host`, `version` | as they came, the host as trusted proxies have told it; `HTTP/1.0`, `HTTP/1.1` or `HTTP/2.0` |
    /// | `status` | a number; `null` if the client left before it was answered |
    /// | `bytes` | of content that was sent |
    /// | `user` | the name by which authentication has let it in, if it did |
    /// | `referer`, `user_agent`, `request_id`, `traceparent` | fields of the request, if they came; X-Request-Id rather of the response |
    /// | `peer` | address and port of the client, over TCP or as trusted proxies have told it; port 0 where they told none |
    /// | `response_ms` | from the request's head to the handler's response; where that came at once, to when the connection had it, so that the time of asynchronous layers outside the log counts too |
    /// | `head_ms` | to when the head of the response was written |
    /// | `total_ms` | to when the kernel had all of it, or it was given up |
    /// | `error` | the text of the error by which the handler or the content has failed, if one did ([`LogEntry::error`](super::LogEntry::error)) |
    /// | `complete`, `cut_short` | whether all was sent, and if not, the word of [`CutShort`](stoop::CutShort) |
    /// | `refused` | in place of the times and those after them, why the server has refused it without a handler ([`LogHandle::observe`]); `method`, `target` and `host` are `null` there if its head has not come whole |
    pub fn json(writer: impl Write + Send + 'static) -> Self {
        Self::start(LogFormat::Json, QUEUE_BYTES_MAX, Box::new(writer))
    }

    /// Lines that `format` writes behind what is there, without the line's end. It runs on the core that sent the
    /// response. What the client sent may have quotes in it.
    ///
    /// ```
    /// use std::io::Write;
    /// use stoop_web::AccessLog;
    ///
    /// let log = AccessLog::custom(std::io::sink(), |entry, line| {
    ///     let _ = write!(line, "{} {:?} {:?}", entry.method(), entry.target(), entry.until_end());
    /// });
    /// # drop(log);
    /// ```
    pub fn custom(
        writer: impl Write + Send + 'static,
        format: impl Fn(&LogEntry, &mut Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        Self::start(LogFormat::Custom(Arc::new(format)), QUEUE_BYTES_MAX, Box::new(writer))
    }

    /// The same with room for so many bytes of lines of each core, in place of 1 MiB.
    pub fn queue_bytes_max(self, bytes: usize) -> Self {
        let shared = &self.0.shared;
        shared.queue_bytes_max.store(bytes, std::sync::atomic::Ordering::Relaxed);
        self
    }

    /// A handle of the log.
    pub fn handle(&self) -> LogHandle {
        LogHandle(self.0.clone())
    }

    fn start(format: LogFormat, queue_bytes_max: usize, writer: Writer) -> Self {
        let shared = Arc::new(LogShared::new(format, queue_bytes_max, writer));
        Self(Arc::new(LogOwner::start(shared)))
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccessLog").field(&self.handle()).finish()
    }
}

/// An exchange whose line is not written yet.
struct Pending {
    entry: Option<Box<LogEntry>>,
    /// The log ends behind its line.
    log: Arc<LogOwner>,
}

impl Watch for Pending {
    fn responded(&mut self, response: &Response, at_once: bool) {
        if let Some(entry) = &mut self.entry {
            entry.respond(response, at_once);
        }
    }

    fn ended(&mut self, end: End) {
        if let Some(mut entry) = self.entry.take() {
            entry.end(end);
            self.log.shared.put(entry);
        }
    }
}

impl<M: Mode> Middleware<M> for AccessLog {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        self.handle_lent(request, next.rest())
    }

    fn handle_lent(&self, request: Request, rest: Rest<'_, M>) -> Answer<M::Future, Body> {
        let log = self.0.clone();
        let entry = Some(LogEntry::of(&request));
        watch::<M>(Pending { entry, log }, || rest.answer(request))
    }

    fn sees_refusals(&self) -> bool {
        true
    }
}
