import { Badge, type Tone } from "../../parts/badge";
import { serverNow } from "../../server-time";
import type { Certificate } from "./types";

type Dated = Pick<Certificate, "status" | "notAfter">;

const DAY_MS = 86_400_000;
const TONES: Record<Certificate["status"], Tone> = { active: "good", expired: "bad", revoked: "bad", retired: "calm" };

export const daysLeft = ({ notAfter }: Pick<Dated, "notAfter">, now = serverNow()) => Math.floor((Date.parse(notAfter) - now) / DAY_MS);

/** A certificate's state, and a warning in its last thirty days. */
export function Standing({ of }: { of: Dated }) {
  const days = daysLeft(of);
  if (of.status !== "active" || days > 30) return <Badge tone={TONES[of.status]} text={of.status} />;
  return <Badge tone={days < 7 ? "bad" : "warn"} icon="warning" text={days < 1 ? "expires today" : `${days} ${days === 1 ? "day" : "days"} left`} />;
}
