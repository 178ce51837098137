// Mouse, touch and keys.

const STEP = Math.PI / 36; // by which a key turns the picture

View.prototype.listen = function () {
  const canvas = this.over, fingers = new Map();
  let moved = 0, spread = 0;
  const spot = (e) => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  const apart = () => {
    const [a, b] = fingers.values();
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.focus({ preventScroll: true });
    try {
      canvas.setPointerCapture(e.pointerId);
    } catch { /* a pointer that is gone already */ }
    fingers.set(e.pointerId, spot(e));
    if (fingers.size === 1) moved = 0;
    spread = fingers.size > 1 ? apart() : 0;
  });
  canvas.addEventListener("pointermove", (e) => {
    const from = fingers.get(e.pointerId);
    if (!from) return;
    const to = spot(e), dx = to[0] - from[0], dy = to[1] - from[1];
    fingers.set(e.pointerId, to);
    moved += Math.abs(dx) + Math.abs(dy);
    if (fingers.size === 1) {
      if (e.shiftKey || e.buttons & 6) this.camera.pan(dx, dy);
      else this.camera.rotate(dx / 160, dy / 160);
    } else {
      const [a, b] = fingers.values(), now = apart();
      this.camera.pan(dx / 2, dy / 2);
      if (spread) this.camera.magnify(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = now;
    }
    this.stir();
    this.ask();
  });
  const up = (e) => {
    if (!fingers.delete(e.pointerId)) return;
    spread = 0;
    if (e.type === "pointerup" && moved < 5 && e.button === 0) this.select(this.objectAt(...spot(e)));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("dblclick", () => this.look(-60, 20));
  canvas.addEventListener("wheel", (e) => {
    // in a document that scrolls, the wheel scrolls until the picture is clicked
    const scrolls = window !== window.top || document.documentElement.scrollHeight > window.innerHeight + 2;
    if (scrolls && !e.ctrlKey && document.activeElement !== canvas) return;
    e.preventDefault();
    this.camera.magnify(Math.exp(-0.0015 * e.deltaY * (e.deltaMode ? 20 : 1)), ...spot(e));
    this.stir();
    this.ask();
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    const last = this.model.motions.length - 1;
    if (arrow && e.shiftKey) this.camera.pan(24 * arrow[0], 24 * arrow[1]);
    else if (arrow) this.camera.rotate(arrow[0] * STEP, arrow[1] * STEP);
    else if (e.key === "+" || e.key === "=") this.camera.magnify(1.2);
    else if (e.key === "-" || e.key === "_") this.camera.magnify(1 / 1.2);
    else if (e.key === "0" || e.key === "Home") this.camera.look(-60, 20);
    else if ("123".includes(e.key)) this.camera.look(...[[0, 0], [90, 0], [-90, 90]][Number(e.key) - 1]);
    else if (e.key === " ") this.toggle();
    else if (e.key === "n") this.choose(Math.min(this.chosen + 1, last), true);
    else if (e.key === "p") this.choose(Math.max(this.chosen - 1, -1), true);
    else if (e.key === "o" || e.key === "O") this.selectNext(e.key === "o" ? 1 : -1);
    else if (e.key === "Escape") this.select(-1);
    else return;
    e.preventDefault();
    this.ask();
  });
};

// The object under a place on the screen: that whose name is there, else the nearest surface, or a line within a few pixels.
View.prototype.objectAt = function (x, y) {
  const model = this.model, camera = this.camera, spot = [0, 0, 0];
  let best = this.overlay.nameAt(x, y), nearest = -Infinity;
  if (best >= 0) return best;
  for (const piece of model.data.pieces) {
    if (piece.o < 0 || !this.shown[piece.g]) continue;
    const [first, count] = piece.p, at = new Float32Array(3 * count);
    for (let i = 0; i < count; i++) at.set(camera.project(model.point(first + i, spot), [0, 0, 0]), 3 * i);
    // the arms of bodies run to what they carry, which is meant where both are; lines of sight cross all that is between
    const behind = piece.c === "arm" ? 4 * model.size : piece.g === "channels" ? 8 * model.size : 0;
    const hit = (place) => {
      const depth = place - behind;
      if (depth > nearest) [nearest, best] = [depth, piece.o];
    };
    if (piece.m) {
      const half = Math.max(piece.m * camera.scale, 4);
      for (let i = 0; i < at.length; i += 3) if (Math.abs(at[i] - x) <= half && Math.abs(at[i + 1] - y) <= half) hit(at[i + 2] + piece.m);
    }
    if (piece.t) {
      const t = model.triangles;
      for (let k = 3 * piece.t[0]; k < 3 * (piece.t[0] + piece.t[1]); k += 3) {
        const depth = depthIn(at, 3 * t[k], 3 * t[k + 1], 3 * t[k + 2], x, y);
        if (depth !== null) hit(depth);
      }
    }
    if (piece.s) {
      const s = model.segments, reach = Math.max(6, (piece.r || 0) * camera.scale);
      // a line is taken before a surface behind it, not before one in front
      for (let k = piece.s[0]; k < piece.s[0] + piece.s[1]; k++) {
        const depth = depthOn(at, 3 * s[2 * k], 3 * s[2 * k + 1], x, y, reach);
        if (depth !== null) hit(depth);
      }
    }
  }
  return best;
};

function depthIn(at, a, b, c, x, y) {
  const d = (at[b + 1] - at[c + 1]) * (at[a] - at[c]) + (at[c] - at[b]) * (at[a + 1] - at[c + 1]);
  if (!d) return null;
  const u = ((at[b + 1] - at[c + 1]) * (x - at[c]) + (at[c] - at[b]) * (y - at[c + 1])) / d;
  const v = ((at[c + 1] - at[a + 1]) * (x - at[c]) + (at[a] - at[c]) * (y - at[c + 1])) / d;
  if (u < 0 || v < 0 || u + v > 1) return null;
  return u * at[a + 2] + v * at[b + 2] + (1 - u - v) * at[c + 2];
}

function depthOn(at, a, b, x, y, reach) {
  const dx = at[b] - at[a], dy = at[b + 1] - at[a + 1], n = dx * dx + dy * dy;
  const s = n ? Math.min(Math.max(((x - at[a]) * dx + (y - at[a + 1]) * dy) / n, 0), 1) : 0;
  if (Math.hypot(at[a] + s * dx - x, at[a + 1] + s * dy - y) > reach) return null;
  return at[a + 2] + s * (at[b + 2] - at[a + 2]);
}

// -- what others may read of the views ----------------------------------------------------------------------------
function readOnly(view) {
  const told = {
    name: () => view.model.data.name, backend: () => (view.painter ? view.painter.name : "none"), draws: () => view.draws,
    motion: () => view.chosen, motions: () => view.model.motions.length, playing: () => view.playing, place: () => view.place,
    amplitude: () => view.amplitude, objects: () => view.model.data.objects.map((o) => o.n), selected: () => view.shown.selected,
    theme: () => view.theme, zoom: () => view.camera.zoom, azimuth: () => view.camera.azimuth,
    elevation: () => view.camera.elevation, target: () => [...view.camera.target],
    largest: () => view.model.largest(), opened: () => view.opened,
  };
  const out = { displacement: (frame) => view.model.frame(frame), image: () => view.image().toDataURL("image/png"),
    spot: (number) => view.overlay.anchor(view.camera, number), nameSpot: (number) => view.overlay.nameSpot(number) };
  for (const [name, get] of Object.entries(told)) Object.defineProperty(out, name, { get, enumerable: true });
  return Object.freeze(out);
}

for (const source of document.querySelectorAll("script.mse-scene")) {
  const home = make("div", { class: "mse-home" });
  source.after(home);
  const view = new View(JSON.parse(source.textContent), home, scenes.length);
  view.opened = performance.now();
  scenes.push(readOnly(view));
}
Object.defineProperty(window, "mseScenes", { value: Object.freeze([...scenes]) });
