// Drawing with WebGL 2: surfaces with light and depth, lines as thick as they are.  Carriers move in a texture, so that a frame of
// an animation sends six numbers each and nothing else.

const PLACE = `
uniform highp sampler2D carriers;
uniform bool finite;
vec4 texel(uint c, int part) {
  int k = int(c) * 3 + part, wide = textureSize(carriers, 0).x;
  return texelFetch(carriers, ivec2(k % wide, k / wide), 0);
}
vec3 turned(vec3 r, vec3 a) {
  vec3 c = cross(a, r);
  if (!finite) return r + c;
  float t = length(a);
  float s = t > 1e-4 ? sin(t) / t : 1.0 - t * t / 6.0;
  float h = t > 1e-4 ? (1.0 - cos(t)) / (t * t) : 0.5;
  return r + s * c + h * cross(a, c);
}
vec3 place(vec3 p, uint c) {
  vec3 o = texel(c, 0).xyz;
  return o + texel(c, 1).xyz + turned(p - o, texel(c, 2).xyz);
}
uniform vec3 right, above, toward, target;
uniform vec3 scale;
vec4 onScreen(vec3 p) {
  p -= target;
  return vec4(scale.x * dot(p, right), scale.y * dot(p, above), -scale.z * dot(p, toward), 1.0);
}
uniform int selected;
uniform vec4 tint;
out vec4 color;
void paint(vec4 own, uint object) {
  color = vec4(mix(own.rgb, tint.rgb, tint.a), own.a);
  if (int(object) != selected) return;
  color.rgb = mix(color.rgb, vec3(1.0, 0.85, 0.3), 0.55);
  gl_Position.z -= 1e-3; // in front of what is at the same place
}
`;

const SURFACE = [`#version 300 es
precision highp float;
in vec3 point, normal;
in vec4 own;
in uint carrier, object;
out vec3 facing;
${PLACE}
void main() {
  vec3 n = turned(normal, texel(carrier, 2).xyz);
  facing = vec3(dot(n, right), dot(n, above), dot(n, toward));
  gl_Position = onScreen(place(point, carrier));
  paint(own, object);
}`, `#version 300 es
precision highp float;
in vec3 facing;
in vec4 color;
uniform float alpha;
out vec4 pixel;
void main() {
  vec3 n = normalize(facing);
  if (n.z < 0.0) n = -n;
  float light = 0.42 + 0.5 * max(dot(n, normalize(vec3(-0.45, 0.55, 0.7))), 0.0) + 0.16 * n.y + 0.08 * n.z;
  float shine = 0.18 * pow(max(dot(n, normalize(vec3(-0.26, 0.32, 0.91))), 0.0), 40.0);
  pixel = vec4(color.rgb * light + shine, color.a * alpha);
}`];

const LINE = [`#version 300 es
precision highp float;
in vec2 corner;
in vec3 from, to;
in uvec2 ends;
in vec4 own, coil;
in vec2 thick;
in uint object;
uniform vec2 pixels;
uniform float perMeter, least, nearer;
out vec2 across;
out float dash;
${PLACE}
vec3 onCoil(vec3 a, vec3 b, float s) {
  vec3 axis = b - a;
  float len = length(axis);
  if (coil.z <= 0.0 || len <= 0.0) return mix(a, b, s);
  vec3 e = normalize(axis), seed = abs(e.z) < 0.9 ? vec3(0, 0, 1) : vec3(1, 0, 0);
  vec3 u = normalize(cross(e, seed)), v = cross(e, u);
  float wound = clamp((s - 0.12) / 0.76, 0.0, 1.0), angle = 6.2831853 * coil.w * wound;
  float radius = coil.z * smoothstep(0.0, 0.05, wound) * smoothstep(0.0, 0.05, 1.0 - wound);
  return mix(a, b, s) + radius * (cos(angle) * u + sin(angle) * v);
}
void main() {
  vec3 a = place(from, ends.x), b = place(to, ends.y);
  vec4 p = onScreen(onCoil(a, b, coil.x)), q = onScreen(onCoil(a, b, coil.y));
  vec2 way = (q.xy - p.xy) * pixels;
  float len = length(way);
  vec2 along = len > 1e-6 ? way / len : vec2(1, 0), beside = vec2(-along.y, along.x);
  float half_ = max(thick.x * perMeter, least * thick.y);
  vec4 at = mix(p, q, corner.x);
  float over = (corner.x * 2.0 - 1.0) * min(0.5 * half_, 2.0);
  at.xy += (beside * corner.y * (half_ + 0.5) + along * over) / pixels;
  at.z -= nearer;
  gl_Position = at;
  across = vec2(corner.y * (half_ + 0.5), half_);
  dash = thick.y < 0.75 ? corner.x * len : -1.0;
  paint(own, object);
}`, `#version 300 es
precision highp float;
in vec2 across;
in float dash;
in vec4 color;
uniform float alpha;
out vec4 pixel;
void main() {
  if (dash >= 0.0 && fract(dash / 12.0) > 0.55) discard;
  float edge = clamp(across.y + 0.5 - abs(across.x), 0.0, 1.0);
  float x = clamp(abs(across.x) / max(across.y, 1e-3), 0.0, 1.0);
  float light = across.y > 1.6 ? 0.62 + 0.42 * sqrt(1.0 - x * x) : 1.0;
  pixel = vec4(color.rgb * light, color.a * alpha * edge);
}`];

