//! The proxies that options and variables name. The library reads no variables: what they say is handed over.

use std::ffi::OsString;

use stoop::{Error, NoProxy, Proxies, Proxy};

/// The proxies of a command: `option` for all URLs, or those of the variables. `except` are the hosts of an option, or
/// those of the variable. `complete` adds to the proxy of a URL what other options say of it.
///
/// # Errors
/// A proxy that is no URL of one, with where it is from.
pub(crate) fn proxies(
    option: Option<&str>,
    except: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
    complete: impl Fn(&str, Proxy) -> Result<Proxy, Error>,
) -> Result<Proxies, String> {
    let named = |from: &str, url: &str| {
        let proxy = Proxy::new(url).and_then(|proxy| complete(url, proxy));
        proxy.map_err(|error| format!("{from}: {error}"))
    };
    let set = |name: &str| {
        let value = variable(name).or_else(|| variable(&name.to_ascii_uppercase()))?;
        value.into_string().ok().filter(|value| !value.is_empty())
    };
    let read = |name: &str| match set(name) {
        Some(url) => named(&format!("the variable {name}"), &url).map(Some),
        None => Ok(None),
    };
    let mut proxies = Proxies::none();
    match option {
        Some("") => return Ok(proxies),
        Some(url) => proxies = proxies.all(named("--proxy", url)?),
        None => {
            // A CGI program gets a client's field `Proxy` as HTTP_PROXY.
            let is_cgi = variable("REQUEST_METHOD").is_some();
            let http = match variable("http_proxy").is_some() || !is_cgi {
                true => read("http_proxy")?,
                false => None,
            };
            if let Some(proxy) = http {
                proxies = proxies.http(proxy);
            }
            if let Some(proxy) = read("https_proxy")? {
                proxies = proxies.https(proxy);
            }
            if let Some(proxy) = read("all_proxy")? {
                proxies = proxies.all(proxy);
            }
        }
    }
    let except = except.map(str::to_owned).or_else(|| set("no_proxy")).unwrap_or_default();
    let Ok(except) = except.parse::<NoProxy>();
    Ok(proxies.except(except))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(option: Option<&str>, variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
        };
        proxies(option, None, variable, |_, proxy| Ok(proxy))
            .map_or_else(|error| error, |proxies| format!("{proxies:?}"))
    }

    #[test]
    fn an_option_is_before_variables_and_small_letters_before_capitals() {
        let variables =
            [("http_proxy", "a:1"), ("HTTP_PROXY", "b:1"), ("HTTPS_PROXY", "https://c")];
        let both = shown(None, &variables);
        assert!(both.contains("http: Some(Proxy(http://a:1/))"), "{both}");
        assert!(both.contains("https: Some(Proxy(https://c/))"), "{both}");
        let option = shown(Some("socks5h://d"), &variables);
        assert!(option.contains("http: None") && option.contains("socks5h://d:1080"), "{option}");
        assert!(shown(Some(""), &variables).contains("all: None"));
        assert!(shown(None, &[("ALL_PROXY", ""), ("all_proxy", "e")]).contains("http://e/"));
    }

    #[test]
    fn a_client_of_a_cgi_program_names_no_proxy() {
        let cgi = ("REQUEST_METHOD", "GET");
        assert!(shown(None, &[cgi, ("HTTP_PROXY", "evil")]).contains("http: None"));
        assert!(shown(None, &[cgi, ("http_proxy", "good")]).contains("http://good/"));
    }

    #[test]
    fn what_is_no_proxy_says_where_it_is_from() {
        assert!(shown(Some("ftp://x"), &[]).starts_with("--proxy: "));
        assert!(
            shown(None, &[("https_proxy", "ftp://x")]).starts_with("the variable https_proxy: ")
        );
    }
}
