// Unpacks the pictures; fills a table of records when it is opened, PAGE rows at a time,
// filtered and sorted; shows a raw record where a link #cell-TABLE-INDEX leads, and the
// claims of one verdict. Texts of records are only ever set as text, never as markup.
(function () {
  "use strict";
  const PAGE = 100;

  const byId = (id) => document.getElementById(id);

  function make(name, text) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // ---- what is packed -----------------------------------------------------

  async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream();
    return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).text();
  }

  // Only a script element may read a file beside a page from file://.
  function fromFile(path) {
    return new Promise((resolve, reject) => {
      const script = make("script");
      script.src = path;
      script.onload = () => resolve(script.dataset.packed);
      script.onerror = () => reject(new Error(
          `The records are in ${path}, which is not beside this page.`));
      document.head.append(script);
    });
  }

  const loaded = new Map();
  // Gives the lines of a table once they are there: its data, then each record.
  function linesOf(number) {
    if (!loaded.has(number)) {
      const inside = byId("packed-" + number);
      const packed = inside ? Promise.resolve(inside.textContent)
          : fromFile(JSON.parse(byId("files").textContent)[number]);
      loaded.set(number, packed.then(unpack).then((text) => text.split("\n")));
    }
    return loaded.get(number);
  }

  async function putInPlace(packed) {
    try {
      packed.outerHTML = await unpack(packed.textContent);
    } catch (error) {
      packed.replaceWith(make("p", `This browser cannot show it: ${error.message}.`));
    }
  }

  // ---- tables of records --------------------------------------------------

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

  function fill(section, data) {
    const { columns, constants, rows: written, source, links } = JSON.parse(data);
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

  document.querySelectorAll("details.records").forEach((section) => {
    section.addEventListener("toggle", async () => {
      try {
        fill(section, (await linesOf(section.id.split("-")[1]))[0]);
      } catch (error) {
        section.querySelector("output").textContent = error.message;
      }
    }, { once: true });
  });

  // ---- claims -------------------------------------------------------------

  const choice = document.querySelector("fieldset.verdicts");

  // An empty verdict shows all claims.
  function showVerdict(verdict) {
    document.querySelectorAll(".ledger > tbody > tr").forEach((row) => {
      row.hidden = verdict && row.querySelector("strong").textContent !== verdict;
    });
  }

  if (choice) {
    choice.hidden = false; // Without this script it would do nothing.
    choice.addEventListener("change", (event) => showVerdict(event.target.value));
  }

  // ---- where a link leads -------------------------------------------------

  async function record(table, index) {
    const opened = byId("opened-" + table);
    if (!opened) return null;
    const id = `cell-${table}-${index}`;
    opened.closest("details").open = true;
    const lines = await linesOf(table).catch(() => []); // the table says what is wrong
    const line = lines[Number(index) + 1];
    if (!byId(id) && line !== undefined) {
      const details = make("details");
      details.id = id;
      const title = byId("caption-" + table).textContent;
      const pre = make("pre", spread(line));
      pre.tabIndex = 0;
      details.append(make("summary", `Raw JSON of ${title}[${index}]`), pre);
      opened.prepend(details);
    }
    return byId(id) || opened;
  }

  // Unfolds what an address leads to, and shows it if its verdict is filtered out.
  async function open() {
    const found = /^#cell-(\d+)-(\d+)$/.exec(location.hash);
    const place = found ? await record(found[1], found[2])
                        : byId(location.hash.slice(1));
    if (!place) return;
    for (let fold = place.closest("details"); fold;
         fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
    if (place.closest(".ledger tr[hidden]")) {
      choice.querySelector("input").checked = true;
      showVerdict("");
    }
    place.scrollIntoView();
    const title = place.querySelector(":scope > summary");
    if (title) title.focus({ preventScroll: true });
  }

  window.addEventListener("hashchange", open);
  // A second click on the same link changes no hash.
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest("a[href^='#']");
    if (anchor && anchor.hash === location.hash) open();
  });
  // What is unpacked moves what is below it.
  Promise.all([...document.querySelectorAll("script.packed")].map(putInPlace)).then(open);
})();
