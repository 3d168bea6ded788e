//! One listener for all hosts: who a connection is for is found out when it comes.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::address;
use super::good::serve_good;
use super::network::Net;
use super::site::Site;
use super::sni;
use crate::certificates::Showing;
use crate::line::Line;
use crate::log::Ended;
use crate::origin::{ACCEPT_AGAIN, Behaviour, PREFACE, Place, play, reset_on_close};
use crate::secure;
use crate::wire::{Gone, Stream, Wire};

/// Accepts for ever. Dropped, it closes the port and every connection.
pub(super) async fn accept(net: Arc<Net>, listener: TcpListener, tls: bool) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let Ok(permit) = net.permits.clone().acquire_owned().await else { return };
        let net = net.clone();
        connections.spawn(async move {
            connection(net, stream, peer, tls).await;
            drop(permit);
        });
    }
}

async fn connection(net: Arc<Net>, stream: TcpStream, peer: SocketAddr, tls: bool) {
    let open = net.counters.accept();
    // The listener is bound to the loopback device, but this is what the promise rests on.
    let Some(local) = stream.local_addr().ok().filter(|local| local.ip().is_loopback()) else {
        net.counters.stranger();
        reset_on_close(&stream);
        return;
    };
    let mut line = Line::new(net.log.clone(), net.counters.clone(), open);
    let host = match local.ip() {
        _ if net.shared && !tls => None,
        _ if net.shared => {
            let name = sni::peek(&stream).await;
            name.and_then(|name| address::parse(&name, net.plan.domain())).map(|(_, host)| host)
        }
        IpAddr::V4(local) => address::host(local),
        IpAddr::V6(_) => None,
    };
    if let Some(host) = host {
        line.about(Some(host), &address::name(address::Prefix::Apex, host, net.plan.domain()));
    }
    let site = host.map_or(Site::Good, |host| net.plan.site(host, tls));
    let mut showing = Showing::Good;
    if let Site::Scripted { behaviour, .. } = &site {
        if behaviour.resets() {
            reset_on_close(&stream);
        }
        if behaviour.breaks_handshake() {
            return serve(net, Wire::new(stream, line), site, host, tls).await;
        }
        showing = behaviour.certificate();
    }
    if !tls {
        return by_name(net, Wire::new(stream, line), site, host).await;
    }
    if site == Site::Good && host.is_some_and(|host| net.plan.offers_http2(host)) {
        showing = Showing::Http2;
    }
    match secure::accept(net.certificates.show(showing), stream, peer).await {
        Ok(stream) => serve(net, Wire::new(stream, line), site, host, tls).await,
        Err(Gone(ended)) => line.end(ended),
    }
}

/// Plain HTTP at a shared address: only the first request says which host is meant.
async fn by_name(net: Arc<Net>, mut wire: Wire<TcpStream>, site: Site, host: Option<u64>) {
    if host.is_some() {
        return serve(net, wire, site, host, false).await;
    }
    let request = match wire.look().await {
        Ok((request, _)) => request,
        // Whoever answers well says what is wrong with it.
        Err(Gone(Ended::BadRequest)) => return serve(net, wire, Site::Good, None, false).await,
        Err(Gone(ended)) => return wire.line.end(ended),
    };
    let named = address::parse(&request.host, net.plan.domain()).map(|(_, host)| host);
    wire.line.about(named, &request.host);
    let site = named.map_or(Site::Good, |host| net.plan.site(host, false));
    if let Site::Scripted { behaviour, .. } = &site
        && behaviour.resets()
    {
        reset_on_close(wire.stream());
    }
    serve(net, wire, site, named, false).await;
}

async fn serve<S: Stream + 'static>(
    net: Arc<Net>,
    mut wire: Wire<S>,
    mut site: Site,
    host: Option<u64>,
    tls: bool,
) {
    if let Site::Scripted { behaviour: Behaviour::BadHttp2 { .. }, .. } = &site {
        match wire.begins_with(PREFACE).await {
            Ok(true) => {}
            Ok(false) => site = Site::Good,
            Err(Gone(ended)) => return wire.line.end(ended),
        }
    }
    // Boxed, so that a connection takes what its host needs and not what any host may.
    match site {
        Site::Good => Box::pin(serve_good(net, wire, host, tls)).await,
        Site::Scripted { behaviour, delay } => {
            Box::pin(play(&behaviour, &Place { delay, dead: String::new() }, &mut wire)).await;
            // One that ends between two requests has no line; one that never had any has this.
            wire.line.end(Ended::ClientClosed);
        }
    }
}
