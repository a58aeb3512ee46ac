import { sha256 } from "#crypto/sha256";
import { describeVariable, listVariables } from "#text/variables";
import authority from "../../guides/authority.md" with { type: "text" };
import backup from "../../guides/backup.md" with { type: "text" };
import firstHour from "../../guides/first-hour.md" with { type: "text" };
import hosts from "../../guides/hosts.md" with { type: "text" };
import operating from "../../guides/operating.md" with { type: "text" };
import style from "../../guides/style.css" with { type: "text" };

const escapeText = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

const items = listVariables().map(([name, variable]) => {
  const { fallback, isValue } = variable;
  return `- **\`${name}\`** (default: ${isValue ? `\`${fallback}\`` : escapeText(fallback)}). ${escapeText(describeVariable(variable))}`;
});

const variables = `# Variables

Configuration is environment variables alone. A faulty one stops the start, all faults at once, a sentence each.
So does a name that looks like one of these and is none, such as JWT_AUDENCE.

${items.join("\n")}
`;

/** The guides in reading order, by the last part of their paths. */
const GUIDES: Record<string, string> = { "first-hour": firstHour, hosts, authority, backup, operating, variables };

const titleOf = (markdown: string) => /^# (.*)$/m.exec(markdown)?.[1] ?? "";
const firstParagraphOf = (markdown: string) => markdown.split("\n\n")[1] ?? "";

/** Returns the list of guides as Markdown; its links are relative to `/docs`. */
const index = `# Guides

${Object.entries(GUIDES)
  .map(([name, markdown]) => `- [${titleOf(markdown)}](docs/${name}): ${firstParagraphOf(markdown)}`)
  .join("\n")}
- [The API](swagger): every operation, to be tried in the browser.
- [The console](console/)
`;

/** The page's only style, by its hash: nothing else may be loaded. */
export const POLICY = `default-src 'none'; style-src 'sha256-${sha256(style, "base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Guides link to each other's files, so that they can be read there too. Wide parts scroll by themselves, by the keyboard too. */
const toHtml = (markdown: string) =>
  Bun.markdown
    .html(markdown, { headings: { ids: true } })
    .replaceAll(/href="([a-z-]+)\.md"/g, 'href="$1"')
    .replaceAll("<pre>", '<pre tabindex="0">')
    .replaceAll("<table>", '<div role="region" aria-label="Table" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");

/** Returns a page; `root` leads to the server's root. */
const render = (markdown: string, root: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(titleOf(markdown))} · Certitude</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<nav aria-label="Certitude"><a href="${root}docs">Guides</a> <a href="${root}swagger">API</a> <a href="${root}console/">Console</a></nav>
<main>
${toHtml(markdown)}
</main>
</body>
</html>
`;

/** Returns the page of a guide, or the list of them without a name; undefined where there is none of that name. */
export function renderGuide(name?: string) {
  if (name === undefined) return render(index, "");
  const markdown = Object.hasOwn(GUIDES, name) ? GUIDES[name] : undefined;
  return markdown === undefined ? undefined : render(markdown, "../");
}

export const GUIDE_NAMES = Object.keys(GUIDES);
