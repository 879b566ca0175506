"use strict";
// A click on a column's title sorts its table: numbers from the largest, text from A; a second click the other way.
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = header.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const numeric = header.classList.contains("number");
      const now = header.getAttribute("aria-sort");
      const rising = now === "none" ? !numeric : now === "descending";
      for (const other of headers) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        if (!numeric) return cell.textContent.trim();
        return cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (!numeric) return (rising ? 1 : -1) * x.localeCompare(y);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // undefined ones stay last
        return rising ? x - y : y - x;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    });
  });
}
// On paper every example is open.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
