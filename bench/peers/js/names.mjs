// Names asked of one given server, for clients that run on Node: it has a resolver of its own for
// that, but connects by names of the system's.

import dns from 'node:dns';
import net from 'node:net';

/** A function in the place of `dns.lookup`, with a cache for as long as the program runs. */
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
