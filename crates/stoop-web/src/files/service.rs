//! Answers a request for a file: at once if what is at its path is remembered, else after a lookup.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::pin::Pin;
use std::sync::Arc;

use stoop::files::{OpenError, Opened, Symlinks};
use stoop::{Answer, Body, Method, Request, Response, StatusCode};

use super::cache::Cache;
use super::coding::{FileCoding, choose};
use super::found::Found;
use super::listing::{Form, Rendered};
use super::making::Making;
use super::options::{Files, page_of};
use super::path::{FilePath, is_hidden};
use super::representation::add;
use super::respond::{page, respond};
use crate::accept::names_html;
use crate::coding::Choice;
use crate::respond::text::text;
use crate::router::normal::{NormalPath, may_differ};

/// The methods that there are (RFC 9110 §10.2.1).
const ALLOW: &str = "GET, HEAD, OPTIONS";

/// A response that is looked for.
pub(super) type LaterResponse = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Files, and what is remembered of them.
pub(super) struct Service {
    files: Files,
    cache: Option<Arc<Cache>>,
    lists: Arc<Making<Rendered>>,
}

impl Service {
    pub(super) fn new(mut files: Files) -> Self {
        // What is not served by its own name is not served by another one either.
        if !files.serves_hidden && files.directory.symlinks() == Symlinks::Within {
            files = files.symlinks(Symlinks::WithinVisible);
        }
        let cache = files.cache.clone().map(|limits| Arc::new(Cache::new(limits)));
        Self { files, cache, lists: Arc::default() }
    }

    /// Answers a request, whose path is of this service from the byte `mount` on.
    pub(super) fn call(
        self: &Arc<Self>,
        request: Request,
        mount: usize,
    ) -> Answer<LaterResponse, Body> {
        if let Some(refusal) = refuse_method(request.method()) {
            return Answer::Now(refusal);
        }
        let Some(rest) = rest(&request, mount) else { return Answer::Now(redirect(&request)) };
        if let Some(found) = self.cache.as_ref().and_then(|cache| cache.find(rest))
            && let Some(response) = self.immediately(&request, rest, &found)
        {
            return Answer::Now(response);
        }
        let this = Arc::clone(self);
        Answer::Later(Box::pin(async move {
            this.answer(&request, mount).await.unwrap_or_else(|_| failed())
        }))
    }

    /// The response, if nothing has to be looked up for it.
    fn immediately(&self, request: &Request, rest: &str, found: &Found) -> Option<Response> {
        match found {
            Found::File(file) => Some(respond(request, file)),
            Found::Redirect => Some(redirect(request)),
            Found::Listing => {
                let cache = self.cache.as_ref()?;
                match cache.find(&Form::of(request).key(&one_spelling(rest)))? {
                    Found::Rendered(list) if list.is_of(&one_spelling(request.path())) => {
                        Some(list.respond())
                    }
                    _ => None,
                }
            }
            Found::Rendered(rendered) => Some(rendered.respond()),
            Found::Nothing => {
                let has_pages =
                    self.files.single_page.is_some() || self.files.not_found_page.is_some();
                (!has_pages).then(not_found)
            }
        }
    }

    async fn answer(&self, request: &Request, mount: usize) -> Result<Response, OpenError> {
        let Some(rest) = rest(request, mount) else { return Ok(redirect(request)) };
        let found = self.find(request, rest).await?;
        if let Some(response) = self.immediately(request, rest, &found) {
            return Ok(response);
        }
        match found {
            Found::Listing => self.list(request, rest).await,
            _ => self.missing(request, rest).await,
        }
    }

    /// What is at a path, or at that of a page.
    async fn find(&self, request: &Request, key: &str) -> Result<Found, OpenError> {
        if let Some(found) = self.cache.as_ref().and_then(|cache| cache.find(key)) {
            return Ok(found);
        }
        // What is remembered is for all clients; else what this one does not take need not be opened.
        let is_taken = |coding: &FileCoding| {
            self.cache.is_some()
                || choose(request.fields(), std::iter::once(*coding)) == Choice::Coded(*coding)
        };
        let codings: Vec<_> = self.files.codings.iter().copied().filter(is_taken).collect();
        let found = match page_of(key) {
            Some(page) => self.files.load_page(page, &codings).await?,
            None => self.files.load(key, &codings).await?,
        };
        if let Some(cache) = &self.cache {
            cache.insert(key, &found);
        }
        Ok(found)
    }

