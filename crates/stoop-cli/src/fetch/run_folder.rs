//! Opens the folder of a run, and says what was done before and what is left.

use std::io::{self, ErrorKind};

use clap::ValueEnum as _;
use stoop::{Method, Versions};
use stoop_fetch::{HostGroup, RunFolder, RunFolderError};

use super::content_args::name_of;
use super::output::RecordOutput;
use super::plan::{BODY_BYTES_MAX, FetchPlan, REDIRECTS_MAX, UrlSource};
use super::run_args::absolute;
use super::template::Template;
use crate::failure::CommandFailure;
use crate::stderr;

/// Opens the folder, if there is one, and says what was done before.
///
/// # Errors
/// [`CommandFailure::Usage`] if another process has it, or it is that of another run.
pub(super) fn open(plan: &FetchPlan) -> Result<Option<RunFolder>, CommandFailure> {
    let Some(path) = &plan.run.run else { return Ok(None) };
    let mut folder = RunFolder::open(path, options(plan)).map_err(|error| match error {
        RunFolderError::Io(..) => CommandFailure::Io(error.to_string()),
        RunFolderError::Different { .. } => CommandFailure::Usage(format!(
            "{error}: only the same command goes on with it; another one needs another --run"
        )),
        error => CommandFailure::Usage(error.to_string()),
    })?;
    let (done, failed, lost) = (folder.done(), folder.failed(), folder.lost_bytes());
    if lost > 0 && !plan.is_quiet {
        stderr::message(format!(
            "the journal in {} is damaged, and its last {lost} bytes cannot be read: what they said is done is fetched \
             again, and may have two lines",
            path.display()
        ));
    }
    let again = match &plan.run.retry_failed {
        Some(codes) if done > 0 => {
            Some(folder.retry_failed(|code| codes.iter().any(|it| it.matches(code))))
        }
        _ => None,
    };
    if done > 0 && !plan.is_quiet {
        stderr::message(match again {
            None => format!("resumed: {done} URLs are done, {failed} of which failed"),
            Some(Some(again)) => {
                format!(
                    "resumed: {done} URLs are done, {failed} of which failed; {again} are fetched again"
                )
            }
            Some(None) => format!(
                "resumed: {done} URLs are done, {failed} of which failed; what was begun again before is finished \
                 first"
            ),
        });
    }
    Ok(Some(folder))
}

/// The failure of a run that goes on, whose output cannot be opened where it was.
pub(super) fn cannot_go_on(plan: &FetchPlan, error: &io::Error) -> CommandFailure {
    let output = plan.output.name();
    let is_changed = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData);
    match &plan.run.run {
        Some(folder) if is_changed => CommandFailure::Io(format!(
            "cannot go on with {output}: {error}; put it back as it was, or remove {} to fetch all URLs again",
            folder.display()
        )),
        _ => CommandFailure::io(&format!("cannot write to {output}"), error),
    }
}

/// Says how it goes on, if it does.
pub(super) fn tell_end(plan: &FetchPlan, fetched: u64, is_stopped: bool) {
    let Some(folder) = plan.run.run.as_ref().filter(|_| !plan.is_quiet) else { return };
    if is_stopped {
        stderr::message("the same command goes on with what is left");
    } else if fetched == 0 {
        let folder = folder.display();
        stderr::message(format!("nothing was left to fetch: the run in {folder} is complete"));
    }
}

/// What shapes the lines of a run, by the names of the options.
fn options(plan: &FetchPlan) -> Vec<(String, String)> {
    let input = match &plan.source {
        UrlSource::File(path) => absolute(path),
        UrlSource::Stdin => "standard input".to_owned(),
        UrlSource::Text(_) => "URLs as arguments".to_owned(),
    };
    let output = match &plan.output {
        RecordOutput::File(path) | RecordOutput::Folder(path) => absolute(path),
        RecordOutput::Stdout | RecordOutput::Nowhere => String::new(),
    };
    let format = plan.format.to_possible_value();
    let format = format.map_or_else(String::new, |value| value.get_name().to_owned());
    let on = |is_on: bool| if is_on { "on".to_owned() } else { String::new() };
    let earlier: Vec<_> = plan.earlier.paths().iter().map(|path| absolute(path)).collect();
    let jobs = &plan.jobs;
    let mut all = vec![
        ("--input", input),
        ("--output", output),
        ("--format", format),
        ("--csv-header", on(plan.has_csv_header)),
        ("--input-format", jobs.format.name().to_owned()),
        ("--url-column", jobs.url_column.clone().unwrap_or_default()),
        ("--id-column", jobs.id_column.clone().unwrap_or_default()),
        ("--keep-columns", on(jobs.keeps_columns)),
        ("--no-header", on(!jobs.has_header)),
        ("--shard", jobs.shard.map_or_else(String::new, |shard| shard.to_string())),
        ("--stay-in-shard", on(jobs.stays_in_shard)),
        ("--by-domain", on(jobs.shard.is_some() && jobs.group == HostGroup::RegistrableDomain)),
        ("--dedupe", on(jobs.is_distinct)),
        ("--if-changed-since", earlier.join(" ")),
    ];
    let method = plan.template.as_ref().map(Template::method);
    let body_max = match plan.max_body {
        Some(BODY_BYTES_MAX) => String::new(),
        Some(max) => max.to_string(),
        None => "none".to_owned(),
    };
    let max_redirects = match plan.max_redirects {
        REDIRECTS_MAX => String::new(),
        max => max.to_string(),
    };
    all.extend([
        (
            "--request",
            method.filter(|&it| it != Method::GET).map_or_else(String::new, Method::to_string),
        ),
        ("--compressed", on(plan.decodes)),
        ("--http-fallback", on(plan.falls_back_to_http)),
        ("--max-redirects", max_redirects),
        ("--user-agent", plan.given_user_agent.clone().unwrap_or_default()),
        ("--robots", plan.robots_token.clone().unwrap_or_default()),
        ("--allow-private", on(plan.allow_private)),
        ("--public-only", on(plan.is_public_only)),
        ("--cookie-jar", on(plan.cookies.is_some())),
        ("--http1.1", on(plan.versions == Versions::Http1)),
        ("--http2-prior-knowledge", on(plan.versions == Versions::Http2)),
        ("--max-body", body_max),
        ("--revisits", on(plan.has_revisits)),
        ("--compression", plan.compression.as_ref().map_or_else(String::new, name_of)),
        // What is saved, or not read, is told by its own option.
        ("--no-body", on(plan.has_no_body && plan.content.is_for_rows())),
        ("--tar-key", if plan.has_id_keys { "id".to_owned() } else { String::new() }),
    ]);
    all.extend(plan.content.shape());
    all.extend(plan.filter.shape());
    let named = all.into_iter().map(|(name, value)| (name.to_owned(), value));
    let requests = plan.template.as_ref().map(Template::shape).unwrap_or_default();
    named.chain(requests).filter(|(_, value)| !value.is_empty()).collect()
}
