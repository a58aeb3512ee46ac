/** What a notice may be about, with the words of its example. */
export const NOTICE_KINDS = {
  certificate_expiring: { title: "A certificate expires soon", message: "www.example.com expires in 14 days." },
  certificate_expired: { title: "A certificate has expired", message: "www.example.com expired today." },
  certificate_revoked: { title: "A certificate was revoked", message: "www.example.com was revoked: keyCompromise." },
  assignment_failed: { title: "An installation failed", message: "The agent web-1 could not install Example Root." },
  assignment_drifted: { title: "A trust store was changed", message: "Example Root was missing on web-1 and has been installed again." },
  member_joined: { title: "A new member", message: "Grace Hopper accepted your invitation." },
  control_due: { title: "A control is due", message: "EU AI Act, Art. 9 is due in 7 days." },
  metric_threshold: { title: "A metric left its range", message: "error_rate of support-bot is 0.09." },
  document_indexed: { title: "A document can be searched", message: "Incident handbook was indexed." },
  connection_failed: { title: "A connection failed", message: "The connection Vault refused its credentials." },
} as const;

export type NoticeKind = keyof typeof NOTICE_KINDS;
export const KIND_NAMES = Object.keys(NOTICE_KINDS) as NoticeKind[];
