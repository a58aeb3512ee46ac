import type { Band } from "./disruptions";
import type { Span } from "./prober";

const LEFT = 190;
const WIDTH = 1_400;
const TOP = 60;
const ROW = 9;
const COLOURS = { "server killed": "#d62728", "CA away": "#ff7f0e", "disk full": "#9467bd", "clock ahead": "#17becf" } as const;

type Drawn = { title: string; spans: ReadonlyMap<string, Span[]>; bands: Band[] };

/** Draws each name's certificates, how long each lives and when it was seen, and what was done to the installation meanwhile. */
export function drawTimeline({ title, spans, bands }: Drawn) {
  const all = [...spans.values()].flat();
  const [from, to] = [Math.min(...all.map((each) => each.from)), Math.max(...all.map((each) => each.to))];
  const x = (at: number) => (LEFT + ((Math.min(Math.max(at, from), to) - from) / Math.max(to - from, 1)) * WIDTH).toFixed(1);
  const height = TOP + spans.size * ROW + 30;
  const box = (begin: number, end: number, rest: string, hint: string) =>
    `<rect x="${x(begin)}" width="${Math.max(Number(x(end)) - Number(x(begin)), 1.5).toFixed(1)}" ${rest}><title>${hint}</title></rect>`;
  const clock = (at: number) => new Date(at).toISOString().slice(11, 19);

  const disrupted = bands.map(({ what, of, from: begin, to: end }) =>
    box(
      begin,
      end,
      `y="${TOP - 8}" height="${spans.size * ROW + 12}" fill="${COLOURS[what]}" opacity="0.25"`,
      `${what}: ${of}, ${clock(begin)} to ${clock(end)}`,
    ),
  );
  const rows = [...spans].map(([name, seen], row) => {
    const y = TOP + row * ROW;
    const lives = seen.map(({ notBefore, notAfter, serial }, index) =>
      box(notBefore, notAfter, `y="${y + (index % 2) * 3}" height="3" fill="#c7d4e5"`, `${name} ${serial}: ${clock(notBefore)} to ${clock(notAfter)}`),
    );
    const shown = seen.map(({ from: begin, to: end, serial }, index) =>
      box(
        begin,
        end,
        `y="${y + (index % 2) * 3}" height="3" fill="${index % 2 ? "#1f5fa8" : "#2ca02c"}"`,
        `${name} ${serial}: seen ${clock(begin)} to ${clock(end)}`,
      ),
    );
    return `<text x="${LEFT - 6}" y="${y + 6}" text-anchor="end">${name}</text>${lives.join("")}${shown.join("")}`;
  });
  const minutes = Array.from({ length: Math.floor((to - from) / 60_000) + 1 }, (_, minute) => minute).filter(
    (minute) => minute % 5 === 0 || to - from < 600_000,
  );
  const scale = minutes.map((minute) => `<text x="${x(from + minute * 60_000)}" y="${height - 10}">${minute} min</text>`);
  const legend = Object.entries(COLOURS).map(
    ([what, colour], index) =>
      `<rect x="${LEFT + 560 + index * 130}" y="32" width="10" height="10" fill="${colour}" opacity="0.5"/><text x="${LEFT + 575 + index * 130}" y="41">${what}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + WIDTH + 20}" height="${height}" font-family="sans-serif" font-size="8" role="img" aria-labelledby="title">
<title id="title">${title}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LEFT}" y="20" font-size="13">${title}</text>
<text x="${LEFT}" y="41">Light: a certificate's lifetime. Dark, green and blue in turns: seen by a TLS handshake each second.</text>${legend.join("")}
${[...disrupted, ...rows, ...scale].join("\n")}
</svg>
`;
}
