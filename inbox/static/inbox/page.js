import { SignedOut, markRead, readPage, takeTokenFromUrl } from "./api.js";
import { ago, exactly, language, words } from "./words.js";

const REFRESH_EVERY = 15_000;

const element = (id) => document.getElementById(id);
const list = element("messages");
const template = element("message");
const rows = new Map();
let unread = 0;
let olderCursor = null;
let busy = false;

function speak() {
  document.documentElement.lang = language;
  document.title = words.title;
  for (const scope of [document, template.content]) {
    for (const node of scope.querySelectorAll("[data-word]")) node.textContent = words[node.dataset.word];
  }
}

function tell(title, text = "", { canRetry = false } = {}) {
  const notice = element("notice");
  element("retry").hidden = !canRetry;
  // Only when it is news: an alert is read out whenever it changes.
  if (!notice.hidden && notice.dataset.title === title) return;
  notice.dataset.title = title;
  notice.querySelector(".notice-title").textContent = title;
  notice.querySelector(".notice-text").textContent = text;
  notice.hidden = false;
}

function report(error) {
  if (error instanceof SignedOut) {
    for (const id of ["messages", "older", "refresh", "empty"]) element(id).hidden = true;
    element("count").textContent = "";
    tell(words.signedOutTitle, words.signedOutText);
    return;
  }
  tell(words.failedTitle, words.failedText, { canRetry: true });
}

function showCount() {
  const text = rows.size === 0 ? "" : words.count(unread);
  if (element("count").textContent !== text) element("count").textContent = text;
  element("count").classList.toggle("has-unread", unread > 0);
  document.title = unread === 0 ? words.title : `(${unread}) ${words.title}`;
}

function safeLink(text) {
  if (text === null || !URL.canParse(text, location.origin)) return null;
  const url = new URL(text, location.origin);
  return ["http:", "https:"].includes(url.protocol) ? url : null;
}

function makeRow(message) {
  const row = template.content.firstElementChild.cloneNode(true);
  const toggle = row.querySelector(".message-toggle");
  const panel = row.querySelector(".message-panel");
  const link = row.querySelector(".message-link");
  const url = safeLink(message.link);
  row.querySelector(".message-title").textContent = message.title || message.body;
  row.querySelector(".message-preview").textContent = message.title ? message.body : "";
  row.querySelector(".message-body").textContent = message.body;
  row.querySelector("time").dateTime = message.created_at;
  row.querySelector("time").title = exactly(Date.parse(message.created_at));
  panel.id = `panel-${message.id}`;
  toggle.setAttribute("aria-controls", panel.id);
  toggle.addEventListener("click", () => openOrClose(message.id));
  if (url !== null) {
    const isElsewhere = url.origin !== location.origin;
    link.href = url.href;
    link.textContent = isElsewhere ? `${words.open} · ${url.host}` : words.open;
    link.hidden = false;
  }
  return row;
}

function showRead(row, isRead) {
  row.classList.toggle("is-unread", !isRead);
  row.querySelector(".unseen").hidden = isRead;
}

function put(messages, { before }) {
  let anchor = before;
  for (const message of messages) {
    const known = rows.get(message.id);
    const row = known ?? makeRow(message);
    rows.set(message.id, row);
    if (known === undefined) list.insertBefore(row, anchor);
    else anchor = known.nextElementSibling;
    showRead(row, message.read_at !== null);
    row.querySelector("time").textContent = ago(Date.parse(message.created_at));
  }
}

async function openOrClose(id) {
  const row = rows.get(id);
  const toggle = row.querySelector(".message-toggle");
  const isOpen = toggle.getAttribute("aria-expanded") === "true";
  toggle.setAttribute("aria-expanded", String(!isOpen));
  row.querySelector(".message-panel").hidden = isOpen;
  if (isOpen || !row.classList.contains("is-unread")) return;
  showRead(row, true);
  try {
    await markRead(id);
    unread = Math.max(0, unread - 1);
    showCount();
  } catch (error) {
    showRead(row, false);
    if (error instanceof SignedOut) report(error);
    else tell(words.notMarkedTitle, words.failedText);
  }
}

function showPage(page, { isOlder }) {
  const isContinued = page.items.some((message) => rows.has(message.id));
  if (!isOlder && !isContinued) {
    // More than a page arrived since, or this is the first one: begin anew.
    rows.clear();
    list.replaceChildren();
  }
  if (isOlder || !isContinued) olderCursor = page.next_cursor;
  put(page.items, { before: isOlder ? null : list.firstElementChild });
  unread = page.unread_count;
  list.hidden = rows.size === 0;
  element("empty").hidden = rows.size !== 0;
  element("older").hidden = olderCursor === null;
  element("refresh").hidden = false;
  element("notice").hidden = true;
  showCount();
}

async function load({ isOlder = false } = {}) {
  if (busy) return;
  busy = true;
  list.setAttribute("aria-busy", "true");
  element("loading").hidden = rows.size !== 0 || !element("empty").hidden;
  try {
    showPage(await readPage(isOlder ? olderCursor : null), { isOlder });
  } catch (error) {
    report(error);
  } finally {
    busy = false;
    list.setAttribute("aria-busy", "false");
    element("loading").hidden = true;
  }
}

async function loadOlder() {
  const last = list.lastElementChild;
  await load({ isOlder: true });
  // The button may be gone, and the keyboard with it: go on where the new ones begin.
  last.nextElementSibling?.querySelector(".message-toggle").focus();
}

function refreshWhenSeen() {
  if (document.visibilityState === "visible" && !element("refresh").hidden) load();
}

speak();
takeTokenFromUrl();
element("refresh").addEventListener("click", () => load());
element("retry").addEventListener("click", () => load());
element("older").addEventListener("click", loadOlder);
document.addEventListener("visibilitychange", refreshWhenSeen);
window.addEventListener("hashchange", () => {
  takeTokenFromUrl();
  load();
});
setInterval(refreshWhenSeen, REFRESH_EVERY);
load();
