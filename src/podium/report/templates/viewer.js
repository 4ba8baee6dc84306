// Cases to look at: volumes are scrolled through in three planes, films are played, sweeps are turned around.
const inflated = async (text) => {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer();
};
// Runs of equal labels: how many there are, the label of each, the length of each; numbers in groups of seven bits.
function unrolled(bytes, size) {
  let at = 0;
  const number = () => {
    let value = 0, unit = 1, byte;
    do { byte = bytes[at++]; value += (byte & 127) * unit; unit *= 128; } while (byte & 128);
    return value;
  };
  const count = number(), labels = at, array = new Uint8Array(size);
  at += count;
  for (let run = 0, place = 0; run < count; run++) {
    const end = place + number();
    array.fill(bytes[labels + run], place, end);
    place = end;
  }
  return array;
}
// Coordinates one after the other, each as steps of 16 bits from frame to frame.
function summed(buffer, [frames, ...rest], scale) {
  const steps = new Int16Array(buffer), many = rest[0] * rest[1], points = new Float32Array(steps.length);
  for (let k = 0; k < many; k++) {
    for (let frame = 0, value = 0; frame < frames; frame++) {
      value = (value + steps[k * frames + frame]) << 16 >> 16;
      points[frame * many + k] = value * scale;
    }
  }
  return points;
}
async function greys({ address, columns }, [count, rows, width]) {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const sheet = new OffscreenCanvas(picture.width, picture.height).getContext("2d", { willReadFrequently: true });
  sheet.drawImage(picture, 0, 0);
  const array = new Uint8Array(count * rows * width);
  for (let k = 0; k < count; k++) {
    const tile = sheet.getImageData((k % columns) * width, Math.floor(k / columns) * rows, width, rows).data;
    for (let pixel = 0; pixel < rows * width; pixel++) array[k * rows * width + pixel] = tile[4 * pixel];
  }
  return array;
}

// Planes of a volume whose axes go to the head, to the back and to the left: what goes down, and what to the right.
const PLANES = [["axial", 1, 2], ["coronal", 0, 2], ["sagittal", 0, 1]];
function cut(array, shape, plane, index) {
  const [, down, right] = PLANES[plane], strides = [shape[1] * shape[2], shape[2], 1];
  const rows = shape[down], columns = shape[right], part = new Uint8Array(rows * columns);
  for (let row = 0, to = 0; row < rows; row++) {
    // The head is on top.
    let from = index * strides[plane] + (down === 0 ? rows - 1 - row : row) * strides[down];
    for (let column = 0; column < columns; column++, from += strides[right]) part[to++] = array[from];
  }
  return part;
}

const whole = new Intl.NumberFormat("en");
const LABELS = ["#009e73", "#cc79a7", "#e6b800", "#56b4e9", "#9a6b3f", "#7f7fd5"];
const labelColour = (code) => LABELS[code - 1] || `hsl(${(code * 137.5) % 360} 60% 55%)`;
const kindsOfScene = {
  volume: { hint: "Press a picture, then turn the wheel, or use the arrow keys, Page Up and Down, Home and End.", step: "slice" },
  film: { hint: "Press a picture, then turn the wheel or use the arrow keys; the space bar plays.", step: "frame" },
  sweep: { hint: "Drag a picture, or use the arrow keys, to turn it around; the space bar plays.", step: "frame" },
};

