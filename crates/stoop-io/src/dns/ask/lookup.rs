//! One name, asked for in both families, of one server after the other.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use tokio::time::timeout;

use super::asker::Asker;
use super::failure::Failure;
use super::line::{Asked, Line};
use super::reply::{self, Found, Reply};
use crate::dns::race::{First, race};
use crate::dns::settings::{ALIASES_MAX, Families, REPEAT_AFTER, RESOLUTION_DELAY};

/// A question under way.
pub(super) type Question<'a> = Pin<Box<dyn Future<Output = Result<Found, Failure>> + Send + 'a>>;

/// What both questions came to: one family's addresses, the other's, or else its question if that
/// is still under way.
pub(super) type Both<'a> = (Found, Option<Found>, Option<Question<'a>>);

/// A name being asked for, with a socket for each server that was asked.
pub(super) struct Lookup {
    asker: Arc<Asker>,
    name: Name,
    lines: Mutex<Vec<(usize, Arc<Line>)>>,
}

impl Lookup {
    pub(super) fn new(asker: Arc<Asker>, name: Name) -> Self {
        Self { asker, name, lines: Mutex::default() }
    }

    /// Asks for both families at once. An address in one waits for the other only so long.
    pub(super) async fn both(&self) -> Result<Both<'_>, Failure> {
        let mut v4: Question<'_> = Box::pin(self.family(RecordType::A));
        let mut v6: Question<'_> = Box::pin(self.family(RecordType::AAAA));
        match self.asker.settings.families {
            Families::Both => {}
            Families::V4 => return v4.await.map(|found| (found, None, None)),
            Families::V6 => return v6.await.map(|found| (found, None, None)),
        }
        let (first, mut rest) = match race(&mut v4, &mut v6).await {
            First::One(first) => (first, v6),
            First::Other(first) => (first.map_err(Failure::doubtful), v4),
        };
        match first {
            Ok(first) => match timeout(RESOLUTION_DELAY, &mut rest).await {
                Ok(second) => Ok((first, second.ok(), None)),
                Err(_) => Ok((first, None, Some(rest))),
            },
            Err(failure) if failure.is_final() => Err(failure),
            Err(failure) => match rest.await {
                Ok(found) => Ok((found, None, None)),
                Err(other) => Err(failure.worse(other)),
            },
        }
    }

    /// Asks one server after the other, the preferred one first: each at least once, and if they
    /// are silent, again up to the number of attempts.
    async fn family(&self, record: RecordType) -> Result<Found, Failure> {
        let settings = &self.asker.settings;
        let count = settings.servers.addresses.len();
        if count == 0 {
            return Err(Failure::no_server());
        }
        let first = self.asker.preferred.load(Ordering::Relaxed);
        let mut attempt = 0;
        loop {
            let server = (first + attempt) % count;
            attempt += 1;
            let answer = self.of_server(server, record).await;
            match answer {
                Err(failure) if failure.is_of_server() => {
                    let again = failure.is_silence() && attempt < settings.attempts as usize;
                    if attempt >= count && !again {
                        return Err(failure);
                    }
                }
                answer => {
                    // The others did not help: spare the next lookup the wait for them.
                    if attempt > 1 {
                        self.asker.preferred.store(server, Ordering::Relaxed);
                    }
                    return answer;
                }
            }
        }
    }

    /// Asks one server, and follows aliases.
    async fn of_server(&self, server: usize, record: RecordType) -> Result<Found, Failure> {
        let mut query = Query::query(self.name.clone(), record);
        for _ in 0..=ALIASES_MAX {
            let message = self.ask(server, &query).await?;
            match reply::read(&message, &query, &self.asker.settings.cache) {
                Reply::Found(found) => return Ok(found),
                Reply::Alias(name) => query = Query::query(name, record),
                Reply::Failed(failure) => return Err(failure),
            }
        }
        Err(Failure::other("its aliases lead in a circle, or too far"))
    }

    /// Asks one server one question: by UDP, then by TCP if the answer is cut off, and without EDNS
    /// if the server has never heard of it (RFC 6891 §7).
    async fn ask(&self, server: usize, query: &Query) -> Result<Message, Failure> {
        let limit = self.asker.settings.query_timeout;
        let asked = Asked::new(query.clone(), true).map_err(|error| Failure::io(&error))?;
        let message = within(limit, self.by_udp(server, &asked)).await?;
        let message = match message.metadata.response_code {
            ResponseCode::FormErr | ResponseCode::NotImp => {
                let asked = Asked::new(query.clone(), false);
                let asked = asked.map_err(|error| Failure::io(&error))?;
                within(limit, self.by_udp(server, &asked)).await?
            }
            _ => message,
        };
        if !message.metadata.truncation {
            return Ok(message);
        }
        let line = self.line(server).map_err(|error| Failure::io(&error))?;
        within(limit, line.ask_by_tcp(&asked)).await
    }

    async fn by_udp(&self, server: usize, asked: &Asked) -> io::Result<Message> {
        let line = self.line(server)?;
        let mut answer = pin!(line.answer(asked));
        let mut patience = REPEAT_AFTER;
        loop {
            line.send(asked)?;
            // The same question from the same port: a late answer to the first is as good.
            if let Ok(answer) = timeout(patience, answer.as_mut()).await {
                return answer;
            }
            patience *= 2;
        }
    }

    /// The socket to a server: one for both questions.
    fn line(&self, server: usize) -> io::Result<Arc<Line>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, line)) = lines.iter().find(|(of, _)| *of == server) {
            return Ok(line.clone());
        }
        let line = Arc::new(Line::open(self.asker.settings.servers.addresses[server])?);
        lines.push((server, line.clone()));
        Ok(line)
    }
}

async fn within(
    limit: Duration,
    asking: impl Future<Output = io::Result<Message>>,
) -> Result<Message, Failure> {
    match timeout(limit, asking).await {
        Ok(answer) => answer.map_err(|error| Failure::io(&error)),
        Err(_) => Err(Failure::timeout()),
    }
}
