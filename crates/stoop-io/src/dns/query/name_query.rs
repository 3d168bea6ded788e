//! The queries for one name: in both families, to one server after the other.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use tokio::time::timeout;

use super::context::QueryContext;
use super::failure::QueryFailure;
use super::https;
use super::response::{self, FamilyAddresses, QueryResponse};
use super::socket::{EncodedQuery, ServerSocket};
use crate::dns::https::HttpsRecord;
use crate::dns::race::{First, race};
use crate::dns::settings::{ALIASES_MAX, CacheLimits, Families, REPEAT_AFTER, RESOLUTION_DELAY};

/// A query under way.
pub(super) type PendingQuery<'a> =
    Pin<Box<dyn Future<Output = Result<FamilyAddresses, QueryFailure>> + Send + 'a>>;

/// The addresses of one family, and those of the other; or else the query for them, if it is still
/// under way.
pub(super) type BothFamilies<'a> =
    (FamilyAddresses, Option<FamilyAddresses>, Option<PendingQuery<'a>>);

/// Reads a response to a query.
type ReadResponse<T> = fn(&Message, &Query, &CacheLimits) -> QueryResponse<T>;

/// The queries for one name, with a socket for each server that was asked.
pub(super) struct NameQuery {
    context: Arc<QueryContext>,
    name: Name,
    sockets: Mutex<Vec<(usize, Arc<ServerSocket>)>>,
}

impl NameQuery {
    pub(super) fn new(context: Arc<QueryContext>, name: Name) -> Self {
        Self { context, name, sockets: Mutex::default() }
    }

    /// Asks for both families at once. Addresses of one wait for the other for
    /// [`RESOLUTION_DELAY`].
    pub(super) async fn both_families(&self) -> Result<BothFamilies<'_>, QueryFailure> {
        let mut v4: PendingQuery<'_> = Box::pin(self.family(RecordType::A));
        let mut v6: PendingQuery<'_> = Box::pin(self.family(RecordType::AAAA));
        match self.context.settings.families {
            Families::Both => {}
            Families::V4 => return v4.await.map(|found| (found, None, None)),
            Families::V6 => return v6.await.map(|found| (found, None, None)),
        }
        let (first, mut rest) = match race(&mut v4, &mut v6).await {
            First::One(first) => (first, v6),
            First::Other(first) => (first.map_err(QueryFailure::doubtful), v4),
        };
        match first {
            Ok(first) => match timeout(RESOLUTION_DELAY, &mut rest).await {
                Ok(second) => Ok((first, second.ok(), None)),
                Err(_) => Ok((first, None, Some(rest))),
            },
            Err(failure) if failure.is_final() => Err(failure),
            Err(failure) => match rest.await {
                Ok(found) => Ok((found, None, None)),
                Err(other) => Err(failure.more_specific(other)),
            },
        }
    }

    /// Asks for HTTPS records.
    pub(super) async fn https(&self) -> Result<Vec<HttpsRecord>, QueryFailure> {
        self.ask(RecordType::HTTPS, https::read).await
    }

    async fn family(&self, record: RecordType) -> Result<FamilyAddresses, QueryFailure> {
        self.ask(record, response::read).await
    }

    /// Asks one server after the other, the preferred one first: each at least once, and if they
    /// are silent, again up to the number of attempts.
    async fn ask<T>(&self, record: RecordType, read: ReadResponse<T>) -> Result<T, QueryFailure> {
        let settings = &self.context.settings;
        let count = settings.servers.addresses.len();
        if count == 0 {
            return Err(QueryFailure::no_server());
        }
        let first = self.context.preferred.load(Ordering::Relaxed);
        let mut attempt = 0;
        loop {
            let server = (first + attempt) % count;
            attempt += 1;
            let result = self.at_server(server, record, read).await;
            match result {
                Err(failure) if failure.is_of_server() => {
                    let again = failure.is_timeout() && attempt < settings.attempts as usize;
                    if attempt >= count && !again {
                        return Err(failure);
                    }
                }
                result => {
                    // The servers before it did not help: spare the next lookup the wait for them.
                    if attempt > 1 {
                        self.context.preferred.store(server, Ordering::Relaxed);
                    }
                    return result;
                }
            }
        }
    }

    /// Asks one server, and follows aliases.
    async fn at_server<T>(
        &self,
        server: usize,
        record: RecordType,
        read: ReadResponse<T>,
    ) -> Result<T, QueryFailure> {
        let mut query = Query::query(self.name.clone(), record);
        for _ in 0..=ALIASES_MAX {
            let message = self.exchange(server, &query).await?;
            match read(&message, &query, &self.context.settings.cache) {
                QueryResponse::Found(found) => return Ok(found),
                QueryResponse::Alias(name) => query = Query::query(name, record),
                QueryResponse::Failed(failure) => return Err(failure),
            }
        }
        Err(QueryFailure::alias_loop())
    }

    /// Sends one query to one server, and returns the response: by UDP, then by TCP if the response
    /// is truncated, and without EDNS if the server does not know it (RFC 6891 §7).
    async fn exchange(&self, server: usize, query: &Query) -> Result<Message, QueryFailure> {
        let limit = self.context.settings.query_timeout;
        let failed = |error: io::Error| QueryFailure::io(&error);
        let encoded = EncodedQuery::new(query.clone(), true).map_err(failed)?;
        let message = within(limit, self.by_udp(server, &encoded)).await?;
        let message = match message.metadata.response_code {
            ResponseCode::FormErr | ResponseCode::NotImp => {
                let encoded = EncodedQuery::new(query.clone(), false).map_err(failed)?;
                within(limit, self.by_udp(server, &encoded)).await?
            }
            _ => message,
        };
        if !message.metadata.truncation {
            return Ok(message);
        }
        let socket = self.socket(server).map_err(failed)?;
        within(limit, socket.exchange_by_tcp(&encoded)).await
    }

    async fn by_udp(&self, server: usize, query: &EncodedQuery) -> io::Result<Message> {
        let socket = self.socket(server)?;
        let mut response = pin!(socket.receive(query));
        let mut repeat_after = REPEAT_AFTER;
        loop {
            socket.send(query)?;
            // The same query from the same port: a late response to the first is as good.
            if let Ok(response) = timeout(repeat_after, response.as_mut()).await {
                return response;
            }
            repeat_after *= 2;
        }
    }

    /// The socket for a server, which the queries of both families share.
    fn socket(&self, server: usize) -> io::Result<Arc<ServerSocket>> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, socket)) = sockets.iter().find(|(of, _)| *of == server) {
            return Ok(socket.clone());
        }
        let address = self.context.settings.servers.addresses[server];
        let socket = Arc::new(ServerSocket::open(address)?);
        sockets.push((server, socket.clone()));
        Ok(socket)
    }
}

async fn within(
    limit: Duration,
    exchange: impl Future<Output = io::Result<Message>>,
) -> Result<Message, QueryFailure> {
    match timeout(limit, exchange).await {
        Ok(response) => response.map_err(|error| QueryFailure::io(&error)),
        Err(_) => Err(QueryFailure::timeout()),
    }
}
