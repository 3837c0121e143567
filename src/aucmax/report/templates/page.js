"use strict";
// The operating point: a slider over the share of rows flagged, on a logarithmic scale.
(() => {
  const at = (id) => document.getElementById(id);
  if (at("points") === null) return;
  const all = JSON.parse(at("points").textContent);
  const slider = at("flagged"), scorer = at("scorer"), perDay = at("rows-a-day");
  const costs = { miss: at("cost-miss"), alarm: at("cost-alarm") };
  let points = all[0], i = 0;

  const whole = (n) => Math.round(n).toLocaleString("en-US");
  const count = (n) => (points.weighted ? number(n) : n.toLocaleString("en-US"));
  const number = (x) => (x === 0 || Math.abs(x) >= 1e-4 && Math.abs(x) < 1e15)
    ? x.toLocaleString("en-US", { maximumSignificantDigits: 3 })
    : x.toExponential(2).replace(/e\+?(-?)(\d+)/, (_, sign, power) =>
      ` × 10${[...sign + power].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`);
  // 0 % and 100 % only where it is none or all
  const percent = (share) => {
    const near = Math.min(share, 1 - share);
    const text = near > 0 && near < 0.1
      ? (100 * share).toFixed(Math.min(Math.ceil(-Math.log10(near)), 8)) : (100 * share).toFixed(1);
    return `${text.includes(".") ? text.replace(/\.?0+$/, "") : text}\u00a0%`;
  };
  const money = (x) => Math.abs(x) >= 1e15 ? x.toExponential(3)
    : x.toLocaleString("en-US", { maximumFractionDigits: 2 });
  const level = (t) => (t === null ? "above every score" : number(t));
  const rows = () => points.positives + points.negatives;
  const flagged = (k) => points.tp[k] + points.fp[k];

  // Wilson's 95 % interval, of as many rows as the weights are worth
  const interval = (found, among, effective) => {
    const hits = effective * found, trials = effective * Math.max(among, found);
    if (trials === 0) return "";
    const z2 = 1.959964 ** 2, middle = (hits + z2 / 2) / (trials + z2);
    const reach = Math.sqrt(z2 * (hits * (trials - hits) / trials + z2 / 4)) / (trials + z2);
    const low = hits === 0 ? 0 : middle - reach, high = hits === trials ? 1 : middle + reach;
    return `${percent(low)} to ${percent(high)}`;
  };

  // an empty or negative cost counts as 0, and tellCosts says so
  const isCost = (input) => Number.isFinite(input.valueAsNumber) && input.valueAsNumber >= 0;
  const cost = (input) => (isCost(input) ? input.valueAsNumber : 0);
  const tellCosts = () => {
    const odd = Object.values(costs).filter((input) => !isCost(input));
    for (const input of Object.values(costs)) {
      input.setAttribute("aria-invalid", String(odd.includes(input)));
    }
    at("cost-note").hidden = odd.length === 0;
    at("cost-note").textContent = odd.map((input) => `The ${input.labels[0].textContent} is `
      + `${input.value === "" ? "not a number" : "negative"} and counts as 0.`).join(" ");
  };
  const total = (k) => cost(costs.miss) * (points.positives - points.tp[k])
    + cost(costs.alarm) * points.fp[k];
  const cheapest = () => {
    let best = 0;
    for (let k = 1; k < points.tp.length; k += 1) if (total(k) < total(best)) best = k;
    return best;
  };

  // where a number of flagged rows stands, from 0 to 1000: none, then 1 to all on a log scale
  const FIRST = 30;
  const across = (n) => (n <= 0 ? 0
    : FIRST + (1000 - FIRST) * Math.max(Math.log(n), 0) / Math.log(rows()));
  const nearest = (value) => {
    let best = 0;
    for (let k = 1; k < points.tp.length; k += 1) {
      if (Math.abs(across(flagged(k)) - value) < Math.abs(across(flagged(best)) - value)) best = k;
    }
    return best;
  };

  const drawTicks = () => {
    const marks = [["none", 0]];
    for (let share = 1; across(share * rows()) > 120; share /= 10) {
      marks.push([percent(share), across(share * rows())]);
    }
    at("ticks").replaceChildren(...marks.map(([text, x]) => {
      const mark = document.createElement("span");
      mark.textContent = text;
      mark.style.left = `${x / 10}%`;
      return mark;
    }));
  };

  const drawCosts = () => {
    const totals = points.tp.map((_, k) => total(k));
    const high = Math.max(...totals) || 1;
    const path = totals.map((t, k) =>
      `${across(flagged(k)).toFixed(1)} ${(97 - 92 * t / high).toFixed(2)}`);
    at("cost-line").setAttribute("d", `M${path.join("L")}`);
    at("cost-area").setAttribute("d", `M0 100L${path.join("L")}L1000 100Z`);
    const best = cheapest();
    for (const end of ["x1", "x2"]) {
      at("cheapest-mark").setAttribute(end, across(flagged(best)));
    }
    at("cheapest-text").textContent = `cheapest (dashed): ${money(total(best))}, flagging ${percent(flagged(best) / rows())}`;
  };

  const show = () => {
    const tp = points.tp[i], fp = points.fp[i], n = tp + fp;
    const fn = points.positives - tp, tn = points.negatives - fp;
    const share = points.positives / rows();
    const text = {
      tp: count(tp), fp: count(fp), fn: count(fn), tn: count(tn),
      recall: percent(tp / points.positives), fpr: percent(fp / points.negatives),
      "recall-interval": interval(tp, points.positives, points.effective[0]),
      precision: n === 0 ? "–" : percent(tp / n), "precision-interval": interval(tp, n, points.effective[1]),
      lift: n === 0 ? "–" : `${number(tp / n / share)}×`,
      "per-hit": tp === 0 ? "–" : number(fp / tp),
      cost: money(total(i)), "cost-saved": `flagging none: ${money(total(0))}`,
      "threshold-value": level(points.threshold[i]),
    };
    for (const [id, words] of Object.entries(text)) at(id).textContent = words;
    at("threshold-value").title = points.threshold[i] === null ? "" : String(points.threshold[i]);
    const daily = perDay.valueAsNumber > 0
      ? `, ${number(perDay.valueAsNumber * n / rows())} alerts a day` : "";
    at("flagged-value").textContent =
      `${percent(n / rows())}, ${count(n)} of ${whole(rows())} rows${daily}`;
    slider.setAttribute("aria-valuetext", `${at("flagged-value").textContent}: `
      + `recall ${text.recall}, precision ${text.precision}, cost ${text.cost}`);
    for (const end of ["x1", "x2"]) at("here-mark").setAttribute(end, across(n));
    document.dispatchEvent(new CustomEvent("operating", { detail: {
      name: points.name, threshold: points.threshold[i], fpr: fp / points.negatives,
      recall: tp / points.positives, precision: n === 0 ? null : tp / n, taken: n / rows(), share,
    } }));
  };

  const go = (k) => {
    i = k;
    slider.value = across(flagged(k));
    show();
  };

  const choose = (index) => {
    points = all[index];
    at("own").hidden = points.own === null;
    const counts = points.weighted ? "weights" : "counts";
    at("points-note").textContent = "Intervals: Wilson's, 95 %. "
      + (points.threshold.length > points.thresholds
        ? `All ${whole(points.thresholds)} thresholds of ${whole(rows())} rows, with exact ${counts}.`
        : `${whole(points.threshold.length)} of ${whole(points.thresholds)} thresholds of `
          + `${whole(rows())} rows, with exact ${counts}`
          + (points.exact ? "; none of those left out is cheaper, whatever the costs." : "."));
    drawTicks();
    drawCosts();
    go(points.start);
  };

  slider.addEventListener("input", () => { i = nearest(Number(slider.value)); show(); });
  slider.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();  // a key moves to the next threshold, however near it is
    go(Math.min(Math.max(i + step, 0), points.tp.length - 1));
  });
  for (const input of Object.values(costs)) {
    input.addEventListener("input", () => { tellCosts(); drawCosts(); show(); });
  }
  perDay.addEventListener("input", show);
  at("cheapest").addEventListener("click", () => go(cheapest()));
  at("own").addEventListener("click", () => go(points.own));
  if (scorer !== null) scorer.addEventListener("change", () => choose(Number(scorer.value)));
  // to begin with, missing a positive costs as much as the negatives there are to each
  const odds = Math.max(Math.round(points.negatives / points.positives), 1);
  costs.miss.value = Number(odds.toPrecision(1));
  tellCosts();
  choose(0);
})();