const IN_FRONT = ["loads", "frames", "clamps"];
const SHARP = Math.cos((40 * Math.PI) / 180); // faces that meet at more than this angle show an edge

class Solid {
  static start(canvas, model, theme, antialias) {
    const gl = canvas.getContext("webgl2", { antialias, alpha: false, preserveDrawingBuffer: true });
    return gl ? new Solid(gl, canvas, model, theme) : null;
  }

  constructor(gl, canvas, model, theme) {
    this.gl = gl;
    this.canvas = canvas;
    this.model = model;
    this.surface = program(gl, SURFACE);
    this.line = program(gl, LINE);
    this.batches = [];
    for (const group of GROUPS) {
      const pieces = model.data.pieces.filter((p) => p.g === group);
      if (pieces.length) this.batches.push(this.batch(group, pieces));
    }
    this.recolor(theme, false);
    this.wide = Math.min(3 * model.count, 3 * 512);
    this.rows = Math.ceil((3 * model.count) / this.wide);
    this.texels = new Float32Array(4 * this.wide * this.rows);
    for (let c = 0; c < model.count; c++) this.texels.set(model.origins.subarray(3 * c, 3 * c + 3), 12 * c);
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, this.wide, this.rows, 0, gl.RGBA, gl.FLOAT, this.texels);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  get name() {
    return "webgl2";
  }

  // -- buffers -------------------------------------------------------------------------------------------------
  batch(group, pieces) {
    const surface = surfaces(this.model, pieces), line = lines(this.model, pieces);
    return { group, surface: surface.count && this.surfaceArrays(surface), line: line.count && this.lineArrays(line),
      surfaceData: surface, lineData: line };
  }

  surfaceArrays(data) {
    const gl = this.gl, p = this.surface, vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    attribute(gl, p, "point", data.points, 3);
    attribute(gl, p, "normal", data.normals, 3);
    attribute(gl, p, "carrier", data.carriers, 1, { whole: true });
    attribute(gl, p, "object", data.objects, 1, { whole: true });
    const colors = attribute(gl, p, "own", new Uint8Array(4 * data.count), 4, { share: true });
    return { vao, colors, count: data.count };
  }

  lineArrays(data) {
    const gl = this.gl, p = this.line, vao = gl.createVertexArray(), n = data.count;
    gl.bindVertexArray(vao);
    // four corners a line with all that it has: instances of one rectangle take a processor without graphics ten times as long
    const corners = new Float32Array(8 * n), order = new Uint32Array(6 * n);
    for (let k = 0; k < n; k++) {
      corners.set([0, -1, 1, -1, 0, 1, 1, 1], 8 * k);
      order.set([4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 2, 4 * k + 1, 4 * k + 3], 6 * k);
    }
    attribute(gl, p, "corner", corners, 2);
    for (const [name, values, width] of [["from", data.from, 3], ["to", data.to, 3], ["coil", data.coil, 4], ["thick", data.thick, 2]]) {
      attribute(gl, p, name, fourfold(values, width), width);
    }
    attribute(gl, p, "ends", fourfold(data.ends, 2), 2, { whole: true });
    attribute(gl, p, "object", fourfold(data.objects, 1), 1, { whole: true });
    const colors = attribute(gl, p, "own", new Uint8Array(16 * n), 4, { share: true });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    return { vao, colors, count: 6 * n };
  }

