// The scene as data: points that ride on carriers, and where the carriers are now.

const GROUPS = ["objects", "channels", "ground", "clamps", "frames", "loads"];

// colors by role, light and dark theme: Okabe and Ito's, which all see apart; frames have Tol's muted ones
const COLORS = {
  body: ["#3b7fb6", "#5aa2d8"], beam: ["#d99100", "#e9a92c"], wire: ["#00805c", "#1fb58a"], spring: ["#b0568a", "#d487b0"],
  joint: ["#c44e00", "#ee7733"], element: ["#3f93c4", "#7cc4ee"], channel: ["#6b6b6b", "#a9a9a9"], load: ["#c44e00", "#ff8c42"],
  ground: ["#454545", "#c9c9c9"], clamp: ["#5c5c5c", "#b4b4b4"], arm: ["#7a8792", "#8996a2"], gravity: ["#454545", "#c9c9c9"],
  x: ["#882255", "#dd77aa"], y: ["#117733", "#66bb77"], z: ["#332288", "#9988ee"],
};

const PAPER = ["#ffffff", "#16191d"]; // as in page.css

class Model {
  constructor(data) {
    this.data = data;
    this.size = data.size;
    const weights = data.gravity.map(Math.abs);
    this.upright = Math.max(...weights) > 0 ? weights.indexOf(Math.max(...weights)) : 2; // the axis that is most nearly upright
    this.origins = unpack(data.carriers, "f4");
    this.points = unpack(data.points, "f4");
    this.on = unpack(data.on, data.index);
    const wide = data.wide ? "u4" : "u2";
    this.segments = unpack(data.segments, wide);
    this.triangles = unpack(data.triangles, wide);
    this.count = this.origins.length / 3;
    this.frames = { names: data.frames.names, on: unpack(data.frames.on, "u4"), o: unpack(data.frames.o, "f4") };
    this.motions = data.motions;
    this.rest = { kind: "rest", ...(data.start || { name: "At rest", movers: "the working point" }) };
    this.initial = unpackTwists(data.initial);
    this.compare = data.compare ? unpackTwists(data.compare) : null;
    this.pose = new Float32Array(6 * this.count);
    this.finite = false;
    this._unpacked = new Map();
    this.anchors = data.objects.map(() => null); // a point of each object, where its name stands
    for (const piece of data.pieces) {
      if (piece.o < 0 || !piece.p) continue;
      if (!this.anchors[piece.o]) this.anchors[piece.o] = [piece.p[0], piece.p[0] + middleOf(piece, data.objects[piece.o])];
    }
    this.stress = {};
    this.highest = 0;
    for (const [number, text] of Object.entries(data.stress || {})) {
      const values = (this.stress[number] = unpack(text, "f4"));
      for (const v of values) this.highest = Math.max(this.highest, v);
    }
  }

  arrays(motion) {
    if (!this._unpacked.has(motion)) {
      const out = {};
      if (motion.re) out.re = unpackTwists(motion.re);
      if (motion.im) out.im = unpackTwists(motion.im);
      if (motion.at) out.at = unpack(motion.at, "f4");
      if (motion.poses) out.poses = unpackTwists(motion.poses);
      if (motion.courses) {
        out.courses = motion.courses.map(unpackCourse);
        out.motions = motion.motions.map(unpackTwists);
      }
      this._unpacked.set(motion, out);
    }
    return this._unpacked.get(motion);
  }

  // Move all carriers: place is a phase (rad), or the share of a run or trace; amplitude a factor.
  move(motion, place, amplitude) {
    const pose = this.pose, a = this.arrays(motion);
    this.finite = Boolean(a.poses);
    pose.fill(0);
    if (a.re) {
      const s = amplitude * waveAt(motion.wave, place), c = motion.wave === "swings" ? amplitude * Math.cos(place) : 0;
      for (let i = 0; i < pose.length; i++) pose[i] = s * a.re[i] + (a.im ? c * a.im[i] : 0);
    } else if (a.poses) {
      const [k, share] = between(place, a.at.length), n = pose.length;
      const from = a.poses.subarray(k * n, (k + 1) * n), next = Math.min(k + 1, a.at.length - 1);
      const to = a.poses.subarray(next * n, (next + 1) * n);
      for (let i = 0; i < n; i += 6) {
        for (let j = i; j < i + 3; j++) pose[j] = from[j] + share * (to[j] - from[j]);
        pose.set(turnedBetween(from.subarray(i + 3, i + 6), to.subarray(i + 3, i + 6), share), i + 3);
      }
    } else if (a.courses) {
      const [k, share] = between(place, a.at.length);
      a.courses.forEach((course, j) => {
        const w = amplitude * (course[k] + share * (course[Math.min(k + 1, course.length - 1)] - course[k]));
        const m = a.motions[j];
        for (let i = 0; i < pose.length; i++) pose[i] += w * m[i];
      });
    }
  }

