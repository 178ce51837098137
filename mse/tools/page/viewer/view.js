// One view: its state, its loop, what the reader does to it.

const PERIOD = 1.8; // s of one swing on the screen
const RUN = [5, 30]; // s that a run takes on the screen, at least and at most
const TRACE = 6; // s that a trace takes
const TOLD = 5; // pictures after which the sliders follow
const SLOW = 1 / 40, TRIED = 9; // s a picture, and pictures, after which moving ones get fewer pixels
const GAINED = 0.75; // of the time with all pixels: where a quarter of them takes longer than this, something else takes the time
const JUDGED = 3; // times, of nine pictures each, of which the least decides that: a computer may have had more to do in the others
// pixels of the screen to one of a moving picture, at most, and to one at rest where there is no antialiasing
const COARSEST = 2, FINEST = 0.5;
const SETTLED = 250; // ms after the last movement of a hand
const DEGREE = Math.PI / 180;
const scenes = [];

class View {
  constructor(data, home, number) {
    this.id = `mse${number}`;
    this.model = new Model(data);
    this.camera = new Camera(this.model, data.gravity);
    this.shown = { objects: true, names: data.objects.length <= 12, ground: true, gravity: true, frames: false, clamps: false,
      loads: data.pieces.some((p) => p.g === "loads"), tensions: false, channels: true, stress: false, rest: false, initial: false, compare: false, selected: -1 };
    this.chosen = -1;
    this.place = 0;
    this.amplitude = 0;
    this.playing = false;
    this.draws = 0;
    this.coarse = 1;
    this.slow = this.inVain = this.stirred = false;
    this.spent = [];
    this.judged = []; // the usual times with the fewest pixels
    this.painter = null;
    this.seen = false;
    this.panel = new Panel(this);
    home.append(this.panel.root);
    this.picture();
    this.changeTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const first = this.model.motions.findIndex((m) => m.kind === "mode" && m.wave !== "free");
    this.choose(first >= 0 ? first : this.model.motions.findIndex((m) => m.kind === "run" || m.kind === "trace"),
      !matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.watch();
  }

  // -- canvases ------------------------------------------------------------------------------------------------------
  picture() {
    const box = this.panel.canvasBox;
    this.over = make("canvas", { tabindex: "0", role: "application", class: "over",
      "aria-label": `3-D view of ${this.model.data.name}. Arrow keys turn it, with Shift they move it, plus and minus zoom, 0 fits, space plays, n and p choose the next and previous motion, o and O the next and previous object.` });
    box.append(this.over);
    this.overlay = new Overlay(this.over, this.model);
    this.listen();
  }

  watch() {
    new ResizeObserver(() => this.resize()).observe(this.panel.canvasBox);
    new IntersectionObserver((entries) => {
      this.seen = entries[entries.length - 1].isIntersecting;
      if (this.seen) this.start();
      else this.stop();
    }, { rootMargin: "80px" }).observe(this.panel.canvasBox);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => this.changeTheme(e.matches ? "dark" : "light"));
    document.addEventListener("visibilitychange", () => this.ask());
    window.addEventListener("beforeprint", () => this.print());
  }

  resize() {
    const box = this.panel.canvasBox, width = Math.max(box.clientWidth, 40), height = Math.max(box.clientHeight, 40);
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.written = "";
    for (const canvas of box.querySelectorAll("canvas")) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    this.camera.resize(width, height);
    if (this.painter) this.draw();
    else if (this.seen) this.start();
  }

  // The picture gets a context when it comes into view, and gives it back when it leaves.
  start() {
    if (this.painter && !this.painter.lost) return this.ask();
    this.drop();
    const make_ = () => {
      const canvas = make("canvas", { class: "scene", "aria-hidden": "true" });
      canvas.width = this.over.width;
      canvas.height = this.over.height;
      return canvas;
    };
    let canvas = make_();
    this.painter = View.solid ? Solid.start(canvas, this.model, this.theme, !this.slow) : null;
    if (!this.painter) {
      canvas = make_();
      this.painter = new Flat(canvas, this.model, this.theme);
    }
    this.painter.recolor(this.theme, this.shown.stress);
    canvas.addEventListener("webglcontextlost", () => {
      if (this.seen && this.painter && this.painter.canvas === canvas) setTimeout(() => this.start(), 50);
    });
    this.panel.canvasBox.prepend(canvas);
    if (!this.ratio) this.resize();
    this.draw();
    this.ask();
  }

