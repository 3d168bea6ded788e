//! [`Files`]: a directory to be described, then served.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use stoop::files::{Directory, Symlinks};
use stoop::{Fields, Misuse};

use super::cache_limits::FileCache;
use super::coding::FileCoding;

/// The files below a directory, as an endpoint of a [`Router`](crate::Router) or a handler of its own; the
/// [documentation of the crate](crate#files) shows both.
///
/// GET and HEAD are answered, with ranges, conditions and, where that is asked for, content codings; OPTIONS with 204, other
/// methods with 405. In a router it is a fallback, of nested routers too, or what answers a pattern that ends in
/// `{*name}`, and serves what is behind the prefix; at any other pattern the whole path counts.
///
/// A path is decoded once. It is answered 404 if it has `..`, an empty name, an encoded slash or NUL, or a percent sign
/// without two digits; if a name in it begins with a dot, but for `/.well-known` (RFC 8615); and if there is neither a file
/// nor a directory, or it may not be read. No link leads out of the directory, or through a hidden name: see
/// [`symlinks`](Files::symlinks).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::Client;
/// use stoop_web::{Files, Router};
///
/// let assets = Router::new().fallback(Files::new("src")?);
/// let app = Router::new().nest("/assets", assets).build()?;
/// let client = Client::builder().handler(app).build()?;
/// let part = client.get("http://a.test/assets/lib.rs").header("range", "bytes=0-4").await?;
/// assert_eq!((part.status().as_u16(), part.text().await?.as_str()), (206, "//! W"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Files {
    pub(super) directory: Directory,
    pub(super) index: Vec<String>,
    /// Pages by their [keys](page_key).
    pub(super) single_page: Option<String>,
    pub(super) not_found_page: Option<String>,
    pub(super) listing_max: Option<usize>,
    pub(super) serves_hidden: bool,
    pub(super) codings: Vec<FileCoding>,
    pub(super) types: HashMap<String, String>,
    pub(super) cache_control: CacheControl,
    pub(super) cache: Option<FileCache>,
}

/// The value of a field for the file at a path, if it has one.
type ValueByPath = dyn Fn(&Path) -> Option<String> + Send + Sync;

/// What Cache-Control says.
#[derive(Clone, Default)]
pub(super) enum CacheControl {
    #[default]
    Nothing,
    Always(String),
    ByPath(Arc<ValueByPath>),
}

impl CacheControl {
    pub(super) fn of(&self, path: &Path) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Always(value) => Some(value.clone()),
            Self::ByPath(value) => value(path),
        }
    }
}

/// By what a page of the caller's is remembered: no path of a request has a `?`.
fn page_key(path: impl Into<String>) -> String {
    format!("?{}", path.into())
}

/// The path of a page, if that is what is remembered by this key.
pub(super) fn page_of(key: &str) -> Option<&Path> {
    key.strip_prefix('?').map(Path::new)
}

