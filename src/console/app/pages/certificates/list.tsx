import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { EmptyState } from "../../parts/empty";
import { type Filter, Filters, filterQuery, isFiltered } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { Icon } from "../../parts/icon";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { isAdmin } from "../../session";
import { type Member, ownersOf, useMembers } from "../members";
import { ImportDialog } from "./import";
import { Standing } from "./standing";
import type { Certificate } from "./types";

const filtersOf = (members: Member[]): Filter[] => [
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
    options: [["none", "No active member"], ...ownersOf(members)],
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
  const setImporting = (open: boolean) => {
    isImporting.value = open;
  };
  const filters = filtersOf(useMembers());
  const pages = usePages<Certificate>(inOrganization("certificates"), filterQuery(filters));
  return (
    <>
      <PageHeading
        title="Certificates"
        intro="Every certificate that this organization knows, wherever it is used."
        actions={
          isAdmin.value && (
            <>
              <a class="button" href={link("certificates/import")}>
                Import a CSV file
              </a>
              <button class="primary" type="button" onClick={() => setImporting(true)}>
                <Icon name="plus" /> Import
              </button>
            </>
          )
        }
      />
      {isImporting.value && <ImportDialog onClose={() => setImporting(false)} onImported={() => void pages.reload()} />}
      <Filters of={filters} />
      <DataTable
        label="Certificates"
        columns={COLUMNS}
        from={pages}
        id={({ id }) => id}
        href={({ id }) => link(`certificates/${id}`)}
        empty={<NoCertificates isFiltered={isFiltered(filters)} />}
      />
    </>
  );
}

const NoCertificates = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <EmptyState title="No certificate matches." hint="Change or clear the filters above." action={{ label: "Clear the filters", href: link("certificates") }} />
  ) : (
    <EmptyState title="There are no certificates yet." hint="Import those that you have, or order one from an issuer." />
  );

/** The common name of a distinguished name, or the whole of it. */
export const issuerName = (name: string) => /(?:^|,\s*)CN=((?:\\.|[^,\\])+)/.exec(name)?.[1]?.replace(/\\(.)/g, "$1") ?? name;

export const describeKey = ({ algorithm, size, curve }: Certificate["key"]) => [algorithm, curve ?? size].filter(Boolean).join(" ");
