//! Makes the hash of a new user's password.

use std::io::{self, BufRead, IsTerminal, StdinLock};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::failure::CommandFailure;
use crate::{stderr, streams};

/// How many times a hash is computed, as a power of two: some 60 ms.
const COST: u32 = 10;

/// How long a password may be for bcrypt, which reads no more.
const PASSWORD_BYTES_MAX: usize = 72;

/// Reads a password from standard input, and prints `USER:HASH`.
///
/// # Errors
/// An empty one, one that is too long, and what reading and writing fails with.
pub(super) fn print(name: &str) -> Result<(), CommandFailure> {
    if name.is_empty() || name.contains(':') || name.contains(char::is_control) {
        let why = "--auth-new: a user's name is not empty and has no colon (RFC 7617 §2)";
        return Err(CommandFailure::Usage(why.to_owned()));
    }
    streams::check_input()?;
    let input = io::stdin().lock();
    let read = if input.is_terminal() { ask(name, input) } else { read(input) };
    let line = read.map_err(|error| CommandFailure::io("cannot read the password", &error))?;
    let password = line.trim_end_matches(['\n', '\r']);
    if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
        let why = "--auth-new: the first line of standard input is the password, of 1 to 72 bytes";
        return Err(CommandFailure::Usage(why.to_owned()));
    }
    let hash = bcrypt::hash(password, COST);
    let hash = hash.map_err(|error| CommandFailure::Io(format!("cannot hash: {error}")))?;
    streams::print(format!("{name}:{hash}\n").as_bytes())
}

/// Asks for the password at the terminal, which does not show it.
fn ask(name: &str, input: StdinLock<'_>) -> io::Result<String> {
    let shown = tcgetattr(&input)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ECHONL);
    let terminal = io::stdin();
    tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
    stderr::print(&format!("the password of {name}, which is not shown: "));
    let line = read(input);
    tcsetattr(&terminal, OptionalActions::Now, &shown)?;
    line
}

fn read(mut input: StdinLock<'_>) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line)
}
