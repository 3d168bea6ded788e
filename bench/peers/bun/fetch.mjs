// Bun's `fetch` as a client under the contract of `stoop fetch`.
//
// It has a pool of its own without settings, and a limit of requests at once for all of the process
// (BUN_CONFIG_MAX_HTTP_REQUESTS), which is 256 unless told otherwise, so whoever starts it must. It
// asks the system for names and cannot be told otherwise, and follows up to 20 redirects.

import { counted, run, settings } from '../js/contract.mjs';

const given = settings();
const headers = { 'user-agent': given.userAgent, 'accept-encoding': 'identity' };
const tls = given.ca && { ca: given.ca };
await run(given, async (url, signal) =>
  counted(await fetch(url, { headers, signal, decompress: false, ...(tls && { tls }) })));
