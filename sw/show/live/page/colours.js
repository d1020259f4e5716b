// Colours of states, warps and values, in the page's present theme (style.css has them).

let cache = new Map();

/** The value of a CSS variable. */
export function colour(name) {
  if (!cache.has(name)) {
    cache.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return cache.get(name);
}

/** The theme has changed. */
export function forget() {
  cache = new Map();
}

/** CSS variables of the states of warps, in the order of hw/stalls.py. */
export const STATES = ['ended', 'ready', 'memory', 'local', 'unit', 'execute', 'barrier', 'fetch'];

export const stateColour = number => colour(`state-${STATES[number] ?? 'ended'}`);

export const warpColour = warp => colour(`warp-${warp % 8}`);

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