  // What was drawn last stays as a plain picture.
  stop() {
    if (!this.painter) return;
    if (this.playing) this.draw(true);
    const last = make("canvas", { class: "scene", "aria-hidden": "true" });
    last.width = this.painter.canvas.width;
    last.height = this.painter.canvas.height;
    if (!this.painter.lost && last.width && last.height) last.getContext("2d").drawImage(this.painter.canvas, 0, 0);
    this.drop();
    this.panel.canvasBox.prepend(last);
  }

  drop() {
    if (this.painter) this.painter.stop();
    this.painter = null;
    for (const canvas of this.panel.canvasBox.querySelectorAll("canvas.scene")) canvas.remove();
  }

  // -- the loop ------------------------------------------------------------------------------------------------------
  ask() {
    if (this.asked || !this.painter) return;
    this.asked = requestAnimationFrame((now) => {
      this.asked = 0;
      this.step(now);
    });
  }

  step(now) {
    if (!this.painter || document.hidden) {
      this.before = undefined;
      return;
    }
    if (this.playing) {
      // after a pause of the page the motion goes on where it was
      const passed = this.before === undefined ? 0 : (now - this.before) / 1000;
      if (this.before === undefined) this.spent = [];
      else this.watchSpeed(passed);
      this.before = now;
      this.advance(Math.min(passed, 0.1));
    } else this.before = undefined;
    this.draw();
    if (!this.playing || this.draws % TOLD === 0) this.panel.sliders();
    if (this.playing) this.ask();
  }

  // Where no graphics processor helps, moving pictures would stutter: they go without antialiasing, then with fewer pixels, and
  // never finer while they move, which would flicker.  At rest all pixels are there, and four times as many instead of
  // antialiasing.  Where that gains nothing, as on a screen of 30 pictures a second, all is as before.
  watchSpeed(seconds) {
    this.spent.push(seconds);
    if (this.spent.length < TRIED) return;
    const usual = this.spent.sort((a, b) => a - b)[TRIED >> 1]; // few long ones, as while a page loads, do not count
    this.spent = [];
    if (this.inVain || this.painter.name !== "webgl2") return;
    if (!this.slow) {
      this.whole = usual;
      if (usual > SLOW) this.smooth(false);
    } else if (this.coarse < COARSEST) {
      if (usual > SLOW) this.coarse = Math.min(1.4 * this.coarse, COARSEST);
    } else if (this.judged.push(usual) === JUDGED && Math.min(...this.judged) > GAINED * this.whole) {
      this.coarse = 1;
      this.inVain = true;
      this.smooth(true);
    }
  }

  smooth(on) {
    this.slow = !on;
    this.drop();
    this.start();
  }

  advance(seconds) {
    const motion = this.motion;
    if (motion.kind === "run") {
      const at = this.model.arrays(motion).at, time = at[at.length - 1] - at[0];
      this.place = (this.place + seconds / Math.min(Math.max(time, RUN[0]), RUN[1])) % 1;
    } else if (motion.kind === "trace") this.place = (this.place + seconds / TRACE) % 1;
    else this.place = (this.place + (2 * Math.PI * seconds) / (motion.wave === "swings" ? PERIOD : 2 * PERIOD)) % (2 * Math.PI);
  }