  // Where a point on a carrier is now (relative to the center of the picture).
  put(x, y, z, carrier, out, pose = this.pose, finite = this.finite) {
    const c = 3 * carrier, k = 6 * carrier, o = this.origins;
    const rx = x - o[c], ry = y - o[c + 1], rz = z - o[c + 2];
    let ax = pose[k + 3], ay = pose[k + 4], az = pose[k + 5];
    const cx = ay * rz - az * ry, cy = az * rx - ax * rz, cz = ax * ry - ay * rx;
    let s = 1, h = 0;
    if (finite) {
      const t = Math.hypot(ax, ay, az);
      s = t > 1e-4 ? Math.sin(t) / t : 1 - (t * t) / 6;
      h = t > 1e-4 ? (1 - Math.cos(t)) / (t * t) : 0.5;
    }
    out[0] = x + pose[k] + s * cx + h * (ay * cz - az * cy);
    out[1] = y + pose[k + 1] + s * cy + h * (az * cx - ax * cz);
    out[2] = z + pose[k + 2] + s * cz + h * (ax * cy - ay * cx);
    return out;
  }

  point(i, out, pose = this.pose, finite = this.finite) {
    const p = this.points;
    return this.put(p[3 * i], p[3 * i + 1], p[3 * i + 2], this.on[i], out, pose, finite);
  }

  // Where a frame is, and how far from its place at rest.
  frame(name) {
    return this.frames.names.includes(name) ? this.frameNumber(this.frames.names.indexOf(name)) : null;
  }

  frameNumber(k) {
    const o = this.frames.o, at = [o[3 * k], o[3 * k + 1], o[3 * k + 2]];
    const now = this.put(...at, this.frames.on[k], [0, 0, 0]);
    return now.map((x, i) => x - at[i]);
  }

  // Largest displacement now, of frames and of all that has an extent of its own.
  largest() {
    let most = 0;
    const out = [0, 0, 0], p = this.points;
    for (let k = 0; k < this.frames.names.length; k++) most = Math.max(most, Math.hypot(...this.frameNumber(k)));
    for (const piece of this.data.pieces) {
      if (piece.g !== "objects" || !piece.p || piece.q) continue;
      for (let i = piece.p[0]; i < piece.p[0] + piece.p[1]; i++) {
        this.point(i, out);
        most = Math.max(most, Math.hypot(out[0] - p[3 * i], out[1] - p[3 * i + 1], out[2] - p[3 * i + 2]));
      }
    }
    return most;
  }
}

// The point of a piece by which its object is named: the middle of what is long, else its first.
function middleOf(piece, object) {
  if (object.r === "beam") return Math.floor((piece.s ? piece.s[1] : 0) / 2);
  return 0;
}

function between(place, count) {
  const at = Math.min(Math.max(place, 0), 1) * (count - 1);
  const k = Math.min(Math.floor(at), Math.max(0, count - 2));
  return [k, at - k];
}

// The course of a motion over one period: swings and free motions to and fro, others grow or fade.
function waveAt(wave, phase) {
  const turn = phase / (2 * Math.PI), share = Math.min((turn - Math.floor(turn)) * 4, 4);
  if (wave === "grows") return share <= 1 ? Math.expm1(3 * share) / Math.expm1(3) : share < 1.4 ? 1 : 0;
  if (wave === "fades") return share <= 1 ? Math.sin((share * Math.PI) / 2) : Math.exp(-1.6 * (share - 1));
  return Math.sin(phase);
}
