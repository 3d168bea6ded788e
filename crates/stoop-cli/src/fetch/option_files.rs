//! The files that options name. What is written is named by one option alone: another one would read or write something
//! else there.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::args::FetchArgs;
use super::earlier_args;
use super::output::RecordOutput;
use super::output_args::LineFormat;
use crate::failure::CommandFailure;
use crate::file_identity::{Identity, place};

/// The names of the files that a run keeps in its folder, and of its folder there.
const OF_RUN: [&str; 4] = ["stoop.journal", "stoop.checks", "stoop.lock", "stoop.sitemaps"];
/// How the names of the files begin that have the records of a folder.
const OF_RECORDS: [&str; 2] = ["part-", "part."];

/// A file or folder of an option.
struct NamedFile<'a> {
    option: &'static str,
    /// None for a standard stream.
    path: Option<Cow<'a, Path>>,
    usage: Usage,
    identity: Option<Identity>,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usage {
    Read,
    /// It may be read before.
    Written,
    /// A folder, whose files have names of their own, or are only read.
    Folder,
}

/// Checks that no file is written that another option reads or writes. Devices and pipes may be shared. It makes and
/// changes nothing.
///
/// # Errors
/// [`CommandFailure::Usage`], with both options and the file.
pub(super) fn check(
    args: &FetchArgs,
    output: &RecordOutput,
    format: LineFormat,
) -> Result<(), CommandFailure> {
    if let [one, other, ..] = stdin_readers(args)[..] {
        return Err(CommandFailure::Usage(format!(
            "{one} and {other} both read standard input: one of them needs a file"
        )));
    }
    let files = named_files(args, output, format);
    for (at, file) in files.iter().enumerate() {
        for earlier in &files[..at] {
            if let Some(fault) = fault(earlier, file) {
                return Err(CommandFailure::Usage(fault));
            }
        }
        if let Some(fault) = owned_fault(file, args, output).or_else(|| earlier_fault(file, args)) {
            return Err(CommandFailure::Usage(fault));
        }
    }
    Ok(())
}

/// What reads standard input.
fn stdin_readers(args: &FetchArgs) -> Vec<&'static str> {
    let list = is_list_on_stdin(args).then_some("the list of URLs");
    let headers = args.header.iter().filter(|header| header.as_bytes() == b"@-");
    let data = args.data.files().filter(|(_, path)| *path == "-");
    let readers = list.into_iter().chain(headers.map(|_| "--header @-"));
    readers.chain(data.map(|(option, _)| option)).collect()
}

fn is_list_on_stdin(args: &FetchArgs) -> bool {
    match args.input.file() {
        Some(path) => path.as_os_str() == "-",
        None => args.urls.is_empty(),
    }
}

/// All files and folders that the options name: an option that takes one has a line here.
fn named_files<'a>(
    args: &'a FetchArgs,
    output: &'a RecordOutput,
    format: LineFormat,
) -> Vec<NamedFile<'a>> {
    use Usage::{Folder, Read, Written};
    let mut all = Vec::new();
    let mut add = |option, path: &'a Path, usage| all.push(NamedFile::new(option, path, usage));
    let files = [
        ("--input", args.input.file(), Read),
        ("--cacert", args.cacert.as_deref(), Read),
        ("--cert", args.cert.as_deref(), Read),
        ("--key", args.key.as_deref(), Read),
        ("--save", args.content.save_folder(), Folder),
        ("--run", args.run.run.as_deref(), Folder),
        ("--cookie-jar", args.cookie_jar.as_deref(), Written),
        ("--report", args.output.report.as_deref(), Written),
    ];
    for (option, path, usage) in files {
        let is_stream = option == "--input" && path.is_some_and(|path| path.as_os_str() == "-");
        if let Some(path) = path.filter(|_| !is_stream) {
            add(option, path, usage);
        }
    }
    // One that is not there is told when it is read, before anything is written.
    for path in args.earlier.paths().iter().filter(|path| path.exists()) {
        add("--if-changed-since", path, if path.is_dir() { Folder } else { Read });
    }
    for header in &args.header {
        if let Some(path) = header.as_bytes().strip_prefix(b"@").filter(|path| *path != b"-") {
            add("--header", Path::new(OsStr::from_bytes(path)), Read);
        }
    }
    for (option, path) in args.data.files().filter(|(_, path)| *path != "-") {
        add(option, Path::new(path), Read);
    }
    match output {
        RecordOutput::File(path) => {
            add("--output", path, Written);
            if format == LineFormat::Warc && is_indexed(path) {
                all.extend(NamedFile::of_index(path));
            }
        }
        // Without --output it is that of --run.
        RecordOutput::Folder(path) if args.output.output.is_some() => {
            add("--output", path, Folder);
        }
        RecordOutput::Stdout | RecordOutput::Folder(_) | RecordOutput::Nowhere => {}
    }
    if is_list_on_stdin(args) {
        all.push(NamedFile::stream("standard input", "/dev/stdin", Read));
    }
    if *output == RecordOutput::Stdout {
        all.push(NamedFile::stream("standard output", "/dev/stdout", Written));
    }
    let partial = all.iter().filter_map(|file| file.until_whole(format)).collect::<Vec<_>>();
    all.extend(partial);
    all
}

