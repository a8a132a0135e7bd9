/** A graph that has been laid out, as SVG. */
import type { ElkExtendedEdge, ElkNode, ElkPoint } from 'elkjs/lib/elk.bundled.js';
import { isInitialDot, LABEL_PX, TITLE_PX } from './graph.ts';

/** Frame and fill of the outermost states, in their order. */
const COLOURS = [
  ['#1f6feb', '#eaf2fe'],
  ['#bc4c00', '#fff1e5'],
  ['#57606a', '#f0f2f4'],
] as const;
const STYLE = [
  'text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}',
  `.title{font-size:${TITLE_PX}px;font-weight:600}`,
  `.label{font-size:${LABEL_PX}px;fill:#424a53}`,
  '.edge{fill:none;stroke:#6e7781;stroke-width:1.2}',
].join('');
const CORNER = 6;

export function svgOf(graph: ElkNode, title: string): string {
  const { width = 0, height = 0, children = [], edges = [] } = graph;
  const states = children.filter((child) => !isInitialDot(child));
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${at(width)} ${at(height)}" width="${at(width)}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">' +
      '<path d="M0 0 8 4 0 8z" fill="#6e7781"/></marker></defs>',
    `<rect width="${at(width)}" height="${at(height)}" rx="${CORNER}" fill="#fff"/>`,
    ...states.flatMap((child, index) => shapes(child, COLOURS[index % COLOURS.length] ?? COLOURS[0])),
    ...children.filter(isInitialDot).map(dot),
    ...edges.map(line),
    ...edges.flatMap(labels),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

type Colour = (typeof COLOURS)[number];

/** A state, with the states inside it on top. */
function shapes(node: ElkNode, colour: Colour): string[] {
  if (isInitialDot(node)) return [dot(node)];
  const { x = 0, y = 0, width = 0, height = 0, children = [] } = node;
  const [frame, fill] = colour;
  const titleY = children.length > 0 ? y + TITLE_PX + 8 : y + height / 2 + TITLE_PX / 3;
  return [
    `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" rx="${CORNER}" ` +
      `fill="${children.length > 0 ? fill : '#fff'}" stroke="${frame}"/>`,
    `<text class="title" x="${at(x + 12)}" y="${at(titleY)}">${escaped(node.labels?.[0]?.text ?? '')}</text>`,
    ...children.flatMap((child) => shapes(child, colour)),
  ];
}

function dot({ x = 0, y = 0, width = 0 }: ElkNode): string {
  const radius = width / 2;
  return `<circle cx="${at(x + radius)}" cy="${at(y + radius)}" r="${at(radius)}" fill="#1f2328"/>`;
}

function line({ sections = [] }: ElkExtendedEdge): string {
  const path = sections.map(({ startPoint, bendPoints = [], endPoint }) =>
    [startPoint, ...bendPoints, endPoint].map(({ x, y }: ElkPoint) => `${at(x)} ${at(y)}`).join(' L'),
  );
  return `<path class="edge" d="${path.map((points) => `M${points}`).join('')}" marker-end="url(#tip)"/>`;
}

function labels({ labels: of = [] }: ElkExtendedEdge): string[] {
  return of.map(({ text = '', x = 0, y = 0, height = 0 }) => {
    const rows = text.split('\n');
    const step = height / rows.length;
    const spans = rows.map(
      (row, index) => `<tspan x="${at(x)}" y="${at(y + (index + 0.8) * step)}">${escaped(row)}</tspan>`,
    );
    return `<text class="label">${spans.join('')}</text>`;
  });
}

/** Rounded to tenths of a pixel: more digits would only make the file longer. */
function at(px: number): string {
  return String(Math.round(px * 10) / 10);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
