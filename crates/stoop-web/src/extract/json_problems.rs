//! Everything that is wrong with JSON for a type, and not only the first.
//!
//! A visitor of serde gives up at the first error. What is wrong there is replaced by what the type takes, as far as one of a few
//! values is that, and the whole is read again, until nothing is wrong any more. What was made is thrown away.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::extract::problem::{Place, Problem};

/// Content of more bytes is not looked at again: it is read as often as there are values to try.
const BYTES_MAX: usize = 16 * 1024;

/// How often content is read again at most, and how many bytes that may be: what is small is read often, and all of it takes a
/// few milliseconds at most.
const READS_MAX: usize = 128;
const BYTES_READ_MAX: usize = 256 * 1024;

/// Problems that are looked for: as many as an answer tells.
const PROBLEMS_MAX: usize = 32;

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Why a value is not that of a type.
struct Failure {
    /// The path as it is shown.
    name: String,
    detail: String,
    /// Where it is; `None` where serde does not tell, as within an untagged enumeration.
    steps: Option<Vec<Step>>,
}

/// What is wrong with JSON beside `first`, which is what was found at first.
pub(super) fn further<T: DeserializeOwned>(bytes: &[u8], first: &Problem) -> Vec<Problem> {
    if bytes.len() > BYTES_MAX {
        return Vec::new();
    }
    let Ok(value) = serde_json::from_slice(bytes) else { return Vec::new() };
    let reads_left = (BYTES_READ_MAX / bytes.len().max(1)).min(READS_MAX);
    let mut reader = Reader { value, reads_left, read: Failure::of::<T> };
    let (mut problems, mut replaced) = (Vec::new(), Vec::<Vec<Step>>::new());
    let mut found = reader.read();
    while let Some(failure) = found {
        // What a replacement lacks is no fault of the client's.
        let is_ours = failure
            .steps
            .as_ref()
            .is_some_and(|steps| replaced.iter().any(|ours| steps.starts_with(ours)));
        // The first one ends with its line and column.
        let is_first = failure.name == first.name() && first.detail().starts_with(&failure.detail);
        if !is_ours && !is_first {
            problems.push(Problem::new(Place::Content, &*failure.name, &*failure.detail));
        }
        if problems.len() + 1 >= PROBLEMS_MAX {
            break;
        }
        let Some(steps) = failure.steps.clone() else { break };
        let Some(next) = reader.replace(&failure, &steps) else { break };
        replaced.push(steps);
        found = next;
    }
    problems
}

impl Failure {
    fn of<T: DeserializeOwned>(value: &Value) -> Option<Self> {
        let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
        let detail = error.inner().to_string();
        let name = shown(&error);
        let steps: Option<Vec<_>> = error
            .path()
            .iter()
            .map(|segment| match segment {
                Segment::Seq { index } => Some(Step::Index(*index)),
                Segment::Map { key } => Some(Step::Key(key.clone())),
                Segment::Enum { variant } => Some(Step::Key(variant.clone())),
                Segment::Unknown => None,
            })
            .collect();
        let steps = steps.map(|mut steps| {
            // These are told of the structure that they are missing in.
            steps.extend(named(&detail, "missing field `").map(Step::Key));
            if let Some(unknown) = named(&detail, "unknown field `").map(Step::Key)
                && steps.last() != Some(&unknown)
            {
                steps.push(unknown);
            }
            steps
        });
        Some(Self { name, detail, steps })
    }
}

/// The path of an error, as it is shown; empty for the whole.
pub(super) fn shown(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    if path == "." { String::new() } else { path }
}

/// The name that a message begins with.
fn named(detail: &str, begin: &str) -> Option<String> {
    Some(detail.strip_prefix(begin)?.split_once('`')?.0.to_owned())
}

/// A value that is read again and again.
struct Reader {
    value: Value,
    reads_left: usize,
    read: fn(&Value) -> Option<Failure>,
}

impl Reader {
    /// What is wrong; none is told where nothing is, and where it was read often enough.
    fn read(&mut self) -> Option<Failure> {
        self.reads_left = self.reads_left.checked_sub(1)?;
        (self.read)(&self.value)
    }

    /// Replaces what is wrong, and tells what is wrong then; `None` if no value is known that the type takes there.
    fn replace(&mut self, failure: &Failure, steps: &[Step]) -> Option<Option<Failure>> {
        if failure.detail.starts_with("unknown field `") {
            remove(&mut self.value, steps)?;
            return Some(self.read());
        }
        let mut candidates = vec![
            Value::Bool(false),
            Value::Object(Map::new()),
            Value::Array(Vec::new()),
            Value::String(String::new()),
            Value::from(1),
            Value::Null,
        ];
        candidates.extend(variant(&failure.detail));
        while let Some(candidate) = candidates.pop() {
            set(&mut self.value, steps, candidate)?;
            match self.read() {
                Some(next) if next.steps.as_deref().is_none_or(|next| next == steps) => {
                    candidates.extend(variant(&next.detail).filter(|_| next.steps.is_some()));
                }
                next => return Some(next),
            }
        }
        None
    }
}

/// A variant that a type has, by the message that another is unknown. An empty text is the only one that is tried and is none.
fn variant(detail: &str) -> Option<Value> {
    let (_, expected) = detail.strip_prefix("unknown variant `")?.split_once("`, expected ")?;
    let name = expected.split('`').nth(1)?;
    Some(Value::String(name.to_owned()))
}

fn find<'a>(value: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

/// Puts a value at a place, whose structure is there.
fn set(value: &mut Value, steps: &[Step], new: Value) -> Option<()> {
    let Some((last, parents)) = steps.split_last() else {
        *value = new;
        return Some(());
    };
    let parent = find(value, parents)?;
    match last {
        Step::Key(key) => {
            parent.as_object_mut()?.insert(key.clone(), new);
        }
        Step::Index(index) => *parent.get_mut(index)? = new,
    }
    Some(())
}

fn remove(value: &mut Value, steps: &[Step]) -> Option<()> {
    let (Step::Key(last), parents) = steps.split_last()? else { return None };
    find(value, parents)?.as_object_mut()?.remove(last).map(|_| ())
}
