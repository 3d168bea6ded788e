//! A request on its way out: what every request has, and what a redirect changes.

use std::time::Instant;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::Method;
use percent_encoding::percent_decode_str;
use stoop_proto::{RequestHead, ResponseHead, TargetForm};
use url::Url;

use crate::body::Body;
#[cfg(feature = "compression")]
use crate::body::coding::ACCEPT_ENCODING;
use crate::client::netrc::Netrc;
#[cfg(feature = "proxy")]
use crate::client::proxy::{ProxyFields, Via};
use crate::client::redirect::{self, RedirectAction, RedirectAttempt};
use crate::client::shared::ClientShared;
use crate::client::validators::{self, FindValidators};
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind, Phase};
use crate::request::relay::RelayTicket;
use crate::request::{PastRedirect, Request, RequestParts};
use crate::url::{authority, not_whole, remove_credentials, target};
#[cfg(feature = "proxy")]
use crate::versions::Versions;

/// A request, ready to be sent.
pub(super) struct Outgoing {
    pub(super) parts: Recycle<RequestParts>,
    /// What is sent next.
    pub(super) body: Body,
    /// When its caller called.
    pub(super) called: Instant,
    /// The same to be sent again, if it can be.
    copy: Option<Body>,
    /// Its extensions, on their way to a handler in this process. Boxed, because that is rare.
    relayed: Option<Box<RelayTicket>>,
    /// Its Cookie is that of the client's jar, and not the caller's.
    #[cfg(feature = "cookies")]
    has_jar_cookie: bool,
    /// It may ask whether content has changed.
    may_be_conditional: bool,
    /// What was added for a proxy.
    #[cfg(feature = "proxy")]
    for_proxy: ProxyFields,
}

impl Outgoing {
    pub(super) fn new(
        shared: &ClientShared,
        request: Request,
        called: Instant,
    ) -> Result<Self, Error> {
        let Request { mut parts, body } = request;
        parts.called = Some(called);
        let RequestParts {
            head,
            url,
            extensions,
            has_validators,
            #[cfg(feature = "compression")]
            decodes,
            ..
        } = &mut *parts;
        let Some(url) = url else { return Err(not_whole(head.target())) };
        shared.secure(url);
        authorize(head, url, &shared.netrc)?;
        if !head.fields().contains("host") {
            name_host(head, url)?;
        }
        let fields = head.fields_mut();
        fields.push_missing(&shared.default_fields)?;
        #[cfg(feature = "compression")]
        if decodes.unwrap_or(shared.decodes)
            && !(fields.contains("accept-encoding") || fields.contains("range"))
        {
            fields.push("accept-encoding", ACCEPT_ENCODING)?;
        }
        let known = shared.validators.as_ref().filter(|_| validators::may_add(head));
        let may_be_conditional = known.is_some();
        if let Some(known) = known {
            *has_validators = known.add(head, url.as_str());
        }
        let relayed = match shared.connector.relay() {
            Some(relay) => relay.send(extensions, head.fields_mut())?,
            None => None,
        };
        let (copy, relayed) = (body.try_clone(), relayed.map(Box::new));
        #[cfg_attr(not(feature = "cookies"), expect(unused_mut, reason = "it gets cookies"))]
        let mut outgoing = Self {
            parts,
            body,
            called,
            copy,
            relayed,
            #[cfg(feature = "cookies")]
            has_jar_cookie: false,
            may_be_conditional,
            #[cfg(feature = "proxy")]
            for_proxy: ProxyFields::new(),
        };
        #[cfg(feature = "cookies")]
        outgoing.add_cookies(shared)?;
        Ok(outgoing)
    }

    /// Adds the cookies of the client's jar, unless the caller has set some.
    #[cfg(feature = "cookies")]
    fn add_cookies(&mut self, shared: &ClientShared) -> Result<(), Error> {
        let Some(jar) = &shared.cookies else { return Ok(()) };
        let RequestParts { head, url, .. } = &mut *self.parts;
        if std::mem::take(&mut self.has_jar_cookie) {
            head.fields_mut().remove("cookie");
        }
        if !head.fields().contains("cookie")
            && let Some(field) = url.as_ref().and_then(|url| jar.field(url))
        {
            head.fields_mut().push("cookie", field.as_bytes())?;
            self.has_jar_cookie = true;
        }
        Ok(())
    }

