//! `stoop get`: one request, as users of curl expect it.
//!
//! [`args`] are the options as typed; [`mod@client`] and [`mod@request`] make what they describe, [`record`] notes what
//! happens, [`output`] writes what comes, and [`mod@write_out`] what was asked for behind it.

mod args;
mod client;
mod cookies;
mod exit;
mod failure;
mod form;
mod help;
mod output;
mod pace;
mod password;
mod record;
mod request;
mod story;
mod values;
mod write_out;

use std::io::{self, Write};
use std::path::PathBuf;

use stoop::{Error, ErrorKind, Phase, Response, StatusCode};
use tokio::time::{Instant, timeout_at};

pub(crate) use self::args::GetArgs;
use self::cookies::Cookies;
use self::failure::GetFailure;
use self::output::{Output, write_file};
use self::pace::Pace;
use self::record::Record;
use self::request::Target;
use self::write_out::{Outcome, Written};
use crate::failure::CommandFailure;
use crate::request_options::Header;
use crate::{stderr, streams};

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn get(args: GetArgs) -> Result<(), CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandFailure::io("cannot start", &error))?;
    let ended = runtime.block_on(run(&args));
    // A read of standard input may still be under way, and is not waited for.
    runtime.shutdown_background();
    let Err(failure) = ended else { return Ok(()) };
    if !args.silent || args.show_error {
        stderr::message(format_args!("({}) {}", failure.code, failure.message));
    }
    Err(CommandFailure::Exit(failure.code))
}

async fn run(args: &GetArgs) -> Result<(), GetFailure> {
    let format = args.write_out.as_deref().map(write_out::format).transpose();
    let format = format.map_err(|error| GetFailure::read("the format", &error))?;
    let url = request::url(args)?;
    let path = output_path(args, &url)?;
    let offset = request::offset(args, path.as_deref())?;
    let is_stdout = path.as_ref().is_none_or(|path| path.as_os_str() == "-");
    if is_stdout && streams::check_output().is_err() {
        return Err(GetFailure::new(exit::WRITE_ERROR, "standard output is closed"));
    }
    let (record, cookies) = (Record::new(), Cookies::read(args, &url)?);
    let headers = Header::read_all(&args.header);
    let headers = headers.map_err(|error| GetFailure::read("headers", &error))?;
    let client = client::client(args, &headers, cookies.jar.as_ref(), &record)?;
    let target = Target { url: &url, offset, cookies: cookies.field.as_deref() };
    let request = request::request(args, &headers, &client, target).await?;
    let mut outcome = Outcome {
        method: request.method().to_string(),
        url: args.url.clone(),
        final_url: request.url().map(str::to_owned),
        referer: args.referer.clone().unwrap_or_default(),
        sent: request.body().len().unwrap_or(0),
        ..Outcome::default()
    };
    let output = Output::new(path.as_deref(), offset > 0);
    let deadline = args.total().map(|limit| Instant::now() + limit);
    let mut exchange = Exchange { args, record, offset, output, deadline, is_dumped: false };
    outcome.file = exchange.output.name();
    let mut ended = match client.send(request).await {
        Ok(response) => exchange.receive(response, &mut outcome).await,
        Err(error) => {
            outcome.final_url = error.url().map(str::to_owned).or(outcome.final_url);
            outcome.redirects = error.redirects();
            outcome.verify_result = exit::verify_result(&error);
            exchange.write_heads().and(Err(exchange.failure(error)))
        }
    };
    exchange.output.stop_progress();
    if args.insecure && exchange.record.notes().secured.is_some() {
        outcome.verify_result = exit::UNVERIFIED;
    }
    if let Some(path) = &args.cookie_jar {
        ended = ended.and(cookies.save(path));
    }
    if let Err(failure) = &ended {
        (outcome.exit_code, outcome.error) = (failure.code, failure.message.clone());
    }
    if let Some(format) = format {
        let told = tell(&format, &exchange.record, &outcome);
        ended = ended.and(told.map_err(|error| GetFailure::write(&error)));
    }
    ended
}

/// The file that content is written to, or none.
fn output_path(args: &GetArgs, url: &str) -> Result<Option<PathBuf>, GetFailure> {
    if !args.remote_name {
        return Ok(args.output.clone());
    }
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = path.split_once('/').and_then(|(_, path)| path.rsplit('/').next());
    match name.filter(|name| !name.is_empty() && !matches!(*name, "." | "..")) {
        Some(name) => Ok(Some(name.into())),
        None => {
            Err(GetFailure::new(exit::WRITE_ERROR, "-O: the URL's path has no name at its end"))
        }
    }
}

