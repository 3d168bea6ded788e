//! Passwords that are asked for, as curl asks: on the terminal, without showing them, or on standard input.

use std::fs::File;
use std::io::{self, IsTerminal, Read, stdin};
use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::failure::GetFailure;
use crate::stderr;

/// Bytes of a password that are read.
const PASSWORD_BYTES_MAX: usize = 2048;

/// The credentials that were typed: a password that is missing is asked for. `of` is whom they are for.
///
/// # Errors
/// Those of reading it.
pub(super) fn user_and_password(of: &str, typed: &str) -> Result<(String, String), GetFailure> {
    if let Some((user, password)) = typed.split_once(':') {
        return Ok((user.to_owned(), password.to_owned()));
    }
    let password = ask(of, typed);
    let password = password.map_err(|error| GetFailure::read("the password", &error))?;
    Ok((typed.to_owned(), password))
}

/// Asks for the password of a user.
fn ask(of: &str, user: &str) -> io::Result<String> {
    let input = match File::open("/dev/tty") {
        Ok(terminal) => terminal,
        // There is no terminal, as in a job of cron: a script writes it.
        Err(_) => File::from(stdin().as_fd().try_clone_to_owned()?),
    };
    let hidden = Hidden::begin(&input)?;
    stderr::print(&format!("Enter {of} password for user '{user}':"));
    let line = read_line(&mut &input);
    if hidden.is_some() {
        stderr::print("\n");
    }
    line
}

/// Reads a line, and not a byte of what follows it, which may be content.
fn read_line(input: &mut impl Read) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < PASSWORD_BYTES_MAX && input.read(&mut byte)? > 0 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Hidden<'a>(&'a File, Termios);

impl<'a> Hidden<'a> {
    /// None where there is no terminal.
    fn begin(input: &'a File) -> io::Result<Option<Self>> {
        if !input.is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(input)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(input, OptionalActions::Flush, &silent)?;
        Ok(Some(Self(input, before)))
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.0, OptionalActions::Flush, &self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_nothing_behind_it() {
        let mut input = &b"s3cret \ncontent"[..];
        assert_eq!(read_line(&mut input).expect("a line"), "s3cret ");
        assert_eq!(input, b"content");
        assert_eq!(read_line(&mut &b"no end"[..]).expect("a line"), "no end");
        assert_eq!(read_line(&mut &b""[..]).expect("a line"), "");
        assert!(read_line(&mut &b"\xff\n"[..]).is_err());
    }
}
