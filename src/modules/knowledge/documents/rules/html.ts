import { Parser } from "htmlparser2";

/** The elements that a browser does not show, or that have no text. */
const UNSEEN = new Set("audio canvas embed iframe math noscript object script select style svg template textarea video".split(" "));
/** The elements at which a browser begins a new line, and those with a space above and below. */
const LINES = new Set("br dd div dt figcaption li option summary tr".split(" "));
const PARAGRAPHS = new Set(
  "address article aside blockquote body caption details dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table title ul".split(
    " ",
  ),
);
const CELLS = new Set(["td", "th"]);
/** Browsers stop at 512. Without a limit, each closing tag would take ever longer. */
const DEEPEST = 1_000;
const SLICE = 64 * 1024;
/** The widest of those that meet is left. */
const SPACES = ["", "\t", "\n", "\n\n"];

/** Trying again would not help; the message is for a person. */
export class Unreadable extends Error {}

/** The text of an HTML page as a reader sees it. It pauses now and then, so that requests are answered meanwhile. */
export async function extractText(html: string) {
  const parts: string[] = [];
  let gap = "";
  let depth = 0;
  let unseen = 0;
  let preformatted = 0;

  function leave(space: string) {
    if (unseen === 0 && SPACES.indexOf(space) > SPACES.indexOf(gap)) gap = space;
  }

  function say(text: string) {
    if (unseen > 0) return;
    const flat = preformatted > 0 ? text : text.replace(/\s+/g, " ");
    const shown = gap === "" || preformatted > 0 ? flat : flat.trimStart();
    if (shown === "") return;
    parts.push(gap, shown);
    gap = "";
  }

  const parser = new Parser({
    onopentag(name, attributes) {
      if (++depth > DEEPEST) throw new Unreadable(`Its HTML is nested deeper than ${DEEPEST} levels.`);
      leave(spaceAround(name));
      if (unseen > 0 || UNSEEN.has(name) || "hidden" in attributes) unseen++;
      if (name === "pre") preformatted++;
    },
    ontext: say,
    onclosetag(name) {
      depth--;
      if (unseen > 0) unseen--;
      if (name === "pre") preformatted--;
      leave(spaceAround(name));
    },
  });
  for (let index = 0; index < html.length; index += SLICE) {
    parser.write(html.slice(index, index + SLICE));
    await Bun.sleep(0);
  }
  parser.end();
  return parts.join("").replaceAll("\0", "").toWellFormed().trim();
}

function spaceAround(name: string) {
  if (PARAGRAPHS.has(name)) return "\n\n";
  if (LINES.has(name)) return "\n";
  return CELLS.has(name) ? "\t" : "";
}
