// Sorting: a click on a column's head sorts by it, a second one the other way round.
(() => {
  const order = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.order ?? cell.textContent;
  };
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const isMissing = (text) => text === "" || text === "–";

  page.sortTable = (table, column, direction) => {
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const [x, y] = [order(a, column), order(b, column)];
      if (isMissing(x) || isMissing(y)) return isMissing(x) - isMissing(y);
      return direction * compare(x, y);
    });
    table.tBodies[0].append(...rows);
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };

  document.querySelectorAll("table.sortable").forEach((table) => {
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th");
      if (!head || !event.target.closest("button")) return;
      page.sortTable(table, head.cellIndex, head.getAttribute("aria-sort") === "ascending" ? -1 : 1);
    });
  });
})();
