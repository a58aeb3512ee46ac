/** Who did something; `via` is who sent the header that names them. */
export type Actor = { type: string; id?: string; role?: string; via?: Actor; userId?: string };

export type AuditEvent = {
  id: string;
  at: string;
  actor: Actor;
  action: string;
  targetType: string;
  targetId: string;
  requestId: string | null;
  details: Record<string, unknown>;
};
