//! A command that is started whenever another program asks for it.
//!
//! h2specd starts a command for each case, and waits for its end before it judges the case. A client
//! that has its response ends, closes its connection, and sees nothing of what the case sends then:
//! the verdict would be chance. So this module starts and ends the command, and what h2specd starts
//! only reports the URL.

use crate::command::Command;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};

/// The script that h2specd starts: it writes its last argument to its first.
const ASK: &str = "xtask/h2spec/ask.sh";

/// Starts a command for each word that arrives; when dropped, it ends the last one.
pub(super) struct CommandOnDemand {
    fifo: PathBuf,
    thread: Option<JoinHandle<()>>,
}

/// A process that is killed when this is dropped.
struct KilledOnDrop(Child);

impl CommandOnDemand {
    /// For each word that comes through `fifo`, ends the running command and starts `command` with the
    /// word behind its arguments. Its output is `shown` or discarded.
    pub(super) fn new(fifo: PathBuf, command: Command, shown: bool) -> Result<Self, String> {
        Command::new("mkfifo").arg(&fifo).run()?;
        let opened = open(&fifo)?;
        let thread = thread::spawn(move || {
            let mut running = None;
            for word in BufReader::new(opened).lines().map_while(Result::ok) {
                drop(running.take());
                if word.is_empty() {
                    return;
                }
                running = start(&command.clone().arg(&word), shown);
            }
        });
        Ok(Self { fifo, thread: Some(thread) })
    }

    /// The command line that, with a word behind it, asks for the command.
    pub(super) fn ask(&self) -> String {
        format!("sh {ASK} {}", self.fifo.display())
    }
}

impl Drop for CommandOnDemand {
    fn drop(&mut self) {
        if open(&self.fifo).is_ok_and(|mut fifo| fifo.write_all(b"\n").is_ok()) {
            let _ = self.thread.take().map(JoinHandle::join);
        }
        let _ = fs::remove_file(&self.fifo);
    }
}

/// Opens it in both directions, so that opening does not wait for the other end, and reading does not
/// end when that closes.
fn open(fifo: &PathBuf) -> Result<File, String> {
    let opened = OpenOptions::new().read(true).write(true).open(fifo);
    opened.map_err(|error| format!("cannot open {}: {error}", fifo.display()))
}

fn start(command: &Command, shown: bool) -> Option<KilledOnDrop> {
    let output = || if shown { Stdio::inherit() } else { Stdio::null() };
    match command.build().stdout(output()).stderr(output()).spawn() {
        Ok(child) => Some(KilledOnDrop(child)),
        Err(error) => {
            println!("cannot start `{command}`: {error}");
            None
        }
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::{env, process};

    /// Each command holds a connection as long as it runs.
    #[test]
    fn each_request_ends_the_last_command_and_starts_a_new_one() {
        let fifo = env::temp_dir().join(format!("stoop-xtask-asked-{}", process::id()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let hold = "exec 3<>/dev/tcp/127.0.0.1/$0 && echo hello >&3 && exec sleep 60";
        let command = Command::new("bash").args(["-c", hold]);
        let demand = CommandOnDemand::new(fifo.clone(), command, true).unwrap();
        let ask = || {
            let words: Vec<String> = demand.ask().split(' ').map(str::to_owned).collect();
            let port = listener.local_addr().unwrap().port().to_string();
            Command::new(&words[0]).args(&words[1..]).arg(port).run().unwrap();
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            assert_eq!(line, "hello\n");
            stream
        };
        let assert_ended = |mut stream: BufReader<TcpStream>| {
            assert_eq!(stream.read_line(&mut String::new()).unwrap_or_default(), 0);
        };
        let (first, second) = (ask(), ask());
        assert_ended(first);
        drop(demand);
        assert_ended(second);
        assert!(!fifo.exists());
    }
}
