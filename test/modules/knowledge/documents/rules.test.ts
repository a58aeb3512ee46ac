import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cleanFileName, readKind, splitPassages } from "#modules/knowledge/documents/rules/documents";
import { extractText } from "#modules/knowledge/documents/rules/html";

const sentence = (index: number) => `Sentence ${index} says something of some length, and then it ends.`;
const prose = Array.from({ length: 200 }, (_, index) => sentence(index) + (index % 9 === 8 ? "\n\n" : " ")).join("");
const squeeze = (text: string) => text.replace(/\s/g, "");

describe("splitPassages", () => {
  test("leaves a short text whole, and makes nothing of nothing", () => {
    expect([...splitPassages(" One.\n\nTwo. ")]).toEqual(["One.\n\nTwo."]);
    expect([...splitPassages(" \n\t\u00a0")]).toEqual([]);
  });

  test("ends at a paragraph or a sentence, and begins with the last sentence before", () => {
    const passages = [...splitPassages(prose)];
    for (const passage of passages) {
      expect(passage).toMatch(/^Sentence \d+ says/);
      expect(passage).toEndWith("it ends.");
    }
    for (const [index, passage] of passages.slice(1).entries()) expect(passages[index]).toContain(passage.slice(0, 60));
    for (const passage of passages.slice(0, -1)) expect(passage.length).toBeWithin(850, 1_501);
    const all = passages.join(" ");
    for (let index = 0; index < 200; index++) expect(all).toContain(sentence(index));
  });

  test("cuts what has no borders, though never a character", () => {
    expect([...splitPassages("x".repeat(4_000))].map((each) => each.length)).toEqual([1_500, 1_500, 1_000]);
    for (const passage of splitPassages(`a${"😀".repeat(5_000)}`)) expect(passage.isWellFormed()).toBe(true);
    for (const passage of [...splitPassages("这是一句话。".repeat(1_000))].slice(0, -1)) expect(passage).toEndWith("。");
  });

  test("loses nothing of any text, in passages of at most 1,500 characters", () => {
    const piece = fc.oneof(
      fc.lorem({ maxCount: 30, mode: "sentences" }),
      fc.string({ unit: "grapheme", maxLength: 400 }),
      fc.constantFrom("\n\n", "\n", "   ", "。"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("").replaceAll("\0", "");
        let [position, whole] = [0, squeeze(text)];
        for (const passage of splitPassages(text)) {
          expect(passage.length).toBeWithin(1, 1_501);
          expect(passage).toBe(passage.trim());
          const found = whole.indexOf(squeeze(passage), Math.max(0, position - 200));
          expect(found).toBeWithin(0, position + 1);
          position = found + squeeze(passage).length;
        }
        expect(position).toBe(whole.length);
      }),
    );
  });

  test("takes 20 MiB of anything in a moment", () => {
    for (const text of ["word ", "\n\n", " ", "x", "a.\n", "\t ", "。"]) {
      let count = 0;
      for (const passage of splitPassages(`a${text.repeat((20 * 1024 * 1024) / text.length)}b`)) count += passage === "" ? Number.NaN : 1;
      expect(count).toBeGreaterThan(0);
    }
  });
});

describe("extractText", () => {
  test("gives what a reader sees", async () => {
    const html = `<!doctype html><html><head><title>Keys &amp; locks</title><style>p{color:red}</style><script>alert("no")</script></head>
      <body><h1>How   they\n rotate</h1><p>Every <b>ye</b>ar.<br>Or sooner.</p><ul><li>one<li>two</ul>
      <table><tr><th>key</th><td>age</td></tr><tr><td>a</td><td>b</td></tr></table><pre>  kept\n    as is</pre>
      <p hidden>secret</p><template>no</template><noscript>no</noscript><!-- no --><p>&lt;script&gt; stays text</p></body></html>`;
    const expected = ["Keys & locks\n\nHow they rotate\n\nEvery year.\nOr sooner.\n\none\ntwo\n\nkey\tage\na\tb", "  kept\n    as is", "<script> stays text"];
    expect(await extractText(html)).toBe(expected.join("\n\n"));
  });

  test.each([
    ["an unclosed script", "<p>seen<script>if (a < b) alert('x')", "seen"],
    ["a script in capitals, with a fake end", "<p>seen<SCRIPT >'</scrip' + 't>'</SCRIPT\n>after", "seenafter"],
    ["a script in a script's comment", "a<script><!--<script>x</script>-->b", "a-->b"],
    ["tags that are never closed or never opened", "</p></div><p><b><i>text</p></x>more", "text\n\nmore"],
    ["attributes with tags inside", `<p title="<script>no</script>" data-x='>'>yes</p>`, "yes"],
    ["half characters and NUL", "a&#xD800;b&#0;c\0d", "a\uFFFDb\uFFFDcd"],
    ["a tag that never ends", `text<img src="${"x".repeat(1_000)}`, "text"],
    ["an svg with a script", "<svg><script>no</script><text>no</text></svg>yes", "yes"],
    ["nothing", "", ""],
  ])("of hostile HTML: %s", async (_, html, text) => {
    expect(await extractText(html)).toBe(text);
  });

  test("of anything: text that Postgres takes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(fc.constantFrom("<p>", "</p>", "<script>", "<!--", "-->", "<b hidden>", "&amp;", "&#", "<pre>", "\0"), fc.string({ unit: "binary" })),
        ),
        async (parts) => {
          const text = await extractText(parts.join(""));
          expect(text.isWellFormed() && !text.includes("\0") && text === text.trim()).toBe(true);
        },
      ),
    );
  });

  test("refuses what is nested too deep, before it takes for ever", async () => {
    expect(extractText("<div>".repeat(1_001))).rejects.toThrow("nested deeper than 1000 levels");
    expect(await extractText(`${"<b>".repeat(1_000)}x${"</i>".repeat(200_000)}`)).toBe("x");
  });
});

describe("file names and kinds", () => {
  test.each([
    ["keys.md", "keys.md"],
    ["../../keys.md", "keys.md"],
    ["..\\keys.md", "keys.md"],
    ['a\0b\r\n"c".md', "abc.md"],
    ["\uD800.md", "\uFFFD.md"],
    ["..", ".."],
    ["", ""],
    ["/", ""],
    [`${"😀".repeat(150)}.md`, `${"😀".repeat(98)}\uFFFD.md`],
  ])("%j becomes %j", (given, clean) => {
    expect(cleanFileName(given)).toBe(clean);
  });

  test("any name becomes one that is safe in a header", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (given) => {
        const clean = cleanFileName(given);
        expect(clean.length).toBeLessThanOrEqual(201);
        expect(clean).not.toMatch(/[\p{Cc}"/\\]/u);
        expect(() => encodeURIComponent(clean)).not.toThrow();
      }),
    );
  });

  test.each([
    ["a.html", "<p>x", "text/html"],
    ["a.txt", "x <html>", "text/plain"],
    ["a.txt", "<htmlish>", "text/plain"],
    ["a.txt", "\n<HTML lang=en>", "text/html"],
    ["a.markdown", "<!-- <html> --> # Title", "text/markdown"],
  ])("%s with %j is %s", (name, text, mediaType) => {
    expect(readKind(name, new TextEncoder().encode(text))).toEqual({ mediaType });
  });
});
