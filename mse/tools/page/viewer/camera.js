// A parallel projection: where one looks from, what is in the middle, pixels per meter.

class Camera {
  constructor(model, gravity) {
    const g = Math.hypot(...gravity);
    this.up = g > 0 ? gravity.map((x) => -x / g) : [0, 0, 1];
    // two directions across "up": x and y where up is z
    const least = this.up.map(Math.abs).indexOf(Math.min(...this.up.map(Math.abs)));
    const seed = g > 0 && Math.abs(this.up[2]) > 0.9 ? [1, 0, 0] : [0, 1, 2].map((i) => (i === least ? 1 : 0));
    const along = seed.map((x, i) => x - this.up[i] * dot(seed, this.up));
    const n = Math.hypot(...along);
    this.first = along.map((x) => x / n);
    this.second = cross(this.up, this.first);
    this.model = model;
    this.width = this.height = 1;
    this.reset();
  }

  reset() {
    this.azimuth = (-60 * Math.PI) / 180;
    this.elevation = (20 * Math.PI) / 180;
    this.target = [0, 0, 0];
    this.zoom = 1;
    this.turn();
    this.fitted = 0;
  }

  turn() {
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const flat = [0, 1, 2].map((i) => ca * this.first[i] + sa * this.second[i]);
    this.right = [0, 1, 2].map((i) => -sa * this.first[i] + ca * this.second[i]);
    this.toward = [0, 1, 2].map((i) => ce * flat[i] + se * this.up[i]); // from the scene to the eye
    this.above = cross(this.toward, this.right);
  }

  // Pixels per meter at zoom 1: everything fits, with room for names.
  fit() {
    let w = 1e-9, h = 1e-9;
    const p = this.model.points;
    for (const piece of this.model.data.pieces) {
      if (piece.g !== "objects" || !piece.p) continue;
      for (let i = 3 * piece.p[0]; i < 3 * (piece.p[0] + piece.p[1]); i += 3) {
        w = Math.max(w, Math.abs(p[i] * this.right[0] + p[i + 1] * this.right[1] + p[i + 2] * this.right[2]));
        h = Math.max(h, Math.abs(p[i] * this.above[0] + p[i + 1] * this.above[1] + p[i + 2] * this.above[2]));
      }
    }
    const room = 0.06 * this.model.size; // for a motion
    return Math.min((0.44 * this.width) / (w + room), (0.42 * this.height) / (h + room));
  }

  get scale() {
    if (!this.fitted) this.fitted = this.fit();
    return this.fitted * this.zoom;
  }

  resize(width, height) {
    if (width !== this.width || height !== this.height) this.fitted = 0;
    this.width = width;
    this.height = height;
  }

  rotate(dx, dy) {
    this.azimuth -= dx;
    this.elevation = Math.min(Math.max(this.elevation + dy, -Math.PI / 2), Math.PI / 2);
    const kept = this.scale;
    this.turn();
    this.zoom = kept / this.fitted; // the size on the screen stays while the view turns
  }

  pan(px, py) {
    const s = this.scale;
    for (let i = 0; i < 3; i++) this.target[i] += (-px * this.right[i] + py * this.above[i]) / s;
  }

  // Zoom about a place on the screen.
  magnify(factor, px = this.width / 2, py = this.height / 2) {
    const dx = px - this.width / 2, dy = py - this.height / 2;
    const before = this.scale;
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.05), 5000);
    const after = this.scale;
    for (let i = 0; i < 3; i++) this.target[i] += (dx * this.right[i] - dy * this.above[i]) * (1 / before - 1 / after);
  }

  look(azimuth, elevation) {
    this.azimuth = (azimuth * Math.PI) / 180;
    this.elevation = (elevation * Math.PI) / 180;
    this.turn();
    this.fitted = 0;
    this.zoom = 1;
    this.target = [0, 0, 0];
  }

  // Place on the screen, and depth: larger is nearer.
  project(p, out) {
    const s = this.scale, x = p[0] - this.target[0], y = p[1] - this.target[1], z = p[2] - this.target[2];
    const r = this.right, u = this.above, t = this.toward;
    out[0] = this.width / 2 + s * (x * r[0] + y * r[1] + z * r[2]);
    out[1] = this.height / 2 - s * (x * u[0] + y * u[1] + z * u[2]);
    out[2] = x * t[0] + y * t[1] + z * t[2];
    return out;
  }
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
