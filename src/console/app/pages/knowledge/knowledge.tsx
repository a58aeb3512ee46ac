import { inOrganization } from "../../api";
import { session } from "../../auth/session";
import { EmptyState, Failure } from "../../parts/empty";
import { type Filter, Filters } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { ShowMore } from "../../parts/show-more";
import { usePages } from "../../reading";
import { place } from "../../router";
import { Documents } from "./documents";
import { piecesOf } from "./highlight";

const FILTERS: Filter[] = [{ name: "q", label: "Search", kind: "search", placeholder: 'Words, "a phrase", -without' }];

export function KnowledgePage() {
  const q = place.value.query.get("q");
  return (
    <>
      <PageHeading title="Knowledge" intro="What the organization's documents say." />
      <div class="search-box">
        <Filters of={FILTERS} />
      </div>
      {q ? <Passages key={q} q={q} /> : <Beneath />}
    </>
  );
}

function Passages({ q }: { q: string }) {
  const pages = usePages(inOrganization("knowledge", "search"), { q, limit: 20 });
  const { rows, error, isWhole } = pages;
  if (error.value) return <Failure error={error.value} />;
  if (rows.value.length === 0)
    return isWhole.value ? <EmptyState title={`Nothing was found for “${q}”.`} hint="Try fewer or other words." /> : <p class="loading">Loading…</p>;
  return (
    <>
      <ol class="passages" aria-label="Passages">
        {rows.value.map((passage) => (
          <li key={`${passage.documentId} ${passage.chunkIndex}`} class="card">
            <h2>{passage.title}</h2>
            <p class="passage">{piecesOf(passage.highlight).map(({ text, isFound }, index) => (isFound ? <mark key={index}>{text}</mark> : text))}</p>
          </li>
        ))}
      </ol>
      <ShowMore of={pages} />
    </>
  );
}

/** Platform staff keeps the documents; everybody in the organization may search them. */
const Beneath = () =>
  session.value?.person.platformAdmin ? <Documents /> : <EmptyState title="Search the documents." hint="The platform's staff adds and removes documents." />;