    /// Finds the proxy that it goes through, and makes it a request to that, if the proxy forwards it.
    #[cfg(feature = "proxy")]
    pub(super) fn route(
        &mut self,
        shared: &ClientShared,
        versions: Option<Versions>,
        switches: bool,
    ) -> Result<Option<Via>, Error> {
        let added = std::mem::take(&mut self.for_proxy);
        added.iter().for_each(|name| self.parts.head.fields_mut().remove(name));
        let RequestParts { head, url: Some(url), .. } = &mut *self.parts else { return Ok(None) };
        let via = shared.connector.via(url, versions, switches);
        if let Some(via) = via.as_ref().filter(|via| via.is_forwarded) {
            self.for_proxy = via.proxy.forward(head, url)?;
        }
        Ok(via)
    }

    /// Keeps what its response says for requests to come: cookies, and that its host wants https.
    pub(super) fn keep(&self, head: &ResponseHead, shared: &ClientShared) {
        if let (Some(hsts), Some(url)) = (&shared.hsts, &self.parts.url)
            && let Some(field) = head.fields().first("strict-transport-security")
        {
            hsts.keep(url, field);
        }
        #[cfg(feature = "cookies")]
        if let (Some(jar), Some(url)) = (&shared.cookies, &self.parts.url) {
            jar.keep_all(head.fields().all("set-cookie"), url);
        }
    }

    /// What is kept of it, with its response.
    pub(super) fn into_parts(self) -> Recycle<RequestParts> {
        let mut parts = self.parts;
        if self.relayed.is_some() {
            RelayTicket::remove_field(parts.head.fields_mut());
        }
        parts
    }

    /// Where it goes.
    pub(super) fn url(&self) -> &Url {
        self.parts.url.as_ref().expect("checked when it was made")
    }

    pub(super) fn head(&self) -> &RequestHead {
        &self.parts.head
    }

    pub(super) fn method(&self) -> &Method {
        self.parts.head.method()
    }

    /// Whether its content can be sent again.
    pub(super) fn is_replayable(&self) -> bool {
        self.copy.is_some()
    }

    /// Makes ready to be sent again.
    pub(super) fn repeat(&mut self) {
        self.body = self.copy.as_ref().and_then(Body::try_clone).unwrap_or_default();
    }

    /// Takes back the expectation of a 100 that a server refuses by a 417, to send the request without it (RFC 9110
    /// §10.1.1). False if the response is to be returned as it is.
    pub(super) fn drop_expectation(&mut self, head: &ResponseHead) -> bool {
        if head.status() != http::StatusCode::EXPECTATION_FAILED || !self.is_replayable() {
            return false;
        }
        // Another expectation is the caller's to take back.
        let fields = self.parts.head.fields_mut();
        let is_100 = |member: &[u8]| member.trim_ascii().eq_ignore_ascii_case(b"100-continue");
        let mut lines = fields.all("expect").peekable();
        if lines.peek().is_none()
            || !lines.flat_map(|line| line.split(|byte| *byte == b',')).all(is_100)
        {
            return false;
        }
        fields.remove("expect");
        self.repeat();
        true
    }

    /// Answers the challenge of a 401 by the Digest scheme. False if the response is to be returned as it is.
    #[cfg(feature = "digest-auth")]
    pub(super) fn answer_challenge(&mut self, head: &ResponseHead) -> Result<bool, Error> {
        let RequestParts { head: sent, digest: Some(credentials), .. } = &mut *self.parts else {
            return Ok(false);
        };
        let Some(copy) = &self.copy else { return Ok(false) };
        if head.status() != http::StatusCode::UNAUTHORIZED {
            return Ok(false);
        }
        let (method, target, content) = (sent.method(), sent.target(), copy.in_memory());
        let answer = credentials.answer(head.fields(), method, target, content);
        let Some(answer) = answer else { return Ok(false) };
        sent.fields_mut().set("authorization", answer.as_bytes())?;
        self.repeat();
        Ok(true)
    }