function startViewer(cases, place) {
  if (typeof DecompressionStream !== "function") {
    place.append(make("p", {}, "This browser is too old to unpack these cases; the pictures below show some of them."));
    return;
  }
  const state = { at: [0, 0, 0], plane: 0, mode: "contours", frame: 0, turn: [-0.6, 0.35], playing: null, teams: [] };
  let item = null, scene = null, layers = null, panels = [], present = [], loading = 0;
  const nameOf = (team) => data.submissions[team].name;
  const isolated = (text) => `\u2068${text}\u2069`;

  // What is chosen.
  const choice = (label, options, change) => {
    const list = make("select", {}, options.map((text, index) => make("option", { value: index }, text)));
    list.addEventListener("change", () => change(Number(list.value)));
    return make("label", {}, label, list);
  };
  const buttons = (label, options, pressed, press) => make("div", { role: "group", "aria-label": label, class: "choices" },
    options.map(([key, ...content]) => {
      const button = make("button", { class: "button", type: "button", "data-key": key, "aria-pressed": String(pressed(key)) }, content);
      button.addEventListener("click", () => { press(key); });
      return button;
    }));
  const showPressed = (group, pressed) => {
    for (const button of group.children) button.setAttribute("aria-pressed", String(pressed(button.dataset.key)));
  };
  const caseChoice = choice("Case", cases.map((own) => `${isolated(data.cases[own.row])}: ${own.why}`), (index) => openCase(index));
  const sceneChoice = make("span", {});
  const planeChoice = buttons("Plane", PLANES.map(([name], index) => [String(index), name]), (key) => Number(key) === state.plane,
    (key) => { state.plane = Number(key); arrange(); });
  const modeChoice = buttons("Show", [["contours", "contours"], ["difference", "difference"]], (key) => key === state.mode,
    (key) => { state.mode = key; showPressed(modeChoice, (other) => other === key); showLegend(); draw(); });
  const teamChoice = make("div", { role: "group", "aria-label": "Submissions", class: "choices" });
  const slider = make("input", { type: "range", min: 0, value: 0, step: 1 });
  const play = make("button", { class: "button", type: "button", "aria-pressed": "false" }, "Play");
  const speed = make("select", {}, [0.25, 0.5, 1, 2, 4].map((factor) =>
    make("option", { value: factor, selected: factor === 1 }, `${factor} ×`)));
  const speedLabel = make("label", {}, "Speed", speed);
  const status = make("output", { "aria-live": "polite", class: "where" });
  const grid = make("div", { class: "panels" });
  const legend = make("ul", { class: "key" });
  const values = make("div", {});
  const notes = make("div", { class: "small" });
  const hint = make("p", { class: "small" });
  const moving = make("div", { class: "controls moving" }, play, slider, speedLabel);
  place.append(make("div", { class: "controls" }, caseChoice, sceneChoice, planeChoice, modeChoice), teamChoice, grid, moving, status,
    legend, hint, values, notes);

  // Where one is: the slider counts as the file does, which may run from the head to the feet.
  const isVolume = () => scene.kind === "volume";
  const axis = () => (isVolume() ? state.plane : 0);
  const last = () => scene.shape[axis()] - 1;
  const here = () => (isVolume() ? state.at[axis()] : state.frame);
  const counting = (index) => (isVolume() && scene.step[axis()] < 0 ? last() - index : index);
  function go(position) {
    const to = Math.max(0, Math.min(last(), position));
    if (isVolume()) state.at[axis()] = counting(to); else state.frame = to;
    slider.value = to;
    draw();
  }
  const move = (steps) => go(counting(here()) + steps);
  function numbered() {
    const first = scene.kind === "sweep" ? 1 : scene.first[axis()], step = scene.kind === "sweep" ? scene.step : scene.step[axis()];
    const of = scene.kind === "sweep" ? scene.of : scene.of[axis()];
    const what = isVolume() ? `${PLANES[state.plane][0]} slice` : scene.shape[0] > 1 ? "frame" : scene.title || "picture";
    return scene.shape[0] > 1 || isVolume() ? `${what} ${first + step * here()} of ${of}` : what;
  }
  slider.addEventListener("input", () => go(Number(slider.value)));
  function pause() {
    if (state.playing !== null) cancelAnimationFrame(state.playing);
    state.playing = null;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  }
  function start() {
    let before = performance.now(), owed = 0;
    const tick = (now) => {
      owed += (now - before) / 1000 * (scene.rate || 12) * Number(speed.value);
      before = now;
      if (owed >= 1) { state.frame = (state.frame + Math.floor(owed)) % (last() + 1); owed %= 1; slider.value = state.frame; draw(); }
      state.playing = requestAnimationFrame(tick);
    };
    state.playing = requestAnimationFrame(tick);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
  }
  function turnPlay() {
    if (state.playing === null) start(); else { pause(); draw(); }
  }
  play.addEventListener("click", turnPlay);
  function key(event) {
    const jumps = { PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
    const arrows = { ArrowUp: [1, 0, -0.1], ArrowRight: [1, 0.1, 0], ArrowDown: [-1, 0, 0.1], ArrowLeft: [-1, -0.1, 0] };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in jumps) move(jumps[event.key]);
    else if (event.key in arrows && scene.kind === "sweep") turn(...arrows[event.key].slice(1));
    else if (event.key in arrows) move(arrows[event.key][0]);
    else if (event.key === " " && !isVolume() && scene.shape[0] > 1) turnPlay();
    else return;
    event.preventDefault();
  }
  function turn(across, along) {
    state.turn = [state.turn[0] + across, Math.max(-1.5, Math.min(1.5, state.turn[1] + along))];
    draw();
  }

  // A case is unpacked when it is opened, a submission when it is chosen.
  async function unpacked(of, text) {
    const buffer = await inflated(text);
    return of.kind === "sweep" ? summed(buffer, of.shape, of.scale)
      : unrolled(new Uint8Array(buffer), of.shape[0] * of.shape[1] * of.shape[2]);
  }
  function openCase(index) {
    item = cases[index];
    sceneChoice.replaceChildren(...(item.scenes.length > 1 ? [choice("Picture", item.scenes.map((own) => own.title), openScene)] : []));
    notes.replaceChildren(...item.remarks.map((line) => make("p", {}, line)));
    return openScene(0);
  }
  async function openScene(index) {
    pause();
    panels = [];
    const own = item.scenes[index];
    scene = own;
    const mine = ++loading, teams = Object.keys(scene.layers).map(Number);
    const kept = state.teams.filter((team) => teams.includes(team));
    state.teams = kept.length ? kept : teams.slice(0, place.clientWidth > 700 ? 2 : 1);
    const reference = await unpacked(own, own.reference), image = own.image ? await greys(own.image, own.shape) : null;
    if (mine !== loading) return; // another one was opened meanwhile
    layers = { reference, image, teams: new Map() };
    if (scene.labels) present = scene.labels.map((_, k) => layers.reference.includes(k + 1));
    state.frame = 0;
    teamChoice.replaceChildren(...teams.map((team) => {
      const mark = board.querySelector(`[data-choose="${team}"] svg`);
      const button = make("button", { class: "button", type: "button", "data-key": team, "aria-pressed": String(state.teams.includes(team)) },
        mark ? mark.cloneNode(true) : null, named(nameOf(team)));
      button.addEventListener("click", () => {
        const shownNow = state.teams.includes(team);
        if (shownNow && state.teams.length === 1) return;
        state.teams = teams.filter((other) => (other === team ? !shownNow : state.teams.includes(other)));
        arrange();
      });
      return button;
    }));
    await arrange(true);
  }
  async function arrange(first = false) {
    const mine = loading, known = layers.teams;
    for (const team of state.teams) if (!known.has(team)) known.set(team, await unpacked(scene, scene.layers[team]));
    if (mine !== loading || !state.teams.every((team) => known.has(team))) return;
    if (first && isVolume()) state.at = mostDisputed();
    const several = isVolume() || scene.shape[0] > 1;
    planeChoice.hidden = !isVolume();
    modeChoice.hidden = scene.kind === "sweep";
    moving.hidden = !several;
    play.hidden = speedLabel.hidden = isVolume();
    slider.max = last();
    slider.value = counting(here());
    slider.setAttribute("aria-label", isVolume() ? `${PLANES[state.plane][0]} slice` : "frame");
    showPressed(planeChoice, (name) => Number(name) === state.plane);
    showPressed(teamChoice, (team) => state.teams.includes(Number(team)));
    hint.textContent = [several ? kindsOfScene[scene.kind].hint : "", scene.note].filter(Boolean).join(" ");
    panels = state.teams.map(panel);
    grid.replaceChildren(...panels.map((own) => own.element));
    showLegend();
    values.replaceChildren(table(`Values of ${data.cases[item.row]}`, [["Submission", "text"], ...measureHeads], state.teams.map((team) =>
      make("tr", {}, make("th", { scope: "row" }, make("a", { href: `#submission-${team}` }, named(nameOf(team)))), valueCells(team, item.row)))));
    draw();
  }
  // A volume is opened where the first submission is most wrong.
  function mostDisputed() {
    const guess = layers.teams.get(state.teams[0]), [slices, rows, columns] = scene.shape;
    const wrong = [slices, rows, columns].map((size) => new Uint32Array(size)), labelled = wrong.map((counts) => counts.slice());
    for (let k = 0, at = 0; k < slices; k++) for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++, at++) {
      if (guess[at] !== layers.reference[at]) { wrong[0][k]++; wrong[1][row]++; wrong[2][column]++; }
      if (layers.reference[at]) { labelled[0][k]++; labelled[1][row]++; labelled[2][column]++; }
    }
    return wrong.map((counts, k) => {
      const chosenCounts = counts.some(Boolean) ? counts : labelled[k];
      return chosenCounts.indexOf(Math.max(...chosenCounts));
    });
  }
  function panel(team) {
    const canvas = make("canvas", { role: "img", tabindex: 0, class: `scene ${scene.kind}${layers.image ? " on-image" : ""}` });
    const course = scene.course ? make("canvas", { class: "course", "aria-hidden": "true" }) : null;
    const told = make("p", { class: "small now" });
    const mark = board.querySelector(`[data-choose="${team}"] svg`);
    canvas.addEventListener("keydown", key);
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas || !event.deltaY || event.ctrlKey) return;
      event.preventDefault();
      move(Math.sign(event.deltaY));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus({ preventScroll: true });
      if (scene.kind !== "sweep") return;
      canvas.setPointerCapture(event.pointerId);
      let [x, y] = [event.clientX, event.clientY];
      const drag = (moved) => { turn((moved.clientX - x) / 150, (moved.clientY - y) / 150); [x, y] = [moved.clientX, moved.clientY]; };
      canvas.addEventListener("pointermove", drag);
      for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => canvas.removeEventListener("pointermove", drag), { once: true });
    });
    const element = make("figure", {}, make("figcaption", {}, mark ? mark.cloneNode(true) : null, named(nameOf(team))), canvas, course, told);
    return { team, element, canvas, course, told };
  }

  // Drawing, in the colours of the page.
  const ready = (canvas, width, height) => {
    const density = window.devicePixelRatio || 1;
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    if (canvas.width !== Math.round(width * density)) canvas.width = Math.round(width * density);
    if (canvas.height !== Math.round(height * density)) canvas.height = Math.round(height * density);
    const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    return [context, (name) => style.getPropertyValue(`--scene-${name}`).trim() || "#888"];
  };
  function painted(rows, columns, colourOf) {
    const layer = new OffscreenCanvas(columns, rows), context = layer.getContext("2d"), pixels = context.createImageData(columns, rows);
    for (let at = 0; at < rows * columns; at++) {
      const colour = colourOf(at);
      if (colour) pixels.data.set(colour, 4 * at);
    }
    context.putImageData(pixels, 0, 0);
    return layer;
  }
  const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  function bytesOf(colour, share = 1) {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    const bytes = probe.getImageData(0, 0, 1, 1).data;
    return [bytes[0], bytes[1], bytes[2], Math.round(bytes[3] * share)];
  }
  function outlined(context, labels, rows, columns, width, height) {
    const across = width / columns, along = height / rows;
    context.beginPath();
    for (let row = 0; row <= rows; row++) for (let column = 0; column <= columns; column++) {
      const at = row * columns + column, inside = row < rows && column < columns, label = inside ? labels[at] : 0;
      if (row < rows && label !== (column ? labels[at - 1] : 0)) {
        context.moveTo(column * across, row * along);
        context.lineTo(column * across, (row + 1) * along);
      }
      if (column < columns && label !== (row ? labels[at - columns] : 0)) {
        context.moveTo(column * across, row * along);
        context.lineTo((column + 1) * across, row * along);
      }
    }
    context.stroke();
  }
  function counts(labels) {
    const number = new Array(scene.labels.length + 1).fill(0);
    for (const label of labels) number[label]++;
    number[0] = labels.length - number[0];
    return number;
  }
  const inWords = (who, number) => {
    const parts = scene.labels.map((name, k) => [name, number[k + 1]]).filter(([, many]) => many);
    const each = scene.labels.length > 1 && parts.length ? ` (${parts.map(([name, many]) => `${name} ${whole.format(many)}`).join(", ")})` : "";
    return `${who} ${whole.format(number[0])} ${isVolume() ? "voxel" : "pixel"}${number[0] === 1 ? "" : "s"}${each}`;
  };
  function drawLabels(own, [down, right], plane) {
    const { canvas } = own, rows = scene.shape[down], columns = scene.shape[right];
    const ratio = rows * scene.mm[down] / (columns * scene.mm[right]);
    const width = Math.min(own.element.clientWidth, 0.58 * window.innerHeight / ratio), height = width * ratio;
    const [context, colour] = ready(canvas, width, height);
    const [truth, guess] = [layers.reference, layers.teams.get(own.team)].map((array) => cut(array, scene.shape, plane, here()));
    context.fillStyle = colour("ground");
    context.fillRect(0, 0, width, height);
    if (layers.image) {
      const grey = cut(layers.image, scene.shape, plane, here());
      context.drawImage(painted(rows, columns, (at) => [grey[at], grey[at], grey[at], 255]), 0, 0, width, height);
    }
    context.imageSmoothingEnabled = false;
    const lay = (colourOf) => context.drawImage(painted(rows, columns, colourOf), 0, 0, width, height);
    if (state.mode === "difference") {
      const shade = Object.fromEntries(["both", "reference", "prediction", "other"].map((name) => [name, bytesOf(colour(name), layers.image ? 0.6 : 1)]));
      lay((at) => {
        if (truth[at] === guess[at]) return truth[at] ? shade.both : null;
        return shade[!guess[at] ? "reference" : !truth[at] ? "prediction" : "other"];
      });
    } else {
      const tints = scene.labels.map((_, k) => bytesOf(labelColour(k + 1), layers.image ? 0.22 : 0.34));
      if (scene.labels.length > 1 || !layers.image) lay((at) => (truth[at] ? tints[truth[at] - 1] : null));
      context.lineCap = "square";
      for (const [labels, name, thick] of [[truth, "reference", 3], [guess, "prediction", 1.4]]) {
        context.strokeStyle = colour(name);
        context.lineWidth = thick;
        outlined(context, labels, rows, columns, width, height);
      }
    }
    const wrong = truth.reduce((sum, label, at) => sum + (label !== guess[at]), 0);
    own.told.textContent = `${inWords("predicted", counts(guess))}; ${whole.format(wrong)} differ`;
    canvas.setAttribute("aria-label", `${nameOf(own.team)}, ${data.cases[item.row]}, ${numbered()}, ${state.mode}: ` +
      `${inWords("reference", counts(truth))}; ${own.told.textContent}`);
    return inWords("reference", counts(truth));
  }
  function drawSweep(own) {
    const { canvas } = own, [frames, many] = scene.shape, width = own.element.clientWidth, height = Math.min(width * 0.8, 0.6 * window.innerHeight);
    const [context, colour] = ready(canvas, width, height), guess = layers.teams.get(own.team);
    const [cosYaw, sinYaw, cosPitch, sinPitch] = [Math.cos(state.turn[0]), Math.sin(state.turn[0]), Math.cos(state.turn[1]), Math.sin(state.turn[1])];
    const reach = Math.max(...panels.map((other) => furthest(layers.teams.get(other.team)))), size = 0.46 * Math.min(width, height) / reach;
    const at = (points, frame, k) => {
      const [x, y, z] = [0, 1, 2].map((axis) => points[(frame * many + k) * 3 + axis]);
      const across = x * cosYaw + z * sinYaw, deep = z * cosYaw - x * sinYaw;
      return [width / 2 + size * across, height / 2 + size * (y * cosPitch - deep * sinPitch)];
    };
    const line = (points, from, to, k) => {
      context.beginPath();
      for (let frame = from; frame <= to; frame++) context.lineTo(...at(points, frame, k));
      context.stroke();
    };
    const outline = (points, frame, fill) => {
      context.beginPath();
      for (let k = 0; k < many; k++) context.lineTo(...at(points, frame, k));
      context.closePath();
      if (fill) { context.globalAlpha = 0.22; context.fill(); context.globalAlpha = 1; }
      context.stroke();
    };
    context.lineJoin = "round";
    context.strokeStyle = colour("faint");
    outline(layers.reference, 0, false);
    for (const [points, name, thick] of [[layers.reference, "reference", 2.4], [guess, "prediction", 1.3]]) {
      context.strokeStyle = context.fillStyle = colour(name);
      context.lineWidth = thick;
      for (let k = 0; k < many; k++) {
        line(points, 0, state.frame, k);
        context.globalAlpha = 0.3;
        line(points, state.frame, frames - 1, k);
        context.globalAlpha = 1;
      }
      outline(points, state.frame, true);
    }
    const round = 10 ** Math.floor(Math.log10(reach / 2)), bar = [5, 2, 1].find((factor) => factor * round <= reach / 2) * round;
    context.strokeStyle = context.fillStyle = colour("ink");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(8, height - 10);
    context.lineTo(8 + bar * size, height - 10);
    context.stroke();
    context.font = "12px sans-serif";
    context.fillText(`${bar} ${scene.unit}`, 8, height - 16);
    let apart = 0;
    for (let k = 0; k < many; k++) {
      const from = (state.frame * many + k) * 3;
      apart += Math.hypot(...[0, 1, 2].map((axis) => layers.reference[from + axis] - guess[from + axis])) / many;
    }
    const distance = `corners ${apart.toFixed(2)} ${scene.unit} apart on average`;
    own.told.textContent = distance;
    canvas.setAttribute("aria-label", `${nameOf(own.team)}, ${data.cases[item.row]}, ${scene.title}, ${numbered()}: ${distance}`);
    return "";
  }
  const reaches = new WeakMap();
  function furthest(points) {
    if (!reaches.has(points)) {
      let most = 1e-6;
      for (const array of [layers.reference, points]) for (let k = 0; k < array.length; k += 3) most = Math.max(most, Math.hypot(array[k], array[k + 1], array[k + 2]));
      reaches.set(points, most);
    }
    return reaches.get(points);
  }
  function drawCourse(own) {
    const course = scene.course.values[own.team];
    if (!course) return;
    const width = own.element.clientWidth, height = 56, [context, colour] = ready(own.course, width, height);
    const numbers = Object.values(scene.course.values).flat().filter((value) => value != null);
    const top = Math.max(...numbers, scene.course.unit ? 0 : 1) || 1, x = (frame) => 2 + (width - 4) * frame / Math.max(1, last());
    const y = (value) => height - 4 - (height - 8) * value / top;
    context.strokeStyle = colour("faint");
    context.strokeRect(0.5, 0.5, width - 1, height - 1);
    context.fillStyle = colour("ink");
    context.font = "11px sans-serif";
    context.fillText(`${Number(top.toPrecision(3))} ${scene.course.unit}`.trim(), 4, 12);
    context.strokeStyle = colour("prediction");
    context.lineWidth = 1.4;
    context.beginPath();
    course.forEach((value, frame) => { if (value != null) context[frame && course[frame - 1] != null ? "lineTo" : "moveTo"](x(frame), y(value)); });
    context.stroke();
    context.strokeStyle = colour("ink");
    context.beginPath();
    context.moveTo(x(here()), 0);
    context.lineTo(x(here()), height);
    context.stroke();
    const value = course[here()], text = `${scene.course.title}: ${value == null ? "–" : `${value} ${scene.course.unit}`.trim()}`;
    own.told.append(`; ${text}`);
    own.canvas.setAttribute("aria-label", `${own.canvas.getAttribute("aria-label")}; ${text}`);
  }
  function draw() {
    if (!panels.length) return;
    let reference = "";
    for (const own of panels) {
      reference = scene.kind === "sweep" ? drawSweep(own) : drawLabels(own, PLANES[axis()].slice(1), axis());
      if (scene.course) drawCourse(own);
    }
    const text = [numbered(), reference].filter(Boolean).join(": ");
    slider.setAttribute("aria-valuetext", text);
    status.setAttribute("aria-live", state.playing === null ? "polite" : "off");
    status.textContent = `${text}.`;
  }
  function showLegend() {
    const entry = (look, text) => make("li", {}, make("i", { class: look[0], style: look[1] }), text);
    const labels = scene.labels || [];
    const lines = [entry(["line reference"], "reference"), entry(["line prediction"], "prediction")];
    const areas = [["both", "in both"], ["reference", "missed"], ["prediction", "too much"], ["other", "another label"]];
    legend.replaceChildren(...(scene.kind !== "sweep" && state.mode === "difference"
      ? areas.slice(0, labels.length > 1 ? 4 : 3).map(([name, text]) => entry([`area ${name}`], text))
      : [...lines, ...(labels.length > 1 ? labels.map((name, k) => (present[k] ? entry(["area tint", `background:${labelColour(k + 1)}`], `${name} in the reference`) : null)) : [])].filter(Boolean)));
  }
  new ResizeObserver(draw).observe(grid);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  system.addEventListener("change", draw);
  openCase(0);
}
if (find("scenes")) {
  const cases = JSON.parse(find("scenes").textContent);
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    startViewer(cases, find("viewer"));
  }, { rootMargin: "800px" });
  near.observe(find("look"));
}
