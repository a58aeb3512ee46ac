/** A failed proof over DNS. The message is a sentence for a person, without secrets. */
export class DnsFault extends Error {
  override name = "DnsFault";
  /** True where the same request would meet it again: a wrong key, a name that is not delegated. */
  readonly isFinal: boolean;
  /** How long the other side asks to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { isFinal = false, retryAfterMs }: { isFinal?: boolean; retryAfterMs?: number | undefined } = {}) {
    super(message);
    this.isFinal = isFinal;
    this.retryAfterMs = retryAfterMs;
  }
}
