"use strict";
/* Draws the plots of a page in the colours of its style, and lets keys and clicks reach each point. */
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const NARROW = 600;
  const PRINTED = 680;            // CSS pixels of a plot on paper
  const states = new Map();       // of each plot: {box, variants, chosen, marks, at, drawn}

  // Text for the reader

  let saying = 0;
  function say(text) {
    const box = document.getElementById("said");
    box.textContent = text;
    box.classList.add("shown");
    clearTimeout(saying);
    saying = setTimeout(() => box.classList.remove("shown"), 2500);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {             // a page that is not secure has no clipboard
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) { say("The browser does not let the page copy"); return; }
    }
    say("Copied: " + (text.length > 70 ? text.slice(0, 70) + "…" : text));
  }

  // Looks

  const media = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  let printing = false;

  function colour(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

  function clone(value) { return JSON.parse(JSON.stringify(value)); }

  function dressed(layout, box, data) {
    const made = clone(layout), text = colour("--text"), grid = colour("--grid");
    const width = printing ? PRINTED : box.clientWidth, narrow = width < NARROW;
    made.paper_bgcolor = made.plot_bgcolor = "rgba(0,0,0,0)";
    made.font = { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13,
                  color: text };
    made.hoverlabel = { bgcolor: colour("--hover"), bordercolor: colour("--line"), align: "left",
                        font: { color: text, size: narrow ? 11 : 12 } };
    made.hovermode = "closest";
    made.dragmode = narrow ? false : "zoom";      // a finger scrolls the page
    made.margin = { l: narrow ? 44 : 60, r: narrow ? 12 : 24, t: 12, b: 48, pad: 2 };
    made.legend = { orientation: "h", x: 0, xanchor: "left", y: 1.01, yanchor: "bottom",
                    traceorder: "normal", itemwidth: 30, maxheight: 600 };
    const named = data.filter(trace => trace.showlegend !== false && trace.name).length;
    if (made.showlegend !== false && named > 1)
      made.height += 22 * Math.ceil(named / Math.max(1, Math.floor(width / (narrow ? 170 : 200))));
    for (const key of Object.keys(made)) {
      if (!/^[xy]axis/.test(key)) continue;
      Object.assign(made[key], { gridcolor: grid, zerolinecolor: grid, linecolor: colour("--line"),
                                 automargin: true, ticks: "outside", tickcolor: grid, ticklen: 4 });
      if (!made[key].tickformat && made[key].type !== "category") made[key].tickformat = ",~r";
    }
    for (const note of made.annotations || []) {
      note.font = { size: 11, color: text };
      note.bgcolor = colour("--card");            // it may lie on bars
    }
    for (const [key, most] of Object.entries(made.meta?.room || {}))   // for texts behind the bars
      made[key].range = [0, most * (made.meta.panels || narrow ? 1.7 : 1.2)];
    if (made.meta?.panels) arrange(made, width);
    made.width = printing ? PRINTED : undefined;
    made.autosize = !printing;
    return made;
  }

  // Small multiples: as many panels side by side as the width has room for.
  const TITLE = 44, PANEL = 330;      // CSS pixels above a panel, and of its width

  function arrange(made, width) {
    const { panels, height, labels, ticks } = made.meta;
    const left = Math.max(made.yaxis.title?.text ? 80 : 66, 16 + 7.2 * labels);
    const columns = Math.max(1, Math.min(panels, 3, Math.floor(width / PANEL)));
    const rows = Math.ceil(panels / columns), wide = width - left - 12;
    const own = (wide - (columns - 1) * (left + 8)) / columns;
    const turned = ticks.number * ticks.longest * 7 > own;      // labels below a panel
    const foot = 14 + (turned ? 7.5 * ticks.longest : 16 * ticks.lines)
      + (made.xaxis.title?.text ? 24 : 0);
    const legend = made.height - height;          // what the legend needs, which is above
    made.margin = { l: left, r: 12, t: legend + 46, b: foot, pad: 2 };
    const high = rows * height + (rows - 1) * (foot + TITLE);
    made.height = high + made.margin.t + made.margin.b;
    if (made.legend) Object.assign(made.legend, { yref: "container", y: 1, yanchor: "top" });
    for (let panel = 0; panel < panels; panel++) {
      const end = panel ? panel + 1 : "", column = panel % columns, row = Math.floor(panel / columns);
      const from = column * (own + left + 8), top = row * (height + foot + TITLE);
      if (ticks.number) made["xaxis" + end].tickangle = turned ? -90 : 0;
      made["xaxis" + end].domain = [from / wide, (from + own) / wide];
      made["yaxis" + end].domain = [Math.max(0, 1 - (top + height) / high), 1 - top / high];
      if (made["xaxis" + end].title) made["xaxis" + end].title.standoff = 6;
      made["xaxis" + end].automargin = made["yaxis" + end].automargin = false;
    }
    for (const note of made.annotations) note.bgcolor = undefined;
  }

  function draw(state) {
    const shown = state.variants[state.chosen];
    const layout = dressed(shown.layout, state.box, shown.data);
    state.box.style.minHeight = layout.height + "px";
    state.marks = [];
    shown.data.forEach((trace, curve) => {
      const sets = trace.type === "heatmap" ? [] : trace.customdata || [];
      sets.forEach((number, place) => {
        if (number !== null) state.marks.push({ curve, place, number });
      });
    });
    state.at = -1;
    Plotly.react(state.box, clone(shown.data), layout, {
      responsive: true, displaylogo: false, scrollZoom: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: state.box.dataset.plot },
    });
    if (!state.drawn) {
      state.drawn = true;
      state.box.on("plotly_click", event => {
        const mark = event.points[0];
        if (typeof mark.customdata === "number") select(state, mark.customdata, true);
      });
    }
  }

  function drawAll() { for (const state of states.values()) draw(state); }

  // Points

  function select(state, number, copied) {
    const point = data.points[number], box = document.getElementById(state.box.dataset.plot + "-chosen");
    box.replaceChildren();
    const heading = document.createElement("h3");
    heading.textContent = point.label;
    box.append(heading);
    const lines = point.values.map(([name, value]) => name + ": " + value);
    if (point.configuration) lines.push(point.configuration);
    for (const line of lines) {
      const row = document.createElement("p");
      row.textContent = line;
      box.append(row);
    }
    if (point.command) {
      const row = document.createElement("div"), code = document.createElement("code");
      const button = document.createElement("button");
      row.className = "command";
      code.textContent = point.command;
      button.type = "button";
      button.className = "copy";
      button.dataset.point = number;
      button.textContent = "Copy";
      row.append(code, button);
      box.append(row);
    }
    box.hidden = false;
    if (copied && point.command) copy(point.command);
  }

  function step(state, by) {
    if (!state.marks.length) return;
    const last = state.marks.length - 1;
    state.at = by === "first" ? 0 : by === "last" ? last
      : state.at < 0 ? 0 : Math.min(last, Math.max(0, state.at + by));
    const mark = state.marks[state.at];
    try {
      Plotly.Fx.hover(state.box, [{ curveNumber: mark.curve, pointNumber: mark.place }]);
    } catch (error) { /* a mark outside the zoomed part has no place */ }
    select(state, mark.number, false);
  }

  function series(state, by) {
    if (!state.marks.length) return;
    const now = state.at < 0 ? null : state.marks[state.at];
    const curves = [...new Set(state.marks.map(mark => mark.curve))];
    const next = now === null ? curves[0]
      : curves[Math.min(curves.length - 1, Math.max(0, curves.indexOf(now.curve) + by))];
    const place = now === null ? 0 : now.place;
    const mine = state.marks.map((mark, index) => [mark, index]).filter(([mark]) => mark.curve === next);
    const near = mine.reduce((best, each) => Math.abs(each[0].place - place)
      < Math.abs(best[0].place - place) ? each : best);
    state.at = near[1];
    step(state, 0);
  }

  const KEYS = {
    ArrowRight: state => step(state, 1), ArrowLeft: state => step(state, -1),
    ArrowDown: state => series(state, 1), ArrowUp: state => series(state, -1),
    Home: state => step(state, "first"), End: state => step(state, "last"),
    Enter: state => {
      const mark = state.marks[state.at];
      if (mark && data.points[mark.number].command) copy(data.points[mark.number].command);
    },
    Escape: state => {
      Plotly.Fx.unhover(state.box);
      state.at = -1;
      document.getElementById(state.box.dataset.plot + "-chosen").hidden = true;
    },
  };

  // The page

  const themes = ["auto", "light", "dark"], button = document.getElementById("theme");

  function theme(name) {
    root.dataset.theme = name;
    button.textContent = "Theme: " + name;
    try { localStorage.setItem("graphloom-theme", name); } catch (error) { /* not kept */ }
    for (const state of states.values()) if (state.drawn) draw(state);
  }

  button.addEventListener("click", () =>
    theme(themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]));
  media.addEventListener("change", () => theme(root.dataset.theme));

  document.addEventListener("click", event => {
    const pressed = event.target.closest("button.copy");
    if (!pressed) return;
    copy(pressed.dataset.text ?? data.points[Number(pressed.dataset.point)].command);
  });

  for (const box of document.querySelectorAll("div.plot")) {
    const state = { box, variants: data.blocks[box.dataset.plot], chosen: 0, marks: [], at: -1,
                    drawn: false };
    states.set(box.dataset.plot, state);
    box.addEventListener("keydown", event => {
      if (event.target !== box || event.ctrlKey || event.altKey || event.metaKey) return;
      const action = KEYS[event.key];
      if (!action || !state.drawn) return;
      event.preventDefault();
      action(state);
    });
  }
  for (const choice of document.querySelectorAll("select[data-plot]")) {
    choice.addEventListener("change", () => {
      const state = states.get(choice.dataset.plot);
      state.chosen = Number(choice.value);
      document.getElementById(choice.dataset.plot + "-chosen").hidden = true;
      draw(state);
    });
  }

  function print(now) {
    if (printing === now) return;
    printing = now;
    drawAll();
  }
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  paper.addEventListener("change", event => print(event.matches));

  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {      // sizes of text and legend follow the width
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 100);
  });

  button.textContent = "Theme: " + root.dataset.theme;
  // One plot after another, so that the page answers meanwhile.
  const left = [...states.values()];
  (function next() {
    const state = left.shift();
    if (!state) { document.body.dataset.drawn = "yes"; return; }
    if (!state.drawn) draw(state);
    setTimeout(next, 0);
  })();
})();
