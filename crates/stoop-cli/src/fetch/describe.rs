//! Translates a plan into the library's description of a run.

#[cfg(feature = "dns")]
use stoop::dns::Resolver;
use stoop::{ClientBuilder, Redirects};
#[cfg(feature = "dns")]
use stoop_fetch::HostGroup;
use stoop_fetch::{Concurrency, Fetch, Stop};

#[cfg(feature = "tls")]
use super::plan::CaCertificates;
use super::plan::FetchPlan;
use crate::failure::CommandFailure;
use crate::request_options::ResolveRule;

/// How many names the resolver remembers that all clients share: as many as hosts are known at once.
#[cfg(feature = "dns")]
const NAMES_MAX: usize = 100_000;

/// How many queries that resolver has under way, beside those for each worker: see [`HostGroup::Address`].
#[cfg(feature = "dns")]
const QUERIES_MAX: usize = 960;
#[cfg(feature = "dns")]
const QUERIES_PER_WORKER: usize = 192;

/// The description of the run that `plan` asks for, ended by `stop`.
///
/// # Errors
/// [`CommandFailure::Usage`] for certificates that cannot be used, and for options of a feature that this
/// program was built without.
pub(super) fn describe(plan: &FetchPlan, stop: Stop) -> Result<Fetch, CommandFailure> {
    if !cfg!(feature = "dns") && !plan.dns.is_empty() {
        return Err(CommandFailure::Usage(
            "--dns: this stoop asks the system for names".to_owned(),
        ));
    }
    let wants_tls = plan.ca.is_some() || plan.insecure || plan.identity.is_some();
    if !cfg!(feature = "tls") && wants_tls {
        return Err(CommandFailure::Usage("this stoop was built without TLS".to_owned()));
    }
    let fetch = Fetch::new()
        .stop(stop)
        .concurrency(match plan.is_concurrency_given {
            true => Concurrency::fixed(plan.concurrency),
            false => Concurrency::auto().at_most(plan.concurrency),
        })
        .politeness(plan.politeness.clone())
        .redirects(redirects(plan))
        .workers(plan.cores)
        .timeout(plan.timeout)
        .body_bytes_max(plan.max_body)
        .http_fallback(plan.falls_back_to_http)
        .statistics(plan.has_statistics());
    let fetch = match plan.jobs.shard.filter(|_| plan.jobs.stays_in_shard) {
        Some(shard) => fetch.stay_in_shard(shard, plan.jobs.group),
        None => fetch,
    };
    let fetch = plan
        .stalls
        .apply(plan.filter.apply(plan.content.apply(fetch), plan.robots_token.as_deref()));
    let fetch = match plan.idle_max {
        Some(connections) => fetch.idle_connections(connections),
        None => fetch,
    };
    let fetch = match plan.connect_timeout {
        Some(limit) => fetch.setup_timeout(limit),
        None => fetch,
    };
    let fetch = match plan.limit {
        Some(limit) => fetch.limit(limit),
        None => fetch,
    };
    let fetch = match &plan.template {
        Some(template) => template.apply(fetch),
        None => fetch,
    };
    #[cfg(feature = "tls")]
    let fetch = fetch.tls(tls(plan).map_err(|error| cannot_use(plan, &error))?);
    let plan = plan.clone();
    #[cfg(feature = "dns")]
    let resolver = shared_resolver(&plan);
    Ok(fetch.client(move |client| {
        let client = configure(&plan, client);
        #[cfg(feature = "dns")]
        if let Some(resolver) = &resolver {
            return client.resolver(resolver.clone());
        }
        client
    }))
}

fn redirects(plan: &FetchPlan) -> Redirects {
    match u16::try_from(plan.max_redirects) {
        Ok(0) => Redirects::none(),
        Ok(max) => Redirects::follow(max),
        Err(_) => Redirects::follow(u16::MAX),
    }
}

