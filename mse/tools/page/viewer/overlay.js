// What is written over the picture: names, tensions, loads, axes, a scale, gravity, the colors of stress.

const MOST_NAMES = 120;

class Overlay {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.model = model;
  }

  draw(camera, shown, theme, ratio) {
    const c = this.context;
    this.ink = theme === "dark" ? "#e8eaed" : "#1f2428";
    this.paper = theme === "dark" ? "rgba(22,25,29,0.82)" : "rgba(255,255,255,0.82)";
    this.theme = theme;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, camera.width, camera.height);
    c.textBaseline = "middle";
    this.taken = [];
    this.named = []; // boxes of names, each with the number of its object
    this.axes(camera);
    this.scaleBar(camera);
    if (shown.gravity) this.gravity(camera);
    if (shown.stress) this.colorBar(camera);
    if (shown.selected >= 0) this.label(camera, shown.selected, this.model.data.objects[shown.selected].n, true);
    if (shown.loads) this.loads(camera);
    if (shown.tensions) this.tensions(camera);
    if (shown.names) this.names(camera, shown);
  }

  // -- texts on objects --------------------------------------------------------------------------------------------
  anchor(camera, number) {
    const at = this.model.anchors[number];
    if (!at) return null;
    const spot = this.model.point(at[1], [0, 0, 0]);
    if (["wire", "spring", "element", "joint"].includes(this.model.data.objects[number].r) && at[2] === undefined) {
      // in the middle of what has two ends
      const piece = this.model.data.pieces.find((p) => p.o === number && p.s && p.p);
      if (piece && piece.p[1] === 2) {
        const other = this.model.point(piece.p[0] + 1, [0, 0, 0]);
        for (let i = 0; i < 3; i++) spot[i] = 0.5 * (spot[i] + other[i]);
      }
    }
    return camera.project(spot, [0, 0, 0]);
  }

  label(camera, number, text, strong = false) {
    const at = this.anchor(camera, number);
    if (!at || !this.write(text, at[0], at[1], strong)) return false;
    this.named.push([this.taken[this.taken.length - 1], number]);
    return true;
  }

  // The object whose name is written there, or -1.
  nameAt(x, y) {
    const found = (this.named || []).find(([box]) => box[0] <= x && x <= box[2] && box[1] <= y && y <= box[3]);
    return found ? found[1] : -1;
  }

  // The middle of the name of an object, or null where it is not written.
  nameSpot(number) {
    const found = (this.named || []).find(([, named]) => named === number);
    return found ? [(found[0][0] + found[0][2]) / 2, (found[0][1] + found[0][3]) / 2] : null;
  }

  // Text beside a place, at the first side that is free; none where there is no room.
  write(text, x, y, strong) {
    const c = this.context;
    c.font = `${strong ? "600 " : ""}12px system-ui, sans-serif`;
    const w = c.measureText(text).width + 8, h = 17;
    const sides = [[9, -h / 2], [-w - 9, -h / 2], [-w / 2, -h - 7], [-w / 2, 8], [9, -h - 4], [9, 5], [-w - 9, -h - 4], [-w - 9, 5]];
    for (const [dx, dy] of sides) {
      const box = [x + dx, y + dy, x + dx + w, y + dy + h];
      if (box[0] < 2 || box[1] < 2 || box[2] > this.canvas.clientWidth - 2 || box[3] > this.canvas.clientHeight - 2) continue;
      if (this.taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) continue;
      this.taken.push(box);
      c.fillStyle = this.paper;
      c.beginPath();
      c.roundRect(...box.slice(0, 2), w, h, 4);
      c.fill();
      c.fillStyle = this.ink;
      c.textAlign = "left";
      c.fillText(text, box[0] + 4, box[1] + h / 2 + 0.5);
      return true;
    }
    return false;
  }

  names(camera, shown) {
    const order = this.model.data.objects.map((o, k) => [o.r === "body" ? 0 : o.r === "beam" ? 1 : 2, k]);
    order.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let written = 0;
    for (const [, k] of order) {
      const object = this.model.data.objects[k];
      if (k === shown.selected || (object.r === "load" && shown.loads)) continue; // its name is written already
      if (this.label(camera, k, object.n) && ++written >= MOST_NAMES) return;
    }
  }

  tensions(camera) {
    this.model.data.objects.forEach((o, k) => o.t !== undefined && this.label(camera, k, quantity(o.t, "N")));
  }

  loads(camera) {
    for (const piece of this.model.data.pieces) {
      if (piece.g !== "loads" || !piece.s || piece.k) continue; // the shaft, not the head
      const at = camera.project(this.model.point(piece.p[0], [0, 0, 0]), [0, 0, 0]);
      const o = this.model.data.objects[piece.o];
      const force = o.l ? Math.hypot(o.l[0][0], o.l[0][1], o.l[0][2]) : null;
      this.write(force === null ? o.n : `${o.n} ${quantity(force, "N")}`, at[0], at[1]);
    }
  }

  // -- around the picture --------------------------------------------------------------------------------------------
  arrow(x, y, dx, dy, color) {
    const c = this.context, n = Math.hypot(dx, dy);
    c.strokeStyle = c.fillStyle = color;
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x + dx, y + dy);
    c.stroke();
    if (n < 7) return;
    const ux = dx / n, uy = dy / n;
    c.beginPath();
    c.moveTo(x + dx + 4 * ux, y + dy + 4 * uy);
    c.lineTo(x + dx - 4 * ux - 4 * uy, y + dy - 4 * uy + 4 * ux);
    c.lineTo(x + dx - 4 * ux + 4 * uy, y + dy - 4 * uy - 4 * ux);
    c.fill();
  }

  axes(camera) {
    const c = this.context, x = 40, y = camera.height - 44;
    const ways = [0, 1, 2].map((i) => ({ i, dx: 26 * camera.right[i], dy: -26 * camera.above[i], near: camera.toward[i] }));
    ways.sort((a, b) => a.near - b.near);
    c.font = "600 12px system-ui, sans-serif";
    c.textAlign = "center";
    for (const { i, dx, dy } of ways) {
      const color = COLORS["xyz"[i]][this.theme === "dark" ? 1 : 0], n = Math.hypot(dx, dy) || 1;
      this.arrow(x, y, dx, dy, color);
      c.fillStyle = color;
      c.fillText("xyz"[i], x + dx * (1 + 11 / n), y + dy * (1 + 11 / n));
    }
    this.taken.push([0, y - 42, 84, y + 44]);
  }

  scaleBar(camera) {
    const c = this.context, length = roundBelow(110 / camera.scale), w = length * camera.scale, x = 92, y = camera.height - 20;
    c.strokeStyle = c.fillStyle = this.ink;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x, y - 4);
    c.lineTo(x, y + 4);
    c.moveTo(x, y);
    c.lineTo(x + w, y);
    c.moveTo(x + w, y - 4);
    c.lineTo(x + w, y + 4);
    c.stroke();
    c.font = "12px system-ui, sans-serif";
    c.textAlign = "center";
    c.fillText(quantity(length, "m"), x + w / 2, y - 10);
    this.taken.push([x - 4, y - 20, x + w + 4, y + 8]);
  }

  gravity(camera) {
    const g = this.model.data.gravity, n = Math.hypot(...g);
    if (!n) return;
    const dx = (34 * dot(g, camera.right)) / n, dy = (-34 * dot(g, camera.above)) / n;
    const x = camera.width - 34, y = camera.height - 66;
    this.arrow(x, y, dx, dy, this.ink);
    const c = this.context;
    c.font = "12px system-ui, sans-serif";
    c.textAlign = "right";
    c.fillStyle = this.ink;
    c.fillText(`${plain(n, 4)} m/s\u00b2`, camera.width - 8, camera.height - 12);
    this.taken.push([camera.width - 80, camera.height - 110, camera.width, camera.height]);
  }

  colorBar(camera) {
    const c = this.context, w = 150, x = camera.width - w - 14, y = 14;
    for (let i = 0; i < w; i++) {
      c.fillStyle = `rgb(${heat(i / (w - 1)).join(",")})`;
      c.fillRect(x + i, y, 1.2, 10);
    }
    c.fillStyle = this.ink;
    c.font = "12px system-ui, sans-serif";
    c.textAlign = "left";
    c.fillText("0", x, y + 20);
    c.textAlign = "right";
    c.fillText(quantity(this.model.highest, "Pa"), x + w, y + 20);
    c.fillText("largest normal stress", x + w, y + 36);
    this.taken.push([x - 8, 0, camera.width, y + 46]);
  }
}
