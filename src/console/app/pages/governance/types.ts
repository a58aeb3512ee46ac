export const STATUSES = ["not_started", "in_progress", "implemented", "not_applicable"] as const;
export type Status = (typeof STATUSES)[number];

export type Framework = {
  key: string;
  name: string;
  version: string;
  publisher: string;
  sourceUrl: string;
  progress: { total: number; counts: Record<Status, number>; percent: number };
  needsAttention: number;
};

export type Evidence = { title: string; url?: string; certificateId?: string; certificateStatus?: string };

export type ControlState = { status: Status; note: string | null; evidence: Evidence[]; ownerId: string | null; dueDate: string | null };

export type Control = ControlState & {
  id: string;
  ref: string;
  title: string;
  group: string;
  summary: string;
  roles?: string[];
  scope?: string;
  applies?: { when: string; from: string }[];
  needsAttention: boolean;
  version: number;
  updatedAt: string | null;
};

type Change = ControlState & { version: number; at: string; actor: { type: string; id?: string } };
export type ControlWithHistory = Control & { history: { items: Change[]; nextCursor: string | null } };

/** What a change names; the status always goes with it. */
export type ChangeControl = (change: Partial<ControlState>) => Promise<void>;
