// Draws each chart from the table that it names, when it comes into view.
(() => {
  "use strict";

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const mostAtOnce = 15; // of more charts, those in view are drawn first
  const digits = new Intl.NumberFormat("en");

  // A cell as a number; null for an empty one.
  const figure = (cell) => {
    const words = cell.textContent.replace(/[^0-9.\-]/g, "");
    return words === "" ? null : Number(words);
  };

  // The columns of a table, by their keys.
  const read = (table) => {
    const columns = {};
    const keys = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.key);
    keys.forEach((key) => { columns[key] = []; });
    for (const row of table.tBodies[0].rows) {
      keys.forEach((key, place) => {
        const cell = row.cells[place];
        columns[key].push(key === "events" ? cell.textContent : figure(cell));
      });
    }
    const bills = table.tBodies[0].rows[0];
    columns.isMoney = bills.cells[keys.indexOf("ours")].textContent.startsWith("$");
    return columns;
  };

  const hasAny = (values) => values.some((value) => value !== null);
  const most = (...lists) => Math.max(1, ...lists.flat().filter((value) => value !== null));
  const same = (one, other) => one.every((value, place) => value === other[place] || other[place] === null);

  // Whether two lines can be told from each other on most requests: else one would hide under the other.
  const isApart = (one, other, top) =>
    one.filter((value, place) => Math.abs(value - other[place]) > 0.02 * top).length > one.length / 2;

  const tokens = (value) => (value === null ? "–" : digits.format(value));
  const short = (value) => (value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : `${value}`);

  // What each chart shows: lines of [key, words, colour, dashes], or bars that stand on each other.
  const kinds = {
    size: (data) => {
      const lines = [["whole", "nothing removed", "nothing", [2, 3]]];
      if (hasAny(data.billed) && !same(data.whole, data.billed)) lines.push(["billed", "billed as recorded", "client", [6, 3]]);
      const top = most(data.whole, data.sent, data.trigger);
      lines.push(["sent", "sent with trimtab", "ours", []]);
      if (isApart(data.foretold, data.sent, top)) lines.push(["foretold", "foretold", "foretold", [2, 4]]);
      lines.push(["trigger", "trigger", "trigger", [8, 4]]);
      if (Math.min(...data.limit) <= 1.5 * top) lines.push(["limit", "limit", "limit", []]);
      return { lines };
    },
    cache: () => ({ bars: [["read", "from the cache", "read"], ["written", "written to the cache", "written"], ["fresh", "fresh", "fresh"]] }),
    bill: (data) => {
      const lines = [["nothing", "nothing removed", "nothing", [2, 3]]];
      if (!same(data.nothing, data.client)) lines.push(["client", "as recorded", "client", [6, 3]]);
      lines.push(["ours", "with trimtab", "ours", []]);
      return { lines, isMoney: data.isMoney };
    },
  };

  // Bars that stand on each other are drawn from the highest sum down.
  const stacked = (data, bars) => {
    const sums = [];
    bars.forEach(([key], place) => {
      sums.push(data[key].map((value, at) => value + (place ? sums[place - 1][at] : 0)));
    });
    return sums;
  };

  const key = (box, shown, isBars, hasMissed) => {
    const items = shown.map(([, words, name, dashes]) => {
      const sign = document.createElement("i");
      sign.style[isBars ? "background" : "borderTopColor"] = colour(name);
      if (isBars) sign.className = "box";
      else if (dashes.length) sign.className = dashes[0] < 4 ? "dots" : "dash";
      const item = document.createElement("span");
      item.append(sign, words);
      return item;
    });
    if (hasMissed) {
      const dot = Object.assign(document.createElement("i"), { className: "dot" });
      dot.style.background = colour("bad");
      const item = document.createElement("span");
      item.append(dot, "its answer missed something");
      items.push(item);
    }
    box.replaceChildren(...items);
  };

  // Lines down where trimtab compacted, and marks where an answer missed something.
  const marks = (data) => ({
    hooks: {
      draw: [(plot) => {
        const { ctx, bbox } = plot;
        const scale = devicePixelRatio;
        ctx.save();
        ctx.font = `${11 * scale}px system-ui, sans-serif`;
        const lineHeight = 14 * scale;
        const ends = []; // where the last label of each line of labels ends
        data.events.forEach((events, place) => {
          const x = plot.valToPos(data.turn[place], "x", true);
          if (events.includes("compacted")) {
            ctx.strokeStyle = ctx.fillStyle = colour("soft");
            ctx.lineWidth = scale;
            ctx.setLineDash([3 * scale, 3 * scale]);
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
            const words = `cut at ${digits.format(data.turn[place])}`;
            const width = ctx.measureText(words).width + 6 * scale;
            const left = Math.min(x + 2 * scale, bbox.left + bbox.width - width);
            const free = ends.findIndex((end) => end <= left);
            const line = free < 0 ? ends.length : free;
            ends[line] = left + width;
            ctx.textAlign = "left";
            ctx.fillStyle = colour("paper"); // so that no line runs through the words
            ctx.fillRect(left, bbox.top + line * lineHeight, width, lineHeight);
            ctx.fillStyle = colour("soft");
            ctx.fillText(words, left + 3 * scale, bbox.top + line * lineHeight + 11 * scale);
          }
          if (events.includes("missed")) {
            ctx.fillStyle = colour("bad");
            ctx.strokeStyle = colour("paper"); // a rim, so that it stands out from bars of its colour
            ctx.lineWidth = 2 * scale;
            ctx.setLineDash([]);
            ctx.beginPath();
            ctx.arc(x, bbox.top + bbox.height - 6 * scale, 4 * scale, 0, 7);
            ctx.stroke();
            ctx.fill();
          }
        });
        ctx.restore();
      }],
    },
  });

  // Says the numbers of the turn under the pointer.
  const tip = (data, shown, tell) => {
    const box = document.createElement("div");
    box.className = "tip";
    box.hidden = true;
    return {
      hooks: {
        init: [(plot) => plot.over.append(box)],
        setCursor: [(plot) => {
          const place = plot.cursor.idx;
          box.hidden = place === null || place === undefined;
          if (box.hidden) return;
          const rows = shown.map(([name, words]) => `${words}: ${tell(data[name][place])}`);
          const events = data.events[place];
          const lines = [`request ${digits.format(data.turn[place])}`, ...rows, ...(events ? [events] : [])];
          box.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
          const isRight = plot.cursor.left > plot.over.clientWidth / 2;
          box.style.left = isRight ? "" : `${plot.cursor.left + 12}px`;
          box.style.right = isRight ? `${plot.over.clientWidth - plot.cursor.left + 12}px` : "";
        }],
      },
    };
  };

  const draw = (place) => {
    const figureBox = place.closest("figure");
    const data = read(document.getElementById(place.dataset.table));
    const { lines, bars, isMoney } = kinds[place.dataset.chart](data);
    const shown = lines || bars;
    const money = (value) => `$${value.toLocaleString("en", { maximumFractionDigits: value < 1 ? 4 : 2 })}`;
    const tell = isMoney ? money : tokens;
    const columns = lines ? shown.map(([name]) => data[name]) : stacked(data, bars).reverse();
    const series = (lines || [...bars].reverse()).map(([, words, name, dashes]) => ({
      label: words,
      stroke: colour(name),
      fill: lines ? undefined : colour(name),
      width: lines ? (name === "ours" ? 2.5 : 1.5) : 0,
      dash: lines ? dashes : [],
      paths: lines ? undefined : uPlot.paths.bars({ size: [0.9, 40], gap: 0 }),
      points: { show: lines && data.turn.length === 1 },
    }));
    const axis = {
      stroke: colour("soft"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { stroke: colour("line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    figureBox.classList.add("drawn");
    key(figureBox.querySelector(".key"), shown, !lines, data.events.some((events) => events.includes("missed")));
    place.uplot?.destroy();
    const [first, last] = [data.turn[0], data.turn[data.turn.length - 1]];
    const side = lines ? 0 : 0.5;
    place.uplot = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: place.clientHeight,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: Boolean(lines) } },
      scales: {
        x: { time: false, range: () => [first - side, Math.max(last, first + 1) + side] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.06] },
      },
      axes: [
        { ...axis, size: 32, values: (_, places) => places.map((value) => (Number.isInteger(value) ? digits.format(value) : "")) },
        { ...axis, size: 58, values: (_, values) => values.map((value) => (isMoney ? money(value) : short(value))) },
      ],
      series: [{}, ...series],
      plugins: [marks(data), tip(data, shown, tell)],
    }, [data.turn, ...columns], place);
  };

  const places = [...document.querySelectorAll(".chart")];
  const isDrawn = (place) => Boolean(place.uplot);
  const again = () => places.filter(isDrawn).forEach(draw);
  const isShown = (place) => place.closest("details.session")?.open !== false;

  const watch = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        watch.unobserve(target);
        draw(target);
      }
    }
  }, { rootMargin: "600px" });
  const shown = places.filter(isShown);
  const isFew = shown.length <= mostAtOnce;
  for (const place of places) place.closest("figure").classList.add("drawn");
  for (const place of places) {
    if (isFew && isShown(place)) draw(place);
    else watch.observe(place);
  }

  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(again);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("beforeprint", () => places.filter(isShown).forEach(draw));
  matchMedia("print").addEventListener("change", () => places.filter(isShown).forEach(draw));

  // A link into a session that is closed opens it.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