    /// Turns to where a redirect leads. False if the response is to be returned as it is: it leads
    /// nowhere, or the content cannot be sent again.
    pub(super) fn follow(
        &mut self,
        head: &ResponseHead,
        redirects: u16,
        shared: &ClientShared,
    ) -> Result<bool, Error> {
        let policy = &shared.redirects;
        if !redirect::is_redirect(head.status()) || policy.max == 0 {
            return Ok(false);
        }
        // An empty one leads nowhere, as browsers and curl have it.
        let location = head.fields().first("location").filter(|location| !location.is_empty());
        let Some(location) = location else { return Ok(false) };
        let (method, keeps_content) = redirect::method(head.status(), self.method(), policy);
        if keeps_content && !self.is_replayable() {
            // A stream that was sent cannot be sent again: the caller has to.
            return Ok(false);
        }
        if redirects >= policy.max {
            let error = Error::new(ErrorKind::RedirectLimit, Phase::Redirect);
            return Err(error.with_detail(format_args!(
                "more than {}, at {}",
                policy.max,
                self.url()
            )));
        }
        let next = redirect::target(self.url(), location, policy, |next| shared.secure(next))?;
        let parts = &mut *self.parts;
        if let Some(url) = &parts.url {
            let attempt = RedirectAttempt {
                status: head.status(),
                from: url,
                to: &next,
                history: &parts.history,
            };
            match policy.action(&attempt) {
                RedirectAction::Follow => {}
                RedirectAction::Stop => return Ok(false),
                RedirectAction::Deny(why) => {
                    let error = Error::new(ErrorKind::RedirectDenied, Phase::Redirect);
                    return Err(error.with_detail(why));
                }
            }
            parts.history.push(PastRedirect::new(url, head.status()));
        }
        if !keeps_content {
            redirect::strip_content(self.parts.head.fields_mut());
            self.copy = Some(Body::empty());
        }
        if !redirect::same_origin(self.url(), &next) {
            redirect::strip_origin_fields(self.parts.head.fields_mut(), policy);
            #[cfg(feature = "digest-auth")]
            if !policy.trusts_all {
                self.parts.digest = None;
            }
        }
        self.parts.head.set_method(method);
        self.repeat();
        self.retarget(next, &shared.netrc)?;
        if let Some(known) = shared.validators.as_ref().filter(|_| self.may_be_conditional) {
            let RequestParts { head, url, has_validators, .. } = &mut *self.parts;
            FindValidators::remove(head.fields_mut());
            *has_validators = known.add(head, url.as_ref().map_or("", Url::as_str));
        }
        #[cfg(feature = "cookies")]
        self.add_cookies(shared)?;
        Ok(true)
    }

    fn retarget(&mut self, mut url: Url, netrc: &Netrc) -> Result<(), Error> {
        let head = &mut self.parts.head;
        authorize(head, &mut url, netrc)?;
        head.set_target(target(&url))?;
        if !head.fields().contains("host") {
            name_host(head, &url)?;
        }
        self.parts.url = Some(url);
        Ok(())
    }
}

/// Adds Host: RFC 9112 §3.2, and §3.2.3 for a tunnel.
fn name_host(head: &mut RequestHead, url: &Url) -> Result<(), Error> {
    if head.form() == TargetForm::Authority {
        let host = head.target().to_owned();
        return Ok(head.fields_mut().push("host", host.as_bytes())?);
    }
    Ok(head.fields_mut().push("host", authority(url).as_bytes())?)
}

/// `user:password@` of a URL, or what the netrc has for its host, becomes Basic credentials (RFC 7617) for the
/// recipient, a server or the proxy before it, if the request has none.
fn authorize(head: &mut RequestHead, url: &mut Url, netrc: &Netrc) -> Result<(), Error> {
    let name = match head.form() {
        TargetForm::Authority => "proxy-authorization",
        _ => "authorization",
    };
    if url.username().is_empty() && url.password().is_none() {
        if let Some((login, password)) = url.host_str().and_then(|host| netrc.get(host))
            && !head.fields().contains(name)
        {
            let credentials = [login, ":", password].concat();
            add_basic(head, name, credentials.as_bytes())?;
        }
        return Ok(());
    }
    if !head.fields().contains(name) {
        let mut credentials: Vec<u8> = percent_decode_str(url.username()).collect();
        credentials.push(b':');
        credentials.extend(percent_decode_str(url.password().unwrap_or_default()));
        add_basic(head, name, &credentials)?;
    }
    remove_credentials(url);
    Ok(())
}

fn add_basic(head: &mut RequestHead, name: &str, credentials: &[u8]) -> Result<(), Error> {
    let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    Ok(head.fields_mut().push(name, value.as_bytes())?)
}
