"use strict";
(() => {
  const all = JSON.parse(document.getElementById("points").textContent);
  const at = (id) => document.getElementById(id);
  const slider = at("threshold"), scorer = at("scorer");
  const costs = { miss: at("cost-miss"), alarm: at("cost-alarm") };
  let points = all[0];

  const count = (n) => n.toLocaleString("en-US");
  const rate = (part, whole) => {
    if (whole === 0) return "–";
    const value = part / whole, text = value.toFixed(4);
    return part > 0 && part < whole && (text === "0.0000" || text === "1.0000")
      ? String(Number(value.toPrecision(4))) : text;
  };
  const money = (x) => Math.abs(x) >= 1e15 ? x.toExponential(3)
    : x.toLocaleString("en-US", { maximumFractionDigits: 2 });
  const level = (t) => t === null ? "above every score" : String(Number(t.toPrecision(5)));

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
      + `${input.value === "" ? "no number" : "negative"} and counts as 0.`).join(" ");
  };
  const total = (i) => cost(costs.miss) * (points.positives - points.tp[i])
    + cost(costs.alarm) * points.fp[i];

  const cheapest = () => {
    let best = 0;
    for (let i = 1; i < points.tp.length; i += 1) if (total(i) < total(best)) best = i;
    return best;
  };
  const across = (i) => 1000 * i / Math.max(points.tp.length - 1, 1);

  const drawCosts = () => {
    const totals = points.tp.map((_, i) => total(i));
    const high = Math.max(...totals) || 1;
    const path = totals.map((t, i) => `${across(i).toFixed(1)} ${(97 - 92 * t / high).toFixed(2)}`);
    at("cost-line").setAttribute("d", `M${path.join("L")}`);
    at("cost-area").setAttribute("d", `M0 100L${path.join("L")}L1000 100Z`);
    const best = cheapest();
    for (const end of ["x1", "x2"]) at("cheapest-mark").setAttribute(end, across(best));
    at("cheapest-text").textContent =
      `cheapest: ${money(total(best))} at threshold ${level(points.threshold[best])}`;
  };

  const show = () => {
    const i = Number(slider.value), tp = points.tp[i], fp = points.fp[i];
    const fn = points.positives - tp, tn = points.negatives - fp;
    const numbers = { tp: count(tp), fp: count(fp), fn: count(fn), tn: count(tn),
      precision: rate(tp, tp + fp), recall: rate(tp, points.positives),
      fpr: rate(fp, points.negatives), cost: money(total(i)) };
    for (const [id, text] of Object.entries(numbers)) at(id).textContent = text;
    at("threshold-value").textContent = level(points.threshold[i]);
    slider.setAttribute("aria-valuetext", `threshold ${level(points.threshold[i])}: `
      + `recall ${numbers.recall}, precision ${numbers.precision}, cost ${numbers.cost}`);
    for (const end of ["x1", "x2"]) at("here-mark").setAttribute(end, across(i));
  };

  const choose = (index) => {
    points = all[index];
    slider.max = points.tp.length - 1;
    slider.value = points.start;
    const rows = `${count(points.positives + points.negatives)} rows`;
    at("points-note").textContent = "Starts at the model's own threshold. "
      + (points.threshold.length > points.thresholds
        ? `All ${count(points.thresholds)} thresholds of ${rows}, with exact counts.`
        : `${count(points.threshold.length)} of ${count(points.thresholds)} thresholds of ${rows}, `
          + "with exact counts"
          + (points.exact ? "; none of those left out is cheaper, whatever the costs." : "."));
    drawCosts();
    show();
  };

  slider.addEventListener("input", show);
  for (const input of Object.values(costs)) {
    input.addEventListener("input", () => { tellCosts(); drawCosts(); show(); });
  }
  at("cheapest").addEventListener("click", () => { slider.value = cheapest(); show(); });
  if (scorer !== null) scorer.addEventListener("change", () => choose(Number(scorer.value)));
  tellCosts();  // a browser may keep what was typed before a reload
  choose(0);
})();
