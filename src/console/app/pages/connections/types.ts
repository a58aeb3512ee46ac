import type { ObjectSchema } from "../../parts/fields";

export type ConnectionKind = {
  kind: string;
  displayName: string;
  category: string;
  note: string | null;
  test: "credentials" | "reachability" | "message";
  experimental: string | null;
  config: ObjectSchema;
  secrets: ObjectSchema;
};

type Outcome = { outcome: "ok" | "failed" | "unsupported"; message: string };
export type LastTest = Outcome & { testedAt: string };
export type TestOutcome = Outcome;

export type Connection = {
  id: string;
  kind: string;
  name: string;
  config: Record<string, unknown>;
  secretNames: string[];
  lastTest: LastTest | null;
  version: number;
  createdAt: string;
  updatedAt: string;
};