  recolor(theme, byStress) {
    const gl = this.gl;
    for (const b of this.batches) {
      for (const [arrays, data] of [[b.surface, b.surfaceData], [b.line, b.lineData]]) {
        if (!arrays) continue;
        gl.bindBuffer(gl.ARRAY_BUFFER, arrays.colors);
        const colors = colorsOf(this.model, data, theme, byStress);
        gl.bufferData(gl.ARRAY_BUFFER, data.rows ? fourfold(colors, 4) : colors, gl.STATIC_DRAW);
      }
    }
  }

  // -- a picture -----------------------------------------------------------------------------------------------
  // ghosts are other poses of the carriers, drawn pale: [[pose, finite], ...]
  draw(camera, shown, ghosts, selected, dark) {
    const gl = this.gl, { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    // opaque: a page that shines through takes a processor without graphics a third longer
    gl.clearColor(...rgb(PAPER[dark ? 1 : 0]).map((x) => x / 255), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const now = { camera, shown, selected, dark };
    this.pass(now, this.model.pose, this.model.finite, null);
    for (const [pose, finite] of ghosts) this.pass(now, pose, finite, dark ? [0.75, 0.78, 0.8, 0.85] : [0.45, 0.48, 0.5, 0.85]);
  }

  pass(now, pose, finite, tint) {
    const gl = this.gl, { camera, shown } = now, texels = this.texels;
    for (let c = 0; c < this.model.count; c++) {
      for (let i = 0; i < 3; i++) {
        texels[12 * c + 4 + i] = pose[6 * c + i];
        texels[12 * c + 8 + i] = pose[6 * c + 3 + i];
      }
    }
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, this.wide, this.rows, gl.RGBA, gl.FLOAT, texels);
    const ratio = this.canvas.width / camera.width, s = camera.scale;
    const deep = 1 / (8 * this.model.size + 2 * Math.hypot(...camera.target));
    gl.depthMask(!tint);
    for (const [p, key] of [[this.surface, "surface"], [this.line, "line"]]) {
      gl.useProgram(p.program);
      gl.uniform1i(p.at("carriers"), 0);
      gl.uniform1i(p.at("finite"), finite ? 1 : 0);
      for (const name of ["right", "above", "toward", "target"]) gl.uniform3fv(p.at(name), camera[name]);
      gl.uniform3f(p.at("scale"), (2 * s) / camera.width, (2 * s) / camera.height, deep);
      gl.uniform1i(p.at("selected"), tint || now.selected < 0 ? -2 : now.selected); // -1 is what belongs to no object
      gl.uniform4fv(p.at("tint"), tint || [0, 0, 0, 0]);
      gl.uniform1f(p.at("alpha"), tint ? 0.28 : 1);
      if (key === "line") {
        gl.uniform2f(p.at("pixels"), this.canvas.width / 2, this.canvas.height / 2);
        gl.uniform1f(p.at("perMeter"), s * ratio);
        gl.uniform1f(p.at("least"), Math.max(0.85 * ratio, 0.6));
        gl.uniform1f(p.at("nearer"), 4e-4);
      }
      for (const b of this.batches) {
        if (!b[key] || !shown[b.group] || (tint && b.group !== "objects")) continue;
        // loads, frames and clamps are seen through the bodies that they are in
        gl.depthRange(0, IN_FRONT.includes(b.group) ? 0.1 : 1);
        gl.bindVertexArray(b[key].vao);
        if (key === "surface") gl.drawArrays(gl.TRIANGLES, 0, b.surface.count);
        else gl.drawElements(gl.TRIANGLES, b.line.count, gl.UNSIGNED_INT, 0);
      }
    }
    gl.depthMask(true);
    gl.depthRange(0, 1);
    gl.bindVertexArray(null);
  }

  // Whether the picture is lost, as when a page has more contexts than a browser keeps.
  get lost() {
    return this.gl.isContextLost();
  }

  stop() {
    const way = this.gl.getExtension("WEBGL_lose_context");
    if (way) way.loseContext();
  }
}

function program(gl, [vertex, fragment]) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(made));
  const known = new Map();
  return { program: made, at: (name) => known.get(name) ?? (known.set(name, gl.getUniformLocation(made, name)), known.get(name)) };
}

