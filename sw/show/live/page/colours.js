// Colours of states, warps and values, in the page's present theme (style.css has them).

let cache = new Map();

const probe = Object.assign(document.createElement('i'), { hidden: true });
document.documentElement.append(probe);

/** The value of a CSS variable that is a colour. */
export function colour(name) {
  if (!cache.has(name)) {
    probe.style.color = `var(--${name})`;
    cache.set(name, getComputedStyle(probe).color);
  }
  return cache.get(name);
}

/** Whether the page is dark now. */
export function dark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

/** The theme has changed. */
export function forget() {
  cache = new Map();
}

/** CSS variables of the states of warps, in the order of hw/stalls.py. */
export const STATES = ['ended', 'ready', 'memory', 'local', 'weaver', 'execute', 'barrier', 'fetch'];

export const stateColour = number => colour(`state-${STATES[number] ?? 'ended'}`);

export const warpColour = warp => colour(`warp-${warp % 8}`);

/** The colour of a state of a state machine of a unit. */
export const machineColour = number => colour(`fsm-${number % 8}`);

/** The colour of a value from 0 to 1 on the scale of results. */
export const valueColour = value => dark()
  ? `hsl(${265 - 75 * value} 65% ${42 + 40 * value}%)`
  : `hsl(${190 + 75 * value} 65% ${68 - 40 * value}%)`;

/** Fit a canvas to its box and the screen's pixels. Returns its context, width and height. */
export function fitted(canvas) {
  const box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(box.width)), height = Math.max(1, Math.round(box.height));
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    canvas.width = width * scale;
    canvas.height = height * scale;
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
