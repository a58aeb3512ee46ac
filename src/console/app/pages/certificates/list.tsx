import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { isAdmin } from "../../auth/session";
import { owners, useMembers } from "../../members";
import { type Filter, filterQuery } from "../../parts/filters";
import { Icon } from "../../parts/icon";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { ImportDialog } from "./import";
import { Standing } from "./standing";
import type { Certificate } from "./types";

const filtersNow = (): Filter[] => [
  { name: "q", label: "Search", kind: "search", placeholder: "Name, host, issuer…" },
  {
    name: "status",
    label: "Status",
    kind: "select",
    options: [
      ["active", "Active"],
      ["expired", "Expired"],
      ["revoked", "Revoked"],
      ["retired", "Retired"],
    ],
  },
  { name: "selector", label: "Labels", kind: "search", placeholder: "env=prod" },
  {
    name: "owner",
    label: "Owner",
    kind: "select",
    options: [["none", "No active member"], ...owners.value],
  },
  { name: "expiresBefore", label: "Expires before", kind: "moment" },
  { name: "fingerprint", label: "SHA-256", kind: "search", placeholder: "64 hex digits" },
  { name: "serial", label: "Serial number", kind: "search", placeholder: "In hexadecimal" },
];

const COLUMNS: Column<Certificate>[] = [
  { label: "Name", cell: ({ commonName, subject }) => commonName || subject || "Without a name" },
  { label: "State", cell: (row) => <Standing of={row} /> },
  { label: "Expires", cell: ({ notAfter }) => <Time at={notAfter} precision="day" /> },
  { label: "Issuer", cell: ({ issuer }) => issuerName(issuer) },
  { label: "Key", cell: ({ key }) => describeKey(key) },
];

export function CertificatesPage() {
  const isImporting = useSignal(false);
  useMembers();
  const filters = filtersNow();
  const pages = usePages(inOrganization("certificates"), filterQuery(filters));
  return (
    <ListPage
      title="Certificates"
      intro="Every certificate that this organization knows, wherever it is used."
      actions={
        isAdmin.value && (
          <>
            <a class="button" href={link("certificates/import")}>
              Import a CSV file
            </a>
            <button class="primary" type="button" onClick={() => (isImporting.value = true)}>
              <Icon name="plus" /> Import
            </button>
          </>
        )
      }
      path="certificates"
      from={pages}
      columns={COLUMNS}
      id={({ id }) => id}
      filters={filters}
      noMatch="No certificate matches."
      none={{ title: "There are no certificates yet.", hint: "Import those that you have, or order one from an issuer." }}
    >
      {isImporting.value && <ImportDialog onClose={() => (isImporting.value = false)} onImported={() => void pages.reload()} />}
    </ListPage>
  );
}

/** The common name of a distinguished name, or the whole of it. */
export const issuerName = (name: string) => /(?:^|,\s*)CN=((?:\\.|[^,\\])+)/.exec(name)?.[1]?.replace(/\\(.)/g, "$1") ?? name;

export const describeKey = ({ algorithm, size, curve }: Certificate["key"]) => [algorithm, curve ?? size].filter(Boolean).join(" ");
