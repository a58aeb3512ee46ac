type Piece = { text: string; isFound: boolean };

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'" };

/**
 * The pieces of a passage whose found words stand in `<mark>`, each of which is closed; all else in it is escaped, and becomes
 * plain text again.
 */
export const piecesOf = (highlight: string): Piece[] =>
  highlight
    .split(/<\/?mark>/)
    .map((piece, index) => ({ text: toPlain(piece), isFound: index % 2 === 1 }))
    .filter(({ text }) => text !== "");

const toPlain = (html: string) => html.replace(/&(?:amp|lt|gt|quot|#39|#x27);/g, (entity) => ENTITIES[entity] ?? entity);
