//! `stoop get`: one request, as users of curl expect it.
//!
//! [`args`] are the options as typed; [`mod@client`] and [`mod@request`] make what they describe, [`record`] notes what
//! happens, [`exchange`] and [`output`] write what comes, and [`mod@write_out`] what was asked for behind it.

mod absent;
mod advice;
mod args;
mod cause;
mod client;
mod coding;
mod condition;
mod condition_args;
mod content;
mod cookies;
mod credentials;
mod date;
mod disposition;
mod etag;
mod exchange;
mod exit;
mod failure;
mod file_args;
mod form;
mod form_part;
mod help;
mod ignored_args;
mod location;
mod output;
mod output_args;
mod pace;
mod password;
mod progress;
mod protocol_args;
mod protocols;
mod proxy_args;
mod record;
mod redirect_args;
mod request;
mod retry;
mod send_progress;
mod speed;
mod story;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod tls_args;
mod upload;
mod url;
mod url_args;
mod values;
mod write_out;

use std::fs::File;
use std::io::{self, Write};

use stoop::ErrorKind;
use tokio::runtime::{Builder, Runtime};

pub(crate) use self::absent::instead_of;
pub(crate) use self::args::GetArgs;
use self::condition::TimeCondition;
use self::content::SendTerms;
use self::exchange::Exchange;
use self::failure::GetFailure;
use self::output::Output;
use self::record::Record;
use self::request::Target;
use self::send_progress::SendProgress;
use self::write_out::{Outcome, Written};
use crate::failure::CommandFailure;
use crate::request_options::Header;
use crate::{stderr, streams};

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn get(args: GetArgs) -> Result<(), CommandFailure> {
    if let Some(path) = &args.file.stderr
        && let Err(error) = stderr::redirect(path)
    {
        warn(&args, &format!("--stderr: {}: {error}", path.display()));
    }
    let ended = match runtime() {
        Ok(runtime) => {
            let ended = runtime.block_on(run(&args));
            // A read of standard input may still be under way, and is not waited for.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(GetFailure::new(exit::BAD_USE, format!("cannot start: {error}"))),
    };
    let Err(failure) = ended else { return Ok(()) };
    if !args.silent || args.show_error {
        let advice = advice::advice(&failure, &args);
        let advice = advice.map_or_else(String::new, |advice| format!("\n  {advice}"));
        stderr::message(format_args!("({}) {}{advice}", failure.code, failure.message));
    }
    Err(CommandFailure::Exit(failure.code))
}

/// What the request runs on.
///
/// # Errors
/// Also where there are not the descriptors for it and for one connection: tokio would panic, and the client wait.
fn runtime() -> io::Result<Runtime> {
    const DESCRIPTORS: usize = 7;
    let free: io::Result<Vec<File>> = (0..DESCRIPTORS).map(|_| File::open("/dev/null")).collect();
    drop(free?);
    Builder::new_current_thread().enable_all().build()
}

/// Tells what is no error.
fn warn(args: &GetArgs, text: &str) {
    if !args.silent {
        stderr::message(text);
    }
}

async fn run(args: &GetArgs) -> Result<(), GetFailure> {
    args.protocols.check(args.silent)?;
    let format = args.output.write_out.as_deref().map(write_out::format).transpose();
    let format = format.map_err(|error| GetFailure::read("the format", &error))?;
    let record = Record::new();
    let mut outcome = Outcome {
        url: args.url.typed().to_owned(),
        referer: args.referer().unwrap_or_default().to_owned(),
        ..Outcome::default()
    };
    let is_counted = format.as_deref().is_some_and(write_out::tells_upload);
    let mut ended = fetched(args, &record, is_counted, &mut outcome).await;
    if let Err(failure) = &ended {
        (outcome.exit_code, outcome.error) = (failure.code, failure.message.clone());
    }
    // A command line that is invalid is no transfer.
    let format = format.filter(|_| outcome.exit_code != exit::BAD_USE);
    if let Some(format) = format {
        let told = tell(&format, &record, &outcome);
        ended = ended.and(told.map_err(|error| GetFailure::write(&error)));
    }
    ended
}

/// Sends the request, whose content is counted if that is to be told, and writes what comes. What there is to tell is in the
/// outcome then, whatever became of it.
async fn fetched(
    args: &GetArgs,
    record: &Record,
    is_counted: bool,
    outcome: &mut Outcome,
) -> Result<(), GetFailure> {
    let url = url::url(args)?;
    if url.strip_prefix("http://") != Some(&outcome.url) {
        // More was added to it than what it can be typed without.
        outcome.url.clone_from(&url);
    }
    let path = output::path(&args.output, &url)?;
    let offset = request::offset(args, path.as_deref())?;
    let is_stdout = path.as_ref().is_none_or(|path| path.as_os_str() == "-");
    if is_stdout && streams::check_output().is_err() {
        return Err(GetFailure::new(exit::WRITE_ERROR, "standard output is closed"));
    }
    let headers = Header::read_all(&args.header);
    let mut headers = headers.map_err(|error| GetFailure::headers(&error))?;
    headers.extend(args.condition.compared()?);
    args.condition.prepare()?;
    let condition = condition(args);
    let jar = cookies::jar(args, &headers, &url)?;
    let netrc = client::netrc(args)?;
    let progress = SendProgress::new(args, record);
    let keeps = (jar.as_ref(), &netrc);
    let (client, deferred) = client::client(args, &headers, keeps, (record, &progress), &url)?;
    let target = Target { url: &url, offset, netrc: &netrc, condition };
    let mut request = request::request(args, &headers, &client, target).await?;
    outcome.final_url = request.url().map(str::to_owned);
    let slowest = args.speed.limit();
    let is_counted = is_counted || slowest.is_some() || progress.is_shown();
    let terms =
        SendTerms { rate: args.rate(), is_chunked: request::asks_for_chunks(&headers), is_counted };
    let body = std::mem::take(request.body_mut());
    let request = request.with_body(content::on_terms(body, terms, &record.sent()));
    record.will_send(request.method(), request.body().len());
    let mut output = Output::new(path.as_deref(), offset > 0).with_clobber(args.file.clobber());
    if args.output.create_dirs {
        output = output.with_folders();
    }
    let mut exchange = Exchange::new(args, record.clone(), offset, output).on(condition);
    let transfer = async {
        match client.send(request).await {
            Ok(response) => exchange.receive(response, outcome).await,
            Err(error) => {
                outcome.final_url = error.url().map(str::to_owned).or(outcome.final_url.take());
                outcome.redirects = error.redirects();
                outcome.redirect_url = location::of_error(&error);
                if error.kind() == ErrorKind::RedirectDenied {
                    outcome.was_denied();
                }
                outcome.verify_result = exit::verify_result(&error);
                exchange.write_heads().and(Err(exchange.failure(error)))
            }
        }
    };
    let transfer = progress.beside(transfer);
    let slow = match slowest {
        None => Ok(transfer.await),
        Some(limit) => tokio::select! {
            ended = transfer => Ok(ended),
            slow = limit.passed(record) => Err(slow),
        },
    };
    progress.clear();
    let ended = slow.unwrap_or_else(|slow| {
        outcome.received = record.received();
        exchange.write_heads().and(Err(slow))
    });
    let ended = ended.map_err(|failure| failure.or_deferred(deferred));
    let mut ended = exchange.end(ended);
    outcome.file = exchange.file();
    if args.tls.insecure && exchange.record().notes().secured.is_some() {
        outcome.verify_result = exit::UNVERIFIED;
    }
    if let (Some(path), Some(jar)) = (&args.cookie_jar, &jar) {
        ended = ended.and(cookies::save(jar, path));
    }
    ended
}

/// The condition of `-z`, if there is one.
fn condition(args: &GetArgs) -> Option<TimeCondition> {
    let typed = args.condition.time_cond.as_deref()?;
    let condition = TimeCondition::read(typed);
    if condition.is_none() {
        warn(args, &format!("-z {typed:?} is neither a date nor a file: there is no condition"));
    }
    condition
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
