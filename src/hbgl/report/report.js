"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const value = (row, place) => {
    const cell = row.cells[place];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [value(row, place), row]);
      rows.sort(([a], [b]) => (typeof a === "number" ? a - b : a.localeCompare(b)));
      if (!up) rows.reverse();
      body.append(...rows.map(([, row]) => row));
    });
  });
}
for (const table of document.querySelectorAll("table.filterable")) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  label.className = "filter";
  label.append("Only labels with: ", input);
  input.type = "search";
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
