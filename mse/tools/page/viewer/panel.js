// Buttons, lists and sliders around the picture; all of them work with the keyboard and tell what they are.

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children); // text stays text: names cannot become markup
  return node;
}

const SHOWN = [
  ["ground", "Ground"], ["gravity", "Gravity"], ["frames", "Frames"], ["clamps", "Clamps"],
  ["loads", "Loads"], ["tensions", "Tensions"], ["channels", "Actuators and sensors"], ["stress", "Stress in beams"],
  ["rest", "Working point, pale"], ["initial", "Initial poses, pale"], ["compare", "Second working point, pale"],
];

const NO_MOTIONS = "No modes are on this page. In Python, modes=linear.modes() in the call that makes it shows them moving.";

class Panel {
  constructor(view) {
    this.view = view;
    const data = view.model.data;
    this.canvasBox = make("div", { class: "picture" });
    this.caption = make("p", { class: "caption" }); // on paper, where list and sliders are left out
    this.head = make("header", {}, make("h1", {}, data.name), make("p", {}, data.about));
    this.play = make("button", { type: "button", class: "play", "aria-pressed": "false", onclick: () => view.toggle() });
    this.place = slider("Phase", 0, 1000, () => view.seek(Number(this.place.input.value) / 1000));
    this.amplitude = slider("Amplitude", 0, 1000, () => view.amplify(Number(this.amplitude.input.value) / 1000));
    this.bar = make("div", { class: "bar" }, this.play, this.place.box, this.amplitude.box);
    this.list = make("ul", { role: "listbox", "aria-label": "Motions", tabindex: "0", onkeydown: (e) => this.listKey(e) });
    this.info = make("section", { class: "info", "aria-live": "polite", "aria-label": "Selected object" });
    this.side = make("aside", {}, this.list, this.info);
    if (!view.model.motions.length) this.side.prepend(make("p", { class: "hint none" }, NO_MOTIONS));
    this.root = make("main", { class: "mse" }, this.head, make("div", { class: "middle" }, make("div", { class: "stage" },
      this.canvasBox, this.caption, this.menu(), this.bar), this.side));
    this.fillList();
    this.tell(-1);
  }

