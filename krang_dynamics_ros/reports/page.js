'use strict';
// Draws each chart of a report with uPlot, from the data in its figure.

const HEIGHT = 300; // pixels
const GRID = {stroke: '#8884', width: 1};
const SVG = 'http://www.w3.org/2000/svg';

const decoded = ({from, step, steps}) => steps.map(k => from + k * step);

/** Returns x and y of a line, with null where it is broken. */
function withGaps(line) {
  const x = decoded(line.x), y = decoded(line.y), broken = [[], []];
  x.forEach((at, k) => {
    if (line.gap !== null && k && at - x[k - 1] > line.gap) {
      broken[0].push((at + x[k - 1]) / 2);
      broken[1].push(null);
    }
    broken[0].push(at);
    broken[1].push(y[k]);
  });
  return broken;
}

/** Returns the range of an axis: that of all lines, wide enough that noise of rounding is flat. */
function range(plot, low, high) {
  if (low === null) return [0, 1];
  const half = 0.55 * Math.max(high - low, 1e-4 * Math.abs(low), 1e-6), middle = (low + high) / 2;
  return [middle - half, middle + half];
}

function draw(figure) {
  const data = JSON.parse(figure.querySelector('script').textContent);
  const ink = getComputedStyle(figure).color;
  const short = value => value === null || value === undefined ? '--' : String(+value.toPrecision(6));
  const axis = (label, size) => ({label, size, stroke: ink, grid: GRID, ticks: GRID, values: (_, at) => at.map(short)});
  const lines = data.lines.map(line => (
    {label: line.name, stroke: line.color, width: line.width, show: !line.hidden, points: {size: 4, fill: line.color},
      value: (_, value) => short(value)}));
  const options = {
    width: figure.clientWidth, height: HEIGHT, scales: {x: {time: false}, y: {range}},
    axes: [axis(data.x, 40), axis(data.y, 70)], series: [{label: data.x, value: (_, at) => short(at)}, ...lines],
    cursor: {sync: {key: 'x', scales: ['x', null]}},
  };
  const expand = data.lines.map(() => [0, 2]); // a gap is one also where other lines have points
  const plot = figure.plot = new uPlot(options, uPlot.join(data.lines.map(withGaps), expand), figure);
  new ResizeObserver(() => plot.setSize({width: figure.clientWidth, height: HEIGHT})).observe(figure);
  figure.querySelector('button').onclick = () => {
    const text = new XMLSerializer().serializeToString(toSvg(plot, data)), link = document.createElement('a');
    const file = new Blob([text], {type: 'image/svg+xml'});
    link.href = URL.createObjectURL(file);
    link.download = data.title.replace(/[^\w.-]+/g, '_') + '.svg';
    link.click();
    URL.revokeObjectURL(link.href);
  };
}

/** Returns what a plot shows now as an SVG element: axes, names and lines. */
function toSvg(plot, data) {
  const box = Object.fromEntries(Object.entries(plot.bbox).map(([key, pixels]) => [key, pixels / devicePixelRatio]));
  const right = box.left + box.width, bottom = box.top + box.height, grey = {stroke: '#ccc'};
  const make = (parent, tag, attributes, text = '') => {
    const element = parent.appendChild(document.createElementNS(SVG, tag));
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    element.textContent = text;
    return element;
  };
  const view = {viewBox: `0 0 ${plot.width} ${plot.height}`, 'font-family': 'sans-serif', 'font-size': 12};
  const svg = make(document.createDocumentFragment(), 'svg', view);
  plot.axes[0]._splits.forEach((value, k) => {
    const x = box.left + plot.valToPos(value, 'x');
    make(svg, 'line', {x1: x, x2: x, y1: box.top, y2: bottom, ...grey});
    make(svg, 'text', {x, y: bottom + 15, 'text-anchor': 'middle'}, plot.axes[0]._values[k]);
  });
  plot.axes[1]._splits.forEach((value, k) => {
    const y = box.top + plot.valToPos(value, 'y');
    make(svg, 'line', {x1: box.left, x2: right, y1: y, y2: y, ...grey});
    make(svg, 'text', {x: box.left - 5, y: y + 4, 'text-anchor': 'end'}, plot.axes[1]._values[k]);
  });
  const middle = {x: (box.left + right) / 2, y: (box.top + bottom) / 2};
  make(svg, 'text', {x: middle.x, y: plot.height - 3, 'text-anchor': 'middle'}, data.x);
  make(svg, 'text', {x: -middle.y, y: 12, 'text-anchor': 'middle', transform: 'rotate(-90)'}, data.y);
  const shown = plot.series.map((line, k) => ({...data.lines[k - 1], k})).filter(({k}) => k && plot.series[k].show);
  const inner = make(svg, 'svg', {x: box.left, y: box.top, width: box.width, height: box.height, overflow: 'hidden'});
  const names = make(svg, 'text', {x: box.left, y: 12});
  shown.forEach(line => {
    make(names, 'tspan', {dx: 10, fill: line.color, 'font-weight': 'bold'}, line.name);
    make(inner, 'path', {d: pathOf(plot, line.k), fill: 'none', stroke: line.color, 'stroke-width': line.width});
  });
  return svg;
}

function pathOf(plot, k) {
  let path = '', pen = 'M';
  plot.data[0].forEach((x, row) => {
    const y = plot.data[k][row];
    if (y === null) pen = 'M';
    if (y === null || y === undefined) return; // undefined: another line has a point here
    path += pen + plot.valToPos(x, 'x').toFixed(1) + ' ' + plot.valToPos(y, 'y').toFixed(1);
    pen = 'L';
  });
  return path;
}

document.querySelectorAll('figure.chart').forEach(draw);
