// Node's global `fetch` as a client under the contract of `stoop fetch`.
//
// It has no option for a certificate, a name server or a number of redirects, so the first two are set by
// replacing Node's `tls.connect` and `dns.lookup`, which it calls. It follows up to 20 redirects.

import dns from 'node:dns';
import tls from 'node:tls';
import { counted, run, settings } from '../js/contract.mjs';
import { lookupAt } from '../js/names.mjs';

const given = settings();
if (given.ca) {
  const { connect } = tls;
  const context = tls.createSecureContext({ ca: given.ca });
  tls.connect = (options, ...rest) => connect({ ...options, secureContext: context }, ...rest);
}
if (given.dns) dns.lookup = lookupAt(given.dns);

const headers = { 'user-agent': given.userAgent, 'accept-encoding': 'identity' };
await run(given, async (url, signal) => counted(await fetch(url, { headers, signal })));