  // While a hand moves something, pictures are those of a motion.
  stir() {
    this.stirred = true;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.stirred = false;
      this.ask();
    }, SETTLED);
  }

  draw(finest = !this.playing && !this.stirred) {
    if (!this.painter || !this.over.width) return;
    const motion = this.motion, dark = this.theme === "dark", ghosts = [], coarse = !finest ? this.coarse : this.slow ? FINEST : 1;
    const width = Math.round(this.over.width / coarse), height = Math.round(this.over.height / coarse);
    if (this.painter.canvas.width !== width || this.painter.canvas.height !== height) {
      this.painter.canvas.width = width;
      this.painter.canvas.height = height;
    }
    this.model.move(motion, motion.kind === "trace" && this.place === 1 ? 1 : this.place, this.amplitude);
    if (this.shown.rest && motion.kind !== "rest") ghosts.push([new Float32Array(this.model.pose.length), false]);
    if (this.shown.initial) ghosts.push([this.model.initial, true]);
    if (this.shown.compare && this.model.compare) ghosts.push([this.model.compare, true]);
    this.painter.draw(this.camera, this.shown, ghosts, this.shown.selected, dark);
    this.write(motion);
    this.draws++;
  }

  // Texts are written again only where they or the view have moved.
  write(motion) {
    const c = this.camera, shown = this.shown, texts = shown.names || shown.loads || shown.tensions || shown.selected >= 0;
    const moving = texts && motion.kind !== "rest" ? [this.chosen, this.place, this.amplitude] : [];
    const key = JSON.stringify([c.azimuth, c.elevation, c.zoom, c.target, c.width, c.height, this.over.width, this.theme, shown, moving]);
    if (key === this.written) return;
    this.written = key;
    this.overlay.draw(c, shown, this.theme, this.ratio || 1);
  }

  // -- what moves ----------------------------------------------------------------------------------------------------
  get motion() {
    return this.chosen < 0 ? this.model.rest : this.model.motions[this.chosen];
  }

  choose(number, play) {
    this.chosen = number;
    const motion = this.motion;
    this.place = motion.kind === "run" || motion.kind === "trace" ? 0 : play ? 0 : Math.PI / 2;
    this.amplitude = motion.factor || motion.start || 0;
    this.playing = Boolean(play) && motion.kind !== "rest";
    this.before = undefined;
    this.panel.update();
    this.ask();
  }

  toggle() {
    if (this.motion.kind === "rest") return;
    this.playing = !this.playing;
    this.before = undefined;
    this.panel.update();
    this.ask();
  }

  seek(share) {
    const motion = this.motion;
    this.playing = false;
    this.place = motion.kind === "run" || motion.kind === "trace" ? share : share * 2 * Math.PI;
    this.panel.update();
    this.stir();
    this.draw();
  }

  // The slider of the amplitude is logarithmic: its middle is where it starts, its ends a hundredth and thirty times of that.
  amplify(share) {
    const start = this.motion.kind === "run" ? this.motion.factor : this.motion.start;
    this.amplitude = share === 0 ? 0 : start * (share < 0.5 ? 100 ** (2 * share - 1) : 30 ** (2 * share - 1));
    this.panel.sliders();
    this.stir();
    this.draw();
  }

  get amplitudeShare() {
    const start = this.motion.kind === "run" ? this.motion.factor : this.motion.start, ratio = this.amplitude / start;
    if (!(ratio > 0)) return 0;
    return 0.5 + (0.5 * Math.log(ratio)) / Math.log(ratio < 1 ? 100 : 30);
  }

  amplitudeText() {
    const motion = this.motion;
    if (motion.courses) return `${plain(this.amplitude, 3)} times its size`;
    return motion.re ? quantity(this.amplitude, motion.unit) : "";
  }

  placeText() {
    const motion = this.motion;
    if (motion.kind === "rest") return [0, ""];
    if (motion.kind !== "run" && motion.kind !== "trace") {
      const degrees = this.place / DEGREE;
      return [this.place / (2 * Math.PI), `${Math.round(degrees)}\u00b0`];
    }
    const at = this.model.arrays(motion).at, [k, share] = between(this.place, at.length);
    const value = at[k] + share * (at[Math.min(k + 1, at.length - 1)] - at[k]);
    if (motion.kind === "run") return [this.place, `t = ${value.toFixed(3)} s`];
    return [this.place, `${motion.axis} = ${plain(value, 5)}${motion.stable[k] ? "" : ", unstable"}`];
  }

  // All that tells a picture on paper from another one.
  caption() {
    const moved = this.motion.kind === "rest" ? "" : this.placeText()[1], amplitude = this.amplitudeText();
    const phase = moved.endsWith("\u00b0") ? `phase ${moved}` : moved;
    return [...told(this.motion), phase, amplitude && `amplitude ${amplitude}`].filter(Boolean).join("; ");
  }

  // -- what is shown -------------------------------------------------------------------------------------------------
  available(key) {
    const data = this.model.data;
    const pieces = (group) => data.pieces.some((p) => p.g === group);
    if (["ground", "clamps", "frames", "loads", "channels"].includes(key)) return pieces(key);
    if (key === "gravity") return data.gravity.some((x) => x);
    if (key === "tensions") return data.objects.some((o) => o.t !== undefined);
    if (key === "stress") return Boolean(data.stress);
    if (key === "compare") return Boolean(data.compare);
    if (key === "rest") return this.model.motions.length > 0;
    return true;
  }

  show(key, on) {
    this.shown[key] = on;
    if (key === "stress" && this.painter) this.painter.recolor(this.theme, on);
    this.ask();
  }

  select(number) {
    this.shown.selected = number;
    this.panel.tell(number);
    this.ask();
  }

  selectNext(step) {
    const count = this.model.data.objects.length;
    this.select(this.shown.selected < 0 ? (step > 0 ? 0 : count - 1) : (this.shown.selected + step + count) % count);
  }

  changeTheme(theme = this.theme === "dark" ? "light" : "dark") {
    this.theme = theme;
    this.panel.root.dataset.theme = theme;
    document.documentElement.dataset.theme = theme;
    if (this.painter) this.painter.recolor(theme, this.shown.stress);
    this.ask();
  }

  look(azimuth, elevation) {
    this.camera.look(azimuth, elevation);
    this.ask();
  }

  // -- pictures ------------------------------------------------------------------------------------------------------
  image() {
    if (!this.painter) this.start();
    this.draw(true);
    const both = make("canvas");
    both.width = this.over.width;
    both.height = this.over.height;
    const c = both.getContext("2d");
    c.drawImage(this.painter.canvas, 0, 0, both.width, both.height);
    c.drawImage(this.over, 0, 0);
    return both;
  }

  // The picture with a line below that tells it from others: the name of the system, and what moves.
  captioned() {
    const image = this.image(), ratio = this.ratio || 1, pad = 12, line = 18, out = make("canvas"), c = out.getContext("2d");
    const font = "13px system-ui, sans-serif", width = image.width / ratio - 2 * pad, lines = [""];
    c.font = font;
    for (const word of `${this.model.data.name}: ${this.caption()}`.split(" ")) {
      const longer = `${lines[lines.length - 1]} ${word}`.trim();
      if (c.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    out.width = image.width;
    out.height = image.height + Math.round(ratio * (line * lines.length + pad));
    c.fillStyle = PAPER[this.theme === "dark" ? 1 : 0];
    c.fillRect(0, 0, out.width, out.height);
    c.drawImage(image, 0, 0);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = font;
    c.fillStyle = this.overlay.ink;
    lines.forEach((text, k) => c.fillText(text, pad, image.height / ratio + line * (k + 0.8)));
    return out;
  }

  save() {
    const link = make("a", { download: `${this.model.data.name.replace(/[^\w-]+/g, "_") || "scene"}.png` });
    this.captioned().toBlob((blob) => {
      link.setAttribute("href", URL.createObjectURL(blob));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.getAttribute("href")), 1000);
    });
  }

  // Paper is white, and a picture that is out of view has no context: all are drawn once more.
  print() {
    const theme = this.theme, running = Boolean(this.painter);
    this.panel.caption.textContent = this.caption();
    this.changeTheme("light");
    this.start();
    this.draw(true);
    if (!this.seen || !running) this.stop();
    window.addEventListener("afterprint", () => this.changeTheme(theme), { once: true });
  }
}

View.solid = typeof WebGL2RenderingContext !== "undefined";
