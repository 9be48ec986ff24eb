// The phone's page: asks the local API and shows the answers as text, never as markup.
import { spendingChart } from "/chart.js";
import { say, setLanguage } from "/words.js";

const PAGE = 50;
const KINDS = ["", "turn", "event", "preference", "entity", "change", "fact", "skill", "pattern", "run", "archive"];
const at = (id) => document.getElementById(id);
const state = { kind: "", offset: 0, query: "", language: "en" };

const fragment = new URLSearchParams(location.hash.slice(1)).get("token");
if (fragment) {
  sessionStorage.setItem("token", fragment);
  history.replaceState(null, "", location.pathname);
}

const make = (name, text, attributes = {}) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

const ask = async (path, values = {}, body) => {
  const headers = { authorization: `Bearer ${sessionStorage.getItem("token") ?? ""}` };
  const query = new URLSearchParams({ ...values, language: state.language });
  const options = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`/api/${path}?${query}`, options);
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
};

const note = (text) => { at("note").textContent = text; };
const guarded = (work) => async (...values) => {
  try { await work(...values); } catch (error) { note(say("failed", { why: error.message })); }
};

const moment = (seconds) => new Date(seconds * 1000).toLocaleString(state.language, { dateStyle: "medium", timeStyle: "short" });

// --- the list ---

const classOf = (memory) => {
  if (memory.kind === "public") return { class: "public" };
  return memory.replaced || memory.state === "cancelled" ? { class: "old" } : {};
};

const row = (memory) => {
  const line = make("li", undefined, classOf(memory));
  const about = [say(memory.kind), memory.origin ?? moment(memory.at), memory.app, memory.speaker];
  if (memory.state && memory.state !== "active") about.push(memory.state);
  const buttons = make("span", undefined, { class: "buttons" });
  const why = make("button", say("why"), { type: "button", "aria-label": `${say("whyTitle")} ${memory.text}` });
  why.addEventListener("click", guarded(() => explain(memory)));
  const erase = make("button", say("forget"), { type: "button", class: "danger", "aria-label": `${say("forget")}: ${memory.text}` });
  erase.addEventListener("click", guarded(() => askToForget(memory)));
  // What everybody is told is no memory: it has no turns behind it and is dropped by the document.
  if (memory.kind !== "public") buttons.append(why, erase);
  line.append(make("span", memory.text, { class: "text" }), make("span", about.filter(Boolean).join(" · "), { class: "about" }), buttons);
  return line;
};

const list = guarded(async () => {
  at("changes").replaceChildren();
  if (state.query) return search();
  const archived = state.kind === "archive" ? { archived: "yes" } : {};
  const kind = state.kind === "archive" ? "" : state.kind;
  const { rows, total } = await ask("memories", { kind, offset: state.offset, limit: PAGE, ...archived });
  at("rows").replaceChildren(...rows.map(row));
  note(total ? "" : say("nothing"));
  const last = Math.min(state.offset + PAGE, total);
  at("place").textContent = total ? say("place", { first: state.offset + 1, last, total }) : "";
  at("earlier").disabled = state.offset === 0;
  at("later").disabled = last >= total;
});

const search = async () => {
  const found = await ask("recall", { q: state.query });
  at("rows").replaceChildren(...found.rows.map(row));
  const notes = [found.rows.length ? say("found", { count: found.rows.length }) : say("noAnswer")];
  if (found.missing.length) notes.push(say("missing", { what: found.missing.join(", ") }));
  if (found.conflicts.length) notes.push(say("conflict"));
  note(notes.join(" "));
  at("changes").replaceChildren(...found.changes.map((text) => make("li", text)));
  at("place").textContent = "";
  at("earlier").disabled = at("later").disabled = true;
};

const kinds = () => {
  at("kinds").replaceChildren(...KINDS.map((kind) => {
    const button = make("button", say(kind || "all"), { type: "button", "aria-pressed": String(!state.query && kind === state.kind) });
    button.addEventListener("click", () => {
      Object.assign(state, { kind, offset: 0, query: "" });
      at("query").value = "";
      kinds();
      list();
    });
    return button;
  }));
};

