// Drawing without WebGL: lines on a 2-D canvas, from the farthest to the nearest.

class Flat {
  constructor(canvas, model, theme) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.model = model;
    this.pieces = [];
    for (const piece of model.data.pieces) if (piece.s || piece.m) this.pieces.push(piece);
    this.recolor(theme, false);
  }

  get name() {
    return "canvas";
  }

  get lost() {
    return false;
  }

  recolor(theme, byStress) {
    this.theme = theme;
    this.byStress = byStress;
  }

  draw(camera, shown, ghosts, selected, dark) {
    const c = this.context, ratio = this.canvas.width / camera.width;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = PAPER[dark ? 1 : 0];
    c.fillRect(0, 0, camera.width, camera.height);
    c.lineCap = c.lineJoin = "round";
    for (const [pose, finite] of ghosts) this.pass(camera, { objects: true }, pose, finite, -1, true);
    this.pass(camera, shown, this.model.pose, this.model.finite, selected, false);
  }

  pass(camera, shown, pose, finite, selected, ghost) {
    const model = this.model, spot = [0, 0, 0], screen = [0, 0, 0], drawn = [];
    for (const piece of this.pieces) {
      if (!shown[piece.g]) continue;
      const [first, count] = piece.p, xy = new Float32Array(2 * count);
      let depth = 0;
      for (let i = 0; i < count; i++) {
        camera.project(model.point(first + i, spot, pose, finite), screen);
        xy[2 * i] = screen[0];
        xy[2 * i + 1] = screen[1];
        depth += screen[2] / count;
      }
      drawn.push([depth, piece, xy]);
    }
    drawn.sort((a, b) => a[0] - b[0]);
    for (const [, piece, xy] of drawn) this.stroke(camera, piece, xy, piece.o === selected && selected >= 0, ghost);
  }

  stroke(camera, piece, xy, chosen, ghost) {
    const c = this.context, s = this.model.segments, [first, count] = piece.s || [0, 0];
    const color = colorOf(this.model, piece, this.theme, this.byStress, -1);
    c.strokeStyle = ghost ? "rgba(130,136,142,0.4)" : chosen ? "#e0a100" : `rgb(${color.join(",")})`;
    c.lineWidth = Math.max(2 * (piece.r || 0) * camera.scale, piece.k === "edge" || piece.k === "dash" ? 1 : 1.7) + (chosen ? 1.5 : 0);
    c.setLineDash(piece.k === "dash" ? [6, 5] : []);
    const stress = this.byStress && !ghost && this.model.stress[piece.o];
    c.beginPath();
    for (let k = first; k < first + count; k++) {
      const a = s[2 * k], b = s[2 * k + 1];
      if (stress) {
        c.stroke();
        c.strokeStyle = `rgb(${heat(stress[a] / (this.model.highest || 1)).join(",")})`;
        c.beginPath();
      }
      if (piece.k === "coil") zigzag(c, xy, a, b, 0.012 * this.model.data.typical * camera.scale);
      else {
        if (k === first || s[2 * k - 1] !== a || stress) c.moveTo(xy[2 * a], xy[2 * a + 1]);
        c.lineTo(xy[2 * b], xy[2 * b + 1]);
      }
    }
    c.stroke();
    c.setLineDash([]);
    if (!piece.m) return;
    const half = Math.max(piece.m * camera.scale, 2);
    const high = half * (piece.h || 1);
    c.fillStyle = c.strokeStyle;
    for (let i = 0; i < xy.length; i += 2) c.fillRect(xy[i] - half, xy[i + 1] - high, 2 * half, 2 * high);
  }

  stop() {}
}

function zigzag(c, xy, a, b, width) {
  const x = xy[2 * a], y = xy[2 * a + 1], dx = xy[2 * b] - x, dy = xy[2 * b + 1] - y, n = Math.hypot(dx, dy) || 1;
  const w = Math.min(width, 0.12 * n), px = (-dy / n) * w, py = (dx / n) * w;
  c.moveTo(x, y);
  c.lineTo(x + 0.12 * dx, y + 0.12 * dy);
  for (let k = 0; k < 18; k++) {
    const s = 0.12 + (0.76 * (k + 0.5)) / 18, side = k % 2 ? 1 : -1;
    c.lineTo(x + s * dx + side * px, y + s * dy + side * py);
  }
  c.lineTo(x + 0.88 * dx, y + 0.88 * dy);
  c.lineTo(x + dx, y + dy);
}
