// Fills the tables of records from the JSON beside them: PAGE rows at a time,
// filtered and sorted, and a raw record where a link #cell-TABLE-INDEX leads.
// Text from files is only ever set as text, never as markup.
(function () {
  "use strict";
  const PAGE = 100;

  const byId = (id) => document.getElementById(id);
  const textOf = (id) => byId(id).textContent;

  function make(name, text) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  const isNumber = (value) =>
    typeof value === "number" || typeof value === "bigint";

  // An integer that is too large for a number comes as {whole: "9007199254740993"}.
  const exact = (value) =>
    value !== null && typeof value === "object" ? BigInt(value.whole) : value;

  // Four digits of what is not whole; null is "-".
  function shown(value) {
    if (value === null) return "-";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    return String(Number(value.toPrecision(4)));
  }

  // Numbers by size, then texts, then what is missing, whichever way it goes.
  function compare(a, b, sign) {
    const rank = (value) =>
      value === null ? 2 : isNumber(value) ? 0 : 1;
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    return a < b ? -sign : a > b ? sign : 0;
  }

  // The test of one word of a filter, for a row and its index.
  function testOf(word, columns, constants) {
    const found = /^([^<>=]+)([<>=])(.+)$/.exec(word);
    const isNamed = (name) =>
      name.toLowerCase() === found[1] || name.toLowerCase().endsWith("." + found[1]);
    if (found) {
      const column = columns.findIndex(isNamed);
      const constant = Object.keys(constants).find(isNamed);
      if (column >= 0 || constant !== undefined) {
        const compared = /^-?\d+$/.test(found[3]) ? BigInt(found[3])
                                                  : Number(found[3]);
        return (row) => {
          const value = column >= 0 ? row[column] : exact(constants[constant]);
          if (found[2] === "=") {
            return shown(value).toLowerCase() === found[3] ||
                (isNumber(value) && value == compared);
          }
          return isNumber(value) &&
              (found[2] === "<" ? value < compared : value > compared);
        };
      }
    }
    return (row) =>
      row.some((value) => shown(value).toLowerCase().includes(word));
  }

  function fill(section) {
    const number = section.id.split("-")[1];
    const { columns, constants, rows: written, source, links } =
        JSON.parse(textOf("data-" + number));
    const rows = written.map((row) => row.map(exact));
    const heads = [...section.querySelectorAll("thead th")];
    const body = section.querySelector("tbody");
    const filter = section.querySelector("input");
    const [previous, next] = section.querySelectorAll(".tools button");
    const judges = columns.map((name) => /(^|\.)(status|verdict)$/.test(name));
    let chosen = rows.map((_, index) => index);
    let sorted = { column: -1, sign: 1 };
    let first = 0;

    function link(index, text, isTabStop) {
      const anchor = make("a", text);
      anchor.href = "#cell-" + source + "-" + (links ? links[index] : index);
      if (!isTabStop) anchor.tabIndex = -1;
      return anchor;
    }

    function rowOf(index) {
      const row = make("tr");
      const head = make("th");
      head.scope = "row";
      head.append(link(index, index, true));
      row.append(head);
      rows[index].forEach((value, column) => {
        const cell = make("td");
        if (isNumber(value)) {
          cell.className = "number";
          cell.append(link(index, shown(value), false));
        } else {
          cell.textContent = shown(value);
        }
        if (judges[column] && /^(invalid|error|timeout|fail)/.test(value)) {
          row.classList.add("failed");
        }
        row.append(cell);
      });
      return row;
    }

    function show() {
      const last = Math.min(first + PAGE, chosen.length);
      body.replaceChildren(...chosen.slice(first, last).map(rowOf));
      previous.disabled = first === 0;
      next.disabled = last >= chosen.length;
      let text = chosen.length ? `rows ${first + 1} to ${last} of ${chosen.length}`
                               : "no rows";
      if (chosen.length < rows.length) text += `, filtered from ${rows.length}`;
      section.querySelector("output").textContent = text;
    }

    function choose() {
      const tests = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
          .map((word) => testOf(word, columns, constants));
      const value = (index) =>
        sorted.column < 0 ? index : rows[index][sorted.column];
      chosen = rows.map((_, index) => index)
          .filter((index) => tests.every((test) => test(rows[index])))
          .sort((a, b) => compare(value(a), value(b), sorted.sign) || a - b);
      first = 0;
      show();
    }

    heads.forEach((head, place) => {
      head.querySelector("button").addEventListener("click", () => {
        const column = place - 1;
        const again = sorted.column === column && head.hasAttribute("aria-sort");
        sorted = { column, sign: again ? -sorted.sign : 1 };
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort",
                          sorted.sign > 0 ? "ascending" : "descending");
        choose();
      });
    });
    filter.addEventListener("input", choose);
    previous.addEventListener("click", () => {
      first = Math.max(0, first - PAGE);
      show();
    });
    next.addEventListener("click", () => {
      first += PAGE;
      show();
    });
    show();
  }

  const lines = new Map();
  function record(table, index) {
    if (!lines.has(table)) lines.set(table, textOf("raw-" + table).split("\n"));
    return lines.get(table)[index + 1].replace(/,$/, "");
  }

  // A key a line: samples stay together. Numbers stay as the file has them.
  function spread(line) {
    let depth = 0;
    let text = "";
    for (const token of
         line.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g)) {
      if (token === "}" || token === "]") depth -= 1;
      if (depth === 0 && token === "}") text += "\n";
      text += token[0] === '"' ? JSON.stringify(JSON.parse(token)) : token;
      if (token === "{" || token === "[") depth += 1;
      if (depth === 1 && (token === "{" || token === ",")) text += "\n  ";
      if (depth === 1 && token === ":") text += " ";
    }
    return text;
  }

  function open() {
    const found = /^#cell-(\d+)-(\d+)$/.exec(location.hash);
    if (!found || !byId("opened-" + found[1])) return;
    const id = location.hash.slice(1);
    let details = byId(id);
    if (!details) {
      details = make("details");
      details.id = id;
      const title = textOf("caption-" + found[1]);
      const pre = make("pre", spread(record(found[1], Number(found[2]))));
      pre.tabIndex = 0;
      details.append(make("summary", `Raw JSON of ${title}[${found[2]}]`), pre);
      byId("opened-" + found[1]).prepend(details);
    }
    details.open = true;
    details.scrollIntoView();
    details.querySelector("summary").focus({ preventScroll: true });
  }

  document.querySelectorAll("section.records").forEach(fill);
  window.addEventListener("hashchange", open);
  // A second click on a link of the same record changes no hash.
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest("a[href^='#cell-']");
    if (anchor && anchor.hash === location.hash) open();
  });
  open();
})();