// --- one memory ---

let opener = null;
const open = (title, parts, confirm) => {
  opener = document.activeElement;
  at("title").textContent = title;
  at("body").replaceChildren(...parts);
  at("confirm").hidden = !confirm;
  if (confirm) {
    at("confirm").textContent = confirm.name;
    at("confirm").onclick = guarded(async () => { at("detail").close(); await confirm.work(); });
  }
  at("detail").showModal();
};

const block = (title, lines) => {
  if (!lines.length) return [];
  const items = make("ul");
  items.append(...lines.map((line) => make("li", line)));
  return [make("h3", title), items];
};

const told = (turn) => `${turn.speaker ? `${turn.speaker}: ` : ""}${turn.text} — ${moment(turn.at)}${turn.source ? ` (${turn.source})` : ""}`;

const explain = async (memory) => {
  const shown = await ask("show", { id: memory.id });
  const sources = shown.turn ? [shown.turn] : shown.sources;
  const parts = [
    make("p", memory.text),
    ...block(say("sources"), sources.map(told)),
    ...block(say("learnt"), shown.runs),
    ...block(say("older_"), shown.older.map((item) => item.text)),
    ...block(say("changes"), shown.changes.map((item) => item.text)),
    ...block(say("drawn"), shown.drawn.map((item) => item.text)),
  ];
  if (!sources.length && !shown.runs.length) parts.push(make("p", say(shown.gone.length ? "goneTurns" : "noSources")));
  open(say("whyTitle"), parts);
};

const askToForget = async (memory) => {
  const plan = await ask("plan", {}, { ids: [memory.id] });
  const parts = [make("p", say("forgetWhat", plan)), ...block("", plan.shown.map((one) => one.text))];
  open(say("forgetTitle"), parts, { name: say("forget"), work: async () => {
    const gone = await ask("forget", {}, { ids: [memory.id] });
    await refresh();
    note(say("forgotten", gone));
  } });
};

// --- the phone ---

const windowLine = ({ idle, charging, unmetered, window_open: isOpen }) => {
  if (isOpen) return say("windowOpen");
  const why = [!idle && say("notIdle"), !charging && say("notCharging"), !unmetered && say("metered")].filter(Boolean);
  return say("windowShut", { why: (why.length ? why : [say("battery")]).join(", ") });
};

const bytes = (count) => count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;

const short = (fingerprint) => `${fingerprint.slice(0, 16)}…`;

const privacyLines = (budget) => {
  const lines = [say("windows", { month: budget.epsilon_month.toFixed(2), year: budget.epsilon_year.toFixed(2),
    lifetime: budget.epsilon_lifetime.toFixed(1), delta: budget.delta })];
  for (const [name, stream] of Object.entries(budget.streams)) {
    lines.push(say("stream", { name, tasks: stream.tasks.join(", "), left: `${Math.round(100 * stream.left)} %`,
      report: stream.epsilon_report.toFixed(2) }));
  }
  if (budget.helper) lines.push(say(budget.helper_pinned ? "helperPinned" : "helperFirst", { helper: short(budget.helper) }));
  return lines;
};

const alarm = (budget) => {
  if (budget.suspicion) return say("suspected", { why: say(budget.suspicion) });
  if (budget.quarantined_at === null) return "";
  return say("quarantined", { day: moment(budget.quarantined_at), why: say(budget.quarantine) });
};

