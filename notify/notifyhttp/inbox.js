// The element <belfry-inbox src="/inbox/">, over the JSON of notifyhttp.Inbox. What
// messages say becomes text nodes and nothing else.
const english = {
	title: "Inbox", unread: "unread", empty: "No messages.", read: "Mark as read", unreadMark: "Mark as unread", archive: "Archive",
	unarchive: "Move to inbox", snooze: "Until tomorrow", unsnooze: "Show again", more: "More", failed: "Not available now. Please try again.",
	inbox: "Inbox", archived: "Archived", snoozed: "Later",
};
const style = `
:host { display: block; font: inherit; color: inherit; }
header { display: flex; flex-wrap: wrap; gap: .5rem; align-items: baseline; }
h2 { margin: 0; font-size: 1.2em; }
ol { list-style: none; margin: .5rem 0; padding: 0; }
li { padding: .75rem 0; border-block-end: 1px solid #8888; overflow-wrap: anywhere; }
li.new .subject { font-weight: 700; }
p { margin: .25rem 0; white-space: pre-line; }
time { opacity: .8; font-size: .9em; }
button { min-height: 2.75rem; min-width: 2.75rem; padding: .3rem .8rem; font: inherit; cursor: pointer; }
button[aria-pressed=true] { font-weight: 700; }
:focus-visible { outline: .2rem solid; outline-offset: .1rem; }`;

// make is an element with attributes and children; texts stay texts.
function make(tag, attributes = {}, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (name === "onclick") e.addEventListener("click", value);
		else e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

class BelfryInbox extends HTMLElement {
	#texts = english;
	#view = "inbox";
	#messages = [];
	#next = "";
	#turn = 0;
	#parts = {};

	connectedCallback() {
		if (!this.shadowRoot) this.#build();
		this.reload();
	}

	// reload shows the list from its beginning.
	async reload() {
		const turn = ++this.#turn; // a later one wins
		try {
			const [list, count] = await Promise.all([this.#get(this.#query("")), this.#get("count")]);
			if (turn !== this.#turn) return;
			this.#messages = list.messages;
			this.#next = list.next || "";
			this.#draw(count);
			this.#say("");
			const fresh = list.messages.filter(m => m.status === "Unseen");
			if (this.#view === "inbox" && fresh.length > 0) await this.#post("mark", { as: "Seen", ids: fresh.map(m => m.id) });
		} catch {
			if (turn === this.#turn) this.#say(this.#texts.failed);
		}
	}

	#build() {
		try {
			const own = this.querySelector('script[type="application/json"]');
			if (own) this.#texts = { ...english, ...JSON.parse(own.textContent) };
		} catch { /* English, then */ }
		const root = this.attachShadow({ mode: "open" });
		const sheet = new CSSStyleSheet(); // which a style-src of the page does not refuse
		sheet.replaceSync(style);
		root.adoptedStyleSheets = [sheet];
		const p = this.#parts;
		p.count = make("span", { role: "status" });
		p.views = ["inbox", "snoozed", "archived"].map(view =>
			make("button", { type: "button", "data-view": view, onclick: () => { this.#view = view; this.reload(); } }, String(this.#texts[view])));
		p.list = make("ol");
		p.none = make("p", { hidden: "" }, String(this.#texts.empty));
		p.more = make("button", { type: "button", hidden: "", onclick: () => this.#more() }, String(this.#texts.more));
		p.said = make("p", { role: "alert" });
		root.append(make("header", {}, make("h2", {}, String(this.#texts.title)), p.count), make("nav", { "aria-label": String(this.#texts.title) }, ...p.views), p.said, p.list, p.none, p.more);
	}

	#query(after) {
		const q = new URLSearchParams({ limit: "20" });
		if (this.#view !== "inbox") q.set(this.#view, "1");
		if (after) q.set("after", after);
		return "?" + q;
	}

	async #more() {
		const turn = this.#turn;
		try {
			const list = await this.#get(this.#query(this.#next));
			if (turn !== this.#turn) return;
			this.#messages.push(...list.messages);
			this.#next = list.next || "";
			this.#draw(await this.#get("count"));
		} catch {
			this.#say(this.#texts.failed);
		}
	}

	async #do(path, body) {
		try {
			await this.#post(path, body);
		} catch {
			this.#say(this.#texts.failed);
			return;
		}
		await this.reload();
	}

	#draw(count) {
		const p = this.#parts, t = this.#texts;
		for (const b of p.views) b.setAttribute("aria-pressed", String(b.dataset.view === this.#view));
		p.count.textContent = count.unread > 0 ? `${count.unread} ${t.unread}` : "";
		p.list.replaceChildren(...this.#messages.map(m => this.#item(m)));
		p.none.hidden = this.#messages.length > 0;
		p.more.hidden = !this.#next;
		this.dispatchEvent(new CustomEvent("belfry-inbox", { detail: count, bubbles: true }));
	}

	#item(m) {
		const t = this.#texts, ids = [m.id], buttons = [];
		const button = (text, path, body) => buttons.push(make("button", { type: "button", onclick: () => this.#do(path, body) }, String(text)));
		const mark = (text, as) => button(text, "mark", { as, ids });
		if (this.#view === "archived") mark(t.unarchive, "Unarchived");
		else {
			if (m.status === "Read") mark(t.unreadMark, "Unread");
			else mark(t.read, "Read");
			if (this.#view === "snoozed") button(t.unsnooze, "snooze", { until: new Date().toISOString(), ids });
			else button(t.snooze, "snooze", { until: tomorrow().toISOString(), ids });
			mark(t.archive, "Archived");
		}
		const on = new Date(m.on);
		const attributes = { class: m.status === "Unseen" || m.status === "Seen" ? "new" : "old", dir: "auto" };
		if (m.locale) attributes.lang = m.locale;
		return make("li", attributes,
			make("p", { class: "subject", dir: "auto" }, m.subject || m.type), make("p", { dir: "auto" }, m.text || ""),
			make("time", { datetime: m.on }, isNaN(on) ? "" : on.toLocaleString()), make("div", {}, ...buttons));
	}

	#say(text) { this.#parts.said.textContent = text; }

	#url(path) {
		const base = new URL(this.getAttribute("src") || "./", document.baseURI);
		if (!base.pathname.endsWith("/")) base.pathname += "/";
		return new URL(path, base);
	}

	#get(path) { return this.#call(path, {}); }

	#post(path, body) {
		return this.#call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
	}

	async #call(path, options) {
		const answer = await fetch(this.#url(path), { credentials: "same-origin", ...options });
		if (!answer.ok) throw new Error(String(answer.status));
		return answer.json();
	}
}

// tomorrow is the next day at nine, where the reader is.
function tomorrow() {
	const at = new Date();
	at.setDate(at.getDate() + 1);
	at.setHours(9, 0, 0, 0);
	return at;
}

if (!customElements.get("belfry-inbox")) customElements.define("belfry-inbox", BelfryInbox);
