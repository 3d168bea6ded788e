//! A response, written to where it goes.

use std::error::Error as _;
use std::io;

use stoop::{Error, ErrorKind, Phase, Response, StatusCode};
use tokio::time::{Instant, timeout_at};

use super::args::GetArgs;
use super::condition::TimeCondition;
use super::date::parse_date;
use super::etag::ETagFound;
use super::failure::GetFailure;
use super::output::{Output, make_folders, write_file};
use super::pace::Pace;
use super::record::Record;
use super::write_out::Outcome;
use super::{coding, disposition, exit, location, progress};
use crate::stderr;

/// A response, and where it goes.
pub(super) struct Exchange<'a> {
    args: &'a GetArgs,
    record: Record,
    offset: u64,
    output: Output,
    /// When the last attempt has to be over, what `--limit-rate` waits for included.
    deadline: Option<Instant>,
    /// Headers were written to the file of `-D`.
    is_dumped: bool,
    /// What is wanted by `-z`.
    condition: Option<TimeCondition>,
    /// When the content was changed last, for `-R`.
    modified: Option<i64>,
    etag: ETagFound,
}

impl<'a> Exchange<'a> {
    /// The exchange of a request that is sent now. `offset` is where its content goes on.
    pub(super) fn new(args: &'a GetArgs, record: Record, offset: u64, output: Output) -> Self {
        Self {
            args,
            record,
            offset,
            output,
            deadline: None,
            is_dumped: false,
            condition: None,
            modified: None,
            etag: ETagFound::default(),
        }
    }

    /// The same, whose content is wanted on a condition.
    pub(super) fn on(self, condition: Option<TimeCondition>) -> Self {
        Self { condition, ..self }
    }

    /// What was noted.
    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// The name of the file that the content went to, or none.
    pub(super) fn file(&self) -> String {
        self.output.name()
    }

    /// Ends it: the file is given its time, and the ETag is saved; or what was written of it is removed, if that is wanted.
    pub(super) fn end(&mut self, ended: Result<(), GetFailure>) -> Result<(), GetFailure> {
        self.output.stop_progress();
        match ended {
            Ok(()) => {
                if let Some(modified) = self.modified {
                    let set = self.output.set_time(modified);
                    if let Err(error) = set
                        && !self.args.silent
                    {
                        stderr::message(format_args!("-R: the file keeps its time: {error}"));
                    }
                }
                self.args.condition.save(std::mem::take(&mut self.etag))
            }
            Err(failure) if self.args.file.remove_on_error => {
                // What happened first is told.
                let _ = self.output.remove();
                Err(failure)
            }
            ended => ended,
        }
    }

    /// Why no response came.
    pub(super) fn failure(&self, error: Error) -> GetFailure {
        let is_refused = matches!(error.kind(), ErrorKind::ProxyAuth | ErrorKind::ProxyRefused);
        let has_answered = self.record.notes().tunnel_status.is_some();
        // What the system says of the path is enough.
        let why = error.source().map(ToString::to_string);
        let mut failure = GetFailure::from(error);
        if let Some(path) =
            self.args.unix_socket.as_ref().filter(|_| failure.code == exit::NO_CONNECTION)
        {
            let why = why.as_ref().unwrap_or(&failure.message);
            failure.message = format!("the Unix socket {}: {why}", path.display());
        }
        match is_refused && has_answered {
            true => GetFailure { code: exit::NO_TUNNEL, ..failure },
            false => failure,
        }
    }

    pub(super) async fn receive(
        &mut self,
        mut response: Response,
        outcome: &mut Outcome,
    ) -> Result<(), GetFailure> {
        let begun = self.record.notes().attempt_begun;
        self.deadline =
            self.args.total().and_then(|limit| begun.checked_add(limit)).map(Instant::from_std);
        let status = response.status();
        outcome.final_url = response.url().map(str::to_owned);
        outcome.redirects = response.redirects();
        outcome.redirect_url = location::of_response(&response);
        let would_follow = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
            && !outcome.redirect_url.is_empty();
        if self.args.output.remote_header_name
            && self.args.output.remote_name
            && let Some(field) = response.field("content-disposition")
            && let Some(name) = disposition::file_name(field)
        {
            self.output.rename(&name);
        }
        self.write_heads()?;
        self.etag = self.args.condition.found(&response)?;
        let modified = response.field("last-modified").map(String::from_utf8_lossy);
        let modified = modified.map(|date| parse_date(&date));
        if self.args.file.remote_time && status != StatusCode::NOT_MODIFIED {
            self.modified = modified.flatten();
        }
        if self.args.redirects.denies_all() && would_follow {
            // With any other number the client says so.
            let message = "there are too many redirects: more than 0";
            return Err(GetFailure::new(exit::TOO_MANY_REDIRECTS, message));
        }
        let is_failed = status.as_u16() >= 400;
        let http_error = || {
            let message = format!("the server answered {status}");
            Err(GetFailure::new(exit::HTTP_ERROR, message))
        };
        let is_unsatisfied = self.offset > 0 && status == StatusCode::RANGE_NOT_SATISFIABLE;
        if is_failed && self.args.fail && !is_unsatisfied {
            return http_error();
        }
        if self.offset > 0 && !self.is_resumed(&mut response)? {
            // It is the file's time, too.
            return match self.modified {
                Some(_) => self.output.finish().map_err(|error| GetFailure::write(&error)),
                None => Ok(()),
            };
        }
        if status == StatusCode::NOT_MODIFIED {
            // It has no content, and the file keeps what is in it.
            return Ok(());
        }
        if self.args.head {
            // With -X, too, the head is all that is wanted.
            return if is_failed && self.args.fail_with_body { http_error() } else { Ok(()) };
        }
        if !self.is_wanted(modified, response.body_mut().len()) {
            // It counts as the answer that the server should have given.
            outcome.status = Some(StatusCode::NOT_MODIFIED.as_u16());
            if matches!(self.etag, ETagFound::Of(None)) {
                self.etag = ETagFound::Kept;
            }
            return Ok(());
        }
        if self.args.compressed {
            coding::decode(&mut response)?;
        }
        let received = self.copy(&mut response).await;
        outcome.received = match response.body_mut().wire_bytes() {
            Some(bytes) => bytes,
            None => received.as_ref().map_or_else(|(bytes, _)| *bytes, |bytes| *bytes),
        };
        received.map_err(|(_, failure)| failure)?;
        if is_failed && self.args.fail_with_body { http_error() } else { Ok(()) }
    }

