//! What is in what was decompressed: a list, or again what is compressed, or an archive, each of whose lines would be
//! one that is no job.

use std::io::{self, Cursor, ErrorKind, Read};

use super::begin::{is_compressed, may_be_compressed};
use super::others;

/// What the head of a tar archive has, and where (POSIX.1, ustar; the archives of GNU's tar have it, too).
const TAR: &[u8] = b"ustar";
const TAR_AT: usize = 257;

/// Reads what was decompressed, once its first bytes were looked at.
pub(super) struct Inner<R> {
    input: R,
    /// The program that decompresses the input.
    by: &'static str,
    state: State,
}

enum State {
    Unread,
    /// The first bytes, and the error that followed them.
    Begun(Cursor<Vec<u8>>, Option<io::Error>),
    /// It is refused.
    Failed,
}

impl<R: Read> Inner<R> {
    /// What is decompressed in `input`, which the program `by` can do, too.
    pub(super) fn new(input: R, by: &'static str) -> Self {
        Self { input, by, state: State::Unread }
    }

    /// Looks at the first bytes, as few as tell what it is.
    fn begin(&mut self) -> io::Result<()> {
        self.state = State::Failed;
        let (mut begin, mut failure) = (Vec::new(), None);
        while may_go_on(&begin) {
            let mut byte = [0];
            match self.input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => begin.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        check(&begin, self.by)?;
        self.state = State::Begun(Cursor::new(begin), failure);
        Ok(())
    }
}

impl<R: Read> Read for Inner<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let State::Unread = self.state {
            self.begin()?;
        }
        let State::Begun(begin, failure) = &mut self.state else { return Ok(0) };
        match begin.read(into)? {
            0 => failure.take().map_or_else(|| self.input.read(into), Err),
            read => Ok(read),
        }
    }
}

/// Whether more has to come to tell what it is. The name of a file, with which the head of an archive begins, has no line end.
fn may_go_on(begin: &[u8]) -> bool {
    let may_be_tar = begin.len() < TAR_AT + TAR.len() && !begin.contains(&b'\n');
    may_be_compressed(begin) || may_be_tar
}

/// Checks the first bytes of what the program `by` decompresses, too.
///
/// # Errors
/// It is compressed once more, or an archive.
fn check(begin: &[u8], by: &str) -> io::Result<()> {
    let text = if is_compressed(begin) {
        format!(
            "it is compressed twice, and is decompressed once here: write '{by} -dc FILE |' before the command"
        )
    } else if begin.get(TAR_AT..).is_some_and(|at| at.starts_with(TAR)) {
        format!(
            "it is a tar archive that {by} compressed: write 'tar -xOf FILE |' before the command, which reads the files in \
             it one after the other"
        )
    } else if let Some((what, inner_by)) = others::find(begin) {
        format!(
            "what {by} compressed is {what}: write '{by} -dc FILE > INNER' and then '{}' before the command",
            inner_by.replace("FILE", "INNER")
        )
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::InvalidData, text))
}

#[cfg(test)]
mod tests;
