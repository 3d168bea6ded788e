//! A directory with files, and clients of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use stoop::{Client, LocalServer, Method, Request, Response, Versions};
use stoop_web::{Files, Router};

/// When all files of a [`Tree`] were changed: half a second into this one.
pub(super) const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// A second before that.
pub(super) const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

/// The entity tag of a file of ten bytes of that time.
pub(super) const TEN_BYTES: &str = "\"a-2ebc98a1.1dcd6500\"";

/// A directory that is there as long as this value is.
pub(super) struct Tree(PathBuf);

impl Tree {
    pub(super) fn new(files: &[(&str, &[u8])]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("files-{}-{number}", std::process::id());
        let tree = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        fs::create_dir_all(&tree.0).unwrap();
        files.iter().for_each(|(path, content)| tree.write(path, content));
        tree
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Writes a file, in directories that are made for it.
    pub(super) fn write(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let modified = UNIX_EPOCH + Duration::from_millis(784_111_777_500);
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }

    pub(super) fn files(&self) -> Files {
        Files::new(&self.0).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A client of these files alone, as the fallback of a router.
pub(super) fn client(files: Files) -> Client {
    crate::kit::client(Router::new().fallback(files))
}

/// Such a client for each version of HTTP.
pub(super) fn clients(files: &Files) -> [Client; 2] {
    [Versions::Http1, Versions::Http2].map(|versions| {
        let app = Router::new().fallback(files.clone()).build().unwrap();
        let server = LocalServer::new(app).versions(versions);
        let builder = Client::builder().local_server(server);
        let builder = builder.versions(versions).redirects(stoop::Redirects::none());
        #[cfg(feature = "compression")]
        let builder = builder.decode_content(false);
        builder.build().unwrap()
    })
}

pub(super) async fn send(
    client: &Client,
    method: &str,
    target: &str,
    fields: &[(&str, &str)],
) -> Response {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = Request::new(method, &format!("http://a.test{target}")).unwrap();
    for (name, value) in fields {
        request = request.with_field(name, value).unwrap();
    }
    client.send(request).await.unwrap()
}

/// The status, and the content as text.
pub(super) async fn get(client: &Client, target: &str, fields: &[(&str, &str)]) -> (u16, String) {
    crate::kit::text(send(client, "GET", target, fields).await).await
}
