"""Bar charts and curves as SVG, for results.py."""
import html

COLORS = ['#3b6ea8', '#d98032', '#5a9a57', '#9c5fa8']


def chart(title, unit, groups, series, line=None):
    """Horizontal bars as SVG. groups: [(label, [a value or None for each of the series])]; line: a value to mark."""
    left, width, bar, gap = 250, 380, 13, 9
    largest = max(value for _, values in groups for value in values if value is not None) * 1.12
    height = 62 + sum(gap + bar * sum(value is not None for value in values) for _, values in groups)
    scale = width / largest
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="680" height="{height}" fill="#ffffff"/>',
             f'<text x="10" y="18" font-size="13" font-weight="bold">{html.escape(title)}</text>']
    x = 10
    for name, color in zip(series, COLORS):
        parts += [f'<rect x="{x}" y="27" width="10" height="10" fill="{color}"/>',
                  f'<text x="{x + 14}" y="36">{html.escape(name)}</text>']
        x += 32 + 6.4 * len(name)
    y = 50
    for label, values in groups:
        count = sum(value is not None for value in values)
        parts.append(f'<text x="{left - 8}" y="{y + bar * count / 2 + 4:g}" text-anchor="end">{html.escape(label)}</text>')
        for value, color in zip(values, COLORS):
            if value is None:
                continue
            parts += [f'<rect x="{left}" y="{y}" width="{max(value, 0) * scale:.1f}" height="{bar - 2}" fill="{color}"/>',
                      f'<text x="{left + max(value, 0) * scale + 4:.1f}" y="{y + bar - 4}">{value:g}{unit}</text>']
            y += bar
        y += gap
    if line is not None:
        place = f'{left + line * scale:.1f}'
        parts.append(f'<line x1="{place}" x2="{place}" y1="44" y2="{y}" stroke="#555555" stroke-dasharray="3 3"/>')
    return '\n'.join(parts + ['</svg>\n'])


def curves(title, unit, axis, series, points):
    """Lines over a logarithmic axis as SVG. series: {name: {x: value}}; points: the same, as circles in the colour of the line."""
    left, top, width, height = 50, 50, 600, 250
    places = sorted({x for values in series.values() for x in values})
    largest = 100 if unit == ' %' else max(value for values in series.values() for value in values.values())
    across = {x: left + width * index / max(1, len(places) - 1) for index, x in enumerate(places)}

    def down(value):
        return top + height * (1 - value / largest)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {top + height + 45}" font-family="sans-serif" font-size="11">',
             f'<rect width="680" height="{top + height + 45}" fill="#ffffff"/>',
             f'<text x="10" y="18" font-size="13" font-weight="bold">{html.escape(title)}</text>']
    x = 10
    for name, color in zip(series, COLORS):
        parts += [f'<rect x="{x}" y="27" width="10" height="10" fill="{color}"/>', f'<text x="{x + 14}" y="36">{html.escape(name)}</text>']
        x += 32 + 6.4 * len(name)
    for step in range(6):
        value = largest * step / 5
        parts += [f'<line x1="{left}" x2="{left + width}" y1="{down(value):.1f}" y2="{down(value):.1f}" stroke="#dddddd"/>',
                  f'<text x="{left - 6}" y="{down(value) + 4:.1f}" text-anchor="end">{value:g}{unit}</text>']
    parts += [f'<text x="{across[x]:.1f}" y="{top + height + 16}" text-anchor="middle">{x:,}</text>' for x in places]
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 36}" text-anchor="middle">{html.escape(axis)}</text>')
    for (name, values), color in zip(series.items(), COLORS):
        line = ' '.join(f'{across[x]:.1f},{down(value):.1f}' for x, value in sorted(values.items()))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{across[x]:.1f}" cy="{down(value):.1f}" r="3" fill="#ffffff" stroke="{color}"/>' for x, value in sorted(points[name].items())]
    return '\n'.join(parts + ['</svg>\n'])