/// A response, and where it goes.
struct Exchange<'a> {
    args: &'a GetArgs,
    record: Record,
    offset: u64,
    output: Output,
    /// When everything has to be over, what `--limit-rate` waits for included.
    deadline: Option<Instant>,
    /// Headers were written to the file of `-D`.
    is_dumped: bool,
}

impl Exchange<'_> {
    /// Why no response came.
    fn failure(&self, error: Error) -> GetFailure {
        let is_refused = matches!(error.kind(), ErrorKind::ProxyAuth | ErrorKind::ProxyRefused);
        let has_answered = self.record.notes().tunnel_status.is_some();
        let failure = GetFailure::from(error);
        match is_refused && has_answered {
            true => GetFailure { code: exit::NO_TUNNEL, ..failure },
            false => failure,
        }
    }

    async fn receive(
        &mut self,
        mut response: Response,
        outcome: &mut Outcome,
    ) -> Result<(), GetFailure> {
        let status = response.status();
        outcome.final_url = response.url().map(str::to_owned);
        outcome.redirects = response.redirects();
        outcome.redirect_url = redirect_url(&response);
        let would_follow = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
            && !outcome.redirect_url.is_empty();
        self.write_heads()?;
        if self.args.location && self.args.max_redirs == Some(0) && would_follow {
            // With any other number the client says so.
            let message = "there are too many redirects: more than 0";
            return Err(GetFailure::new(exit::TOO_MANY_REDIRECTS, message));
        }
        let is_failed = status.as_u16() >= 400;
        let http_error = || {
            let message = format!("the server answered {status}");
            Err(GetFailure::new(exit::HTTP_ERROR, message))
        };
        if is_failed && self.args.fail {
            return http_error();
        }
        if self.offset > 0 && !self.is_resumed(&response)? {
            return Ok(());
        }
        let received = self.copy(&mut response).await;
        outcome.received = match response.body_mut().wire_bytes() {
            Some(bytes) => bytes,
            None => received.as_ref().map_or_else(|(bytes, _)| *bytes, |bytes| *bytes),
        };
        received.map_err(|(_, failure)| failure)?;
        if is_failed && self.args.fail_with_body { http_error() } else { Ok(()) }
    }

    /// Copies the content, and returns how many bytes there were, also where that failed.
    async fn copy(&mut self, response: &mut Response) -> Result<u64, (u64, GetFailure)> {
        let total = response.body_mut().len();
        if !(self.args.silent || self.args.verbose || self.args.head) {
            self.output.show_progress(total);
        }
        let mut pace = self.args.limit_rate.map(Pace::new);
        let mut received = 0;
        loop {
            match response.chunk().await {
                Ok(Some(piece)) => {
                    received += piece.len() as u64;
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
        let Some(pace) = pace else { return self.output.write(piece).map_err(failed) };
        for next in piece.chunks(pace.step()) {
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
    fn write_heads(&mut self) -> Result<(), GetFailure> {
        let heads = self.record.take_heads();
        let failed = |error: io::Error| GetFailure::write(&error);
        if let Some(path) = &self.args.dump_header {
            write_file(path, &heads, self.is_dumped).map_err(failed)?;
            self.is_dumped = true;
        }
        if self.args.include || self.args.head {
            self.output.write_text(&heads).map_err(failed)?;
        }
        Ok(())
    }

    /// Whether content follows that goes on where the file ends. If not, the file has all of it.
    fn is_resumed(&self, response: &Response) -> Result<bool, GetFailure> {
        let range =
            response.field("content-range").map(String::from_utf8_lossy).unwrap_or_default();
        let range = range.strip_prefix("bytes ").unwrap_or_default();
        match response.status() {
            StatusCode::PARTIAL_CONTENT if range.starts_with(&format!("{}-", self.offset)) => {
                Ok(true)
            }
            StatusCode::RANGE_NOT_SATISFIABLE if range == format!("*/{}", self.offset) => Ok(false),
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

/// Where a redirect leads that was not followed.
fn redirect_url(response: &Response) -> String {
    let location = response.field("location").filter(|_| response.status().is_redirection());
    let (Some(location), Some(base)) = (location, response.url()) else { return String::new() };
    let base = url::Url::parse(base).ok();
    let joined = base.and_then(|base| base.join(&String::from_utf8_lossy(location)).ok());
    joined.map(String::from).unwrap_or_default()
}

fn tell(format: &str, record: &Record, outcome: &Outcome) -> io::Result<()> {
    let (written, unknown) = write_out::fill(format, &record.notes(), outcome);
    for name in unknown {
        stderr::message(format_args!("unknown variable of --write-out: {name:?}"));
    }
    for text in written {
        match text {
            Written::Output(text) => streams::output()?.write_all(text.as_bytes())?,
            Written::Error(text) => stderr::print(&text),
        }
    }
    Ok(())
}
