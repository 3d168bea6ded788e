//! Fetches robots.txt files, with a client of their own: the limits and redirects of the run's are meant for what it
//! fetches.

use std::sync::Arc;

use stoop::{Client, Error, ErrorKind};

use crate::bandwidth::Bandwidth;
use crate::failures::{failed, is_of_host};
use crate::mask;
use crate::record::Outcome;
use crate::robots::{Access, RobotsTxt};
use crate::robots_known::RobotsAnswer;
use crate::settings::Settings;
use crate::template::Template;
use crate::total_rate::TotalRate;

/// What is read of a file: what counts of it, a byte order mark, and a byte more, which tells that the last line is cut.
const READ_BYTES: usize = RobotsTxt::BYTES_MAX + 4;

/// The client that asks for robots.txt.
pub(crate) struct RobotsClient {
    client: Client,
    template: Template,
    /// Each request counts for the rate of all.
    rate: Arc<TotalRate>,
    /// What is read counts for the bandwidth of all, if that has a limit.
    bandwidth: Option<Arc<Bandwidth>>,
}

impl RobotsClient {
    pub(crate) fn new(client: Client, settings: &Settings) -> Self {
        let (template, rate) = (settings.template.clone(), Arc::clone(&settings.rate));
        Self { client, template, rate, bandwidth: settings.bandwidth.clone() }
    }

    /// Asks an origin for the file, within a deadline of its own; at a public address alone, if that is so. `None` if it
    /// may not be asked at the address that it has: neither may what is fetched there.
    pub(crate) async fn ask(
        &self,
        origin: &str,
        is_public_only: bool,
        agent: &str,
    ) -> Option<RobotsAnswer> {
        let url = format!("{origin}/robots.txt");
        Some(match self.try_ask(&url, is_public_only, agent).await {
            Ok(answer) => answer,
            Err(error) if error.kind() == ErrorKind::AddressDenied && error.redirects() == 0 => {
                self.rate.give_back();
                return None;
            }
            // RFC 9309 §2.3.1.2: as if there were no file.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::RedirectLimit | ErrorKind::RedirectDenied | ErrorKind::AddressDenied
                ) =>
            {
                RobotsAnswer::Says { access: Access::Unavailable, why: None }
            }
            Err(error) => {
                let is_host_silent = is_of_host(error.kind());
                let outcome = failed(&error, error.kind().as_str());
                RobotsAnswer::Silent(Box::new(Outcome { is_host_silent, ..outcome }))
            }
        })
    }

    async fn try_ask(
        &self,
        url: &str,
        is_public_only: bool,
        agent: &str,
    ) -> Result<RobotsAnswer, Error> {
        self.rate.pay();
        let request = self.template.robots_request(url)?;
        let request = if is_public_only { request.public_only() } else { request };
        let mut response = self.client.send(request).await?;
        let mut content = Vec::new();
        while response.status().is_success() && content.len() < READ_BYTES {
            let error = match response.body_mut().chunk().await {
                Ok(Some(piece)) => {
                    if let Some(bandwidth) = &self.bandwidth {
                        bandwidth.pay(piece.len());
                    }
                    content.extend_from_slice(&piece);
                    continue;
                }
                Ok(None) => break,
                Err(error) => error,
            };
            let Some(again) = self.client.retry(&mut response, &error) else {
                let why = format!("could not be read ({})", mask::text(&error.to_string()));
                let access = Access::Unreachable;
                return Ok(RobotsAnswer::Says { access, why: Some(why.into()) });
            };
            content.clear();
            response = again.await?;
        }
        content.truncate(READ_BYTES);
        let status = response.status().as_u16();
        let access = match Access::from_response(status, &content, agent) {
            Access::Rules(robots) => Access::Rules(robots.without_sitemaps()),
            other => other,
        };
        let is_unknown = access == Access::Unreachable;
        let why = is_unknown.then(|| format!("got the status {status}").into());
        Ok(RobotsAnswer::Says { access, why })
    }
}