function attribute(gl, p, name, values, width, { whole = false, share = false } = {}) {
  const at = gl.getAttribLocation(p.program, name), buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  if (at < 0) return buffer;
  gl.enableVertexAttribArray(at);
  if (whole) gl.vertexAttribIPointer(at, width, gl.UNSIGNED_INT, 0, 0);
  else gl.vertexAttribPointer(at, width, share ? gl.UNSIGNED_BYTE : gl.FLOAT, share, 0, 0);
  return buffer;
}

// Each of the groups of ``width`` values four times.
function fourfold(values, width) {
  const out = new values.constructor(4 * values.length);
  for (let k = 0; k < values.length; k += width) for (let j = 0; j < 4; j++) out.set(values.subarray(k, k + width), 4 * k + j * width);
  return out;
}

// -- what is drawn, as arrays -------------------------------------------------------------------------------------
const NOBODY = 0xffffffff;

// A cube: corners of its twelve triangles, and the normal of each.
const CUBE = [];
for (let axis = 0; axis < 3; axis++) {
  for (const side of [-1, 1]) {
    const at = (u, v) => [0, 1, 2].map((i) => (i === axis ? side : i === (axis + 1) % 3 ? u : v));
    const normal = [0, 1, 2].map((i) => (i === axis ? side : 0));
    for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) CUBE.push([at(u, v), normal]);
  }
}

// Triangles corner by corner; normals are shared by faces that meet smoothly.
function surfaces(model, pieces) {
  const own = pieces.filter((p) => p.t || p.m);
  const count = own.reduce((n, p) => n + (p.m ? CUBE.length * p.p[1] : 3 * p.t[1]), 0);
  const out = { count, points: new Float32Array(3 * count), normals: new Float32Array(3 * count),
    carriers: new Uint32Array(count), objects: new Uint32Array(count), piece: new Array(own.length), sources: new Uint32Array(count) };
  let at = 0;
  own.forEach((piece, j) => {
    const first = at;
    if (piece.m) {
      for (let i = piece.p[0]; i < piece.p[0] + piece.p[1]; i++) {
        for (const [corner, normal] of CUBE) {
          out.points.set(corner.map((x, j) => model.points[3 * i + j] + piece.m * x * (j === model.upright ? piece.h || 1 : 1)), 3 * at);
          out.normals.set(normal, 3 * at);
          out.carriers[at] = model.on[i];
          out.objects[at++] = piece.o < 0 ? NOBODY : piece.o;
        }
      }
      out.piece[j] = [piece, first, at];
      return;
    }
    const t = model.triangles.subarray(3 * piece.t[0], 3 * (piece.t[0] + piece.t[1])), base = piece.p[0];
    const normals = cornerNormals(model.points.subarray(3 * base, 3 * (base + piece.p[1])), t);
    for (let k = 0; k < t.length; k++, at++) {
      const i = base + t[k];
      out.points.set(model.points.subarray(3 * i, 3 * i + 3), 3 * at);
      out.normals.set(normals.subarray(3 * k, 3 * k + 3), 3 * at);
      out.carriers[at] = model.on[i];
      out.objects[at] = piece.o < 0 ? NOBODY : piece.o;
      out.sources[at] = t[k];
    }
    out.piece[j] = [piece, first, at];
  });
  return out;
}

function cornerNormals(points, triangles) {
  const faces = triangles.length / 3, flat = new Float32Array(3 * faces), around = new Map();
  const e = new Float32Array(3), f = new Float32Array(3);
  for (let k = 0; k < faces; k++) {
    const [a, b, c] = [3 * triangles[3 * k], 3 * triangles[3 * k + 1], 3 * triangles[3 * k + 2]];
    for (let i = 0; i < 3; i++) {
      e[i] = points[b + i] - points[a + i];
      f[i] = points[c + i] - points[a + i];
    }
    const n = cross(e, f); // as long as the face is large: large faces count more
    for (let i = 0; i < 3; i++) flat[3 * k + i] = n[i];
    for (let i = 0; i < 3; i++) {
      const p = triangles[3 * k + i];
      if (!around.has(p)) around.set(p, []);
      around.get(p).push(k);
    }
  }
  const out = new Float32Array(9 * faces);
  for (let k = 0; k < faces; k++) {
    const own = flat.subarray(3 * k, 3 * k + 3), size = Math.hypot(...own) || 1;
    for (let i = 0; i < 3; i++) {
      const sum = [0, 0, 0];
      for (const other of around.get(triangles[3 * k + i])) {
        const n = flat.subarray(3 * other, 3 * other + 3);
        if (dot(own, n) >= SHARP * size * (Math.hypot(...n) || 1)) for (let j = 0; j < 3; j++) sum[j] += n[j];
      }
      const length = Math.hypot(...sum) || 1;
      for (let j = 0; j < 3; j++) out[9 * k + 3 * i + j] = sum[j] / length;
    }
  }
  return out;
}

