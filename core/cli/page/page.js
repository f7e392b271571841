/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the run whose JSON stands in this page. All that comes from a job becomes the text of a node, never HTML, and no
 * address is loaded. #log=JOB/REPLICA/CONTAINER&q=WORDS&regex=1 in the page's address chooses a log and searches.
 */
"use strict";
(function () {
	const run = JSON.parse(document.getElementById("run").textContent);
	const SVG = "http://www.w3.org/2000/svg";
	const STEP = 2000; // lines that are shown at a time
	const start = run.startedAt;
	const end = run.endedAt || run.madeAt;
	const state = run.state || {};
	const jobs = objectsOf(state.jobs);
	const results = objectsOf(state.results);

	/* What is damaged may have other types. */
	function objectsOf(list) {
		return Array.isArray(list) ? list.filter(item => item && typeof item === "object") : [];
	}

	function append(node, children) {
		for (const child of children) {
			if (child !== null && child !== undefined)
				node.append(child);
		}
		return node;
	}

	function el(tag, className, ...children) {
		const node = document.createElement(tag);
		if (className)
			node.className = className;
		return append(node, children);
	}

	function svg(tag, attributes, ...children) {
		const node = document.createElementNS(SVG, tag);
		for (const key of Object.keys(attributes))
			node.setAttribute(key, attributes[key]);
		return append(node, children);
	}

	function place(id, ...children) {
		return append(document.getElementById(id), children);
	}

	function words(value) {
		return value === null || value === undefined ? "" : String(value);
	}

	/* "0.250 s", "12.3 s", "4 min 05 s", "2 h 03 min" */
	function span(ms) {
		const s = ms / 1000;
		if (s < 60)
			return (s < 10 ? s.toFixed(3) : s.toFixed(1)) + " s";
		if (s < 3600)
			return Math.floor(s / 60) + " min " + String(Math.floor(s % 60)).padStart(2, "0") + " s";
		return Math.floor(s / 3600) + " h " + String(Math.floor(s / 60) % 60).padStart(2, "0") + " min";
	}

	const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];
	function bytes(n) {
		let i = 0;
		for (; n >= 1024 && i + 1 < UNITS.length; i++)
			n /= 1024;
		return (i ? n.toFixed(1) : n) + " " + UNITS[i];
	}

	function clock(ms) {
		return ms ? new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC") : "unknown";
	}

	function number(value) {
		return value === null ? "not finite" : String(Number(value.toPrecision(5)));
	}

	/* What a terminal would show of a line: no escapes, the state after the last carriage return. Other control
	   characters, and those that turn the direction of text, are shown as symbols. */
	const ESCAPES = /\u001b\[[0-?]*[ -\/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -\/]*[0-Z\\^-~]/g;
	function shown(text) {
		let line = text.replace(ESCAPES, "").replace(/\r+$/, "");
		line = line.slice(line.lastIndexOf("\r") + 1);
		return line.replace(/[\u0000-\u0008\u000b-\u001f]/g, c => String.fromCharCode(0x2400 + c.charCodeAt(0)))
			.replace(/[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
				c => "<U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");
	}

	function fileLink(path, text) {
		const link = el("a", "", text || path);
		link.href = "file://" + path.split("/").map(encodeURIComponent).join("/");
		return link;
	}

	function tone(result) {
		const tones = {Succeeded: "ok", Failed: "bad", Killed: "bad", TimedOut: "bad", Running: "run", Pending: "run",
			Created: "run", Restarting: "run"};
		return tones[result] || "stop";
	}

	function jobState(job) {
		const over = job.state === "Succeeded" || job.state === "Failed" || run.life === "running";
		return words(over && job.state ? job.state : run.result);
	}

	/* The commands of a job, one line for each replica type and container. */
	function commands(job) {
		const found = [];
		const object = (run.objects || []).find(o => o && o.kind === job.kind && o.metadata &&
			o.metadata.name === job.name) || {};
		for (const [key, specs] of Object.entries(object.spec || {})) {
			if (!/ReplicaSpecs?$/.test(key) || !specs)
				continue;
			for (const [type, replica] of Object.entries(specs)) {
				const spec = replica && replica.template && replica.template.spec;
				for (const container of spec && Array.isArray(spec.containers) ? spec.containers : []) {
					found.push([type + " / " + words(container.name),
						[].concat(container.command || [], container.args || []).map(quote).join(" ")]);
				}
			}
		}
		return found;
	}

	function quote(word) {
		const text = words(word);
		return /^[\w@%+=:,.\/-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
	}

	function table(rows) {
		const body = el("table", "");
		for (const [name, value] of rows) {
			if (value !== "" && value !== null && value !== undefined)
				body.append(el("tr", "", el("th", "", name), el("td", "", value)));
		}
		return body;
	}

	function head() {
		const names = jobs.map(job => words(job.kind) + " " + words(job.name)).join(", ");
		document.title = run.name + ": " + run.result;
		place("head", el("h1", "", names || run.name, " ", el("span", "badge " + tone(run.result), run.result)));
		if (run.life === "running")
			place("head", el("p", "note", "This run goes on. The page shows it as it was at " + clock(run.madeAt) + "."));
		if (run.life === "killed")
			place("head", el("p", "note", "The process of this run was killed before it could write how it ended."));
		if (run.life === "unread")
			place("head", el("p", "note", "The state of this run cannot be read, or a later version of Roundhouse wrote " +
				"it. The page shows what else lies in its folder."));
		const rows = [["Run", run.name], ["Started", clock(start)],
			["Ended", run.life === "running" ? "" : clock(run.endedAt)],
			["Duration", start && end >= start ? span(end - start) : "unknown"],
			["Exit status", words(state.exitStatus)],
			["From", (Array.isArray(state.sources) ? [...new Set(state.sources)] : []).join(", ")],
			["Folder", fileLink(run.path)]];
		for (const job of jobs) {
			const replicas = Object.entries(job.replicas || {}).map(([type, n]) => n + " " + type).join(", ");
			rows.push([words(job.kind), words(job.namespace) + "/" + words(job.name) + ": " + jobState(job) + ", " +
				replicas]);
			for (const [who, command] of commands(job))
				rows.push(["Command of " + who, el("code", "", command)]);
		}
		place("head", table(rows));
		if (run.life === "ended" || run.life === "killed")
			place("head", el("p", "note", "Run it again: ", el("code", "", "roundhouse rerun " + quote(run.name))));
	}

	function faults() {
		for (const job of jobs) {
			const fault = job.firstFault;
			if (!fault)
				continue;
			const box = el("div", "fault", el("h3", "", words(job.name) + ": " + words(fault.message)));
			const facts = [["class", fault.class], ["rank", fault.rank], ["exit code", fault.exitCode],
				["signal", fault.signal], ["reason", fault.reason],
				["after", fault.at && start ? span(Date.parse(fault.at) - start) : null]]
				.filter(([, value]) => value !== null && value !== undefined)
				.map(([name, value]) => name + " " + value).join(", ");
			box.append(el("p", "note", facts));
			if (Array.isArray(fault.lines) && fault.lines.length > 0)
				box.append(el("pre", "", fault.lines.map(line => shown(words(line))).join("\n")));
			const log = run.logs.findIndex(l => fault.replica && l.job === job.logs &&
				l.replica === String(fault.replica).toLowerCase() && (!fault.container || l.container === fault.container));
			if (log >= 0)
				box.append(logLink(log, "its log"));
			if (!document.querySelector("#faults h2"))
				place("faults", el("h2", "", "First fault"));
			place("faults", box);
		}
	}

	function countOf(list, keyOf) {
		const counts = new Map();
		for (const item of list)
			counts.set(keyOf(item), (counts.get(keyOf(item)) || 0) + 1);
		return counts;
	}

	const logsOfReplica = countOf(run.logs, log => log.job + "/" + log.replica);
	function logName(log) {
		return (jobs.length > 1 || jobs.length === 0 ? log.job + "/" : "") + log.replica +
			(logsOfReplica.get(log.job + "/" + log.replica) > 1 ? "/" + log.container : "");
	}

	function logKey(log) {
		return log.job + "/" + log.replica + "/" + log.container;
	}

	function logLink(index, text) {
		const link = el("a", "", text);
		link.href = "#log=" + encodeURIComponent(logKey(run.logs[index]));
		return link;
	}

	/* Ticks of an axis at round numbers. */
	function ticks(low, high, most) {
		const raw = (high - low) / most;
		if (!(raw > 0) || !isFinite(raw))
			return [low];
		const unit = Math.pow(10, Math.floor(Math.log10(raw)));
		const step = [1, 2, 5, 10].map(n => n * unit).find(n => n >= raw);
		const found = [];
		for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6 && found.length < 50; at += step)
			found.push(Number(at.toPrecision(12)));
		return found;
	}

	/* Attempts of each container: {key, name, bars: [{from, to, tone, text}]}. */
	function attempts() {
		const rows = new Map();
		const outcome = new Map();
		for (const row of results)
			outcome.set(row.job + "/" + (words(row.replicaType) + "-" + row.index).toLowerCase(), row);
		function rowOf(job, replica, container) {
			const key = job + "/" + replica + "/" + container;
			if (!rows.has(key)) {
				rows.set(key, {job, replica, container, bars: [], open: null});
			}
			return rows.get(key);
		}
		for (const event of run.events) {
			if (!event || event.type !== "pod" || !event.startedAt)
				continue;
			const row = rowOf(words(event.job), words(event.replica), words(event.container));
			const from = Date.parse(event.startedAt);
			if (event.state === "running") {
				row.open = from;
			} else {
				const to = Date.parse(event.finishedAt);
				const how = event.signal ? "signal " + event.signal : "exit code " + event.exitCode;
				row.bars.push(event.stopped ? {from, to, tone: "stop", text: ": stopped after " + span(to - from)}
					: {from, to, tone: event.exitCode === 0 ? "ok" : "bad",
						text: ": " + how + (event.reason ? ", " + event.reason : "") + " after " + span(to - from)});
				row.open = row.open === from ? null : row.open;
			}
		}
		for (const row of rows.values()) {
			if (row.open !== null) {
				row.bars.push({from: row.open, to: end, tone: run.life === "running" ? "run" : "stop",
					text: run.life === "running" ? ": runs" : ": ran until the run ended"});
			}
			const result = outcome.get(row.job + "/" + row.replica);
			const last = row.bars[row.bars.length - 1];
			if (result && result.outcome === "Stopped" && last && last.tone === "bad") {
				last.tone = "stop"; // runs of an earlier version do not say so of each end
				last.text = ": stopped after " + span(last.to - last.from);
			}
		}
		return namedRows([...rows.values()].filter(row => row.bars.length > 0));
	}

	/* A container has a name of its own where its replica has several. */
	function namedRows(rows) {
		const containers = countOf(rows, row => row.job + "/" + row.replica);
		for (const row of rows) {
			row.name = (jobs.length > 1 ? row.job + "/" : "") + row.replica +
				(containers.get(row.job + "/" + row.replica) > 1 ? "/" + row.container : "");
		}
		return rows;
	}

	const collator = new Intl.Collator("en", {numeric: true});
	function colour(index) {
		return "hsl(" + Math.round(210 + index * 137.5) % 360 + " 60% 50%)";
	}

	/* The room that the page has for a drawing: {all, left, right}, left and right of what is drawn. */
	function room() {
		const all = Math.max(280, document.querySelector("main").clientWidth);
		return {all, left: all > 700 ? 210 : 100, right: all - (all > 700 ? 40 : 16)};
	}

	/* The end of a name, so long that it fits into a width in pixels. */
	function fit(name, width) {
		const most = Math.floor(width / 6.2);
		return name.length > most ? "\u2026" + name.slice(1 - most) : name;
	}

	/* Times of all that is drawn beside the time line, and where they lie: {first, last, x}, and those of room(). */
	function axisOfTime(rows) {
		const place = room();
		const first = Math.min(start, ...rows.map(row => row.bars[0].from));
		const last = Math.max(end, first + 1, ...rows.map(row => row.bars[row.bars.length - 1].to));
		return {first, last, x: at => place.left + (at - first) / (last - first) * (place.right - place.left), ...place};
	}

	function timeLine() {
		const rows = attempts();
		if (!start || rows.length === 0)
			return;
		rows.sort((a, b) => collator.compare(a.name, b.name));
		const HEIGHT = 18, TOP = 24;
		const {first, last, x, all, left, right} = axisOfTime(rows);
		const bottom = TOP + rows.length * HEIGHT;
		const board = svg("svg", {viewBox: "0 0 " + all + " " + (bottom + 8), width: all, role: "img"});
		for (const s of ticks(0, (last - first) / 1000, Math.min(8, (right - left) / 60))) {
			const at = x(first + 1000 * s);
			board.append(svg("line", {x1: at, x2: at, y1: TOP - 4, y2: bottom, class: "grid"}),
				svg("text", {x: at + 2, y: 12}, s + " s"));
		}
		rows.forEach((row, i) => {
			const y = TOP + i * HEIGHT;
			const name = svg("text", {x: left - 8, y: y + 13, "text-anchor": "end", class: "name"}, fit(row.name, left - 8),
				svg("title", {}, row.name));
			const log = run.logs.findIndex(l => l.replica === row.replica && l.container === row.container &&
				(l.job === row.job || jobs.some(job => job.logs === l.job && job.name === row.job)));
			if (log >= 0)
				name.addEventListener("click", () => { location.hash = "#log=" + encodeURIComponent(logKey(run.logs[log])); });
			board.append(name);
			for (const bar of row.bars) {
				board.append(svg("rect", {x: x(bar.from), y: y + 3, width: Math.max(2, x(bar.to) - x(bar.from)),
					height: HEIGHT - 6, class: "bar " + bar.tone, rx: 2}, svg("title", {}, row.name + bar.text)));
			}
		});
		for (const event of run.events) {
			if (event && event.type === "job" && event.state && event.time) {
				const at = x(Date.parse(event.time));
				board.append(svg("line", {x1: at, x2: at, y1: TOP - 4, y2: bottom, class: "at"},
					svg("title", {}, words(event.job) + ": " + words(event.state))));
			}
		}
		for (const job of jobs) {
			if (job.firstFault && job.firstFault.at) {
				const at = x(Date.parse(job.firstFault.at));
				board.append(svg("line", {x1: at, x2: at, y1: TOP - 8, y2: bottom, class: "fall"},
					svg("title", {}, "first fault: " + words(job.firstFault.message))));
			}
		}
		place("line", el("h2", "", "Time line"), el("div", "scroll", board),
			el("p", "note", "A bar is one start of a container: green ended with 0, red failed, blue runs, grey was stopped. " +
				"The red line is the first fault; a broken line is a change of the job's state."));
	}

	/* One panel of what replicas used, on the axis of the time line. */
	function usagePanel({title, column, inBytes, per}, series, axis) {
		const TOP = 22, HEIGHT = 90, NAMES = 5;
		const most = Math.max(0, ...series.map(s => Math.max(...s.points.map(p => p[column]))));
		const power = inBytes ? Math.min(4, Math.max(0, Math.floor(Math.log2(most || 1) / 10))) : 0;
		const unit = Math.pow(1024, power);
		const y = v => TOP + (most > 0 ? 1 - v / most : 1) * HEIGHT;
		const {all, left, right} = axis;
		const board = svg("svg", {viewBox: "0 0 " + all + " " + (TOP + HEIGHT + 8), width: all, role: "img",
			"data-usage": title});
		board.append(svg("text", {x: left, y: 12}, title +
			(inBytes ? ", " + UNITS[power] + per : "")));
		for (const v of ticks(0, most / unit, 3)) {
			board.append(svg("line", {x1: left, x2: right, y1: y(v * unit), y2: y(v * unit), class: "grid"}),
				svg("text", {x: left - 4, y: y(v * unit) + 4, "text-anchor": "end"}, number(v)));
		}
		series.forEach((s, i) => {
			const name = (jobs.length > 1 ? s.job + "/" : "") + s.replica;
			const value = v => inBytes ? bytes(v) + per : number(v) + " processors";
			const label = name + ": at most " + value(Math.max(...s.points.map(p => p[column])));
			let piece = [];
			const draw = () => {
				if (piece.length > 0)
					board.append(svg("polyline", {points: piece.join(" "), stroke: colour(i)}, svg("title", {}, label)));
				piece = [];
			};
			let ended = -Infinity;
			for (const p of s.points) {
				if (p[0] > ended + 500)
					draw(); // it did not run for a while
				const at = y(p[column]).toFixed(1);
				piece.push(axis.x(start + p[0]).toFixed(1) + "," + at, axis.x(start + p[1]).toFixed(1) + "," + at);
				ended = p[1];
			}
			draw();
			if (i < NAMES)
				board.append(svg("circle", {cx: 9, cy: TOP + 18 * i + 5, r: 5, fill: colour(i)}),
					svg("text", {x: 20, y: TOP + 18 * i + 9}, fit(name, left - 44)));
		});
		return board;
	}

	/* What each replica used, below the time line. */
	function usage() {
		const series = (run.usage || []).filter(s => s.points.length > 0);
		const rows = attempts();
		if (!start || series.length === 0 || rows.length === 0)
			return;
		series.sort((a, b) => collator.compare(a.job + "/" + a.replica, b.job + "/" + b.replica));
		const axis = axisOfTime(rows);
		const panels = [{title: "Processors", column: 2}, {title: "Memory", column: 3, inBytes: true, per: ""},
			{title: "Read from disks", column: 4, inBytes: true, per: "/s"},
			{title: "Written to disks", column: 5, inBytes: true, per: "/s"}]
			.filter(panel => panel.column < 4 || series.some(s => s.points.some(p => p[panel.column] > 0)));
		place("line", el("h2", "", "Use"), el("div", "scroll", ...panels.map(panel => usagePanel(panel, series, axis))),
			el("p", "note", "What the processes of each replica used, over the same time; the pointer on a line shows its " +
			"replica. Processors are those of a while, memory is the most of it."));
	}

	/* Replicas with their outcome, each with its logs. */
	function replicas() {
		if (results.length === 0)
			return;
		const body = el("table", "", el("tr", "", ...["Replica", "Outcome", "Exit code", "Restarts", "Duration", "Logs"]
			.map(name => el("th", "", name))));
		for (const row of results) {
			const name = words(row.replicaType) + "-" + words(row.index);
			const logs = el("td", "");
			run.logs.forEach((log, i) => {
				if (log.replica === name.toLowerCase() && jobs.some(job => job.logs === log.job && job.name === row.job))
					logs.append(logLink(i, log.container), " ");
			});
			body.append(el("tr", "", el("td", "", (jobs.length > 1 ? words(row.job) + "/" : "") + name),
				el("td", "", words(row.outcome)), el("td", "", row.exitCode >= 0 ? String(row.exitCode) : "-"),
				el("td", "", words(row.restarts)), el("td", "", span(1000 * Number(row.seconds || 0))), logs));
		}
		place("line", el("h2", "", "Replicas"), el("div", "scroll", body));
	}

	/* The steps of the lines, where they say more than the time does. */
	function axisOf(series) {
		const steps = series.flatMap(s => s.points.map(p => p[1]));
		const known = steps.filter(step => step !== null);
		if (known.length === steps.length && new Set(known).size * 2 > known.length / series.length)
			return {index: 1, scale: 1, unit: "step or epoch"};
		if (series.every(s => s.points.every(p => p[0] !== null)))
			return {index: 0, scale: 1000, unit: "seconds"};
		return {index: -1, scale: 1, unit: "point"};
	}

	function plot(name, series) {
		const LEFT = 56, WIDTH = 310, TOP = 8, HEIGHT = 150;
		const axis = axisOf(series);
		const at = (p, i) => axis.index < 0 ? i : p[axis.index] / axis.scale;
		const lines = series.map(s => ({log: s.log, points: s.points.map((p, i) => [at(p, i), p[2]])}));
		const all = lines.flatMap(l => l.points).filter(p => p[1] !== null);
		const xs = lines.flatMap(l => l.points.map(p => p[0]));
		const range = values => values.reduce((r, v) => [Math.min(r[0], v), Math.max(r[1], v)], [Infinity, -Infinity]);
		const [x0, x1] = range(xs);
		const [y0, y1] = all.length > 0 ? range(all.map(p => p[1])) : [0, 0];
		const x = v => LEFT + (x1 > x0 ? (v - x0) / (x1 - x0) : 0.5) * WIDTH;
		const y = v => TOP + (y1 > y0 ? (y1 - v) / (y1 - y0) : 0.5) * HEIGHT;
		const board = svg("svg", {viewBox: "0 0 380 196", width: 380, role: "img"});
		for (const v of ticks(y0, y1, 4)) {
			board.append(svg("line", {x1: LEFT, x2: LEFT + WIDTH, y1: y(v), y2: y(v), class: "grid"}),
				svg("text", {x: LEFT - 4, y: y(v) + 4, "text-anchor": "end"}, number(v)));
		}
		for (const v of ticks(x0, x1, 5))
			board.append(svg("text", {x: x(v), y: TOP + HEIGHT + 16, "text-anchor": "middle"}, number(v)));
		board.append(svg("text", {x: LEFT + WIDTH / 2, y: TOP + HEIGHT + 32, "text-anchor": "middle"}, axis.unit));
		let broken = 0;
		lines.forEach((line, i) => {
			const title = logName(run.logs[line.log]);
			let piece = [];
			const draw = () => {
				if (piece.length === 1) {
					const [px, py] = piece[0].split(",");
					board.append(svg("circle", {cx: px, cy: py, r: 2, fill: colour(i)}, svg("title", {}, title)));
				} else if (piece.length > 1) {
					board.append(svg("polyline", {points: piece.join(" "), stroke: colour(i)}, svg("title", {}, title)));
				}
				piece = [];
			};
			for (const p of line.points) {
				if (p[1] === null) {
					broken++;
					draw();
				} else {
					piece.push(x(p[0]).toFixed(1) + "," + y(p[1]).toFixed(1));
				}
			}
			draw();
		});
		const last = series.map(s => s.points[s.points.length - 1][2]);
		const note = (series.length === 1 ? "last " + number(last[0]) + ", " : "") +
			(all.length > 0 ? "least " + number(y0) + ", most " + number(y1) : "no finite value") +
			(broken > 0 ? ", " + broken + " not finite" : "");
		const from = el("p", "note", note + "; of ");
		series.slice(0, 8).forEach((s, i) => from.append(i ? ", " : "", logLink(s.log, logName(run.logs[s.log]))));
		if (series.length > 8)
			from.append(" and " + (series.length - 8) + " more");
		return el("div", "plot", el("h3", "", name), board, from);
	}

	function metrics() {
		const names = new Map();
		run.logs.forEach((log, i) => {
			for (const metric of log.metrics) {
				if (metric.points.length === 0)
					continue;
				if (!names.has(metric.name))
					names.set(metric.name, []);
				names.get(metric.name).push({log: i, known: metric.known, points: metric.points});
			}
		});
		if (names.size === 0)
			return;
		const sorted = [...names].sort((a, b) => Number(b[1][0].known) - Number(a[1][0].known));
		const board = el("div", "plots");
		let shownPlots = 0;
		const more = el("button", "");
		more.type = "button";
		function grow() {
			for (const [name, series] of sorted.slice(shownPlots, shownPlots + 12))
				board.append(plot(name, series));
			shownPlots += 12;
			more.textContent = "Show " + (sorted.length - shownPlots) + " more";
			more.hidden = shownPlots >= sorted.length;
		}
		more.addEventListener("click", grow);
		grow();
		const partly = run.logs.filter(log => log.scanned < log.size).length;
		place("metrics", el("h2", "", "Metrics"), el("p", "note", "Numbers that the lines of the logs name" +
			(partly ? "; of " + partly + " long logs, those near their start and end" : "") +
			". Of a long series some points are shown."), board, more);
	}

	/* The lines of a log: {log, at, text}, with a row for what was left out. */
	const lineCache = new Map();
	function linesOf(index) {
		if (lineCache.has(index))
			return lineCache.get(index);
		const log = run.logs[index];
		const rows = [];
		log.parts.forEach((part, number_) => {
			if (number_ > 0) {
				rows.push({log: index, gap: true, at: rows.length > 0 ? rows[rows.length - 1].at : null,
					text: bytes(log.leftOut) + " are left out here; the whole log is " + log.path});
			}
			const lines = part.text.split("\n");
			if (lines[lines.length - 1] === "")
				lines.pop();
			let next = 0;
			let at = null;
			lines.forEach((text, i) => {
				for (; next < part.times.length && part.times[next][0] <= i; next++)
					at = part.times[next][1];
				rows.push({log: index, gap: false, at, text: shown(text)});
			});
		});
		if (log.error)
			rows.push({log: index, gap: true, at: null, text: "this log cannot be read: " + log.error});
		lineCache.set(index, rows);
		return rows;
	}

	let allRows = null;
	function allLines() {
		if (allRows === null) {
			allRows = [];
			run.logs.forEach((log, i) => {
				for (const row of linesOf(i))
					allRows.push(row);
			});
			allRows.sort((a, b) => (a.at === null ? -1 : a.at) - (b.at === null ? -1 : b.at));
		}
		return allRows;
	}

	function matcher(query, isRegex) {
		if (!query)
			return null;
		return new RegExp(isRegex ? query : query.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&"), "gi");
	}

	/* A line with what was found marked. */
	function marked(text, pattern) {
		const node = el("span", "text");
		let from = 0;
		for (const match of pattern ? text.matchAll(pattern) : []) {
			if (match[0] === "")
				continue;
			node.append(text.slice(from, match.index), el("mark", "", match[0]));
			from = match.index + match[0].length;
		}
		node.append(text.slice(from));
		return node;
	}

	function rowNode(row, withName, pattern) {
		const at = row.at === null ? "" : (row.at / 1000).toFixed(3);
		return el("div", row.gap ? "row gap" : "row", el("span", "at", at),
			withName ? el("span", "who", logName(run.logs[row.log])) : null, marked(row.text, row.gap ? null : pattern));
	}

	function option(value, text) {
		const node = el("option", "", text);
		node.value = value;
		return node;
	}

	function button(text, onClick) {
		const node = el("button", "", text);
		node.type = "button";
		node.addEventListener("click", onClick);
		return node;
	}

	function logs() {
		if (run.logs.length === 0) {
			place("logs", el("h2", "", "Logs"), el("p", "note", "This run has no logs."));
			return;
		}
		const choice = el("select", "");
		choice.append(option("", "all, by time"));
		run.logs.forEach(log => choice.append(option(logKey(log), logName(log) + " (" + bytes(log.size) + ")")));
		const search = el("input", "");
		search.type = "search";
		search.placeholder = "search";
		search.id = "search";
		const regex = el("input", "");
		regex.type = "checkbox";
		const count = el("span", "soft");
		count.id = "count";
		const file = el("p", "note");
		const board = el("div", "rows");
		board.id = "rows";
		const more = button("", () => fill(STEP));
		const rest = button("", () => fill(Infinity));
		let rows = [];
		let filled = 0;
		let pattern = null;

		function fill(n) {
			const upTo = Math.min(rows.length, filled + n);
			const part = document.createDocumentFragment();
			for (; filled < upTo; filled++)
				part.append(rowNode(rows[filled], choice.value === "", pattern));
			board.append(part);
			more.textContent = "Show " + STEP + " more";
			rest.textContent = "Show all " + (rows.length - filled);
			more.hidden = rest.hidden = filled >= rows.length;
		}

		function show() {
			const index = run.logs.findIndex(log => logKey(log) === choice.value);
			const lines = index < 0 ? allLines() : linesOf(index);
			board.textContent = "";
			file.textContent = "";
			filled = 0;
			try {
				pattern = matcher(search.value, regex.checked);
			} catch (error) {
				count.textContent = "not a regular expression: " + error.message;
				rows = [];
				fill(STEP);
				return;
			}
			rows = pattern ? lines.filter(row => !row.gap && row.text.search(pattern) >= 0) : lines;
			count.textContent = pattern ? rows.length + " of " + lines.filter(row => !row.gap).length + " lines"
				: lines.filter(row => !row.gap).length + " lines";
			if (index >= 0) {
				file.append(fileLink(run.logs[index].path), ", " + bytes(run.logs[index].size));
				if (run.logs[index].leftOut > 0)
					file.append("; " + bytes(run.logs[index].leftOut) + " of it are not in this page");
			} else if (run.logs.some(log => log.leftOut > 0)) {
				file.append("The middle of " + run.logs.filter(log => log.leftOut > 0).length +
					" long logs is not in this page.");
			}
			fill(STEP);
		}

		function remember() {
			const parts = [];
			if (choice.value)
				parts.push("log=" + encodeURIComponent(choice.value));
			if (search.value)
				parts.push("q=" + encodeURIComponent(search.value));
			if (regex.checked)
				parts.push("regex=1");
			history.replaceState(null, "", "#" + parts.join("&"));
			show();
		}

		function recall() {
			const parameters = new Map();
			for (const part of location.hash.slice(1).split("&")) {
				const at = part.indexOf("=");
				try {
					parameters.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
				} catch (error) {
					parameters.set(part.slice(0, at), part.slice(at + 1)); // not ours: take it as it is
				}
			}
			const key = parameters.get("log") || "";
			choice.value = run.logs.some(log => logKey(log) === key) ? key : "";
			search.value = parameters.get("q") || "";
			regex.checked = parameters.get("regex") === "1";
			show();
			if (key)
				document.getElementById("logs").scrollIntoView();
		}

		let timer = 0;
		search.addEventListener("input", () => {
			clearTimeout(timer);
			timer = setTimeout(remember, 150);
		});
		regex.addEventListener("change", remember);
		choice.addEventListener("change", remember);
		window.addEventListener("hashchange", recall);
		place("logs", el("h2", "", "Logs"), el("div", "tools", choice, search, el("label", "", regex, " regular expression"),
			count), file, board, el("div", "tools", more, rest));
		if (run.logs.length === 1 && !location.hash)
			choice.value = logKey(run.logs[0]);
		if (location.hash)
			recall();
		else
			show();
	}

	function events() {
		const columns = {event: ["reason", "message"], job: ["state", "message"], note: ["", "text"],
			warning: ["", "text"]};
		const body = el("table", "");
		for (const event of run.events) {
			const column = event && columns[event.type];
			if (!column)
				continue;
			const at = Date.parse(event.time);
			body.append(el("tr", "", el("td", "mono soft", start && at ? span(at - start) : ""),
				el("td", "", words(event[column[0]] || event.type)), el("td", "", words(event.name || event.job)),
				el("td", "", shown(words(event[column[1]])))));
		}
		if (body.childElementCount === 0)
			return;
		place("events", el("h2", "", "Events"), el("div", "scroll", body));
		if (run.eventsLeftOut > 0)
			place("events", el("p", "note", bytes(run.eventsLeftOut) + " of events are not in this page; all are in " +
				run.path + "/events.jsonl"));
	}

	function job() {
		place("job", el("h2", "", "The job as it ran"));
		if (run.jobsText === null)
			place("job", el("p", "note", "The jobs of this run cannot be read, or are too long for a page; see " + run.path +
				"/jobs.yaml."));
		else
			place("job", el("pre", "", run.jobsText));
	}

	/* What is as wide as the page. */
	function wide() {
		document.getElementById("line").textContent = "";
		timeLine();
		usage();
		replicas();
	}

	function redraw() {
		let width = room().all;
		window.addEventListener("resize", () => {
			if (room().all !== width)
				wide();
			width = room().all;
		});
	}

	head();
	faults();
	wide();
	redraw();
	metrics();
	logs();
	events();
	job();
	place("foot", el("p", "", "Written at " + clock(run.madeAt) + " by roundhouse " + run.roundhouse +
		". This file loads nothing and sends nothing."));
})();
