const MAX_TEXTS = 1_000;
/** Longer texts are rare, and would fill the memory. */
const MAX_LENGTH = 200;

/** Remembers what a pure function answered to the last texts, where asking again costs more than looking it up. */
export function remember<Answer extends object | boolean>(ask: (text: string) => Answer) {
  const answers = new Map<string, Answer>();
  return (text: string) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = ask(text);
    if (text.length > MAX_LENGTH) return answer;
    if (answers.size >= MAX_TEXTS) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
