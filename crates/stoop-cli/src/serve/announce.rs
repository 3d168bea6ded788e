//! What a server says when it begins: where it is reached, and what will be seen there.

use std::path::Path;

use stoop::ServerHandle;

use super::args::Settings;
use super::choices::StatusFor;
use super::{places, status};
use crate::failure::CommandFailure;
use crate::{stderr, streams};

/// Says where it listens.
///
/// # Errors
/// If it cannot be written.
pub(super) fn announce(settings: &Settings, server: &ServerHandle) -> Result<(), CommandFailure> {
    let addresses = places::local_addresses();
    let is_ipv6_alone = places::is_ipv6_alone();
    let of = |endpoint| places::urls(endpoint, &addresses, is_ipv6_alone);
    let urls: Vec<String> = server.endpoints().iter().flat_map(of).collect();
    let shown_to = settings.status_for();
    let status = shown_to.and_then(|who| status::url(who, &urls));
    if status.is_none() && shown_to == Some(StatusFor::Local) {
        stderr::message(
            "--status is for clients that ask for a loopback address, and none of the places is one; \
             --status=all is for all",
        );
    }
    let status = status.map(|url| format!("  {url} shows how it does\n")).unwrap_or_default();
    let urls: String = urls.iter().map(|url| format!("  {url}\n")).collect();
    let directory = settings.directory();
    let directory = directory.canonicalize().unwrap_or(directory);
    let note = no_index(settings, &directory);
    say(settings, &format!("serving {} at\n{urls}{status}{note}", directory.display()))
}

/// A line that says what the first click will find, where that is nothing.
fn no_index(settings: &Settings, directory: &Path) -> &'static str {
    match directory.join("index.html").exists() {
        false if settings.spa == Some(true) => {
            "there is no index.html in it, which --spa answers pages by\n"
        }
        false if settings.listing != Some(true) => {
            "there is no index.html in it: / is 404 without --listing\n"
        }
        _ => "",
    }
}

/// Prints it, unless nothing is to be printed.
///
/// # Errors
/// If it cannot be written.
pub(super) fn say(settings: &Settings, text: &str) -> Result<(), CommandFailure> {
    if settings.is_quiet() {
        return Ok(());
    }
    match streams::print(text.as_bytes()) {
        // A server goes on without a reader of its first lines.
        Err(CommandFailure::OutputClosed) => Ok(()),
        said => said,
    }
}
