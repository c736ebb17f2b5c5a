// The token comes in the fragment, which no server and no log sees. It moves to the
// tab's own storage, so that it stays neither in the address bar nor in the history.

const root = document.querySelector("[data-user-id]");
const inbox = `/v1/users/${encodeURIComponent(root.dataset.userId)}/inbox`;
const slot = `token of ${root.dataset.userId}`;

export class SignedOut extends Error {}

export function takeTokenFromUrl() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  sessionStorage.setItem(slot, token);
  history.replaceState(null, "", location.pathname);
}

export async function readPage(cursor) {
  return call(cursor === null ? inbox : `${inbox}?cursor=${encodeURIComponent(cursor)}`);
}

export async function markRead(id) {
  return call(`${inbox}/${id}/read`, { method: "POST" });
}

async function call(url, options = {}) {
  const token = sessionStorage.getItem(slot);
  if (token === null) throw new SignedOut();
  const response = await fetch(url, {
    ...options,
    headers: { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(15_000),
  });
  // Somebody else's inbox answers like one that is not there.
  const refusals = options.method === undefined ? [401, 403, 404] : [401, 403];
  if (refusals.includes(response.status)) {
    sessionStorage.removeItem(slot);
    throw new SignedOut();
  }
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}
