"use strict";
// Figures: values on hover, the operating point, and downloads of what is drawn and of tables.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const number = (x) => Math.abs(x) >= 1e6 || (x !== 0 && Math.abs(x) < 1e-4)
    ? x.toExponential(2) : x.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const date = (days) => new Date(864e5 * days).toISOString().slice(0, 10);
  const shown = (side, x) => (side.date ? date(x) : side.percent
    ? `${(100 * x).toLocaleString("en-US", { maximumSignificantDigits: 3 })} %` : number(x));
  const element = (name, attributes, parent) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent?.append(made);
    return made;
  };

  // what is saved goes elsewhere: it has the light colours, the first rule, on a dark page, too
  const paper = document.styleSheets[0].cssRules[0].style;
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.download = name.replace(/[^\p{L}\p{N}.]+/gu, "-");
    link.href = `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
    link.click();
  };
  // a spreadsheet takes what begins with a sign for a formula: numbers and their intervals may
  const NUMBER = "[-+]?[\\d.,]+(e[-+]?\\d+)?( × 10[⁻⁰¹²³⁴-⁹]+)?( ?%)?";
  const plain = new RegExp(`^${NUMBER}( (to|±) ${NUMBER})?$`);
  const guarded = (text) => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) && !plain.test(text)
    ? `'${text}` : text);
  // a spreadsheet takes words for UTF-8 only after a byte order mark
  const csv = (rows) => "\ufeff" + rows.map((row) => row.map((cell) => {
    const text = cell === null || cell === undefined ? "" : guarded(String(cell));
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }).join(",")).join("\r\n") + "\r\n";
  const button = (text, label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "save";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };

  const ready = [...document.querySelectorAll("figure")].map((figure) => {
    const svg = figure.querySelector(":scope > svg");
    const behind = JSON.parse(figure.querySelector("script").textContent);
    const [left, top, width, height] = behind.box;
    const scale = (side) => (side.log ? Math.log : (x) => x);
    const along = (side, from, size) => (x) => {
      const f = scale(side), [a, b] = side.lim.map(f);
      return from + size * (f(x) - a) / (b - a);
    };
    const x = along(behind.x, left, width);
    const y = (value) => 2 * top + height - along(behind.y, top, height)(value);
    const inside = (px, py) => px >= left - 1 && px <= left + width + 1
      && py >= top - 1 && py <= top + height + 1;

    // ---- values under the pointer
    const cursor = element("g", { class: "cursor", visibility: "hidden" }, svg);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    figure.append(tip);
    const place = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse());
      const dots = behind.names.length > 0, map = behind.columns.length > 0;
      // beside names only dots have values
      const found = behind.lines.filter((line) => !dots || line.alone).map((line) => {
        let best = -1, least = Infinity;
        for (let k = 0; k < line.x.length; k += 1) {
          const far = map ? Math.hypot(x(line.x[k]) - at.x, y(line.y[k]) - at.y)
            : dots ? Math.abs(y(line.y[k]) - at.y) : Math.abs(x(line.x[k]) - at.x);
          if (far < least) [best, least] = [k, far];
        }
        return { line, k: best, far: least };
      }).filter((one) => one.k >= 0 && one.far < (dots && !map ? 12 : 25));
      const hidden = !inside(at.x, at.y) || found.length === 0;
      cursor.setAttribute("visibility", hidden ? "hidden" : "visible");
      tip.hidden = hidden;
      if (hidden) return;
      cursor.replaceChildren();
      tip.replaceChildren();
      const near = found.reduce((a, b) => (b.far < a.far ? b : a));
      const title = document.createElement("b");
      title.textContent = map ? `${behind.x.label} ${behind.columns[near.line.x[near.k]]}, `
        + `${behind.y.label} ${behind.names[near.line.y[near.k]]}` : dots ? behind.names[Math.round(near.line.y[near.k])]
        : `${behind.x.label} ${shown(behind.x, near.line.x[near.k])}`;
      tip.append(title);
      if (!dots) {
        const px = x(near.line.x[near.k]);
        element("line", { x1: px, x2: px, y1: top, y2: top + height, class: "hair" }, cursor);
      }
      for (const { line, k } of map ? [near] : found) {
        const colour = `var(${line.colour})`;
        const point = { cx: x(line.x[k]), cy: y(line.y[k]), r: 3.5, style: `fill: ${colour}` };
        if (inside(point.cx, point.cy) && !map) element("circle", point, cursor);
        const value = map ? `${number(line.added[k])}, `
          + `${shown({ percent: true }, line.share[k])} ${behind.of}` : dots ? shown(behind.x, line.x[k]) : shown(behind.y, line.y[k]);
        const side = dots ? behind.x : behind.y;
        const ends = line.low === undefined || line.low[k] === null ? ""
          : ` (${shown(side, line.low[k])} to ${shown(side, line.high[k])})`;
        const words = document.createElement("span");
        words.style.setProperty("--own", colour);
        words.textContent = `${line.name}: ${value}${ends}`;
        tip.append(words);
      }
      const box = figure.getBoundingClientRect();
      const from = event.clientX - box.left;
      tip.style.top = `${event.clientY - box.top + 14}px`;
      tip.style.left = `${Math.max(Math.min(from + 12, box.width - tip.offsetWidth - 8), 4)}px`;
    };
    svg.addEventListener("pointermove", place);
    svg.addEventListener("pointerdown", place);
    svg.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      tip.hidden = true;
    });

    // ---- the operating point
    const mark = behind.follows === "" ? null
      : element("g", { class: "operating", visibility: "hidden" }, svg);
    const follow = (point) => {
      if (mark === null) return;
      mark.replaceChildren();
      // of the scorer that was chosen, where it is drawn
      if (!behind.lines.some(({ name }) => `${name}:`.startsWith(`${point.name}:`))) return;
      const places = {
        roc: [point.fpr, point.recall], precision: [point.recall, point.precision],
        gains: [point.taken, point.recall], lift: [point.taken, point.precision / point.share],
        score: [point.threshold, null],
      };
      const [px, py] = places[behind.follows];
      mark.setAttribute("visibility", "visible");
      if (px === null || (behind.x.log && px <= 0)) return;
      const cx = x(px);
      if (behind.follows === "score") {
        if (inside(cx, top)) {
          element("line", { x1: cx, x2: cx, y1: top, y2: top + height, class: "hair" }, mark);
        }
      } else if (py !== null && !(behind.y.log && py <= 0) && inside(cx, y(py))) {
        element("circle", { cx, cy: y(py), r: 5.5 }, mark);
      }
    };
    document.addEventListener("operating", (event) => follow(event.detail));

    // ---- downloads
    const drawn = () => {
      const copy = svg.cloneNode(true);
      for (const own of copy.querySelectorAll(".cursor, .operating")) own.remove();
      const [, , w, h] = svg.getAttribute("viewBox").split(" ").map(Number);
      const words = [...figure.querySelectorAll(".legend li")];
      const title = 18, line = 15, whole = h + title + line * words.length + 6;
      copy.setAttribute("viewBox", `0 ${-title} ${w} ${whole}`);
      copy.setAttribute("width", w);
      copy.setAttribute("height", whole);
      const back = element("rect", { x: 0, y: -title, width: w, height: whole });
      back.style.fill = "var(--card)";
      copy.prepend(back);
      const font = "font: 11px var(--sans); fill: var(--ink)";
      element("text", { x: 8, y: -4, style: font }, copy).textContent = behind.title;
      words.forEach((word, k) => {
        const stroke = word.querySelector("line").cloneNode();
        const group = element("g", { transform: `translate(8 ${h + line * k})` }, copy);
        group.append(stroke);
        element("text", { x: 36, y: 9, style: font }, group).textContent =
          word.textContent.trim().replace(/\s+/g, " ");
      });
      return new XMLSerializer().serializeToString(copy)
        .replace(/var\((--[a-z0-9-]+)\)/g, (_, name) =>
          paper.getPropertyValue(name).trim().replaceAll('"', "'"));
    };
    const values = () => {
      const rows = behind.lines.flatMap((line) => line.x.map((value, k) => [line.name,
        ...(behind.columns.length > 0 ? [behind.columns[value], behind.names[line.y[k]]]
          : behind.names.length > 0 ? [behind.names[Math.round(line.y[k])], value]
          : [behind.x.date ? date(value) : value, line.y[k]]),
        ...(line.added !== undefined ? [line.added[k], line.share[k]] : line.low === undefined ? ["", ""] : [line.low[k], line.high[k]])]));
      if (behind.columns.length > 0) {
        return csv([["line", behind.x.label, behind.y.label, "adds", `share ${behind.of}`], ...rows]);
      }
      const head = behind.names.length > 0 ? ["name", behind.x.label]
        : [behind.x.label, behind.y.label];
      return csv([["line", ...head, "low", "high"], ...rows]);
    };
    const bar = document.createElement("div");
    bar.className = "saves";
    bar.append(
      button("SVG", `Save the figure ${behind.title} as SVG`,
        () => save(`${behind.title}.svg`, "image/svg+xml", drawn())),
      button("CSV", `Save the values of ${behind.title} as CSV`,
        () => save(`${behind.title}.csv`, "text/csv", values())));
    figure.querySelector("h3").after(bar);
    return follow;
  });
  document.documentElement.dataset.figures = ready.length;

  for (const region of document.querySelectorAll(".scroll")) {
    const table = region.querySelector("table");
    const heading = region.closest("section")?.querySelector("h2")?.textContent ?? "table";
    const cells = () => [...table.rows].map((row) => [...row.cells].map((cell) =>
      cell.textContent.trim().replace(/\s+/g, " ")));
    const bar = document.createElement("div");
    bar.className = "saves";
    bar.append(button("CSV", `Save the table of ${heading} as CSV`,
      () => save(`${heading}.csv`, "text/csv", csv(cells()))));
    region.after(bar);
  }
})();