/// The resolver that asks the name servers of the plan for all clients, where addresses are looked up before they are
/// connected to; none where each client may have its own.
#[cfg(feature = "dns")]
fn shared_resolver(plan: &FetchPlan) -> Option<Resolver> {
    let is_shared = plan.jobs.group == HostGroup::Address && !plan.dns.is_empty();
    let resolver = || {
        let resolver = Resolver::builder().servers(&plan.dns).cache_entries_max(NAMES_MAX);
        resolver.queries_max(QUERIES_MAX + QUERIES_PER_WORKER * plan.cores).build()
    };
    // No file was named that could not be read.
    is_shared.then(resolver)?.ok()
}

/// Configures the client of a worker as the plan says.
fn configure(plan: &FetchPlan, client: ClientBuilder) -> ClientBuilder {
    let names = |name| plan.template.as_ref().is_some_and(|template| template.names(name));
    let client = client
        .versions(plan.versions)
        .allow_private(plan.allow_private)
        .decode_content(plan.decodes)
        .proxies(plan.proxies.clone())
        .accept_any(!names("accept"));
    let client = match names("user-agent") {
        true => client,
        false => client.user_agent(plan.user_agent.as_str()),
    };
    let client = client.retries(plan.retries.clone());
    let client = match &plan.cookies {
        Some(cookies) => client.cookies(cookies.jar.clone()),
        None => client,
    };
    let client = ResolveRule::apply_all(&plan.resolve, client);
    let client = plan.family.apply(client);
    let client = match plan.is_public_only {
        true => client.address_filter(stoop::dns::is_public),
        false => client,
    };
    #[cfg(feature = "dns")]
    let client = if plan.dns.is_empty() { client } else { client.name_servers(&plan.dns) };
    client
}

#[cfg(feature = "tls")]
fn tls(plan: &FetchPlan) -> Result<stoop::tls::ClientTls, stoop::tls::TlsConfigError> {
    let mut tls = stoop::ClientTls::builder();
    match &plan.ca {
        Some(CaCertificates::File(path)) => tls = tls.ca_file(path),
        Some(CaCertificates::Pem(pem)) => tls = tls.ca_pem(pem.as_str()),
        None => {}
    }
    if plan.insecure {
        tls = tls.dangerous_accept_any_certificate();
    }
    if let Some((chain, key)) = &plan.identity {
        tls = tls.certificate_files(chain, key);
    }
    tls.build()
}

/// The failure for a file of TLS, with the option that names it.
#[cfg(feature = "tls")]
fn cannot_use(plan: &FetchPlan, error: &stoop::tls::TlsConfigError) -> CommandFailure {
    let (chain, key) = plan.identity.as_ref().map(|(chain, key)| (&**chain, &**key)).unzip();
    let ca = match &plan.ca {
        Some(CaCertificates::File(path)) => Some(path.as_path()),
        _ => None,
    };
    let named = [("--cert", chain), ("--key", key), ("--cacert", ca)];
    let option = named.iter().find(|(_, path)| path.is_some() && *path == error.path());
    CommandFailure::Usage(match option {
        Some((option, _)) => format!("{option}: {error}"),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use stoop::{ErrorKind, Phase};

    use super::super::help::AFTER_OPTIONS;
    use crate::hints::hint;

    #[test]
    fn every_kind_of_error_has_a_hint_and_is_listed_in_the_help() {
        let (_, list) =
            AFTER_OPTIONS.split_once("Kinds of error, a closed list:").expect("it is there");
        let (list, _) = list.split_once("\n\n").expect("it ends");
        for kind in ErrorKind::ALL {
            let word = kind.as_str();
            let is_listed = list.split_whitespace().any(|w| w == word);
            // `fetch` sends what was checked before the first URL, does not set the limits of the others, and
            // does not save content; a status is no error.
            let is_produced = !matches!(
                kind,
                ErrorKind::RequestBody
                    | ErrorKind::InvalidMessage
                    | ErrorKind::QueueTimeout
                    | ErrorKind::TlsTimeout
                    | ErrorKind::FirstByteTimeout
                    | ErrorKind::HttpStatus
                    | ErrorKind::File
            );
            assert_eq!(is_listed, is_produced, "{word}");
            assert!(hint(word).is_some() || !is_produced, "{word}");
        }
        assert!(AFTER_OPTIONS.contains(Phase::Receive.as_str()));
    }
}
