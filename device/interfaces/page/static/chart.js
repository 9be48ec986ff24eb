// The privacy budget as a step line under its cap, drawn as plain SVG.
const NS = "http://www.w3.org/2000/svg";
const WIDTH = 640, HEIGHT = 200, LEFT = 44, RIGHT = 12, TOP = 14, BOTTOM = 28;

const shape = (name, attributes, text) => {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

export const spendingChart = (spending, cap, label, locale) => {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  const last = spending.at(-1);
  const from = spending[0].at, until = Math.max(last.at, from + 86400);
  const top = Math.max(cap, last.epsilon) * 1.05;
  const x = (at) => LEFT + ((at - from) / (until - from)) * (WIDTH - LEFT - RIGHT);
  const y = (epsilon) => HEIGHT - BOTTOM - (epsilon / top) * (HEIGHT - TOP - BOTTOM);
  let line = `M ${x(from)} ${y(0)}`;
  for (const { at, epsilon } of spending) line += ` H ${x(at)} V ${y(epsilon)}`;
  line += ` H ${x(until)}`;
  svg.append(
    shape("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0) }),
    shape("path", { class: "area", d: `${line} V ${y(0)} Z` }),
    shape("path", { class: "spent", d: line }),
    shape("line", { class: "cap", x1: LEFT, x2: WIDTH - RIGHT, y1: y(cap), y2: y(cap) }),
    shape("text", { x: LEFT - 6, y: y(cap) + 4, "text-anchor": "end" }, cap.toFixed(1)),
    shape("text", { x: LEFT - 6, y: y(0) + 4, "text-anchor": "end" }, "0"),
    shape("text", { x: LEFT - 6, y: y(last.epsilon) + 4, "text-anchor": "end" }, last.epsilon.toFixed(1)),
    shape("text", { x: LEFT, y: HEIGHT - 8 }, new Date(from * 1000).toLocaleDateString(locale)),
    shape("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" },
      new Date(until * 1000).toLocaleDateString(locale)),
  );
  return svg;
};