const phone = async () => {
  const status = await ask("status");
  at("window").textContent = windowLine(status.conditions);
  const { memory, budget } = status;
  const pairs = [
    [say("turns"), memory.turns], [say("items"), memory.items], [say("archived"), memory.archived],
    [say("stored"), bytes(memory.bytes_stored)],
    [say("key"), status.protector_secure ? status.protector : say("insecure", { name: status.protector })],
    ...Object.entries(status.models).map(([name, model]) => [say("model", { name }),
      say("version", { version: model.version || "–", outcome: model.last_outcome || say("none") })]),
    [say("routing"), say("floors", { floors: Object.entries(status.floors).filter(([, floor]) => typeof floor === "number")
      .map(([layer, floor]) => `${layer} ${floor.toFixed(2)}`).join(", "), source: say(`floors_${status.floors.source}`) })],
    [say("waiting"), status.outbox], ...status.problems.map((problem) => [say("lastSync"), problem]),
    [say("cloud"), status.cloud_url || say("alone")],
  ];
  at("facts").replaceChildren(...pairs.flatMap(([name, value]) => [make("dt", name), make("dd", String(value))]));
  const words = { spent: budget.epsilon_spent.toFixed(2), cap: budget.epsilon_cap.toFixed(1), reports: budget.reports, name: budget.name };
  at("budget").textContent = say("budget", words) + (budget.private ? "" : ` ${say("notPrivate")}`);
  at("privacyFacts").replaceChildren(...privacyLines(budget).map((line) => make("li", line)));
  at("alarm").textContent = alarm(budget);
  at("chart").replaceChildren(status.spending.length
    ? spendingChart(status.spending, budget.epsilon_cap, say("chart", words), state.language)
    : make("p", say("noReports")));
  at("exploring").hidden = !Object.keys(status.questions).length;
  at("questions").replaceChildren(...Object.entries(status.questions).map(question));
};

const tell = async (text, topic = "") => {
  await ask("prefer", {}, { text, topic });
  await refresh();
  note(say("told"));
};

const question = ([topic, words]) => {
  const form = make("form", undefined, { class: "question" });
  const input = make("input", undefined, { id: `about-${topic}`, maxlength: "2000", autocomplete: "off" });
  form.append(make("label", words, { for: `about-${topic}` }), input, make("button", say("tell"), { type: "submit" }));
  form.addEventListener("submit", guarded(async (event) => {
    event.preventDefault();
    if (input.value.trim()) await tell(input.value.trim(), topic);
  }));
  return form;
};

const refresh = guarded(async () => { await Promise.all([list(), phone()]); });

// --- set up ---

const speak = (language) => {
  state.language = language;
  setLanguage(language);
  localStorage.setItem("language", language);
  document.documentElement.lang = language;
  at("language").value = language;
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say);
  at("query").placeholder = say("searchHint");
  at("query").setAttribute("aria-label", say("search"));
  at("told").placeholder = say("tellHint");
  at("told").setAttribute("aria-label", say("tell"));
  kinds();
  refresh();
};

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  Object.assign(state, { query: at("query").value.trim(), offset: 0 });
  kinds();
  list();
});
at("earlier").addEventListener("click", () => { state.offset = Math.max(state.offset - PAGE, 0); list(); });
at("later").addEventListener("click", () => { state.offset += PAGE; list(); });
at("close").addEventListener("click", () => at("detail").close());
at("detail").addEventListener("close", () => (opener?.isConnected ? opener : at("memories")).focus());
at("language").addEventListener("change", (event) => speak(event.target.value));
at("everything").addEventListener("click", () => open(say("eraseAllTitle"), [make("p", say("eraseAllWhy"))], {
  name: say("eraseAll"), work: async () => {
    const gone = await ask("forget-everything", {}, { everything: true });
    await refresh();
    note(say("forgotten", gone));
  } }));
at("tell").addEventListener("submit", guarded(async (event) => {
  event.preventDefault();
  const text = at("told").value.trim();
  if (!text) return;
  at("told").value = "";
  await tell(text);
}));
addEventListener("keydown", (event) => {
  const typing = /^(input|select|textarea)$/i.test(document.activeElement?.tagName ?? "");
  if (event.key === "/" && !typing && !at("detail").open) { event.preventDefault(); at("query").focus(); }
});
speak(localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
