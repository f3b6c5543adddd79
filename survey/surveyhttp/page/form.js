(() => {
	"use strict";

	// Only a page that somebody looks at was opened.
	const opened = document.body.dataset.opened;
	const tell = () => {
		if (document.visibilityState !== "visible") return;
		document.removeEventListener("visibilitychange", tell);
		fetch(opened, {method: "POST", keepalive: true, credentials: "omit"}).catch(() => {});
	};
	if (opened) {
		document.addEventListener("visibilitychange", tell);
		tell();
	}

	// What was typed stays in this tab until it was sent, so that a reload or a restored
	// tab does not lose it. A page that answers a POST brings it along.
	const form = document.querySelector("form");
	const draft = "belfry.survey." + location.pathname.replace(/\/responses$/, "").split("/").pop();
	const fields = () => [...form.elements].filter((e) => e.name.startsWith("q."));
	const choice = (e) => e.type === "radio" || e.type === "checkbox";
	const keep = () => {
		const typed = fields().filter((e) => !choice(e) || e.checked).map((e) => [e.name, e.value]);
		try { sessionStorage.setItem(draft, JSON.stringify(typed)); } catch {}
	};
	const restore = () => {
		let typed = null;
		try { typed = JSON.parse(sessionStorage.getItem(draft)); } catch {}
		if (!typed) return;
		for (const e of fields()) {
			const values = typed.filter(([name]) => name === e.name).map(([, value]) => value);
			if (choice(e)) e.checked = values.includes(e.value);
			else e.value = values[fields().filter((f) => f.name === e.name).indexOf(e)] || ""; // a ranking has several
		}
	};
	if ("sent" in document.body.dataset) try { sessionStorage.removeItem(draft); } catch {}
	if (!form) return;
	// Back to a page of a form that was sent since: its address says what there is to do.
	const gone = () => {
		try { return !opened && performance.getEntriesByType("navigation")[0].type === "back_forward" && sessionStorage.getItem(draft) === null; } catch { return false; }
	};
	if (gone()) {
		document.querySelector("main").hidden = true;
		location.replace(location.href);
		return;
	}

	// Questions come and go with the answers before them. The server decides in the
	// end: what this gets wrong costs the customer one more page.
	// A number is kept as it was written, {number: "12.50"}.
	const decimal = (v) => {
		const text = v && v.number || (typeof v === "string" || typeof v === "number" ? String(v) : "");
		const m = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
		return m && {digits: BigInt((m[1] === "-" ? "-" : "") + m[2] + (m[3] || "")), power: Number(m[4] || 0) - (m[3] || "").length};
	};
	const compare = (a, b) => {
		if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
		const x = decimal(a), y = decimal(b);
		if (!x || !y) return NaN;
		const least = Math.min(x.power, y.power);
		const difference = x.digits * 10n ** BigInt(x.power - least) - y.digits * 10n ** BigInt(y.power - least);
		return difference < 0n ? -1 : difference > 0n ? 1 : 0;
	};
	const has = (list, v) => Array.isArray(list) && list.some((e) => compare(e, v) === 0);
	const conditions = {
		"==": (a, b) => compare(a, b) === 0,
		"!=": (a, b) => compare(a, b) !== 0,
		"<": (a, b) => compare(a, b) < 0,
		"<=": (a, b) => compare(a, b) <= 0,
		">": (a, b) => compare(a, b) > 0,
		">=": (a, b) => compare(a, b) >= 0,
		"in": (a, b) => has(b, a),
		"notIn": (a, b) => !has(b, a),
		"contains": (a, b) => typeof a === "string" ? typeof b === "string" && a.includes(b) : has(a, b),
		"startsWith": (a, b) => typeof a === "string" && typeof b === "string" && a.startsWith(b),
		"exists": (a, b) => (a !== undefined) === (b !== false),
	};
	const match = (f, values) => {
		if (f.all) return f.all.every((g) => match(g, values));
		if (f.any) return f.any.some((g) => match(g, values));
		if (f.not) return !match(f.not, values);
		return conditions[f.op](values.get(f.questionId), f.value);
	};

	// Numbers are read as the page's language writes them, as the server does.
	const digit = (c) => {
		let zero = c.codePointAt(0);
		while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
		return (c.codePointAt(0) - zero) % 10;
	};
	const same = {"−": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "﹣": "-", "－": "-", "＋": "+", "．": ".", "，": ",", "،": ",", "、": ",", "’": "'", "ʼ": "'", "＇": "'", "٬": "'"};
	const plain = (text) => [...text].map((c) => /\p{Nd}/u.test(c) ? digit(c) : /\s/.test(c) ? " " : /\p{Cf}/u.test(c) ? "" : same[c] || c).join("").trim();
	const signs = {};
	for (const {type, value} of new Intl.NumberFormat(document.documentElement.lang || "en").formatToParts(1234567.5)) signs[type] = plain(value) || " ";
	const grouped = (text, sign) => text.includes(sign) && text.replace(/^[+-]+/, "").split(sign).every((part, i, all) =>
		/^\d+$/.test(part) && part.length <= 3 && part.length >= (i === 0 ? 1 : i === all.length - 1 ? 3 : 2) && (i > 0 || part[0] !== "0"));
	const number = (typed) => {
		const text = plain(typed), marks = text.replace(/[^.,]/g, "");
		let point = text.includes("٫") ? "٫" : marks.length === 1 || marks.includes(".") && marks.includes(",") ? marks.at(-1) : "";
		if (marks.length === 1 && point === marks && point !== signs.decimal && grouped(text, point)) {
			if (point !== signs.group) return undefined;
			point = "";
		}
		const at = point ? text.indexOf(point) : text.length;
		let whole = text.slice(0, at);
		const sign = [" ", "'", ".", ","].find((s) => s !== point && grouped(whole, s));
		if (sign) whole = whole.replaceAll(sign, "");
		const latin = whole + (point ? "." + text.slice(at + 1) : "");
		return decimal(latin) ? {number: latin} : undefined;
	};
	const ranked = (q) => {
		const order = [...q.querySelectorAll("select")].filter((e) => e.value).sort((a, b) => a.value - b.value);
		const whole = order.length === q.querySelectorAll("select").length && order.every((e, i) => Number(e.value) === i + 1);
		return whole ? order.map((e) => e.dataset.value) : undefined;
	};
	const answer = (q) => {
		if (q.dataset.type === "ranking") return ranked(q);
		const chosen = [...q.querySelectorAll("input:checked, option:checked")].map((e) => e.value).filter((v) => v);
		if (q.dataset.type === "multiple") return chosen.length ? chosen : undefined;
		const control = q.querySelector("input:not([type=radio]), textarea");
		const value = control ? control.value : chosen[0] || "";
		if (!value.trim()) return undefined;
		return ["number", "rating", "nps"].includes(q.dataset.type) ? number(value) : value;
	};
	const show = () => {
		const values = new Map();
		for (const q of form.querySelectorAll("[data-q]")) {
			const on = q.closest("[data-when]");
			if (on) on.hidden = on.disabled = !match(JSON.parse(on.dataset.when), values);
			const value = on && on.hidden ? undefined : answer(q);
			if (value !== undefined) values.set(q.dataset.q, value);
		}
	};
	// An option that stands alone takes the others away, and the other way round.
	form.addEventListener("change", ({target}) => {
		if (target.type !== "checkbox" || !target.checked) return;
		const alone = "alone" in target.dataset;
		for (const e of target.closest("fieldset").querySelectorAll("input:checked")) {
			if (e !== target && (alone || "alone" in e.dataset)) e.checked = false;
		}
	});
	if (opened) restore(); else keep();
	for (const event of ["input", "change"]) form.addEventListener(event, () => { keep(); show(); });
	window.addEventListener("pageshow", show); // back again: the browser has filled in what was there
	show();

	const summary = document.querySelector(".summary");
	if (summary) summary.focus();
})();
