"""Tables as HTML for notebooks: no script, no network, legible on light and dark pages."""

from __future__ import annotations

import html

from ..display import Table

_OPEN = 20  # rows shown before the rest is folded
_MOST = 2000  # most rows in all: more would slow down the page
_LONG = 24  # characters; longer words may be broken

# Colors come from the page: text inherits them, lines and stripes are translucent grays that show on white and on black.
# Jupyter and VS Code define theirs by CSS variables.  Folding needs no script: the rows follow the <details> that hides them.
_STYLE = """<style>
.mse-shown{--mse-text:var(--jp-content-font-color1,var(--vscode-foreground,inherit));
--mse-font:var(--jp-content-font-family,system-ui,sans-serif);
--mse-faint:.72;--mse-line:rgba(110,110,110,.45);--mse-stripe:rgba(128,128,128,.08);
color:var(--mse-text);font-family:var(--mse-font);font-size:.9em;line-height:1.35;overflow-x:auto;margin:.3em 0}
@media (prefers-color-scheme:dark){.mse-shown{--mse-faint:.8;--mse-stripe:rgba(140,140,140,.12)}}
[data-jp-theme-light="false"] .mse-shown,[data-theme="dark"] .mse-shown,[theme="dark"] .mse-shown,.vscode-dark .mse-shown
{--mse-faint:.8;--mse-line:rgba(170,170,170,.5);--mse-stripe:rgba(170,170,170,.12)}
.mse-shown .mse-block{display:flex;flex-direction:column;align-items:flex-start;margin:0 0 .8em}
.mse-shown .mse-title{font-weight:600;margin:0 0 .3em;white-space:pre-line}
.mse-shown .mse-paragraph{margin:0;white-space:pre-line;max-width:60em}
.mse-shown table.mse-table{border-collapse:collapse;border:0;margin:0;width:auto;font-size:inherit;color:inherit;
background:none;table-layout:auto}
.mse-shown table.mse-table th,.mse-shown table.mse-table td{text-align:left;vertical-align:top;padding:.15em .7em;
border:0;background:none;color:inherit;max-width:40em;white-space:nowrap}
.mse-shown table.mse-table td.mse-prose{white-space:normal;min-width:12em}
.mse-shown table.mse-table th{font-weight:600;border-bottom:1px solid var(--mse-line);vertical-align:bottom}
.mse-shown table.mse-table .mse-number{text-align:right;font-variant-numeric:tabular-nums lining-nums}
.mse-shown table.mse-table tbody tr:nth-child(even){background:var(--mse-stripe)}
.mse-shown .mse-unit{font-weight:400;opacity:var(--mse-faint);white-space:nowrap}
.mse-shown .mse-note{margin:.3em 0 0;opacity:var(--mse-faint)}
.mse-shown details.mse-fold{order:1;margin:.3em 0 0}
.mse-shown details.mse-fold~.mse-note{order:2}
.mse-shown details.mse-fold summary{cursor:pointer;opacity:var(--mse-faint)}
.mse-shown details.mse-fold:not([open])+table.mse-table tr.mse-folded{display:none}
@media print{.mse-shown details.mse-fold{display:none}}
</style>"""


def as_html(table: Table) -> str:
    """A table and its further tables, as HTML; names in it cannot become markup.

    Parameters
    ----------
    table : Table
        What to show.

    Returns
    -------
    str
        An element with its own style sheet.
    """
    blocks = "".join(_block(one) for one in _all(table))
    # the classes keep notebooks from reading dollar signs in names as mathematics
    return f'{_STYLE}<div class="mse-shown tex2jax_ignore mathjax_ignore">{blocks}</div>'


def _all(table: Table) -> list[Table]:
    return [table, *(one for further in table.more for one in _all(further))]


def _block(table: Table) -> str:
    kind = "mse-title" if table.columns else "mse-paragraph"
    parts = [f'<div class="{kind}">{_escaped(table.title)}</div>']
    hidden = len(table.rows) - _MOST
    if table.columns:
        if len(table.rows) > _OPEN:
            more = min(len(table.rows), _MOST) - _OPEN
            parts.append(f'<details class="mse-fold"><summary>{more} more rows</summary></details>')
        parts.append(_rows(table))
    notes = ([f"... and {hidden} more"] if hidden > 0 else []) + list(table.notes)
    parts += [f'<div class="mse-note">{_escaped(note)}</div>' for note in notes]
    return f'<div class="mse-block">{"".join(parts)}</div>'


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)  # the text is only ever between tags


def _rows(table: Table) -> str:
    shown = table.cells(_MOST)
    longest = [max(map(len, column), default=0) for column in zip(*shown, strict=True)] or [0] * len(table.columns)
    kinds = [
        ' class="mse-number"' if column.digits else ' class="mse-prose"' if length > _LONG else ""
        for column, length in zip(table.columns, longest, strict=True)
    ]
    heads = []
    for column, kind in zip(table.columns, kinds, strict=True):
        unit = f' <span class="mse-unit">({_escaped(column.unit)})</span>' if column.unit else ""
        heads.append(f'<th scope="col"{kind}>{_escaped(column.name)}{unit}</th>')
    lines = []
    for number, cells in enumerate(shown):
        fold = ' class="mse-folded"' if number >= _OPEN else ""
        inner = "".join(f"<td{kind}>{_escaped(cell)}</td>" for cell, kind in zip(cells, kinds, strict=True))
        lines.append(f"<tr{fold}>{inner}</tr>")
    return f'<table class="mse-table"><thead><tr>{"".join(heads)}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
