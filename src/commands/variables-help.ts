import { describeVariable, listVariables } from "#text/variables";

const NAME_WIDTH = 24;
const TEXT_WIDTH = 88;

/** Returns `text` in lines of at most `TEXT_WIDTH` characters. */
function wrap(text: string) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= TEXT_WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

const lines = listVariables().map(([name, { about, fallback, isValue }]) => `  ${name.padEnd(NAME_WIDTH)}${about}${isValue ? ` (${fallback})` : ""}`);

/** The variables of the environment, a line each. */
export const VARIABLE_LIST = lines.join("\n");

const paragraphs = listVariables().map(([name, variable]) =>
  [`  ${name.padEnd(NAME_WIDTH)}default: ${variable.fallback}`, ...wrap(describeVariable(variable)).map((line) => `      ${line}`)].join("\n"),
);

/** The variables with their defaults and all that is said of them. */
export const VARIABLE_DETAILS = paragraphs.join("\n");
