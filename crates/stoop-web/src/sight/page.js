
"use strict";
// Paths and names come from clients: they become text, and never markup.
const at = (id) => document.getElementById(id);
const say = (id, text) => { at(id).textContent = text; };
const kept = { latency: [], in_flight: [], connections: [], memory: [] };
const count = new Intl.NumberFormat("en-US").format;

function share(part, whole) {
  const percent = whole ? 100 * part / whole : 0;
  if (part && percent < 0.1) { return "< 0.1 %"; }
  return percent.toFixed(part && part < whole ? 1 : 0) + " %";
}

function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return (unit ? size.toFixed(1) : size) + " " + units[unit];
}

function duration(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = Math.max(0, units.findIndex(([length]) => seconds >= length));
  const shown = seconds < 1 ? units.slice(-1) : units.slice(first, first + 2);
  const parts = shown.map(([length, name], n) => {
    const whole = Math.floor(seconds / length);
    return (n ? whole % (shown[n - 1][0] / length) : whole) + " " + name;
  });
  return parts.join(" ");
}

function millis(ms) {
  if (ms >= 1000) { return (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + " s"; }
  return (ms >= 100 ? ms.toFixed(0) : ms.toPrecision(2)) + " ms";
}

function draw(id, values) {
  const line = at(id);
  const most = Math.max(1, ...values);
  const step = 120 / 59;
  const start = 120 - (values.length - 1) * step;
  const points = values.map((value, n) => (start + n * step).toFixed(1) + "," + (33 - 31 * value / most).toFixed(1));
  line.setAttribute("points", points.join(" "));
  const area = line.parentNode.querySelector("polygon");
  if (area && points.length) { area.setAttribute("points", start.toFixed(1) + ",34 " + points.join(" ") + " 120,34"); }
}

function remember(name, value) {
  kept[name].push(value);
  if (kept[name].length > 60) { kept[name].shift(); }
  draw("line_" + name, kept[name]);
}

// The first cell of a row is its heading; a cell is a text, or a text and a class.
function fill(id, rows, nothing) {
  const made = rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((content, n) => {
      const cell = document.createElement(n ? "td" : "th");
      const [text, style] = Array.isArray(content) ? content : [content, ""];
      if (!n) { cell.scope = "row"; }
      if (!n && style) {
        const mark = document.createElement("i");
        mark.className = style;
        cell.append(mark);
      } else if (style) {
        cell.className = style;
      }
      cell.append(String(text));
      return cell;
    }));
    return row;
  });
  if (!made.length) {
    const row = document.createElement("tr");
    const cell = document.createElement("td");
    cell.className = "none";
    cell.colSpan = 8;
    cell.append(nothing);
    row.append(cell);
    made.push(row);
  }
  at(id).replaceChildren(...made);
}

function showStatuses(statuses) {
  const all = Object.entries(statuses);
  const whole = all.reduce((sum, [, requests]) => sum + requests, 0);
  let start = 0;
  const parts = all.filter(([, requests]) => requests).map(([name, requests]) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const width = 100 * requests / whole;
    for (const [attribute, value] of [["x", start], ["width", width], ["height", 1], ["class", "c" + name[0]]]) {
      part.setAttribute(attribute, value);
    }
    start += width;
    return part;
  });
  at("bar").replaceChildren(...parts);
  const rows = all.filter(([name, requests]) => requests || name === "2xx" || name[0] > "3" && name[0] < "6");
  fill("statuses", rows.map(([name, requests]) => {
    return [[name === "none" ? "not answered" : name, "c" + name[0]], count(requests), share(requests, whole)];
  }), "none");
}

function showServer(server) {
  at("of_server").hidden = !server;
  at("tile_connections").hidden = !server;
  if (!server) { return; }
  say("connections", count(server.open_connections));
  say("accepted", count(server.accepted) + " accepted");
  remember("connections", server.open_connections);
  const words = (name) => name.replaceAll("_", " ");
  const rows = Object.entries(server).flatMap(([name, value]) => {
    if (typeof value !== "object") { return [[words(name), value]]; }
    return Object.entries(value).map(([label, inner]) => [words(name) + ", " + words(label), inner]);
  });
  fill("server", rows.filter(([, value]) => value).map(([name, value]) => [name, count(value)]), "nothing yet");
}

function show(all) {
  document.title = all.title;
  say("title", all.title);
  say("uptime", duration(all.uptime_seconds));
  say("last_second", count(all.last_second));
  say("per_second", all.per_second.toFixed(1) + " on average, last minute");
  draw("line_requests", all.seconds.map((second) => second[0]));
  say("p50", millis(all.latency.p50_ms));
  say("latency", "median; p90 " + millis(all.latency.p90_ms) + ", p99 " + millis(all.latency.p99_ms));
  remember("latency", all.latency.p50_ms);
  const [requests, errors] = all.seconds.reduce(([sum, bad], [one, other]) => [sum + one, bad + other], [0, 0]);
  say("errors", count(errors));
  say("error_share", share(errors, requests) + " of requests");
  at("tile_errors").className = errors ? "bad" : "";
  draw("line_errors", all.seconds.map((second) => second[1]));
  say("in_flight", count(all.in_flight));
  say("total", count(all.requests) + " since the start");
  remember("in_flight", all.in_flight);
  at("tile_memory").hidden = all.memory_bytes === null;
  if (all.memory_bytes !== null) {
    say("memory", bytes(all.memory_bytes));
    remember("memory", all.memory_bytes);
    say("most_memory", bytes(Math.max(...kept.memory)) + " at most, last minute");
  }
  const routes = [...all.routes].sort((one, other) => other.requests - one.requests);
  fill("routes", routes.map((route) => [
    route.route, count(route.requests), [count(route.errors), route.errors ? "bad" : ""], bytes(route.sent_bytes),
    millis(route.p50_ms), millis(route.p90_ms), millis(route.p99_ms), millis(route.max_ms),
  ]), "no requests yet");
  fill("slowest", all.slowest.map((slow) => [
    slow.method + " " + slow.path + (slow.is_cut ? "\u2026" : ""),
    [slow.status ?? "none", slow.status >= 500 ? "bad" : ""], millis(slow.ms), duration(slow.ago_seconds) + " ago",
  ]), "no requests yet");
  showStatuses(all.statuses);
  const reasons = Object.entries(all.cut_short).filter(([, responses]) => responses);
  fill("cut_short", reasons.map(([name, responses]) => [name, count(responses)]), "none");
  showServer(all.server);
}

let timer = 0;
let isPaused = false;

function state(text, style) {
  // Only changes, because a screen reader speaks them.
  if (at("state").textContent !== text) { say("state", text); }
  at("state").className = style;
}

async function poll() {
  clearTimeout(timer);
  try {
    const headers = { accept: "application/json" };
    const response = await fetch(location.pathname, { headers, cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!response.ok) { throw new Error("status " + response.status); }
    show(await response.json());
    state(isPaused ? "paused" : "live", isPaused ? "" : "live");
  } catch (error) {
    state("no figures: " + error.message, "bad");
  }
  clearTimeout(timer);
  if (!isPaused && !document.hidden) { timer = setTimeout(poll, 1000); }
}

at("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  say("pause", isPaused ? "Resume" : "Pause");
  clearTimeout(timer);
  if (isPaused) { state("paused", ""); } else { poll(); }
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused) { poll(); }
});
poll();
