"""The report as one page that needs nothing else: bars with the median, a line from the least run to the best."""

from html import escape

from peers import table
from peers.table import Row, Table

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1d2433; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .22rem .6rem; text-align: left; border-top: 1px solid #e4e7ee; font-weight: 400; }
th { color: #667; font-size: .85rem; border: 0; }
td:first-child { white-space: nowrap; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.remark { color: #667; font-size: .85rem; } .bad { color: #a3341f; }
.bar { width: 20rem; } svg { display: block; }
.ours { fill: #2f6f5e; } .peer { fill: #9aa6bd; } .bound { fill: #c9b46b; }
dl { display: grid; grid-template-columns: 8rem 1fr; gap: .1rem .6rem; font-size: .9rem; }
dt { color: #667; } dd { margin: 0; }
@media (prefers-color-scheme: dark) {
  body { background: #14171d; color: #dde2ec; } td { border-color: #2a303b; }
  .remark, th, dt { color: #98a1b3; } .bad { color: #e98a75; } .ours { fill: #5fb39b; } .peer { fill: #6c7890; }
}
"""
WIDTH, HEIGHT = 310, 16


def page(found: Table) -> str:
    """The whole page."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'><title>aether-ooc and its peers</title>",
        f"<style>{STYLE}</style></head><body><h1>aether-ooc and its peers</h1>",
        _circumstances(found),
        *(_section(found, section) for section in table.sections(found)),
        _ratios(found),
        "</body></html>",
    ]
    return "\n".join(parts)


def _circumstances(found: Table) -> str:
    cut = "<p class='bad'>Cut short: the figures are of the runs that ended.</p>" if found.cut_short else ""
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in found.circumstances.items())
    return f"{cut}<dl>{items}</dl>"


def _section(found: Table, section: str) -> str:
    rows = [row for row in found.rows if row.section == section]
    best = max((max(row.rates) for row in rows if row.rates), default=1.0)
    head = f"<tr><th></th><th class='bar'>{table.unit(section)}</th>" + "".join(
        f"<th class='n'>{word}</th>" for word in ("median", "runs", "limit MiB", "RSS MiB")
    )
    body = [_row(row, best) for row in rows]
    body += [
        f"<tr><td>{escape(m.name)}</td><td class='remark' colspan='6'><span class='bad'>missing</span>: "
        f"{escape(m.why)}</td></tr>"
        for m in found.missing
        if m.section == section
    ]
    return f"<h2>{escape(section)}</h2><table>{head}<th></th></tr>{''.join(body)}</table>"


def _row(row: Row, best: float) -> str:
    name, median, _, _, runs, limit, rss, _ = table.cells(row)
    numbers = "".join(f"<td class='n'>{word}</td>" for word in (median, runs, limit, rss))
    failures = "".join(f"<span class='bad'>{escape(f)}</span> " for f in row.failures)
    remarks = f"<td class='remark'>{failures}{escape('; '.join(row.notes))}</td>"
    return f"<tr><td>{escape(name)}</td><td class='bar'>{_bar(row, best)}</td>{numbers}{remarks}</tr>"


def _bar(row: Row, best: float) -> str:
    if not row.rates:
        return ""
    kind = "ours" if row.name.startswith("aether-ooc") else "bound" if row.name.startswith("plain") else "peer"
    x = [WIDTH * rate / best for rate in (row.median or 0, min(row.rates), max(row.rates))]
    return (
        f"<svg width='{WIDTH}' height='{HEIGHT}' role='img' aria-label='{escape(table.cells(row)[1])}'>"
        f"<rect class='{kind}' width='{max(x[0], 1):.1f}' height='{HEIGHT}' rx='2'/>"
        f"<line x1='{x[1]:.1f}' x2='{x[2]:.1f}' y1='{HEIGHT / 2}' y2='{HEIGHT / 2}' stroke='currentColor'/></svg>"
    )


def _ratios(found: Table) -> str:
    body = "".join(
        f"<tr><td>{escape(r.section)}</td><td class='n'>{r.median:.3g}</td><td>{escape(r.what)}</td></tr>"
        for r in found.ratios
    )
    return f"<h2>Ratios, each within a round</h2><table>{body}</table>"
