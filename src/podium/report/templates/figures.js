
// Figures that tell. A panel says how the values of this page are laid out in it; a point under the pointer, or
// reached by arrow keys, says whose it is, of which case, and its value.
const GOLDEN = (Math.sqrt(5) - 1) / 2, NEAR = 14, MOST_DRAWN = 30000, DEEPEST = 24;
const SVG = "http://www.w3.org/2000/svg";
function drawn(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Scales: from a value to a share of the axis, and back.
const scales = {
  linear: () => [(value) => value, (at) => at],
  log: () => [Math.log10, (at) => 10 ** at],
  symlog: (threshold, long) => {
    const linear = long / 0.9;
    return [
      (value) => Math.abs(value) <= threshold ? value * linear
        : Math.sign(value) * threshold * (linear + Math.log10(Math.abs(value) / threshold)),
      (at) => Math.abs(at) <= threshold * linear ? at / linear
        : Math.sign(at) * threshold * 10 ** (Math.abs(at) / threshold - linear),
    ];
  },
};
function axisOf([from, to, scale, ...more], start, end) {
  const [warp, back] = scales[scale || "linear"](...more), low = warp(from), high = warp(to);
  return {
    at: (value) => start + (end - start) * (warp(value) - low) / (high - low),
    value: (at) => back(low + (high - low) * (at - start) / (end - start)),
  };
}

// Where the points of each kind of panel stand: x and y in the units of its axes, whose, of which case, and what it says.
function valueOf(measure, team, row) {
  const value = numberOf(measure, team, row);
  return typeof value === "number" ? value : null;
}
const layouts = {
  dots(panel, add) {
    const rows = panel.cases || data.cases.map((_, row) => row);
    data.submissions.forEach((_, team) => rows.forEach((row, index) => {
      const value = valueOf(panel.measure, team, row);
      if (value !== null) add(value, team + 0.3 * (2 * ((index * GOLDEN + 0.5) % 1) - 1), team, row);
    }));
  },
  podium(panel, add) {
    const lane = (own) => 0.84 * ((own + 0.5) / panel.teams.length - 0.5);
    panel.orders.forEach((order, index) => {
      const row = panel.cases ? panel.cases[index] : index;
      let place = 1;
      for (const shared of order) {
        const group = [shared].flat();
        for (const own of group) {
          const team = panel.teams[own], value = valueOf(panel.measure, team, row);
          if (value !== null) add(place + lane(own), value, team, row, `place ${place} in this case`);
        }
        place += group.length;
      }
    });
  },
  cells(panel, add) {
    data.submissions.forEach((_, team) => panel.cases.forEach((row, index) => add(index, team, team, row)));
  },
  shares(panel, add) {
    panel.teams.forEach((team, row) => data.submissions[team].shares?.forEach((share, place) => {
      if (share) add(place + 1, row, team, -1, `place ${place + 1} in ${(100 * share).toFixed(1)} % of the resamples`);
    }));
  },
  counts(panel, add) {
    panel.counts.forEach((counts, row) => counts.forEach((count, place) => {
      if (count) add(place + 1, row, panel.teams[row], -1, `place ${place + 1} in ${counted(count, "case")}`);
    }));
  },
  points(panel, add) {
    for (const [x, y, team, says] of panel.at) add(x, y, team, -1, says);
  },
};
const measuredBy = { dots: "x", podium: "y" };

const tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
document.body.append(tip);
window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
const colourOf = (team) => document.querySelector(`[data-choose="${team}"] path`).style.fill;

class Live {
  constructor(plot, panels) {
    Object.assign(this, { plot, panels, svg: plot.querySelector("svg"), current: -1, pinned: false, touches: new Map() });
    const whole = this.svg.viewBox.baseVal;
    this.whole = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
    this.view = this.whole;
    this.said = make("p", { class: "said small", "aria-live": "polite" });
    this.buttons = [["+", "Zoom in", 2], ["−", "Zoom out", 0.5], ["⟲", "Whole figure", 0]].map(([sign, title, by]) => {
      const button = make("button", { class: "button", type: "button", title, "aria-label": title }, sign);
      button.addEventListener("click", () => this.zoom(by, this.points[this.current]));
      return button;
    });
    plot.before(make("div", { class: "zoom" }, this.buttons));
    plot.after(this.said);
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-roledescription", "figure");
    plot.setAttribute("aria-label", `${plot.getAttribute("aria-label")} Arrow keys go from point to point, plus and minus zoom.`);
    this.listen();
    this.showView();
  }

  // Points in the units of the picture, made when somebody first asks for one.
  get points() {
    if (!this.made) {
      this.made = [];
      this.panels.forEach((panel, number) => {
        const [left, top, right, bottom] = panel.box;
        const x = axisOf(panel.x, left, right), y = axisOf(panel.y, bottom, top);
        layouts[panel.kind](panel, (across, along, team, row, says) =>
          this.made.push({ x: x.at(across), y: y.at(along), team, row, says, panel: number }));
      });
    }
    return this.made;
  }

  listen() {
    const { plot, svg } = this;
    plot.addEventListener("pointermove", (event) => this.move(event));
    plot.addEventListener("pointerleave", () => { if (!this.pinned) this.leave(); });
    plot.addEventListener("click", (event) => { if (!this.moved) this.press(event); });
    plot.addEventListener("keydown", (event) => this.key(event));
    plot.addEventListener("blur", () => { tip.hidden = true; });
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(2 ** (-event.deltaY / 200), this.spot(event));
    }, { passive: false });
    plot.addEventListener("dblclick", (event) => this.zoom(2, this.spot(event)));
    svg.addEventListener("pointerdown", (event) => { this.touches.set(event.pointerId, this.spot(event)); this.moved = false; });
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      svg.addEventListener(end, (event) => this.touches.delete(event.pointerId));
  }

  spot(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }

  nearest(event) {
    const spot = this.spot(event), reach = NEAR / this.svg.getScreenCTM().a;
    let best = -1, least = reach * reach;
    this.points.forEach((point, index) => {
      const away = (point.x - spot.x) ** 2 + (point.y - spot.y) ** 2;
      if (away < least) { least = away; best = index; }
    });
    return best;
  }

  move(event) {
    if (this.touches.has(event.pointerId) && (event.buttons || event.pointerType === "touch")) return this.drag(event);
    if (this.pinned === "keys" && (event.movementX || event.movementY)) this.pinned = false;
    if (event.pointerType === "touch" || this.pinned) return;
    const index = this.nearest(event);
    if (index < 0) this.leave(); else if (index !== this.current || tip.hidden) this.tell(index);
  }

  press(event) {
    if (event.target.closest("a")) return;
    const index = this.nearest(event);
    this.pinned = false;
    if (index < 0) return this.leave();
    this.tell(index);
    this.pinned = true;
  }

  leave() {
    this.current = -1;
    this.pinned = false;
    this.ring?.remove();
    tip.hidden = true;
  }

  facts(point) {
    const parts = [named(data.submissions[point.team].name)];
    if (point.row < 0) return [...parts, `, ${point.says}`];
    const panel = this.panels[point.panel], measure = data.measures[panel.measure];
    const value = numberOf(panel.measure, point.team, point.row);
    const lost = pricedOf[panel.measure][point.team].has(point.row);
    return [...parts, ", ", named(data.cases[point.row]), `, ${measure.label}: ${shown(value, measure)}`,
      lost ? ` (${data.failed}${value == null ? "" : ", counts at this price"})` : null, point.says ? `, ${point.says}` : null];
  }

  picture(point) {
    if (point.row < 0) return null;
    const entry = data.submissions[point.team].pictures.find(([, , name]) => name === data.cases[point.row]);
    return entry ? { href: `#picture-${entry[0]}`, label: entry[1], source: find(`picture-${entry[0]}`)?.querySelector("img, svg") } : null;
  }

  // Tell a point: beside it for those who see it, and in a line that is read aloud and leads on.
  tell(index) {
    const point = this.points[index], picture = this.picture(point);
    this.current = index;
    this.show(point);
    this.ring?.remove();
    this.ring = drawn("circle", { class: "ring", cx: point.x, cy: point.y, r: 5 * this.view.width / this.whole.width });
    this.svg.append(this.ring);
    this.said.replaceChildren(...this.facts(point).filter((part) => part != null),
      ...(point.row < 0 ? [] : [". ", make("a", { href: `#case-${point.row}` }, "All submissions on this case")]),
      ...(picture ? [", ", make("a", { href: picture.href }, `picture: ${picture.label}`)] : []));
    const thumbnail = picture?.source?.cloneNode(true);
    thumbnail?.removeAttribute("width");
    thumbnail?.removeAttribute("height");
    tip.replaceChildren(make("p", {}, this.facts(point)), ...(thumbnail ? [thumbnail] : []));
    tip.hidden = false;
    const place = new DOMPoint(point.x, point.y).matrixTransform(this.svg.getScreenCTM()), box = tip.getBoundingClientRect();
    const left = Math.min(place.x + 14, window.innerWidth - box.width - 8);
    const above = place.y - box.height - 12;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : place.y + 14}px`;
  }

  // Arrow keys: along the points of one submission, or to the same case of its neighbour.
  key(event) {
    const by = { "+": 2, "=": 2, "-": 0.5, "0": 0 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by !== undefined) { event.preventDefault(); return this.zoom(by, this.points[this.current]); }
    if (event.key === "Escape") return this.leave();
    if (event.key === "Enter" && this.current >= 0) {
      const link = [...this.said.querySelectorAll("a")].pop();
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1], Home: [-Infinity, 0], End: [Infinity, 0] }[event.key];
    if (!step || !this.points.length) return;
    event.preventDefault();
    const index = this.current < 0 ? this.lines()[0][0] : this.next(...step);
    this.tell(index);
    this.pinned = "keys";
  }

  // The points of each submission in each panel, from left to right.
  lines() {
    if (!this.ordered) {
      const lines = new Map();
      this.points.forEach((point, index) => {
        const key = point.panel * data.submissions.length + point.team;
        if (!lines.has(key)) lines.set(key, []);
        lines.get(key).push(index);
      });
      const all = [...lines.entries()].sort((a, b) => a[0] - b[0]).map((entry) => entry[1]);
      for (const line of all) line.sort((a, b) => this.points[a].x - this.points[b].x || this.points[a].y - this.points[b].y);
      this.ordered = all;
    }
    return this.ordered;
  }

  next(along, across) {
    const lines = this.lines(), point = this.points[this.current];
    const own = lines.findIndex((line) => this.points[line[0]].panel === point.panel && this.points[line[0]].team === point.team);
    const line = lines[own];
    if (along) {
      const at = line.indexOf(this.current) + along;
      if (at >= 0 && at < line.length) return line[at];
      if (Number.isFinite(along)) {  // on to the same submission in the panel beside it
        const beside = lines.find((other) => this.points[other[0]].panel === point.panel + along && this.points[other[0]].team === point.team);
        return beside ? beside.at(along > 0 ? 0 : -1) : this.current;
      }
      return line.at(along > 0 ? -1 : 0);
    }
    const other = lines[own + across];
    if (!other || this.points[other[0]].panel !== point.panel) return this.current;
    const same = other.find((index) => this.points[index].row === point.row && point.row >= 0);
    return same ?? other.reduce((best, index) =>
      Math.abs(this.points[index].x - point.x) < Math.abs(this.points[best].x - point.x) ? index : best);
  }

  // Zoom by a factor around a spot, 0 for the whole figure; a drag moves what is seen.
  zoom(by, spot) {
    const { view, whole } = this, scale = Math.min(DEEPEST, Math.max(1, by * whole.width / view.width));
    const at = spot || { x: view.x + view.width / 2, y: view.y + view.height / 2 };
    const width = whole.width / scale, height = whole.height / scale, share = view.width ? width / view.width : 1;
    this.look(at.x - (at.x - view.x) * share, at.y - (at.y - view.y) * share, width, height);
  }

  look(x, y, width, height) {
    const { whole } = this, within = (value, most) => Math.min(Math.max(value, 0), most);
    this.view = { x: within(x, whole.width - width), y: within(y, whole.height - height), width, height };
    this.svg.setAttribute("viewBox", [this.view.x, this.view.y, width, height].join(" "));
    tip.hidden = true;
    this.ring?.setAttribute("r", 5 * width / whole.width);
    this.showView();
    this.mark();
  }

  show(point) {
    const { view } = this;
    if (point.x < view.x || point.x > view.x + view.width || point.y < view.y || point.y > view.y + view.height)
      this.look(point.x - view.width / 2, point.y - view.height / 2, view.width, view.height);
    const box = this.plot.getBoundingClientRect(), place = new DOMPoint(point.x, point.y).matrixTransform(this.svg.getScreenCTM());
    if (place.x < box.left || place.x > box.right) this.plot.scrollLeft += place.x - (box.left + box.right) / 2;
    if (place.y < 60 || place.y > window.innerHeight - 20) window.scrollBy(0, place.y - window.innerHeight / 2);
  }

  drag(event) {
    const held = this.touches.get(event.pointerId);
    if (this.touches.size === 2) {
      const other = [...this.touches].find(([id]) => id !== event.pointerId)[1], spot = this.spot(event);
      const before = Math.hypot(held.x - other.x, held.y - other.y), now = Math.hypot(spot.x - other.x, spot.y - other.y);
      this.moved = true;
      if (before > 0 && now > 0) this.zoom(now / before, other);
      this.touches.set(event.pointerId, this.spot(event));
    } else if (this.scale > 1) {
      const spot = this.spot(event), { view } = this;
      const reach = 4 / this.svg.getScreenCTM().a;
      if (!this.moved && Math.hypot(spot.x - held.x, spot.y - held.y) < reach) return;
      this.moved = true;
      this.look(view.x - (spot.x - held.x), view.y - (spot.y - held.y), view.width, view.height);
    }
  }

  get scale() { return this.whole.width / this.view.width; }

  showView() {
    const zoomed = this.scale > 1.001;
    this.svg.classList.toggle("zoomed", zoomed);
    // Marks and letters grow less than distances, so that what lay upon one another comes apart.
    const less = zoomed ? this.scale ** -0.6 : 1;
    for (const part of this.svg.querySelectorAll("use[x], text[x]")) {
      part.dataset.was ??= part.getAttribute("transform") || "";
      const x = (1 - less) * part.getAttribute("x"), y = (1 - less) * part.getAttribute("y");
      part.setAttribute("transform", zoomed ? `translate(${x} ${y}) scale(${less}) ${part.dataset.was}` : part.dataset.was);
    }
    this.buttons[1].disabled = this.buttons[2].disabled = !zoomed;
    this.buttons[0].disabled = this.scale >= DEEPEST;
    this.rule();
  }

  // A figure that is looked at from near has lost its axes: they stand at the edges of what is seen.
  rule() {
    this.rulers?.remove();
    if (this.scale <= 1.001) return;
    const { view } = this, size = 8 / this.scale, group = this.rulers = drawn("g", { class: "rulers", "font-size": size });
    const middle = { x: view.x + view.width / 2, y: view.y + view.height / 2 };
    const away = ({ box }) => Math.hypot(Math.max(box[0] - middle.x, 0, middle.x - box[2]), Math.max(box[1] - middle.y, 0, middle.y - box[3]));
    const panel = this.panels.reduce((best, other) => away(other) < away(best) ? other : best);
    const [left, top, right, bottom] = panel.box, measured = panel.measured ?? measuredBy[panel.kind] ?? "";
    const write = (x, y, anchor, text) => {
      const label = drawn("text", { x, y, "text-anchor": anchor });
      label.textContent = text;
      group.append(label);
    };
    const base = view.y + view.height, rows = view.x > left ? [...this.svg.querySelectorAll(".row text")] : [];
    if (measured.includes("x") && base < bottom) {
      group.append(drawn("rect", { x: view.x, y: base - 1.8 * size, width: view.width, height: 1.8 * size }));
      const axis = axisOf(panel.x, left, right);
      for (const value of steps(axis.value(Math.max(view.x, left)), axis.value(Math.min(view.x + view.width, right)), 5))
        write(axis.at(value), base - 0.6 * size, "middle", Number(value.toPrecision(6)));
    }
    if (measured.includes("y") && view.x > left) {
      const axis = axisOf(panel.y, bottom, top);
      for (const value of steps(axis.value(Math.min(base, bottom)), axis.value(Math.max(view.y, top)), 5))
        write(view.x + 0.6 * size, axis.at(value) + 0.35 * size, "start", Number(value.toPrecision(6)));
    }
    for (const label of rows) {
      const box = label.getBBox(), y = box.y + box.height / 2;
      if (y > view.y && y < base - 2 * size) write(view.x + 0.6 * size, y + 0.35 * size, "start", label.textContent);
    }
    this.svg.append(group);
  }

  // Dots of whoever is chosen, and of all where one looks from near: those of the picture may be pixels, and of nobody.
  mark() {
    this.dots?.remove();
    const near = this.scale > 1.001, cased = this.panels.some((panel) => panel.kind === "dots" || panel.kind === "podium");
    const labelled = this.panels.some((panel) => panel.named);
    this.svg.classList.toggle("cased", cased);
    this.svg.classList.remove("redrawn");
    if (!(cased && near) && !chosen.size || !(cased || labelled) || !this.plot.offsetParent) return;
    const { view } = this, group = this.dots = drawn("g", { class: "redots" }), size = 2.6 / Math.sqrt(this.scale);
    const inside = this.points.filter((point) => point.x >= view.x && point.x <= view.x + view.width &&
      point.y >= view.y && point.y <= view.y + view.height);
    const all = near && cased && inside.length <= MOST_DRAWN, paths = new Map();
    for (const point of inside) {
      const own = chosen.has(String(point.team));
      if (!own && !all) continue;
      if (!cased) { if (own) this.name(group, point); continue; }
      const failed = pricedOf[this.panels[point.panel].measure][point.team].has(point.row), key = `${point.team}${failed}`;
      if (!paths.has(key)) paths.set(key, { point, failed, own, d: [] });
      const x = point.x.toFixed(2), y = point.y.toFixed(2);
      paths.get(key).d.push(failed ? `M${x} ${y}m${-size} ${-size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}` : `M${x} ${y}h0`);
    }
    if (all) for (const panel of this.panels) if (panel.kind === "podium") this.join(group, size / 5);
    for (const { point, failed, own, d } of paths.values()) {
      const path = drawn("path", { d: d.join(""), class: failed ? "lost" : "dot", "stroke-width": failed ? size / 2 : 1.6 * size, "data-team": point.team });
      path.classList.toggle("chosen", own);
      if (!failed) path.style.stroke = colourOf(point.team);
      group.append(path);
    }
    this.svg.classList.toggle("redrawn", all);
    this.svg.append(group);
  }

  // The places of each case, from its first on.
  join(group, width) {
    const cases = new Map();
    for (const point of this.points) cases.set(point.row, [...(cases.get(point.row) || []), point]);
    const lines = [...cases.values()].map((own) => own.sort((a, b) => a.x - b.x).map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`));
    group.append(drawn("path", { d: lines.map((line) => `M${line.join("L")}`).join(""), class: "line", "stroke-width": width }));
  }

  name(group, point) {
    if ([...this.svg.querySelectorAll(`[data-team="${point.team}"] text`)].some((label) => !group.contains(label))) return;
    const flipped = point.x > this.view.x + 0.72 * this.view.width, size = 7.5 / this.scale;
    const label = drawn("text", { x: point.x + (flipped ? -size : size), y: point.y - 0.6 * size, "font-size": size, "text-anchor": flipped ? "end" : "start" });
    label.textContent = data.submissions[point.team].name.slice(0, 40);
    group.append(label);
  }
}