    /// Whether content of that date and length is wanted, as curl has it: a part of it and none at all are in any case, and a
    /// date that cannot be read is older than all.
    fn is_wanted(&self, modified: Option<Option<i64>>, length: Option<u64>) -> bool {
        let is_part = self.offset > 0 || self.args.range.is_some();
        let date = modified.map(|date| date.unwrap_or(-1));
        is_part || length == Some(0) || self.condition.is_none_or(|wanted| wanted.is_met_by(date))
    }

    /// Copies the content, and returns how many bytes there were, also where that failed.
    async fn copy(&mut self, response: &mut Response) -> Result<u64, (u64, GetFailure)> {
        let total = response.body_mut().len();
        let max = self.args.output.max_filesize.filter(|max| *max > 0).unwrap_or(u64::MAX);
        let too_large = || {
            let message = format!("the content has more than {max} bytes");
            GetFailure::new(exit::TOO_LARGE, message)
        };
        if total.is_some_and(|total| total > max) {
            return Err((0, too_large()));
        }
        if self.args.wants_progress() && progress::is_possible() {
            self.output.show_progress(total);
        }
        let mut pace = self.args.rate().map(Pace::new);
        let mut received = 0;
        loop {
            match response.chunk().await {
                Ok(Some(piece)) => {
                    received += piece.len() as u64;
                    if received > max {
                        return Err((received, too_large()));
                    }
                    let written = self.write(&piece, pace.as_mut()).await;
                    written.map_err(|failure| (received, failure))?;
                }
                Ok(None) => break,
                Err(error) => return Err((received, error.into())),
            }
        }
        if let Some(trailers) = response.body_mut().take_trailers() {
            self.record.trailers_came(&trailers);
            self.write_heads().map_err(|failure| (received, failure))?;
        }
        match self.output.finish() {
            Ok(()) => Ok(received),
            Err(error) => Err((received, GetFailure::write(&error))),
        }
    }

    /// Writes a piece of content, at the rate that is wanted.
    async fn write(&mut self, piece: &[u8], pace: Option<&mut Pace>) -> Result<(), GetFailure> {
        let failed = |error: io::Error| GetFailure::write(&error);
        let Some(pace) = pace else {
            self.record.content_came(piece.len());
            return self.output.write(piece).map_err(failed);
        };
        for next in piece.chunks(pace.step()) {
            self.record.content_came(next.len());
            self.output.write(next).map_err(failed)?;
            let waiting = pace.wait(next.len());
            match self.deadline {
                Some(deadline) => timeout_at(deadline, waiting)
                    .await
                    .map_err(|_| Error::new(ErrorKind::TotalTimeout, Phase::Receive))?,
                None => waiting.await,
            }
        }
        Ok(())
    }

    /// Writes the heads that came to where they are wanted.
    pub(super) fn write_heads(&mut self) -> Result<(), GetFailure> {
        let heads = self.record.take_heads();
        let failed = |error: io::Error| GetFailure::write(&error);
        if let Some(path) = &self.args.output.dump_header {
            if self.args.output.create_dirs && path.as_os_str() != "-" {
                make_folders(path).map_err(failed)?;
            }
            write_file(path, &heads, self.is_dumped).map_err(failed)?;
            self.is_dumped = true;
        }
        if self.args.output.include || self.args.head {
            self.output.write_text(&heads).map_err(failed)?;
        }
        Ok(())
    }

    /// Whether content follows that goes on where the file ends. If not, the file has all of it: the server says so, or
    /// that it has just as many bytes, or, without a word on how many it has, that there is nothing behind them.
    fn is_resumed(&self, response: &mut Response) -> Result<bool, GetFailure> {
        let length = response.body_mut().len();
        let range =
            response.field("content-range").map(String::from_utf8_lossy).unwrap_or_default();
        let range = range.strip_prefix("bytes ").unwrap_or_default();
        match response.status() {
            StatusCode::PARTIAL_CONTENT if range.starts_with(&format!("{}-", self.offset)) => {
                Ok(true)
            }
            StatusCode::RANGE_NOT_SATISFIABLE
                if range.is_empty() || range == format!("*/{}", self.offset) =>
            {
                Ok(false)
            }
            StatusCode::OK if length == Some(self.offset) => Ok(false),
            status => Err(GetFailure::new(
                exit::NO_RESUME,
                format!(
                    "the server answered {status}, and does not resume at byte {}",
                    self.offset
                ),
            )),
        }
    }
}