  menu() {
    const view = this.view, box = make("div", { class: "menu" });
    const shown = make("div", { class: "choices", role: "group", "aria-label": "What is shown" });
    for (const [key, text] of SHOWN) {
      if (!view.available(key)) continue;
      const input = make("input", { type: "checkbox", "data-shows": key, onchange: (e) => view.show(key, e.target.checked) });
      input.checked = view.shown[key];
      shown.append(make("label", {}, input, ` ${key === "rest" && view.model.data.start ? "Start, pale" : text}`));
    }
    const button = (text, label, act) => make("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);
    this.theme = button("\u25d0", "Dark or light", () => view.changeTheme());
    const menu = make("details", {}, make("summary", { title: "What is shown" }, "Show"), shown);
    closing(menu);
    const names = button("Names", "Names of the objects", () => {
      view.show("names", !view.shown.names);
      names.setAttribute("aria-pressed", String(view.shown.names));
    });
    names.dataset.shows = "names";
    names.setAttribute("aria-pressed", String(view.shown.names));
    box.append(
      menu,
      names,
      button("Fit", "Fit the whole picture (0)", () => view.look(-60, 20)),
      button("x", "Look along x (1)", () => view.look(0, 0)),
      button("y", "Look along y (2)", () => view.look(90, 0)),
      button("z", "Look from above (3)", () => view.look(-90, 90)),
      this.theme,
      button("PNG", "Save this view as a PNG picture", () => view.save()),
    );
    return box;
  }

  // -- motions -------------------------------------------------------------------------------------------------------
  fillList() {
    const view = this.view;
    this.items = [];
    const groups = { rest: "", mode: "Modes", free: "Without stiffness", unstable: "Unstable", run: "Run", trace: "Trace" };
    let before = "rest";
    [view.model.rest, ...view.model.motions].forEach((motion, k) => {
      if (motion.kind !== before) this.list.append(make("li", { role: "presentation", class: "group" }, groups[motion.kind]));
      before = motion.kind;
      const item = make("li", { role: "option", id: `${view.id}-${k}`, "aria-selected": "false", onclick: () => view.choose(k - 1, true) });
      const [head, ...rest] = told(motion);
      item.append(make("b", { class: ["rest", "mode"].includes(motion.kind) && "hertz" }, head), ...rest.map((text) => make("span", {}, text.replaceAll(" %", "\u00a0%"))));
      this.items.push(item);
      this.list.append(item);
    });
    this.list.hidden = this.items.length < 2;
  }

  listKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === " " || event.key === "Enter") this.view.toggle();
    else if (step === undefined) return;
    else this.view.choose(Math.min(Math.max(this.view.chosen + step, -1), this.view.model.motions.length - 1), true);
    event.preventDefault();
  }

  // Show which motion is chosen, and whether it plays.
  update() {
    const view = this.view, motion = view.motion, still = motion.kind === "rest";
    this.items.forEach((item, k) => item.setAttribute("aria-selected", String(k === view.chosen + 1)));
    const chosen = this.items[view.chosen + 1];
    this.list.setAttribute("aria-activedescendant", chosen.id);
    if (view.shownItem !== chosen) {
      view.shownItem = chosen;
      const list = this.list, top = chosen.offsetTop - list.offsetTop;
      if (top < list.scrollTop || top + chosen.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - 40;
    }
    this.bar.hidden = still;
    this.play.textContent = view.playing ? "\u275a\u275a" : "\u25b6";
    this.play.setAttribute("aria-label", view.playing ? "Pause" : "Play");
    this.play.setAttribute("aria-pressed", String(view.playing));
    this.amplitude.box.hidden = Boolean(motion.poses);
    const name = { run: "Time", trace: "Parameter" }[motion.kind] || "Phase";
    this.place.input.setAttribute("aria-label", name);
    this.place.title.textContent = name;
    this.sliders();
  }

  sliders() {
    const view = this.view;
    const [place, text] = view.placeText();
    set(this.place, place, text);
    set(this.amplitude, view.amplitudeShare, view.amplitudeText());
  }

  // -- one object ----------------------------------------------------------------------------------------------------
  tell(number) {
    const data = this.view.model.data, frames = this.view.model.frames;
    this.info.replaceChildren();
    if (number < 0) {
      this.info.append(make("p", { class: "hint" }, "Click an object to see its parameters, poses and loads."));
      this.info.classList.add("empty");
      return;
    }
    this.info.classList.remove("empty");
    const object = data.objects[number];
    this.info.append(make("h2", {}, object.n), make("p", {}, object.k));
    const table = (title, heads, rows, kind = "number") => rows.length && this.info.append(make("h3", {}, title), make("div", { class: "wide", tabindex: "0" }, make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((x, i) => make("td", i ? { class: kind } : {}, String(x)))))))));
    const names = object.f.map((f) => frames.names[f].slice(object.n.length + 1) || "ground");
    const poses = object.p.map((row, i) => [names[i], ...row.map((x) => plain(x, 4))]);
    if (object.t !== undefined) this.info.append(make("p", {}, `Tension ${quantity(object.t, "N", 5)}`));
    for (const [name, value] of Object.entries(object.j || {})) this.info.append(make("p", {}, `${name} = ${plain(value, 6)}`));
    table("Parameters", ["name", "value", "unit"], data.sheets[object.s], "text");
    table(`Pose at the ${data.start ? "start" : "working point"} (m, rad)`, ["frame", "x", "y", "z", "ax", "ay", "az"], poses);
    if (object.l) table("Force and torque on its frames (N, N m)", ["frame", "fx", "fy", "fz", "tx", "ty", "tz"],
      object.l.map((row, i) => [names[i], ...row.map((x) => plain(x, 4))]));
    if (object.x) table("It exerts on frame 1 (N, N m)", ["", "fx", "fy", "fz", "tx", "ty", "tz"],
      [["", ...object.x.map((x) => plain(x, 4))]]);
  }
}

// A menu that is open closes by Escape, and by a click beside it.
function closing(menu) {
  const listen = (kind, act) => document.addEventListener(kind, (e) => menu.open && act(e), true);
  listen("pointerdown", (e) => {
    if (!menu.contains(e.target)) menu.open = false;
  });
  listen("keydown", (e) => {
    if (e.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
    e.stopPropagation();
  });
}

function told(motion) {
  if (motion.kind === "rest") return [motion.name, motion.movers];
  if (motion.kind !== "mode") return motion.kind === "run" || motion.kind === "trace" ? [motion.name, "", motion.movers] : [motion.name];
  let rate = "";
  if (motion.wave === "free") rate = "no stiffness";
  else if (motion.damping < -1e-12) rate = motion.wave === "grows" ? "grows" : `grows, damping ratio ${plain(motion.damping, 3)}`;
  else if (motion.quality) rate = `Q ${plain(motion.quality, 4)}`;
  else if (motion.damping > 0.05) rate = `damping ratio ${plain(motion.damping, 3)}`;
  else if (motion.damping > 1e-12) rate = `Q ${plain(0.5 / motion.damping, 3)}`;
  return [`${plain(motion.hz, 5)} Hz`, [motion.name, rate].filter(Boolean).join(", "), motion.movers, motion.energy && `energy: ${motion.energy}`];
}

function slider(name, low, high, act) {
  const input = make("input", { type: "range", min: low, max: high, step: 1, "aria-label": name, oninput: act });
  const output = make("output", {}), title = make("span", {}, name);
  return { input, output, title, box: make("label", { class: "slider" }, title, input, output) };
}

function set(slider, share, text) {
  const value = String(Math.round(1000 * share));
  if (slider.input.value !== value) slider.input.value = value;
  if (slider.output.textContent !== text) {
    slider.output.textContent = text;
    slider.input.setAttribute("aria-valuetext", text);
  }
}