impl Files {
    /// Those of the directory at `path`, which is opened now.
    ///
    /// # Errors
    /// As [`Directory::at`].
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        Directory::at(path).map(Self::of)
    }

    /// Those of a directory that is open.
    pub fn of(directory: Directory) -> Self {
        Self {
            directory,
            index: vec!["index.html".to_owned()],
            single_page: None,
            not_found_page: None,
            listing_max: None,
            serves_hidden: false,
            codings: Vec::new(),
            types: HashMap::new(),
            cache_control: CacheControl::default(),
            cache: Some(FileCache::new()),
        }
    }

    /// What is sent for a directory, the first of these names that is a file in it: `index.html` by default. A directory
    /// that is asked for without a slash at the end is answered 308, with the slash, so that relative links work.
    pub fn index<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.index = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sends this file, with 200, where there is none: for an application that makes its pages in the browser and has a
    /// path for each. It is for requests whose Accept names HTML, as a browser's for a page does, and whose path has no dot
    /// in its last name: what looks for `app.js` and finds none is told so.
    pub fn single_page(mut self, path: impl Into<String>) -> Self {
        self.single_page = Some(page_key(path));
        self
    }

    /// Sends this file with a 404, in place of a short text.
    pub fn not_found_page(mut self, path: impl Into<String>) -> Self {
        self.not_found_page = Some(page_key(path));
        self
    }

    /// Lists a directory without an index, as a page or, for a client that would rather have it, as JSON: up to so many
    /// entries, and a note if there are more. All who ask for a list while it is made are sent the same. By default a
    /// directory without an index is not there.
    pub fn listing(mut self, entries_max: usize) -> Self {
        self.listing_max = Some(entries_max);
        self
    }

    /// Serves names that begin with a dot, and lists them: among them may be `.git` and `.env`. Links may lead through them,
    /// too.
    pub fn hidden_files(mut self) -> Self {
        self.serves_hidden = true;
        self
    }

    /// What becomes of symbolic links. By default they are followed within the directory, and not through hidden names, which
    /// is [`Symlinks::WithinVisible`]; so are those of [`Symlinks::Within`], unless
    /// [`hidden_files`](Self::hidden_files) are served. A path without links costs one call of the system, and one with a
    /// link two for each name and two more, on a thread that may block; what was found is remembered as any file.
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.directory = self.directory.with_symlinks(symlinks);
        self
    }

    /// Looks for each file in these codings, the preferred one first: `app.js.br` beside `app.js`, for example. The client is
    /// sent the one that its Accept-Encoding weighs most, and Vary says so. None are looked for by default. Make them
    /// together with the file, which has to be there too: which one is newer is not looked at.
    pub fn precompressed(mut self, codings: impl IntoIterator<Item = FileCoding>) -> Self {
        self.codings.clear();
        for coding in codings {
            if !self.codings.contains(&coding) {
                self.codings.push(coding);
            }
        }
        self
    }

    /// The Content-Type of files with this extension, in any case and without the dot, in place of the usual one. Texts are
    /// `charset=utf-8` by default, and what is unknown is `application/octet-stream`.
    ///
    /// # Errors
    /// [`Misuse::FieldValue`] for what is no field value.
    pub fn content_type(
        mut self,
        extension: &str,
        content_type: impl Into<String>,
    ) -> Result<Self, Misuse> {
        let content_type = field_value("content-type", content_type.into())?;
        self.types.insert(extension.to_ascii_lowercase(), content_type);
        Ok(self)
    }

    /// The Cache-Control of all files, such as `max-age=3600` (RFC 9111 §5.2.2); by default there is none, and clients
    /// guess.
    ///
    /// # Errors
    /// [`Misuse::FieldValue`] for what is no field value.
    pub fn cache_control(mut self, value: impl Into<String>) -> Result<Self, Misuse> {
        let value = field_value("cache-control", value.into())?;
        self.cache_control = CacheControl::Always(value);
        Ok(self)
    }

    /// The Cache-Control of each file by its path below the directory, which is that of its index for a directory. What is no
    /// field value is left out.
    ///
    /// ```
    /// use stoop_web::Files;
    ///
    /// let files = Files::new("src")?.cache_control_by(|path| {
    ///     // Names with a hash in them are never used again.
    ///     let value = if path.starts_with("hashed") { "max-age=31536000, immutable" } else { "no-cache" };
    ///     Some(value.to_owned())
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cache_control_by(
        mut self,
        value: impl Fn(&Path) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.cache_control = CacheControl::ByPath(Arc::new(value));
        self
    }

    /// How much is remembered of paths, and for how long: [`FileCache::new`] by default, which is 1 s. A file that is asked for
    /// often then costs no call of the file system each time.
    pub fn cache(mut self, cache: FileCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Remembers nothing: each request is answered with what is there at its time.
    pub fn without_cache(mut self) -> Self {
        self.cache = None;
        self
    }
}

/// A value that the field can have.
fn field_value(name: &str, value: String) -> Result<String, Misuse> {
    Fields::new().push(name, value.as_bytes())?;
    Ok(value)
}
