"""How many times as fast as its rival each measured thing is, as bars in an SVG; a line marks 1x."""
from html import escape

ROW, LABEL, WIDTH = 20, 330, 380


def chart(title, bars):
    """`bars`: (label, ratio). The scale is logarithmic, so that half as fast and twice as fast are equally far from 1x."""
    from math import log2
    most = max([2.0] + [ratio for _, ratio in bars])
    least = min([0.5] + [ratio for _, ratio in bars])
    place = lambda ratio: LABEL + WIDTH * (log2(ratio) - log2(least)) / (log2(most) - log2(least))
    height = ROW * (len(bars) + 2)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LABEL + WIDTH + 60} {height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="100%" height="100%" fill="white"/><text x="8" y="15" font-weight="bold">{escape(title)}</text>']
    for row, (label, ratio) in enumerate(bars, 1):
        y = ROW * row + 4
        left, right = sorted((place(1), place(ratio)))
        colour = "#2a78b5" if ratio >= 1 else "#c0504d"
        lines.append(f'<text x="8" y="{y + 12}">{escape(label)}</text>'
                     f'<rect x="{left:.1f}" y="{y + 2}" width="{max(right - left, 1):.1f}" height="{ROW - 7}" fill="{colour}"/>'
                     f'<text x="{max(right, place(1)) + 4:.1f}" y="{y + 12}">{ratio:.2f}x</text>')
    x = place(1)
    lines.append(f'<line x1="{x:.1f}" y1="{ROW}" x2="{x:.1f}" y2="{height - ROW / 2}" stroke="black"/></svg>')
    return "\n".join(lines) + "\n"