impl<'a> NamedFile<'a> {
    fn new(option: &'static str, path: impl Into<Cow<'a, Path>>, usage: Usage) -> Self {
        let path = path.into();
        Self { option, identity: Identity::of(&path), path: Some(path), usage }
    }

    /// A standard stream, which may have been redirected to a file; where it was not, it is none.
    fn stream(name: &'static str, path: &str, usage: Usage) -> Self {
        let identity = Identity::of(Path::new(path));
        let identity = identity.filter(|identity| matches!(identity, Identity::Inode(..)));
        Self { option: name, path: None, usage, identity }
    }

    /// The index of an archive, and its lines until that is whole.
    fn of_index(archive: &Path) -> [Self; 2] {
        ["cdxj", "cdxj.lines.partial"].map(|end| {
            let mut path = archive.as_os_str().to_owned();
            path.push(".");
            path.push(end);
            Self::new("the index of --output", PathBuf::from(path), Usage::Written)
        })
    }

    /// The name under which it is written until it is whole, if it has one.
    fn until_whole(&self, format: LineFormat) -> Option<Self> {
        let is_whole = match self.option {
            "--output" => format == LineFormat::Parquet,
            "--report" | "--cookie-jar" => true,
            _ => false,
        };
        let path = self.path.as_ref().filter(|_| is_whole && self.usage == Usage::Written)?;
        let mut partial = place(path).into_os_string();
        partial.push(".partial");
        self.identity.as_ref().map(|_| Self::new(self.option, PathBuf::from(partial), self.usage))
    }

    /// The option with its value.
    fn shown(&self) -> String {
        match &self.path {
            Some(path) => format!("{} {}", self.option, path.display()),
            None => self.option.to_owned(),
        }
    }
}

/// Whether an archive at a path has an index beside it: that is a file, or will be one, and no stream by its name.
pub(super) fn is_indexed(path: &Path) -> bool {
    let is_stream = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"]
        .iter()
        .any(|name| path.starts_with(name));
    !is_stream && (path.is_file() || !path.exists())
}

/// Why two options cannot have these files.
fn fault(one: &NamedFile<'_>, other: &NamedFile<'_>) -> Option<String> {
    use Usage::{Folder, Read};
    let is_same = one.identity.is_some() && one.identity == other.identity;
    let what = match (one.usage, other.usage) {
        _ if !is_same => return None,
        (Read, Read) | (Folder, Folder) => return None,
        (Folder, _) | (_, Folder) => "the same path, and only one of them is a folder",
        (Read, _) | (_, Read) => "the same file, which would be lost when it is written",
        _ => "the same file, and each would overwrite what the other writes",
    };
    let (one, other) = (one.shown(), other.shown());
    Some(format!("{one} and {other} are {what}: one of them needs another name"))
}

/// Why a file that is written, or the input, cannot be one that the run has for itself.
fn owned_fault(file: &NamedFile<'_>, args: &FetchArgs, output: &RecordOutput) -> Option<String> {
    let path = file.path.as_deref().filter(|_| file.usage != Usage::Folder)?;
    file.identity.as_ref()?;
    if let Some(run) = &args.run.run
        && (is_own(path, run) || is_linked(file, run))
    {
        return Some(format!(
            "{} is a file that the run keeps in its folder, --run {}: it needs another name",
            file.shown(),
            run.display()
        ));
    }
    match output {
        RecordOutput::Folder(folder)
            if file.usage == Usage::Written && is_within(path, folder, &OF_RECORDS) =>
        {
            Some(format!(
                "{} is in the folder of the output, {}, where files of records have such names: it needs another name",
                file.shown(),
                folder.display()
            ))
        }
        _ => None,
    }
}

/// Why a file that is written cannot be one of a folder whose records are read before. A run goes on with one that it has
/// begun there.
fn earlier_fault(file: &NamedFile<'_>, args: &FetchArgs) -> Option<String> {
    let is_resumed = args.run.run.as_ref().is_some_and(|run| run.join(OF_RUN[0]).exists());
    if file.usage != Usage::Written || file.identity.is_none() || is_resumed {
        return None;
    }
    let has_it = |folder: &&PathBuf| {
        let files = earlier_args::files(folder).unwrap_or_default();
        folder.is_dir() && files.iter().any(|of| Identity::of(of) == file.identity)
    };
    let folder = args.earlier.paths().iter().find(has_it)?;
    Some(format!(
        "{} is a file of --if-changed-since {}, which is read, and would be lost when it is written: it needs another name",
        file.shown(),
        folder.display()
    ))
}

/// Whether a path is that of a file that a run keeps in its folder.
fn is_own(path: &Path, run: &Path) -> bool {
    let path = place(path);
    OF_RUN.iter().any(|name| path == place(&run.join(name)))
}

/// Whether a file is in a folder, by a name that begins so.
fn is_within(path: &Path, folder: &Path, begins: &[&str]) -> bool {
    let path = place(path);
    let name = path.file_name().unwrap_or_default().as_bytes();
    begins.iter().any(|begin| name.starts_with(begin.as_bytes()))
        && path.parent().is_some_and(|parent| Identity::of(parent) == Identity::of(folder))
}

/// Whether a file has another name in the folder of a run, as one of those that it keeps.
fn is_linked(file: &NamedFile<'_>, run: &Path) -> bool {
    OF_RUN.iter().any(|name| file.identity == Identity::of(&run.join(name)))
}

#[cfg(test)]
mod tests;
