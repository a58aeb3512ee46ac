/** Remembers what a pure function answers, for so many texts; then it begins again, so that nobody can fill the memory. */
export function remember<Value>(ask: (text: string) => Value, max = 1_000) {
  const answers = new Map<string, Value>();
  return (text: string): Value => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = ask(text);
    if (answers.size >= max) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