// Lines segment by segment; springs as coils.
function lines(model, pieces) {
  const springs = pieces.filter((p) => p.k === "coil").length;
  const turns = springs > 200 ? 6 : 9, steps = springs > 200 ? 8 : 16;
  const rows = [];
  for (const piece of pieces) {
    if (!piece.s) continue;
    const base = piece.p[0], s = model.segments.subarray(2 * piece.s[0], 2 * (piece.s[0] + piece.s[1]));
    for (let k = 0; k < s.length; k += 2) {
      const a = base + s[k], b = base + s[k + 1];
      if (piece.k !== "coil") {
        rows.push([piece, a, b, 0, 1, 0, s[k]]);
        continue;
      }
      const p = model.points, length = Math.hypot(p[3 * a] - p[3 * b], p[3 * a + 1] - p[3 * b + 1], p[3 * a + 2] - p[3 * b + 2]);
      const radius = Math.min(0.12 * length, 0.014 * model.data.typical), parts = turns * steps;
      rows.push([piece, a, b, 0, 0.12, 0, s[k]], [piece, a, b, 0.88, 1, 0, s[k]]);
      for (let i = 0; i < parts; i++) rows.push([piece, a, b, 0.12 + (0.76 * i) / parts, 0.12 + (0.76 * (i + 1)) / parts, radius, s[k]]);
    }
  }
  const n = rows.length;
  const out = { count: n, from: new Float32Array(3 * n), to: new Float32Array(3 * n), ends: new Uint32Array(2 * n),
    coil: new Float32Array(4 * n), thick: new Float32Array(2 * n), objects: new Uint32Array(n), rows };
  rows.forEach(([piece, a, b, s0, s1, radius], k) => {
    out.from.set(model.points.subarray(3 * a, 3 * a + 3), 3 * k);
    out.to.set(model.points.subarray(3 * b, 3 * b + 3), 3 * k);
    out.ends.set([model.on[a], model.on[b]], 2 * k);
    out.coil.set([s0, s1, radius, turns], 4 * k);
    // the axis of a beam is inside its surface
    out.thick.set([piece.k === "axis" ? 0 : piece.r || 0, piece.k === "dash" ? 0.7 : piece.k || piece.c === "arm" ? 0.8 : 1], 2 * k);
    out.objects[k] = piece.o < 0 ? NOBODY : piece.o;
  });
  return out;
}

function colorsOf(model, data, theme, byStress) {
  const out = new Uint8Array(4 * data.count).fill(255);
  if (data.rows) {
    data.rows.forEach(([piece, , , , , , source], k) => out.set(colorOf(model, piece, theme, byStress, source), 4 * k));
    return out;
  }
  for (const [piece, first, last] of data.piece) {
    const one = colorOf(model, piece, theme, byStress, -1);
    for (let k = first; k < last; k++) out.set(byStress ? colorOf(model, piece, theme, true, data.sources[k]) : one, 4 * k);
  }
  return out;
}

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

function colorOf(model, piece, theme, byStress, source) {
  const own = rgb(COLORS[piece.c][theme === "dark" ? 1 : 0]);
  if (byStress && piece.g === "objects") {
    const stress = model.stress[piece.o];
    if (stress && source >= 0) return heat(stress[source] / (model.highest || 1));
    return theme === "dark" ? [110, 114, 118] : [176, 180, 184];
  }
  if (piece.k === "edge" && source >= 0) return own.map((x) => Math.round(theme === "dark" ? 0.5 * x : 0.62 * x));
  return own;
}

// From dark blue over green to yellow, lighter all the way, so that it reads in gray and without red or green.
const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function heat(share) {
  const at = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1), k = Math.min(Math.floor(at), HEAT.length - 2);
  return [0, 1, 2].map((i) => Math.round(HEAT[k][i] + (at - k) * (HEAT[k + 1][i] - HEAT[k][i])));
}
