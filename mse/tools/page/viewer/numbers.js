// Numbers: reading packed arrays, and writing values with prefixes.

const KINDS = { f4: Float32Array, u4: Uint32Array, u2: Uint16Array, i2: Int16Array };

function unpack(text, kind) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new KINDS[kind](bytes.buffer);
}

// Twists of all carriers (6 numbers each) from shares of two scales.
function unpackTwists(packed) {
  const shares = unpack(packed.i2, "i2");
  const out = new Float32Array(shares.length);
  const d = packed.scale[0] / 32767, a = packed.scale[1] / 32767;
  for (let i = 0; i < shares.length; i++) out[i] = shares[i] * (i % 6 < 3 ? d : a);
  return out;
}

function unpackCourse(packed) {
  const shares = unpack(packed.i2, "i2");
  return Float32Array.from(shares, (x) => (x * packed.scale) / 32767);
}

// The rotation vector at a share of the shortest way from one rotation to another; those of whole turns are taken as none.
function turnedBetween(from, to, share) {
  const [a, b] = [from, to].map(([x, y, z]) => {
    const t = Math.hypot(x, y, z), s = t > 1e-6 ? Math.sin(0.5 * t) / t : 0.5;
    return [Math.cos(0.5 * t), s * x, s * y, s * z];
  });
  const dot = a.reduce((sum, x, i) => sum + x * b[i], 0), angle = Math.acos(Math.min(Math.abs(dot), 1)), sine = Math.sin(angle);
  const wa = sine > 1e-6 ? Math.sin((1 - share) * angle) / sine : 1 - share;
  const wb = (dot < 0 ? -1 : 1) * (sine > 1e-6 ? Math.sin(share * angle) / sine : share);
  const q = a.map((x, i) => wa * x + wb * b[i]), size = Math.hypot(q[1], q[2], q[3]);
  const f = size > 1e-6 ? (2 * Math.atan2(size, q[0])) / size : 2 * Math.sign(q[0]);
  return [f * q[1], f * q[2], f * q[3]];
}

const PREFIXES = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1], ["m", 1e-3], ["\u00b5", 1e-6], ["n", 1e-9], ["p", 1e-12]];

// 0.0123, "m" -> "12.3 mm"; units that are products keep their number plain.
function quantity(value, unit, digits = 3) {
  if (!Number.isFinite(value)) return `${value} ${unit}`.trim();
  if (value === 0) return `0 ${unit}`.trim();
  const size = Math.abs(value);
  if (!["m", "rad", "N", "s", "Hz", "Pa", "N m"].includes(unit)) return `${plain(value, digits)} ${unit}`.trim();
  const large = unit === "m" || unit === "rad" || unit === "s" ? 1 : Infinity;
  const [prefix, factor] = PREFIXES.find(([, f]) => f <= large && size >= 0.9995 * f) || PREFIXES[PREFIXES.length - 1];
  return `${plain(value / factor, digits)} ${prefix}${unit}`;
}

function plain(value, digits = 4) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(Math.max(0, digits - 1)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

// 1, 2 or 5 times a power of ten, at most the value
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const share = value / power;
  return power * (share >= 5 ? 5 : share >= 2 ? 2 : 1);
}
