// Resolves names with one given server, for clients on Node: Node has a resolver for that, but uses the
// system's when it connects.

import dns from 'node:dns';
import net from 'node:net';

/** A replacement of `dns.lookup`, with a cache that lasts as long as the program runs. */
export function lookupAt(server) {
  const resolver = new dns.promises.Resolver();
  resolver.setServers([server]);
  const known = new Map();
  const resolve = (host) => {
    let answer = known.get(host);
    if (!answer) {
      answer = resolver.resolve4(host);
      known.set(host, answer);
    }
    return answer;
  };
  return (host, options, callback) => {
    if (typeof options === 'function') [options, callback] = [{}, options];
    const family = net.isIP(host);
    const addresses = family ? Promise.resolve([host]) : resolve(host);
    addresses.then(
      (found) => {
        if (options.all) callback(null, found.map((address) => ({ address, family: family || 4 })));
        else callback(null, found[0], family || 4);
      },
      (error) => callback(error),
    );
  };
}