// Round numbers between two, about so many.
function steps(from, to, count) {
  const low = Math.min(from, to), high = Math.max(from, to), rough = (high - low) / count;
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough)), step = power * [1, 2, 5, 10].find((by) => by * power >= rough);
  const values = [];
  for (let index = Math.ceil(low / step); index * step <= high; index++) values.push(index * step);
  return values;
}

const lives = [];
for (const plot of document.querySelectorAll("[data-figure]")) {
  const panels = (data.figures?.[plot.dataset.figure] || []).filter((panel) => panel.measure === undefined || data.values);
  if (panels.length && plot.querySelector("svg")) lives.push(new Live(plot, panels));
}
function markChosen() { for (const live of lives) live.mark(); }
window.addEventListener("beforeprint", () => { for (const live of lives) { live.leave(); live.zoom(0); } });

// One criterion for all figures: whichever kind it is chosen in, the others follow where they have it.
const criterion = make("select", { id: "criterion" });
function within(panel) {
  const figure = panel.querySelector("[data-figure]")?.dataset.figure;
  return (data.figures?.[figure] || []).map((own) => own.criterion).filter((name) => name !== undefined);
}
// Where a figure is about several, none of them is chosen.
function criteriaOf(panel) {
  const own = within(panel);
  return own.length === 1 ? [...own, panel.dataset.tab] : [panel.dataset.tab];
}
function follow(wanted) {
  for (const { panels, turn } of turning) {
    const panel = panels.find((own) => criteriaOf(own).some((name) => wanted.includes(name))) ||
      panels.find((own) => within(own).some((name) => wanted.includes(name)));
    if (panel) turn(panel);
  }
  const known = [...criterion.options].find((option) => wanted.includes(option.value));
  if (known) criterion.value = known.value;
}
const many = new Map();
for (const { panels } of turning) for (const panel of panels) many.set(panel.dataset.tab, (many.get(panel.dataset.tab) || 0) + 1);
const shared = [...many.keys()].filter((name) => many.get(name) > 1);
if (shared.length > 1) {
  criterion.append(...shared.map((name) => make("option", { value: name }, name)));
  criterion.addEventListener("change", () => follow([criterion.value]));
  find("figures-title").after(make("div", { class: "controls criterion" }, make("label", {}, `${data.criterion} of all figures`, criterion)));
  follow([shared[0]]);
}
