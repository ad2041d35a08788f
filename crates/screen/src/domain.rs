// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registrable domain of a locator, for origin keys.

use crate::canon::place::{host, url};
use std::net::IpAddr;

/// The registrable domain of a URL or host name by the public suffix list (publicsuffix.org), in
/// punycode and lower case. An IP address stays whole, an IPv6 address without brackets. A public
/// suffix alone, such as `co.uk`, and a single label, such as `localhost`, stay as they are.
/// `None` when the locator names no host.
///
/// ```
/// # use ancile_screen::registrable_domain;
/// let site = registrable_domain("https://Blog.Example.co.uk:8443/a?b#c");
/// assert_eq!(site.as_deref(), Some("example.co.uk"));
/// ```
#[must_use]
pub fn registrable_domain(locator: &str) -> Option<String> {
    let locator = locator.trim();
    let from = locator.find("//").map_or(0, |at| at + 2);
    let end = locator.get(from..)?.find(['/', '?', '#', '\\']);
    let place = locator.get(..end.map_or(locator.len(), |end| from + end))?;
    let name = match url(place) {
        Some(url) => url.host,
        None => host(place)?,
    };
    if name.parse::<IpAddr>().is_ok() {
        return Some(name);
    }
    match psl::domain_str(&name) {
        Some(domain) => Some(domain.to_owned()),
        None => Some(name),
    }
}