    /// The entries of a directory without an index. Those who ask for them at once are sent the same list.
    async fn list(&self, request: &Request, rest: &str) -> Result<Response, OpenError> {
        let path = FilePath::parse(rest, self.files.serves_hidden);
        let (Some(path), Some(max)) = (path, self.files.listing_max) else {
            return Ok(not_found());
        };
        // It may be gone by now.
        let Ok(Opened::Directory(directory)) = self.files.directory.open(path.as_path()).await
        else {
            return self.missing(request, rest).await;
        };
        let (form, path) = (Form::of(request), one_spelling(request.path()).into_owned());
        let (is_root, shows_hidden) = (rest.is_empty(), self.files.serves_hidden);
        let is_shown = move |name: &OsStr| shows_hidden || !is_hidden(name.as_bytes());
        let key = form.key(&path);
        let render = move || {
            let listing = directory.list_some_blocking(max, is_shown)?;
            Ok(Rendered::new(form, path, listing, is_root))
        };
        let Some(rendered) = self.lists.get(key, render).await else {
            let why = "the directory cannot be read";
            return Err(OpenError::Io(io::Error::other(why)));
        };
        if let Some(cache) = &self.cache {
            cache.insert(&form.key(&one_spelling(rest)), &Found::Rendered(rendered.clone()));
        }
        Ok(rendered.respond())
    }

    /// The answer where nothing is.
    async fn missing(&self, request: &Request, rest: &str) -> Result<Response, OpenError> {
        let is_page = self.files.single_page.as_ref().filter(|_| is_of_page(rest));
        let mut response = None;
        if let Some(key) = is_page.filter(|_| names_html(request.fields()))
            && let Found::File(file) = self.find(request, key).await?
        {
            response = Some(respond(request, &file));
        }
        if let (None, Some(key)) = (&response, &self.files.not_found_page)
            && let Found::File(file) = self.find(request, key).await?
        {
            response = Some(page(request, &file, StatusCode::NOT_FOUND));
        }
        let mut response = response.unwrap_or_else(not_found);
        if is_page.is_some() {
            add(response.fields_mut(), "vary", "accept");
        }
        Ok(response)
    }
}

/// What is behind the slash with which the service's part of a path begins; `None` if there is none.
fn rest(request: &Request, mount: usize) -> Option<&str> {
    request.path().get(mount..)?.strip_prefix('/')
}

/// A path in the form that all its spellings have: otherwise a client could have a list made, and held in memory, for
/// each of them.
fn one_spelling(path: &str) -> Cow<'_, str> {
    match may_differ(path) {
        true => NormalPath::new(path).as_str().to_owned().into(),
        false => path.into(),
    }
}

/// Whether a path may be that of a page of an application: its last name has no extension.
fn is_of_page(rest: &str) -> bool {
    !rest.rsplit('/').next().unwrap_or_default().contains('.')
}

/// The answer to what is neither GET nor HEAD (RFC 9110 §9.3.7, §15.5.6).
fn refuse_method(method: &Method) -> Option<Response> {
    let mut response = match *method {
        Method::GET | Method::HEAD => return None,
        Method::OPTIONS => Response::from_status(StatusCode::NO_CONTENT),
        _ => text(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("405 Method Not Allowed: files have no {method}\n"),
        ),
    };
    add(response.fields_mut(), "allow", ALLOW);
    Some(response)
}

/// 308 to the same path with a slash behind it (RFC 9110 §15.4.9). The reference is relative to the path that came: whatever
/// that is, and whatever a proxy has made of it, it names no other host, and the dot keeps a colon from ending a scheme.
fn redirect(request: &Request) -> Response {
    let name = request.path().rsplit('/').next().unwrap_or_default();
    let mut location = format!("./{name}/");
    if let Some(query) = request.query() {
        location.push('?');
        location.push_str(query);
    }
    let response = Response::from_status(StatusCode::PERMANENT_REDIRECT);
    response.with_field("location", location).unwrap_or_else(|_| not_found())
}

/// 404 (RFC 9110 §15.5.5).
fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 Not Found: nothing is at this path\n")
}

/// 500 (RFC 9110 §15.6.1).
fn failed() -> Response {
    let why = "500 Internal Server Error: the file cannot be opened\n";
    text(StatusCode::INTERNAL_SERVER_ERROR, why)
}
