/** Outlines on a grid of 16, drawn for this console. */
const PATHS = {
  shield: "M8 1.5 13.5 3.5v4c0 3.4-2.3 5.9-5.5 7-3.2-1.1-5.5-3.6-5.5-7v-4L8 1.5ZM5.5 8l1.8 1.8L10.7 6.3",
  home: "M2 7.5 8 2.5l6 5M3.5 6.5v7h9v-7M6.5 13.5v-4h3v4",
  certificate: "M2.5 2.5h11v7h-4M2.5 2.5v7h4M5 5h6M8 14.5v-3M8 11.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6.8 11v3.5L8 13.8l1.2.7V11",
  server: "M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01",
  rocket: "M2 14l3-1M9 2.5c2-1 4-1 4.5-.5s.5 2.5-.5 4.5l-5 5-3.5-3.5 4.5-5.5ZM4.5 8H2l2.5-3M8 11.5V14l3-2.5",
  key: "M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2 12v2h3v-2h2v-2l.8-.8c.8.5 1.7.8 2.7.8ZM11 5h.01",
  order: "M3.5 1.5h6l3 3v10h-9zM6 8h4M6 11h4M9 1.5V5h3.5",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  warning: "M8 2 14.5 13.5h-13L8 2ZM8 6.5v3M8 11.5h.01",
  clock: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM8 4.5V8l2.5 1.5",
  dot: "M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  book: "M2.5 2.5H7a1 1 0 0 1 1 1v10a1 1 0 0 0-1-1H2.5zM13.5 2.5H9a1 1 0 0 0-1 1v10a1 1 0 0 1 1-1h4.5z",
  scale: "M8 2v12M4.5 14h7M3 4.5 8 3l5 1.5M3 4.5 1.5 9h3L3 4.5ZM13 4.5 11.5 9h3L13 4.5Z",
  plug: "M5.5 1.5v4M10.5 1.5v4M3.5 5.5h9v2a4.5 4.5 0 0 1-9 0zM8 12v2.5",
  chart: "M2 14V2M2 14h12M5 11V8M8.5 11V4.5M12 11V6.5",
  inbox: "M2 9.5 4 2.5h8l2 7v4H2zM2 9.5h3.5l1 2h3l1-2H14",
  people: "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3.5a2.2 2.2 0 0 1 0 4.2M12 9.8c1.6.6 2.5 2 2.5 3.7",
  person: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c0-2.8 2.4-4.5 5.5-4.5s5.5 1.7 5.5 4.5",
  bell: "M4 7a4 4 0 0 1 8 0c0 3.5 1.5 4.5 1.5 4.5h-11S4 10.5 4 7ZM6.5 13.5a1.6 1.6 0 0 0 3 0",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  gear: "M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M3.4 12.6l1.4-1.4M11.2 4.8l1.4-1.4",
  download: "M8 2v8.5M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  corner: "M13.5 5.5v8h-8M13.5 9.5v4h-4",
  menu: "M2 4h12M2 8h12M2 12h12",
  leave: "M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.5 10.5 14 14",
  retry: "M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 1.5V5H10",
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside words: hidden from screen readers. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
